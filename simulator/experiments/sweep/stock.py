"""What every Dask worker of a sweep holds, those that come later too, and the task that is done there."""

import signal
import threading
from pathlib import Path
from typing import cast

from distributed import Worker, WorkerPlugin, get_worker

from simulator.experiments.sweep.plan import Ask
from simulator.experiments.sweep.work import answer_batch


class Stock(WorkerPlugin):
    """The JSON text of a plan."""

    def __init__(self, name: str, payload: str, *, ours: bool) -> None:
        self.name = name
        self.ours = ours
        self.payload = payload
        self.folder = ""

    def setup(self, worker: Worker) -> None:
        """Note where this worker may put files; a Ctrl-C in the terminal is for the main process, which ends ours."""
        if self.ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.folder = str(Path(worker.local_directory) / self.name)


def task(name: str, places: list[int], ask: Ask, threads: int) -> str:
    """A batch of points, answered on a worker; see `answer_batch`."""
    stock = cast("Stock", get_worker().plugins[name])
    return answer_batch(name, stock.payload, stock.folder, places, ask, threads)

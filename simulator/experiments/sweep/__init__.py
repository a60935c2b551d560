"""Sweeps: many points of a scenario on Dask, here or on other machines; what is finished is not lost or run twice."""

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from distributed import Worker, WorkerPlugin, get_worker

from simulator.base.errors import Interrupted, SweepError
from simulator.experiments.sweep.clusters import cores_here, existing, local
from simulator.experiments.sweep.folder import Keep, keeping, more_truths, run_or_recall
from simulator.experiments.sweep.plan import Ask, Plan, Point, make_plan, version_of
from simulator.experiments.sweep.work import Ready, answer_batch, answer_here, simulated
from simulator.results.files import makespans_s as configurations_of
from simulator.results.tables import Form

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client, Future

__all__ = [
    "Ask",
    "Plan",
    "Point",
    "Swept",
    "answer_alone",
    "configurations_of",
    "cores_here",
    "existing",
    "keeping",
    "local",
    "make_plan",
    "more_truths",
    "run_or_recall",
    "simulated",
    "sweep",
    "version_of",
]
BATCH_S = 0.5
"""Cheap points are handed out together as far as they take so long: what is not handed in yet is lost with a worker."""
GATHER_S = 20.0
"""How long a finished batch may take to come from its worker."""
LOOK_S = 0.5
"""How often to look which workers are there."""
Tell = Callable[[dict[str, Any]], None]
"""Given each answer: `place`, `text` or `errors`, and `spent_s`."""
KILLED = "its worker was killed, and once more when it was tried alone"
ROWS_AT_ONCE = 1000


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


@dataclass
class _Flight:
    """A batch on its way."""

    worker: str
    places: list[int]
    future: "Future[str]"


@dataclass
class Dispatcher:
    """Points of one plan, handed to the workers of one Dask cluster, to each one batch at a time."""

    client: "Client"
    plan: Plan
    tell: Tell
    waiting: Callable[[], None] = lambda: None
    """Called each time that there is work and no worker."""
    _workers: dict[str, int] = field(default_factory=dict)
    _landed: SimpleQueue[str] = field(default_factory=SimpleQueue)
    _flying: dict[str, _Flight] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=count)
    _batch: int = 1

    def work_off(self, places: Sequence[int]) -> dict[int, str]:
        """Have all points answered; those that could not be, by their place, with the reason.

        What a worker died of, or failed at, is tried once more alone, when nothing else is being worked at.
        """
        plan = self.plan
        stock = Stock(plan.name, plan.payload(), ours=self.client.cluster is not None)
        self.client.register_plugin(stock, name=plan.name)
        try:
            suspects = self._round(places, alone=False)
            return self._round(sorted(suspects), alone=True)
        finally:
            with suppress(OSError, TimeoutError, ValueError):
                self.client.unregister_worker_plugin(plan.name)

    def _round(self, places: Sequence[int], *, alone: bool) -> dict[int, str]:
        """Each point once; what became of those without an answer."""
        todo, failed, looked_s = deque(places), dict[int, str](), -LOOK_S
        while todo or self._flying:
            if now_s() - looked_s >= LOOK_S:
                self._look(failed)
                looked_s = now_s()
                if todo and not self._workers:
                    self.waiting()
            self._hand_out(todo, alone=alone)
            with suppress(Empty):
                key = self._landed.get(timeout=LOOK_S)
                if key in self._flying:
                    answers = self._answers(self._flying.pop(key), todo, failed)
                    self._hand_out(todo, alone=alone)  # the worker does not wait until its answers are kept
                    for answer in answers:
                        self.tell(answer)
        return failed

    def _hand_out(self, todo: deque[int], *, alone: bool) -> None:
        busy = {flight.worker for flight in self._flying.values()}
        for worker in self._workers.keys() - busy:
            if not todo or (alone and self._flying):
                return
            size = 1 if alone else max(1, min(self._batch, len(todo) // (2 * len(self._workers))))
            places = [todo.popleft() for _ in range(size)]
            key = f"apportion-{self.plan.name}-{id(self):x}-{next(self._numbers)}"
            future = self.client.submit(
                task,
                *(self.plan.name, places, self.plan.ask, self._workers[worker]),
                key=key,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
            self._flying[key] = _Flight(worker, places, future)
            future.add_done_callback(lambda done: self._landed.put(done.key))

    def _answers(self, flight: _Flight, todo: deque[int], failed: dict[int, str]) -> list[dict[str, Any]]:
        """The answers of a batch that came to an end; none if it did not come to a good one."""
        from distributed import KilledWorker

        if flight.future.status == "error" and not isinstance(error := flight.future.exception(), KilledWorker):
            if isinstance(error, SweepError):  # of the worker itself, not of a point
                raise SweepError(error.lines)
            said = str(error).splitlines()
            failed.update(dict.fromkeys(flight.places, f"{type(error).__name__}: {said[0] if said else 'no reason'}"))
            return []
        if flight.future.status != "finished":
            self._look(failed)  # raises if the cluster is lost
            self._lost(flight, failed)
            return []
        try:
            answers: list[dict[str, Any]] = json.loads(flight.future.result(timeout=GATHER_S))
        except (TimeoutError, OSError, CancelledError):  # the worker died after its work, before it handed it in
            todo.extend(flight.places)
            return []
        spent_s = sum(answer["spent_s"] for answer in answers)
        self._batch = max(1, min(2 * self._batch, int(BATCH_S * len(answers) / max(spent_s, 1e-6))))
        return answers

    def _lost(self, flight: _Flight, failed: dict[int, str]) -> None:
        """A batch whose worker is gone: what comes in its place does not get it by itself."""
        flight.future.cancel()
        self._workers.pop(flight.worker, None)
        failed.update(dict.fromkeys(flight.places, KILLED))

    def _look(self, failed: dict[int, str]) -> None:
        """See which workers there are, and whose batches are lost."""
        try:
            if self.client.status != "running":
                raise SweepError("the scheduler is gone")
            known = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError) as error:
            raise SweepError(f"the scheduler is gone: {error}") from None
        self._workers = {address: int(worker["nthreads"]) for address, worker in known.items()}
        for key in [key for key, flight in self._flying.items() if flight.worker not in self._workers]:
            self._lost(self._flying.pop(key), failed)


def now_s() -> float:
    """Seconds on a clock that never goes back."""
    return time.monotonic()


@dataclass(frozen=True)
class Swept:
    """What a sweep found."""

    plan: Plan
    table: "pd.DataFrame"
    """One row per point and configuration, as in `points.csv`."""
    documents: Mapping[str, dict[str, Any]]
    """Of each finished point, by its hash; read each time that one is asked for, so that memory holds none of them."""
    failed: dict[str, str]
    """Why points have no answer, by their hash."""
    spent: dict[str, Any]
    """Points run now, and seconds in all."""

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The table row by row."""
        for first in range(0, len(self.table), ROWS_AT_ONCE):
            yield from (
                {str(name): value for name, value in row.items()}
                for row in self.table[first : first + ROWS_AT_ONCE].to_dict(orient="records")
            )


def sweep(
    plan: Plan,
    where: Callable[[], AbstractContextManager["Client"]] | None,
    *,
    folder: Path | None = None,
    resume: bool = False,
    form: Form = "csv",
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    waiting: Callable[[], None] = lambda: None,
) -> Swept:
    """Have all points of a plan answered.

    Raises ScenarioError if the folder holds other results or another process is at it, or pyarrow is asked for and not
    installed; SweepError, Interrupted if the cluster is lost, the disk is full, or the user stops it; what is finished
    is kept.

    `where`: the Dask cluster: `local` or `existing` with its argument; None for this process, one by one.
    `folder`: where each point is kept as soon as it is finished, and where table and manifest go; nowhere if None.
    `resume`: go on with what is finished there.
    `form`: of the tables there: `csv`, or `parquet` where pyarrow is installed.
    `progress`: called with how many points are done, of how many.
    `waiting`: called now and then while no worker is there.
    """
    keep = Keep(plan, folder, form)
    with keep.begun(resume=resume):
        return _swept(keep, where, progress, waiting)


def _swept(
    keep: Keep,
    where: Callable[[], AbstractContextManager["Client"]] | None,
    progress: Callable[[int, int], None],
    waiting: Callable[[], None],
) -> Swept:
    plan = keep.plan
    todo = [place for place, point in enumerate(plan.points) if point.hash not in keep.documents]
    failed: dict[str, str] = {}
    begun_s, answered = now_s(), 0

    def tell(answer: dict[str, Any]) -> None:
        nonlocal answered
        answered += 1
        point = plan.points[answer["place"]]
        if answer["text"] is None:
            failed[point.hash] = "; ".join(line.replace("--set ", "", 1) for line in answer["errors"])
        else:
            keep.documents.put(point.hash, answer["text"])
        progress(len(plan.points) - len(todo) + answered, len(plan.points))

    try:
        if todo and where is None:
            answer_here(plan, todo, tell)
        elif todo and where is not None:
            with where() as client:
                lost = Dispatcher(client, plan, tell, waiting).work_off(todo)
            failed |= {plan.points[place].hash: reason for place, reason in lost.items()}
        spent = {"run_now": len(todo), "seconds": round(now_s() - begun_s, 3)}
        frame = keep.close(failed, {"spent": spent})
    except KeyboardInterrupt:
        raise Interrupted(_kept(keep, "stopped")) from None
    except SweepError as error:
        raise SweepError(_kept(keep, error.lines[0])) from None
    return Swept(plan, frame, keep.documents, failed, spent)


def answer_alone(plan: Plan, point: Point) -> str:
    """The answer of one point, found in this process: the text that its file has, to the byte."""
    return Ready.of_plan(plan).answer(plan.points.index(point), plan.ask, threads=cores_here())


def _kept(keep: Keep, why: str) -> str:
    done, count = len(keep.documents), len(keep.plan.points)
    where = "" if keep.folder is None else f" in {keep.folder}: --resume goes on"
    return f"{why}: {done} of {count} points {'finished' if keep.folder is None else 'kept'}{where}"

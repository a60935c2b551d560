"""Sweeps: many points of a scenario on Dask, here or on other machines; what is finished is not lost or run twice.

The dispatcher: hands points to Dask's workers, one batch at a time each, and finds out which point kills them.

What every Dask worker of a sweep holds, those that come later too, and the task that is done there.
"""

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
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from distributed import Worker, WorkerPlugin, get_worker

from simulator.base.errors import Interrupted, SweepError
from simulator.experiments.sweep.clusters import SLURM_HELP, cores_here, existing, local, slurm, slurm_options
from simulator.experiments.sweep.folder import Keep, keeping, more_truths, run_or_recall
from simulator.experiments.sweep.plan import Ask, Plan, Point, make_plan, version_of
from simulator.experiments.sweep.work import Ready, answer_batch, answer_here, simulated
from simulator.results.files import makespans_s as configurations_of
from simulator.results.tables import Form

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client, Future

__all__ = [
    "SLURM_HELP",
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
    "slurm",
    "slurm_options",
    "sweep",
    "version_of",
]


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


BATCH_S = 0.5
"""Cheap points are handed out together as far as they take so long: what is not handed in yet is lost with a worker."""
GATHER_S = 20.0
"""How long a finished batch may take to come from its worker."""
LOOK_S = 1.0
"""How often to look who is there, in addition to the scheduler's news."""

Tell = Callable[[dict[str, Any]], None]
"""Given each answer: `place`, `text` or `errors`, `asked_s`, `spent_s`; and `way_s`, its share of the time that the
worker was free for it and not at it: handing out and in."""


@dataclass
class _Flight:
    """A batch on its way."""

    worker: str
    places: list[int]
    future: "Future[str]"
    free_s: float
    """Since when the worker had nothing to do."""


@dataclass
class Dispatcher:
    """Points of one plan, handed to the workers of one Dask cluster."""

    client: "Client"
    plan: Plan
    tell: Tell
    waiting: Callable[[], None] = lambda: None
    """Called each time that there is work and no worker."""
    _workers: dict[str, int] = field(default_factory=dict)
    _events: SimpleQueue[tuple[str, Any]] = field(default_factory=SimpleQueue)
    _flying: dict[str, _Flight] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=count)
    _free_s: dict[str, float] = field(default_factory=dict)
    _batch: int = 1

    def work_off(self, places: Sequence[int]) -> dict[int, str]:
        """Have all points answered; those that could not be, by their place, with the reason.

        What a worker died of, or failed at, is tried once more alone, when nothing else is being worked at.

        Raises
        ------
        SweepError
            If the cluster is lost.
        """
        plan = self.plan
        stock = Stock(plan.name, plan.payload(), ours=self.client.cluster is not None)
        self.client.register_plugin(stock, name=plan.name)
        self.client.subscribe_topic("all", self._heard)
        try:
            suspects = self._round(places, alone=False)
            return self._round(sorted(suspects), alone=True)
        finally:
            with suppress(OSError, TimeoutError, ValueError):
                self.client.unsubscribe_topic("all")
                self.client.unregister_worker_plugin(plan.name)

    def _round(self, places: Sequence[int], *, alone: bool) -> dict[int, str]:
        """Each point once; what became of those without an answer."""
        todo, failed = deque(places), dict[int, str]()
        self._look()
        while todo or self._flying:
            self._hand_out(todo, alone=alone)
            try:
                kind, what = self._events.get(timeout=LOOK_S)
            except Empty:
                self._look()
                if todo and not self._workers:
                    self.waiting()
                gone = {key for key, flight in self._flying.items() if flight.worker not in self._workers}
                kind, what = "gone", gone
            if kind == "come":
                self._look()
            elif kind == "gone":
                for key in what & self._flying.keys():
                    self._lost(key, failed)
                self._look()
            elif what in self._flying:
                answers = self._landed(what, todo, failed)
                self._hand_out(todo, alone=alone)  # the worker does not wait until its answers are kept
                for answer in answers:
                    self.tell(answer)
        return failed

    def _hand_out(self, todo: deque[int], *, alone: bool) -> None:

        busy = {flight.worker for flight in self._flying.values()}
        for worker, threads in self._workers.items():
            if not todo or (alone and self._flying):
                return
            if worker in busy:
                continue
            size = 1 if alone else max(1, min(self._batch, len(todo) // (2 * len(self._workers))))
            places = [todo.popleft() for _ in range(size)]
            key = f"apportion-{self.plan.name}-{id(self):x}-{next(self._numbers)}"
            future = self.client.submit(
                task,
                *(self.plan.name, places, self.plan.ask, threads),
                key=key,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
            self._flying[key] = _Flight(worker, places, future, self._free_s.pop(worker, now_s()))
            future.add_done_callback(lambda done: self._events.put(("done", done.key)))

    def _landed(self, key: str, todo: deque[int], failed: dict[int, str]) -> list[dict[str, Any]]:
        """The answers of a batch that came to an end; none if it did not come to a good one."""
        flight = self._flying[key]
        if flight.future.status == "error":
            from distributed import KilledWorker

            error = flight.future.exception()
            if isinstance(error, KilledWorker):
                self._lost(key, failed)
                return []
            if isinstance(error, SweepError):  # of the worker itself, not of a point
                raise SweepError(error.lines)
            del self._flying[key]
            said = str(error).splitlines()
            failed.update(dict.fromkeys(flight.places, f"{type(error).__name__}: {said[0] if said else 'no reason'}"))
            return []
        if flight.future.status != "finished":
            self._look()  # raises if the cluster is lost
            self._lost(key, failed)
            return []
        del self._flying[key]
        try:
            answers = json.loads(flight.future.result(timeout=GATHER_S))
        except (TimeoutError, OSError, CancelledError):  # the worker died after its work, before it handed it in
            todo.extend(flight.places)
            return []
        landed_s = self._free_s[flight.worker] = now_s()
        spent_s = sum(answer["spent_s"] for answer in answers)
        way_s = max(0.0, landed_s - flight.free_s - spent_s) / len(answers)
        self._batch = max(1, min(2 * self._batch, int(BATCH_S * len(answers) / max(spent_s, 1e-6))))
        return [{**answer, "way_s": way_s} for answer in answers]

    def _lost(self, key: str, failed: dict[int, str]) -> None:
        """A batch whose worker is gone: what comes in its place does not get it by itself."""
        flight = self._flying.pop(key)
        flight.future.cancel()
        self._workers.pop(flight.worker, None)
        failed.update(dict.fromkeys(flight.places, "its worker was killed, and once more when it was tried alone"))

    def _heard(self, event: tuple[float, dict[str, Any]]) -> None:
        """The scheduler's news, which comes in a thread of Dask's."""
        news = event[1]
        if news.get("action") == "add-worker":
            self._events.put(("come", news["worker"]))
        elif news.get("action") == "remove-worker":
            self._events.put(("gone", {str(key) for key in news.get("processing-tasks", ())}))

    def _look(self) -> None:
        """See which workers there are, and how many threads each has."""
        try:
            if self.client.status != "running":
                raise SweepError("the scheduler is gone")
            known = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError) as error:
            raise SweepError(f"the scheduler is gone: {error}") from None
        self._workers = {address: int(worker["nthreads"]) for address, worker in known.items()}


def now_s() -> float:
    """Seconds on a clock that never goes back."""
    return time.monotonic()


ROWS_AT_ONCE = 1000


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
    """Points run now, seconds in all, and medians per point of asking, and of all else that keeps a worker from it."""

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

    Parameters
    ----------
    where
        The Dask cluster: `local`, `existing` or `slurm` with its arguments; None for this process, one by one.
    folder
        Where each point is kept as soon as it is finished, and where table and manifest go; nowhere if None.
    resume
        Go on with what is finished there.
    form
        Of the tables there: `csv`, or `parquet` where pyarrow is installed.
    progress
        Called with how many points are done, of how many.
    waiting
        Called now and then while no worker is there.

    Raises
    ------
    ScenarioError
        If the folder holds other results or another process is at it, or pyarrow is asked for and not installed.
    SweepError, Interrupted
        If the cluster is lost, the disk is full, or the user stops it; what is finished is kept.
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
    times: list[tuple[float, float]] = []
    begun = now_s()

    def tell(answer: dict[str, Any]) -> None:
        point = plan.points[answer["place"]]
        if answer["text"] is None:
            failed[point.hash] = "; ".join(line.replace("--set ", "", 1) for line in answer["errors"])
        else:
            keep.documents.put(point.hash, answer["text"])
            times.append((answer["asked_s"], answer["spent_s"] - answer["asked_s"] + answer["way_s"]))
        progress(len(plan.points) - len(todo) + len(times) + len(failed), len(plan.points))

    try:
        if todo:
            lost = _work_off(plan, where, todo, tell=tell, waiting=waiting)
            failed |= {plan.points[place].hash: reason for place, reason in lost.items()}
        spent = {"run_now": len(todo), "seconds": round(now_s() - begun, 3), **_medians(times)}
        frame = keep.close(failed, {"spent": spent})
    except KeyboardInterrupt:
        raise Interrupted(_kept(keep, "stopped")) from None
    except SweepError as error:
        raise SweepError(_kept(keep, error.lines[0])) from None
    return Swept(plan, frame, keep.documents, failed, spent)


def _work_off(
    plan: Plan,
    where: Callable[[], AbstractContextManager["Client"]] | None,
    todo: list[int],
    *,
    tell: Callable[[dict[str, Any]], None],
    waiting: Callable[[], None],
) -> dict[int, str]:
    """Have points answered, here or there; why some have no answer, by their place."""
    if where is None:
        answer_here(plan, todo, tell)
        return {}
    with where() as client:
        return Dispatcher(client, plan, tell, waiting).work_off(todo)


def _medians(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Seconds of asking, and of all else, per point."""
    if not times:
        return {}
    return {
        "median_asked_s": median(asked for asked, _ in times),
        "median_beside_s": median(rest for _, rest in times),
    }


def answer_alone(plan: Plan, point: Point) -> str:
    """The answer of one point, found in this process: the text that its file has, to the byte.

    Raises
    ------
    ApportionError
        If the point fails.
    """
    ready = Ready.of_plan(plan)
    return ready.answer(plan.points.index(point), plan.ask, threads=cores_here())[0]


def _kept(keep: Keep, why: str) -> str:
    done, count = len(keep.documents), len(keep.plan.points)
    where = "" if keep.folder is None else f" in {keep.folder}: --resume goes on"
    return f"{why}: {done} of {count} points {'finished' if keep.folder is None else 'kept'}{where}"

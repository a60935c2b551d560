"""Sweeps: many points of a scenario, in processes here or by Dask; what is finished is not lost or run twice."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from simulator.base.documents import read_keys
from simulator.base.errors import Interrupted, SweepError
from simulator.experiments.sweep.folder import Keep, keeping, more_truths, reached, run_or_recall
from simulator.experiments.sweep.plan import Ask, Document, Plan, Point, make_plan, version_of
from simulator.experiments.sweep.processes import Workers, cores_here, local
from simulator.experiments.sweep.work import Answer, Ready, answer_here, compile_first, simulated, times_of
from simulator.results.files import makespans_s as configurations_of
from simulator.results.files import reaches_s
from simulator.results.tables import Form

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Ask",
    "Plan",
    "Point",
    "Ready",
    "Swept",
    "Where",
    "answer_alone",
    "compile_first",
    "configurations_of",
    "cores_here",
    "existing",
    "keeping",
    "local",
    "make_plan",
    "more_truths",
    "reached",
    "reaches_s",
    "run_or_recall",
    "simulated",
    "sweep",
    "times_of",
    "version_of",
]
BATCH_S = 0.5
"""Cheap points are handed out together as far as they take so long: what is not handed in yet is lost with a worker."""
AHEAD = 2
"""Batches under way for each worker, so that none waits for the next one."""
GATHER_S = 20.0
"""How long a finished batch may take to come from its worker."""
LOOK_S = 0.5
"""How often to look how many workers are there."""
Tell = Callable[[Answer], None]
Where = Callable[[Plan], AbstractContextManager[Workers]]
"""What answers a plan: `partial(local, 2)`, `partial(existing, "tcp://host:8786")`."""
KILLED = "its worker was killed, and once more when it was tried alone"
ROWS_AT_ONCE = 1000


def existing(address: str, plan: Plan) -> AbstractContextManager[Workers]:
    """The workers of a Dask scheduler that somebody started."""
    from simulator.experiments.sweep import scheduler  # Dask takes a while to load

    return scheduler.existing(address, plan)


@dataclass
class Dispatcher:
    """Points of one plan in batches, as many under way as keep the workers busy."""

    workers: Workers
    tell: Tell
    waiting: Callable[[], None]
    """Called now and then while there is work and no worker."""
    _landed: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    _flying: dict[Any, list[int]] = field(default_factory=dict)
    _batch: int = 1

    def work_off(self, places: Sequence[int]) -> dict[int, str]:
        """Have all points answered; those that could not be, by their place, with the reason.

        What a worker died of, or failed at, is tried once more alone, when nothing else is being worked at.
        """
        suspects = self._round(places, alone=False)
        return self._round(sorted(suspects), alone=True)

    def _round(self, places: Sequence[int], *, alone: bool) -> dict[int, str]:
        """Each point once; what became of those without an answer."""
        todo, failed, looked_s, count = deque(places), dict[int, str](), -LOOK_S, 0
        while todo or self._flying:
            if time.monotonic() - looked_s >= LOOK_S:
                count, looked_s = self.workers.count(), time.monotonic()
                if todo and not count:
                    self.waiting()
            self._hand_out(todo, count, alone=alone)
            with suppress(Empty):
                answers = self._answers(self._landed.get(timeout=LOOK_S), todo, failed)
                self._hand_out(todo, count, alone=alone)  # no worker waits until answers are kept
                for answer in answers:
                    self.tell(answer)
        return failed

    def _hand_out(self, todo: deque[int], count: int, *, alone: bool) -> None:
        while todo and len(self._flying) < (min(count, 1) if alone else AHEAD * count):
            size = 1 if alone else max(1, min(self._batch, len(todo) // (AHEAD * count)))
            places = [todo.popleft() for _ in range(size)]
            future = self.workers.submit(places)
            self._flying[future] = places
            future.add_done_callback(self._landed.put)

    def _answers(self, future: Any, todo: deque[int], failed: dict[int, str]) -> Sequence[Answer]:
        """The answers of a batch that came to an end; none if it did not come to a good one."""
        places = self._flying.pop(future)
        try:
            error = future.exception(timeout=GATHER_S)
            if isinstance(error, CancelledError):  # Dask hands it back
                raise error
            text = "" if error is not None else future.result(timeout=GATHER_S)
        except (TimeoutError, OSError, CancelledError):  # lost on its way
            self.workers.count()  # raises if all is lost
            todo.extend(places)
            return []
        if error is not None:
            if isinstance(error, SweepError):  # of the worker itself, not of a point
                raise SweepError(error.lines)
            said = (str(error).splitlines() or ["no reason"])[0]
            reason = KILLED if isinstance(error, self.workers.killed) else f"{type(error).__name__}: {said}"
            failed.update(dict.fromkeys(places, reason))
            return []
        answers: tuple[Answer, ...] = read_keys({"answers": json.loads(text)}, answers=tuple[Answer, ...])["answers"]
        spent_s = sum(answer.spent_s for answer in answers)
        self._batch = max(1, min(2 * self._batch, int(BATCH_S * len(answers) / max(spent_s, 1e-6))))
        return answers


@dataclass(frozen=True)
class Swept:
    """What a sweep found."""

    plan: Plan
    table: "pd.DataFrame"
    """One row per point and configuration, as in `points.csv`."""
    documents: Mapping[str, Document]
    """Of each finished point, by its hash; read each time that one is asked for, so that memory holds none of them."""
    failed: dict[str, str]
    """Why points have no answer, by their hash."""
    spent: dict[str, float]
    """Points run now, `run_now`, and `seconds` in all."""

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
    where: Where | None,
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

    `where`: what answers; None for this process, one by one.
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
    where: Where | None,
    progress: Callable[[int, int], None],
    waiting: Callable[[], None],
) -> Swept:
    plan = keep.plan
    todo = [place for place, point in enumerate(plan.points) if point.hash not in keep.documents]
    failed: dict[str, str] = {}
    begun_s, answered = time.monotonic(), 0

    def tell(answer: Answer) -> None:
        nonlocal answered
        answered += 1
        point = plan.points[answer.place]
        if answer.errors:
            failed[point.hash] = "; ".join(line.replace("--set ", "", 1) for line in answer.errors)
        else:
            keep.documents.put(point.hash, answer.text)
        progress(len(plan.points) - len(todo) + answered, len(plan.points))

    try:
        if todo and where is None:
            answer_here(plan, todo, tell, cores_here())
        elif todo and where is not None:
            compile_first(plan, len(todo))
            with where(plan) as workers:
                lost = Dispatcher(workers, tell, waiting).work_off(todo)
            failed |= {plan.points[place].hash: reason for place, reason in lost.items()}
        spent = {"run_now": len(todo), "seconds": round(time.monotonic() - begun_s, 3)}
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

"""Sweeps: many points of a scenario on Dask, here or on other machines; what is finished is not lost or run twice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from simulator.base.errors import Interrupted, SweepError
from simulator.experiments.sweep.clusters import cores_here, existing, local
from simulator.experiments.sweep.dispatch import Dispatcher, now_s
from simulator.experiments.sweep.folder import Keep, keeping, more_truths, run_or_recall
from simulator.experiments.sweep.plan import Ask, Plan, Point, make_plan, version_of
from simulator.experiments.sweep.slurm import SLURM_HELP, slurm, slurm_options
from simulator.experiments.sweep.work import Ready, answer_here, simulated
from simulator.results.files import makespans_s as configurations_of
from simulator.results.tables import Form

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

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
        Told how many points are done, of how many.
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

    def told(answer: dict[str, Any]) -> None:
        point = plan.points[answer["place"]]
        if answer["text"] is None:
            failed[point.hash] = "; ".join(line.replace("--set ", "", 1) for line in answer["errors"])
        else:
            keep.documents.put(point.hash, answer["text"])
            times.append((answer["asked_s"], answer["spent_s"] - answer["asked_s"] + answer["way_s"]))
        progress(len(plan.points) - len(todo) + len(times) + len(failed), len(plan.points))

    try:
        if todo:
            lost = _work_off(plan, where, todo, told=told, waiting=waiting)
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
    told: Callable[[dict[str, Any]], None],
    waiting: Callable[[], None],
) -> dict[int, str]:
    """Have points answered, here or there; why some have no answer, by their place."""
    if where is None:
        answer_here(plan, todo, told)
        return {}
    with where() as client:
        return Dispatcher(client, plan, told, waiting).work_off(todo)


def _medians(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Seconds of asking and beside it, per point."""
    if not times:
        return {}
    return {
        "median_asked_s": median(asked for asked, _ in times),
        "median_beside_s": median(beside for _, beside in times),
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

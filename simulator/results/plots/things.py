"""The figure of any model or result of the simulator."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

from simulator.base import intervals
from simulator.base.errors import ScenarioError
from simulator.base.figures import Drawing
from simulator.results.plots import fits, jobs, loads, outcome, speeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(thing: object, *, over: str | None = None, level: float = intervals.LEVEL, ax: "Axes | None" = None) -> "Axes":
    """Draw what `drawing_of` draws on axes: those of a new figure of a column's width by default."""
    return drawing_of(thing, over=over, level=level).axes(ax)


def drawing_of(thing: object, *, over: str | None = None, level: float = intervals.LEVEL) -> Drawing:
    """The figure of a model, a load trace, a set of runs or the runs of a stream of jobs.

    Raises ScenarioError if it is nothing that can be drawn.

    `over`: the parameter below a run-time model; the first one by default.
    """
    from simulator.engines.job_queue import JobRuns
    from simulator.engines.run_set import RunSet
    from simulator.models.load import LoadTrace
    from simulator.models.memory.model import MemoryModel
    from simulator.models.neighbours_file import NeighboursModel
    from simulator.models.network.file import NetworkFile
    from simulator.models.process_count.file import AllocationFit
    from simulator.models.regression.runtime_model import RuntimeModel
    from simulator.models.speed import SpeedBand, SpeedSurface

    match thing:
        case RunSet():
            rows = [outcome.Makespan.of(row["name"], SimpleNamespace(**row)) for row in thing.summary(level=level)]
            found = outcome.makespans(rows, level=level)
        case JobRuns():
            found = jobs.waits({thing.policy.name: thing.wait_s})
        case SpeedBand() | SpeedSurface():
            found = speeds.speed(thing)
        case NetworkFile():
            found = fits.network(thing)
        case AllocationFit():
            found = fits.process_counts(thing)
        case RuntimeModel():
            found = fits.runtime(thing, over=over, level=level)
        case LoadTrace():
            found = loads.load(thing)
        case NeighboursModel():
            found = fits.neighbours(thing)
        case MemoryModel():
            found = fits.memory(thing)
        case _:
            raise ScenarioError(f"nothing draws {type(thing).__name__}; give a model, a load trace or runs")
    if not found:
        raise ScenarioError(f"there is nothing to draw of this {type(thing).__name__}")
    return found

"""One function that draws any model or result of the simulator, on axes of the caller's or of a new figure."""

from typing import TYPE_CHECKING

from simulator.base import intervals
from simulator.base.errors import ScenarioError
from simulator.results.plots.fits import plot_memory, plot_neighbours, plot_network, plot_process_counts, plot_runtime
from simulator.results.plots.jobs import plot_waits
from simulator.results.plots.load import plot_load
from simulator.results.plots.outcome import plot_makespans
from simulator.results.plots.speed import plot_speed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(thing: object, *, over: str | None = None, level: float = intervals.LEVEL, ax: "Axes | None" = None) -> "Axes":
    """Draw a model, a load trace, a set of runs or the runs of a stream of jobs.

    Parameters
    ----------
    over
        The parameter below a run-time model; the first one by default.
    level
        How often the intervals of runs and run times hold.
    ax
        Where to draw; axes of a new figure by default.

    Raises
    ------
    ScenarioError
        If it is nothing that can be drawn.
    """
    from simulator.engines.job_queue import JobRuns
    from simulator.engines.run_set import RunSet
    from simulator.models.load import LoadTrace
    from simulator.models.memory.model import MemoryModel
    from simulator.models.neighbours_file import NeighboursModel
    from simulator.models.network.file import CalibratedNetwork
    from simulator.models.process_count.fitting import AllocationFit
    from simulator.models.regression.runtime_model import RuntimeModel
    from simulator.models.speed import SpeedBand, SpeedSurface

    match thing:
        case RunSet():
            rows = [{"name": one["name"], "predicted_makespan_s": one} for one in thing.summary(level=level)]
            axes = plot_makespans(rows, level=level, ax=ax)
        case JobRuns():
            axes = plot_waits({thing.policy.name: thing.wait_s}, ax=ax)
        case SpeedBand() | SpeedSurface():
            axes = plot_speed(thing, ax=ax)
        case CalibratedNetwork():
            axes = plot_network(thing.to_dict(), ax=ax)
        case AllocationFit():
            axes = plot_process_counts(thing, ax=ax)
        case RuntimeModel():
            axes = plot_runtime(thing, over=over, level=level, ax=ax)
        case LoadTrace():
            axes = plot_load(thing, ax=ax)
        case NeighboursModel():
            axes = plot_neighbours(thing, ax=ax)
        case MemoryModel():
            axes = plot_memory(thing, ax=ax)
        case _:
            raise ScenarioError(f"nothing draws {type(thing).__name__}; give a model, a load trace or runs")
    return axes

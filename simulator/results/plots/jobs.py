"""Jobs of a stream: busy PEs and the queue over time and how long jobs waited."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.base.figures import INK, LINES, NOTHING, Drawing, Panel, label, series, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.base.arrays import Floats
    from simulator.engines.job_queue import JobRuns


_STRETCHES: Final = 300
_POINTS: Final = 240


def busy(runs: "JobRuns") -> Drawing:
    """Draw the PEs that jobs have and the queue over time: mean and range of each of some hundred stretches."""
    import numpy as np

    from simulator.results.job_metrics import over_stretches
    from simulator.results.job_metrics import series as series_of

    found = series_of(runs)
    if found.ticks.size < 2:
        return NOTHING
    count = min(_STRETCHES, int(found.ticks[-1] - found.ticks[0]))
    edges = np.linspace(int(found.ticks[0]), int(found.ticks[-1]), count + 1).astype(np.int64)
    unit_s, unit = time_unit(float((edges[-1] - edges[0]) * runs.tick_s))
    times = edges * (runs.tick_s / unit_s)
    below = f"time in {unit}; mean and range of every {(times[-1] - times[0]) / count:.3g} {unit}"
    panels, said = dict[str, Panel](), []
    for place, (what, values) in enumerate((("busy PEs", found.busy), ("jobs that wait", found.queued))):
        spread = over_stretches(found, values, edges)
        limit = runs.pes if place == 0 else None
        panels[what] = partial(
            _draw_busy, times=times, spread=spread, colour=place, what=what, below=below, limit=limit
        )
        mean = float(np.average(spread[0], weights=np.diff(edges)))
        said.append(f"{what}: mean {mean:.4g}, at most {values.max()}")
    return Drawing("busy", "Busy PEs and queue over time", panels, "; ".join(said), (3.8, 1.9))


def _draw_busy(
    axes: "Axes",
    *,
    times: "NDArray[Any]",
    spread: "Sequence[NDArray[Any]]",
    colour: int,
    what: str,
    below: str,
    limit: int | None,
) -> None:
    import numpy as np

    mean, low, high = spread
    least, most = (np.append(side, side[-1]) for side in (low, high))
    axes.fill_between(times, least, most, step="post", color=series(colour), alpha=0.25, lw=0)
    axes.stairs(mean, times, color=series(colour), baseline=None, lw=1.2)
    top = float(high.max()) if limit is None else limit
    if limit is not None:
        axes.axhline(limit, color=INK, lw=0.9, ls=(0, (1, 2)))
    axes.set(xlim=(times[0], times[-1]), ylim=(0, top * 1.08 or 1), xlabel=below, ylabel=what)
    axes.grid(axis="y")


def waits(waits_s: "Mapping[str, Floats]") -> Drawing:
    """Draw which share of the jobs waited longer than a time: a line per stream, with its mean in the legend.

    `waits_s`: name -> seconds that each job waited; (job,).
    """
    if not any((values > 0).any() for values in waits_s.values()):
        return NOTHING

    def draw(axes: "Axes") -> None:
        for place, (name, values) in enumerate(waits_s.items()):
            _draw_waits(axes, values, f"{label(name)}, mean {units.show_duration(float(values.mean()))}", place)
        axes.set(ylim=(0, 100), xlabel="wait in s", ylabel="% of jobs wait longer")
        _logarithmic(axes)
        axes.grid()

    said = "; ".join(
        f"{label(name)}: {100 * float((values > 0).mean()):.3g} % of {values.size} jobs wait, "
        f"at most {units.show_duration(float(values.max()))}"
        for name, values in waits_s.items()
    )
    return Drawing("waits", "How long jobs wait", {"all": draw}, said, (2.6, 2.0))


def _draw_waits(axes: "Axes", waits_s: "Floats", text: str, place: int) -> None:
    """One stream, by the points that tell it; nothing where no job waits."""
    import numpy as np

    ordered = np.sort(waits_s)
    waited = ordered[ordered > 0]
    low = float(waited[0]) / 2 if waited.size else 1.0
    high = float(waited[-1]) if waited.size else 10.0
    times = np.geomspace(max(low, high / 1e9), high, _POINTS)
    share = 1 - np.searchsorted(ordered, times, side="right") / max(1, ordered.size)
    axes.plot(times, 100 * share, color=series(place), ls=LINES[place % len(LINES)], lw=1.8, label=text)


def _logarithmic(axes: "Axes") -> None:
    """Numbers at the powers of ten as they are written."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e5 else f"1e{round(math.log10(value))}")
    axes.xaxis.set_minor_formatter(lambda _, __: "")

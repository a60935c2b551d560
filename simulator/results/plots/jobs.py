"""Jobs of a stream: busy PEs and the queue over time, who had which PE, slowdown by class, and how long jobs waited."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.base.figures import INK, LINES, NOTHING, Drawing, Panel, label, series, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.base.arrays import Floats, Ints
    from simulator.engines.job_queue import JobRuns


_STRETCHES: Final = 300
_MOST_BOXES: Final = 1200
"""Rectangles of a figure; a longer stream shows its beginning."""
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


def pes(runs: "JobRuns") -> Drawing:
    """Draw which job had which PEs when, if PEs are named: a rectangle per job and range of PEs, coloured by user.

    A stream of more rectangles than a reader can tell apart shows its beginning, and says so.
    """
    import numpy as np

    boxes = _boxes(runs)
    if boxes is None or not boxes[0].size:
        return NOTHING
    job, low, high = boxes
    shown = job.size <= _MOST_BOXES
    start, finish = runs.start_ticks[job] * runs.tick_s, runs.finish_ticks[job] * runs.tick_s
    begin, end = float(start.min()), float(finish.max())
    if not shown:
        end = float(np.partition(start, _MOST_BOXES)[_MOST_BOXES])
    inside = start <= end if shown else start < end
    unit_s, unit = time_unit(end - begin)
    by = runs.stream.user if np.any(runs.stream.user >= 0) else np.arange(len(runs.stream))
    sides = [edge[inside] / unit_s for edge in (start, np.minimum(finish, end))]
    whole = float(runs.finish_ticks.max()) * runs.tick_s - begin
    part = "" if shown else f", the first {(end - begin) / unit_s:.3g} of {whole / unit_s:.4g}"
    below = f"time in {unit}{part}; colours are {'users' if by is runs.stream.user else 'jobs'}"

    def draw(axes: "Axes") -> None:
        _draw_boxes(axes, sides, (low[inside] - 0.5, high[inside] + 0.5), by[job[inside]])
        ends = begin / unit_s, end / unit_s
        axes.set(xlim=ends, ylim=(runs.pes - 0.5, -0.5), ylabel="PE", xlabel=below)

    said = f"{np.unique(job[inside]).size} jobs on {runs.pes} PEs in {units.show_duration(end - begin)}"
    return Drawing("pes", "Jobs on PEs over time", {"all": draw}, said, (3.6, 2.4))


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


def _boxes(runs: "JobRuns") -> "tuple[Ints, Ints, Ints] | None":
    """Job, first and last PE of each range of neighbouring PEs; None if PEs are counted."""
    import numpy as np

    if runs.allocated is None or runs.first_pe is None:
        return None
    job = np.repeat(np.arange(len(runs.stream)), np.diff(runs.first_pe))
    pe = runs.allocated
    follows = (job[1:] == job[:-1]) & (pe[1:] == pe[:-1] + 1)
    begins = np.concatenate(([True], ~follows)) if pe.size else np.zeros(0, dtype=np.bool_)
    ends = np.append(~follows, True) if pe.size else begins
    return job[begins], pe[begins], pe[ends]


def _draw_boxes(axes: "Axes", times: "Sequence[NDArray[Any]]", pes: "Sequence[NDArray[Any]]", owner: "Ints") -> None:
    """Rectangles between two times and two places, coloured by their owners."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    (start, finish), (low, high) = times, pes
    colours = [series(int(index)) for index in owner]
    pairs = ((start, low), (finish, low), (finish, high), (start, high))
    corners = np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)
    axes.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors=INK, linewidths=0.2, alpha=0.75))


def _logarithmic(axes: "Axes") -> None:
    """Numbers at the powers of ten as they are written."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e5 else f"1e{round(math.log10(value))}")
    axes.xaxis.set_minor_formatter(lambda _, __: "")

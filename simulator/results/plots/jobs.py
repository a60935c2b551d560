"""Jobs of a stream: busy PEs and the queue over time, who had which PE, slowdown by class, and how long jobs waited."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.results.plots.frame import (
    INK,
    LINES,
    SERIES,
    Entry,
    drawing,
    label,
    legend,
    name_rows,
    on_axes,
    svg,
    time_unit,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.engines.job_queue import JobRuns
    from simulator.results.job_metrics import JobClass

_STRETCHES: Final = 300
_MOST_BOXES: Final = 1200
"""Rectangles of a figure; a longer stream shows its beginning."""
_POINTS: Final = 240


def busy_svg(runs: "JobRuns", *, name: str = "busy") -> str:
    """Draw the PEs that jobs have and the queue over time: mean and range of each of some hundred stretches.

    Parameters
    ----------
    runs
        Of one stream.
    name
        Begins the ids of the figure.
    """
    import numpy as np

    from simulator.results.job_metrics import over_stretches, series

    found = series(runs)
    if found.ticks.size < 2:
        return ""
    count = min(_STRETCHES, int(found.ticks[-1] - found.ticks[0]))
    edges = np.linspace(int(found.ticks[0]), int(found.ticks[-1]), count + 1).astype(np.int64)
    unit_s, unit = time_unit(float((edges[-1] - edges[0]) * runs.tick_s))
    times = edges * (runs.tick_s / unit_s)
    panels = (("busy PEs", found.busy), ("jobs that wait", found.queued))
    parts = []
    with drawing(height_in=3.8) as figure:
        grid = figure.subplots(2, 1, sharex=True)
        for axes, colour, (what, values) in zip(grid, SERIES, panels, strict=False):
            mean, low, high = over_stretches(found, values, edges)
            sides = [np.append(side, side[-1]) for side in (low, high)]
            axes.fill_between(times, *sides, step="post", color=colour, alpha=0.25, lw=0)
            axes.stairs(mean, times, color=colour, baseline=None, lw=1.2)
            axes.set_title(what)
            axes.set(xlim=(times[0], times[-1]), ylim=(0, float(high.max()) * 1.08 or 1))
            axes.grid(axis="y")
            parts.append(f"{what}: mean {float(np.average(mean, weights=np.diff(edges))):.4g}, at most {values.max()}")
        grid[0].axhline(runs.pes, color=INK, lw=0.9, ls=(0, (1, 2)))
        grid[0].set_ylim(0, runs.pes * 1.08)
        grid[1].set_xlabel(f"time in {unit}; mean and range of every {(times[-1] - times[0]) / count:.3g} {unit}")
        return svg(figure, name=name, title="Busy PEs and queue over time", description="; ".join(parts))


def pes_svg(runs: "JobRuns", *, name: str = "pes") -> str:
    """Draw which job had which PEs when, if PEs are named: a rectangle per job and range of PEs, coloured by user.

    A stream of more rectangles than a reader can tell apart shows its beginning, and says so.

    Parameters
    ----------
    runs
        Of one stream.
    name
        Begins the ids of the figure.
    """
    import numpy as np

    boxes = _boxes(runs)
    if boxes is None or not boxes[0].size:
        return ""
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
    with drawing(height_in=3.6) as figure:
        axes = figure.subplots()
        _draw_boxes(axes, sides, (low[inside] - 0.5, high[inside] + 0.5), by[job[inside]])
        axes.set(xlim=(begin / unit_s, end / unit_s), ylim=(runs.pes - 0.5, -0.5), ylabel="PE")
        whole = float(runs.finish_ticks.max()) * runs.tick_s - begin
        part = "" if shown else f", the first {(end - begin) / unit_s:.3g} of {whole / unit_s:.4g}"
        axes.set_xlabel(f"time in {unit}{part}; colours are {'users' if by is runs.stream.user else 'jobs'}")
        summary = f"{np.unique(job[inside]).size} jobs on {runs.pes} PEs in {units.show_duration(end - begin)}"
        return svg(figure, name=name, title="Jobs on PEs over time", description=summary)


def class_slowdown_svg(classes: "Sequence[JobClass]", *, what: str, name: str = "classes") -> str:
    """Draw mean and 95th percentile of the bounded slowdown by class.

    Parameters
    ----------
    classes
        In their order; `simulator.results.job_metrics.by_class`.
    what
        What the classes are of: `processors`.
    name
        Begins the ids of the figure.
    """
    if not classes:
        return ""
    with drawing(height_in=1.2 + 0.36 * len(classes)) as figure:
        axes = figure.subplots()
        rows = [(f"{one.label} ({one.jobs})", one.bounded_slowdown, one.bounded_slowdown_p95) for one in classes]
        _draw_classes(axes, rows, what=what)
        legend(figure, [axes])
        summary = "; ".join(f"{one.label}: mean {one.bounded_slowdown:.4g} over {one.jobs} jobs" for one in classes)
        return svg(figure, name=name, title=f"Bounded slowdown by {what}", description=summary)


def waits_svg(runs: "JobRuns", kept: "NDArray[np.bool_]", *, name: str = "waits") -> str:
    """Draw which share of the jobs waited longer than a time, over times on a logarithmic axis.

    Parameters
    ----------
    kept
        The jobs to count; (job,).
    name
        Begins the ids of the figure.
    """
    import numpy as np

    waits = np.sort(runs.wait_s[kept])
    waited = waits[waits > 0]
    if not waited.size:
        return ""
    low = 10 ** (np.ceil(np.log10(waited[0])) - 1)  # below all
    times = np.geomspace(max(float(low), float(waited[-1]) / 1e9), float(waited[-1]), _POINTS)
    share = 1 - np.searchsorted(waits, times, side="right") / waits.size
    with drawing(height_in=2.6) as figure:
        axes = figure.subplots()
        axes.plot(times, 100 * share, color=SERIES[0], lw=1.6)
        axes.axvline(waits.mean(), color=SERIES[1], ls="--", lw=1.4, label=f"mean {units.show_duration(waits.mean())}")
        _logarithmic(axes)
        axes.set(xlim=(times[0], times[-1]), ylim=(0, 100), xlabel="wait in s", ylabel="% of jobs wait longer")
        axes.grid()
        legend(figure, [axes])
        summary = f"{100 * waited.size / waits.size:.3g} % of {waits.size} jobs wait, at most {waited[-1]:.6g} s"
        return svg(figure, name=name, title="How long jobs wait", description=summary)


def plot_classes(classes: Sequence[Entry], *, what: str, ax: "Axes | None" = None) -> "Axes":
    """Draw mean and 95th percentile of the bounded slowdown by class; see `class_slowdown_svg`.

    Parameters
    ----------
    classes
        `label`, `jobs`, `bounded_slowdown`, `bounded_slowdown_p95` of each.
    """
    with on_axes(ax, height_in=0.75 + 0.22 * len(classes)) as axes:
        rows = [
            (f"{one['label']} ({one['jobs']})", one["bounded_slowdown"], one["bounded_slowdown_p95"]) for one in classes
        ]
        _draw_classes(axes, rows, what=what)
    return axes


def _draw_classes(axes: "Axes", rows: "Sequence[tuple[str, float, float]]", *, what: str) -> None:
    """Name, mean and 95th percentile of each class."""
    import numpy as np

    mean, p95 = (np.array([row[part] for row in rows], dtype=float) for part in (1, 2))
    at = np.arange(len(rows))
    axes.barh(at, mean - 1, 0.6, 1.0, color=SERIES[0], label="mean")
    axes.plot(p95, at, color=SERIES[1], ls="", marker="D", ms=5, label="95 % of jobs are below")
    _logarithmic(axes)
    axes.set(xlim=(1, max(float(p95.max()), float(mean.max()), 2.0) * 1.3), ylabel=f"{what} (jobs)")
    name_rows(axes, [row[0] for row in rows], below="bounded slowdown", ends=(len(rows) - 0.5, -0.6))


def plot_waits(waits_s: "Mapping[str, NDArray[np.float64]]", *, ax: "Axes | None" = None) -> "Axes":
    """Draw which share of the jobs waited longer than a time: a line per stream, with its mean in the legend.

    Parameters
    ----------
    waits_s
        Name -> seconds that each job waited; (job,).
    """
    with on_axes(ax, height_in=2.0) as axes:
        for place, (name, values) in enumerate(waits_s.items()):
            _draw_waits(axes, values, f"{label(name)}, mean {units.show_duration(float(values.mean()))}", place)
        axes.set(ylim=(0, 100), xlabel="wait in s", ylabel="% of jobs wait longer")
        _logarithmic(axes)
        axes.grid()
    return axes


def _draw_waits(axes: "Axes", waits_s: "NDArray[np.float64]", text: str, place: int) -> None:
    """One stream, by the points that tell it; nothing where no job waits."""
    import numpy as np

    waits = np.sort(waits_s)
    waited = waits[waits > 0]
    low = float(waited[0]) / 2 if waited.size else 1.0
    high = float(waited[-1]) if waited.size else 10.0
    times = np.geomspace(max(low, high / 1e9), high, _POINTS)
    share = 1 - np.searchsorted(waits, times, side="right") / max(1, waits.size)
    axes.plot(times, 100 * share, color=SERIES[place % len(SERIES)], ls=LINES[place % len(LINES)], lw=1.8, label=text)


def _boxes(runs: "JobRuns") -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None":
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


def _draw_boxes(
    axes: "Axes", times: "Sequence[NDArray[Any]]", pes: "Sequence[NDArray[Any]]", owner: "NDArray[np.int64]"
) -> None:
    """Rectangles between two times and two places, coloured by their owners."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    (start, finish), (low, high) = times, pes
    colours = np.array(SERIES)[owner % len(SERIES)].tolist()
    pairs = ((start, low), (finish, low), (finish, high), (start, high))
    corners = np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)
    axes.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors=INK, linewidths=0.2, alpha=0.75))


def _logarithmic(axes: "Axes") -> None:
    """Numbers at the powers of ten as they are written."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e5 else f"1e{round(math.log10(value))}")
    axes.xaxis.set_minor_formatter(lambda _, __: "")

"""Background load: a trace over time, exactly at its beginning and as far as an eye can tell over its whole length."""

import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from simulator.results.plots.frame import SERIES, Entry, drawing, label, number, on_axes, svg, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.models.load import LoadTrace

_STRETCHES: Final = 200
_LEGIBLE: Final = 60
"""Steps that a figure of this width can show one by one."""


class _Step(NamedTuple):
    start_s: float
    end_s: float
    value: float
    low: float
    high: float


def load_svg(load: Entry | None, *, name: str = "load") -> str:
    """Draw a load trace over time with its mean; a long one as a short exact part, and as a whole in short stretches.

    Parameters
    ----------
    load
        `pe`, `rule` and `trace` with `times_s`, `values` (each holds until the next time) and `end_s`; if the trace
        says its `start` (ISO 8601), times of day stand below it.
    name
        Begins the ids of the figure.
    """
    trace = (load or {}).get("trace") or {}
    steps = _steps(trace.get("times_s") or [], trace.get("values") or [], trace.get("end_s"))
    if load is None or not steps:
        return ""
    what = "share left to us" if load.get("rule") == "given" else "competing processes"
    what = f"{what} on {label(load.get('pe'))}"
    mean, start_s, end_s = _mean(steps), steps[0].start_s, steps[-1].end_s
    long = len(steps) > 2 * _LEGIBLE
    with drawing(height_in=3.7 if long else 2.2) as figure:
        grid = figure.subplots(2 if long else 1, 1, squeeze=False)[:, 0]
        if long:
            part_s = steps[_LEGIBLE].start_s - start_s
            _draw(grid[0], steps[:_LEGIBLE], mean=mean, top=max(step.high for step in steps))
            grid[0].set_title(f"{what}: the first {part_s:.3g} s of {end_s - start_s:.4g} s")
            grid[1].set_title(f"all of it: mean and range of every {(end_s - start_s) / _STRETCHES:.2g} s")
        else:
            grid[0].set_title(what)
        _draw(grid[-1], _thinned(steps) if long else steps, mean=mean, top=max(step.high for step in steps))
        grid[-1].set_xlabel("time in s")
        for axes in grid:
            in_clock_time(axes, str(trace.get("start") or ""), last=axes is grid[-1])
        low, high = min(step.low for step in steps), max(step.high for step in steps)
        description = f"{what} over {end_s - start_s:.4g} s: mean {mean:.2f}, between {low:.3g} and {high:.3g}"
        return svg(figure, name=name, title="Background load over time", description=description)


def plot_load(trace: "LoadTrace", *, rule: str = "fair", ax: "Axes | None" = None) -> "Axes":
    """Draw a whole load trace over time with its mean; a long one as mean and range of short stretches.

    Parameters
    ----------
    rule
        As of a PE's load: what is given is the share left to us, else it is competing processes.
    """
    steps = _steps(trace.times_s.tolist(), trace.values.tolist(), trace.end_s)
    long = len(steps) > 2 * _LEGIBLE
    end_s, mean = float(trace.end_s), _mean(steps)
    unit_s, unit = time_unit(end_s)
    drawn = [step._replace(start_s=step.start_s / unit_s, end_s=step.end_s / unit_s) for step in steps]
    with on_axes(ax, height_in=1.7) as axes:
        _draw(axes, _thinned(drawn) if long else drawn, mean=mean, top=max(step.high for step in steps), named=False)
        stretch = f"; mean and range of every {end_s / unit_s / _STRETCHES:.2g} {unit}" if long else ""
        axes.set(
            xlabel=f"time in {unit}{stretch}", ylabel="share left to us" if rule == "given" else "competing processes"
        )
    return axes


def _draw(axes: "Axes", steps: Sequence[_Step], *, mean: float, top: float, named: bool = True) -> None:
    """Steps and their mean, which says its value at the right, or has a label for a legend."""
    edges = [step.start_s for step in steps] + [steps[-1].end_s]
    if any(step.low < step.high for step in steps):
        low, high = ([*(getattr(step, side) for step in steps), getattr(steps[-1], side)] for side in ("low", "high"))
        axes.fill_between(edges, low, high, step="post", color=SERIES[0], alpha=0.2, lw=0)
    axes.stairs([step.value for step in steps], edges, color=SERIES[0], baseline=None, lw=1.2)
    axes.axhline(mean, color=SERIES[1], ls="--", lw=1.4, label=f"mean {mean:.2f}")
    if named:
        axes.annotate(
            f"mean {mean:.2f}",
            (1, mean),
            xycoords=("axes fraction", "data"),
            xytext=(3, -4),
            textcoords="offset points",
            color=SERIES[1],
            fontsize=10,
        )
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, top * 1.12 or 1))
    axes.grid(axis="y")


_CLOCK_STEPS: Final = (60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def in_clock_time(axes: "Axes", start: str, *, last: bool = True, most: int = 7) -> None:
    """Times of day in place of seconds since a start; nothing where that is not known, or less than a minute is drawn.

    Parameters
    ----------
    start
        ISO 8601, of time 0.
    last
        Whether it says below what its axis is.
    most
        Ticks.
    """
    low, high = axes.get_xlim()
    if not start or high - low < _CLOCK_STEPS[0]:
        return
    begun = datetime.datetime.fromisoformat(start)
    step = next((one for one in _CLOCK_STEPS if (high - low) / one <= most), _CLOCK_STEPS[-1])
    midnight = (begun - begun.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    first = math.ceil((low + midnight) / step - 1e-9) * step - midnight
    ticks = [first + step * place for place in range(int((high - first) / step + 1e-9) + 1)]
    moments = [begun + datetime.timedelta(seconds=tick) for tick in ticks]
    days = len({moment.date() for moment in moments}) > 1
    labels = [f"{_DAYS[moment.weekday()]} {moment:%H:%M}" if days else f"{moment:%H:%M}" for moment in moments]
    axes.set_xticks(ticks, labels, fontsize=9 if days else None)
    if last:
        axes.set_xlabel(f"time of day ({begun.tzname()})" if begun.tzinfo else "time of day")


def _mean(steps: Sequence[_Step]) -> float:
    return sum(step.value * (step.end_s - step.start_s) for step in steps) / sum(s.end_s - s.start_s for s in steps)


def _steps(times: Sequence[object], values: Sequence[object], end: object) -> list[_Step]:
    """The trace as steps, equal neighbours as one; the last lasts until the end, or as long as the one before it."""
    knots = [
        (time, value)
        for time, value in zip(map(number, times), map(number, values), strict=False)
        if time is not None and value is not None
    ]
    if not knots:
        return []
    last = number(end)
    if last is None and len(knots) > 1:
        last = 2 * knots[-1][0] - knots[-2][0]
    steps: list[_Step] = []
    for (start, value), (stop, _) in zip(knots, [*knots[1:], (last or 0.0, 0.0)], strict=True):
        if steps and steps[-1].value == value and steps[-1].end_s == start < stop:
            steps[-1] = steps[-1]._replace(end_s=stop)
        elif stop > start:
            steps.append(_Step(start, stop, value, value, value))
    return steps


def _thinned(steps: Sequence[_Step]) -> list[_Step]:
    """As many steps as a reader can tell apart: each the mean over its stretch, with the extremes seen in it."""
    start_s, end_s = steps[0].start_s, steps[-1].end_s
    width_s = (end_s - start_s) / _STRETCHES
    parts: list[list[_Step]] = [[] for _ in range(_STRETCHES)]
    for step in steps:
        first = int((step.start_s - start_s) / width_s)
        last = int((step.end_s - start_s) / width_s)
        for index in range(first, min(last + 1, _STRETCHES)):
            left, right = start_s + index * width_s, start_s + (index + 1) * width_s
            if min(step.end_s, right) > max(step.start_s, left):
                parts[index].append(step._replace(start_s=max(step.start_s, left), end_s=min(step.end_s, right)))
    return [
        _Step(part[0].start_s, part[-1].end_s, _mean(part), min(s.low for s in part), max(s.high for s in part))
        for part in parts
        if part
    ]

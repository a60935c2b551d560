"""Background load: a trace over time, exactly at its beginning and as far as an eye can tell over its whole length."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from simulator.base.figures import NOTHING, Drawing, Panel, label, number, series, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STRETCHES: Final = 200
_LEGIBLE: Final = 60
"""Steps that a figure of this width can show one by one."""


class _Step(NamedTuple):
    start_s: float
    end_s: float
    value: float
    low: float
    high: float


class Loaded(Protocol):
    """A load over time: each value holds until the next time, the last one until the end."""

    @property
    def times_s(self) -> Any:
        """When values begin."""

    @property
    def values(self) -> Any:
        """Competitors, or shares left to us."""

    @property
    def end_s(self) -> float:
        """When the last value ends."""


def load(trace: Loaded | None, *, rule: str = "fair", pe: str = "") -> Drawing:
    """Draw a load over time with its mean; a long one as a short exact part, and as a whole in short stretches.

    `rule`: as of a PE's load: what is given is the share left to us, else it is competing processes.
    """
    steps = [] if trace is None else _steps(trace.times_s, trace.values, trace.end_s)
    if not steps:
        return NOTHING
    what = "share left to us" if rule == "given" else "competing processes"
    what = f"{what} on {label(pe)}" if pe else what
    mean, low, high = _mean(steps), min(step.low for step in steps), max(step.high for step in steps)
    lasts_s, first, whole = steps[-1].end_s - steps[0].start_s, steps[:_LEGIBLE], steps
    unit_s, unit = time_unit(lasts_s)
    below, panels = f"time in {unit}", dict[str, Panel]()
    show = partial(_draw, mean=mean, top=high, what=what, unit_s=unit_s)
    if len(steps) > 2 * _LEGIBLE:
        whole = _thinned(steps)
        part = f"time in {unit}, the first {(steps[_LEGIBLE].start_s - steps[0].start_s) / unit_s:.3g} {unit}"
        panels["beginning"] = partial(show, steps=first, below=part)
        below += f"; mean and range of every {lasts_s / _STRETCHES / unit_s:.2g} {unit}"
    panels["whole"] = partial(show, steps=whole, below=below)
    said = f"{what} over {lasts_s:.4g} s: mean {mean:.2f}, between {low:.3g} and {high:.3g}"
    height = 3.7 if len(panels) > 1 else 2.2
    return Drawing("load", "Background load over time", panels, said, (height, 1.7), shared=False)


def _draw(
    axes: "Axes", *, steps: Sequence[_Step], mean: float, top: float, what: str, unit_s: float, below: str
) -> None:
    """Steps and their mean."""
    edges = [time_s / unit_s for time_s in (*(step.start_s for step in steps), steps[-1].end_s)]
    if any(step.low < step.high for step in steps):
        low, high = ([*(getattr(step, side) for step in steps), getattr(steps[-1], side)] for side in ("low", "high"))
        axes.fill_between(edges, low, high, step="post", color=series(0), alpha=0.2, lw=0)
    axes.stairs([step.value for step in steps], edges, color=series(0), baseline=None, lw=1.2)
    axes.axhline(mean, color=series(1), ls="--", lw=1.4, label=f"mean {mean:.2f}")
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, top * 1.12 or 1), xlabel=below, ylabel=what)
    axes.grid(axis="y")


def _mean(steps: Sequence[_Step]) -> float:
    return sum(step.value * (step.end_s - step.start_s) for step in steps) / sum(s.end_s - s.start_s for s in steps)


def _steps(times: Iterable[Any], values: Iterable[Any], end: object) -> list[_Step]:
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

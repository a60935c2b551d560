"""Outcomes: predicted makespans, predictions against real runs, differences, and what changes gain."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.base import intervals, units
from simulator.base.figures import (
    INK,
    NOTHING,
    PAPER,
    Drawing,
    head_of_row,
    label,
    name_rows,
    series,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_DIFFERENCES = 24
"""Differences in a figure; the first ones."""
LONGEST = 56
Ends = tuple[float | None, float | None]
"""Of an interval; None where nothing tells them."""
UNKNOWN: Ends = (None, None)


class Makespan(NamedTuple):
    """A predicted makespan, its interval, and where one run lies."""

    name: str
    mean: float
    interval: Ends = UNKNOWN
    runs: Ends = UNKNOWN

    @classmethod
    def of(cls, name: str, said: Any) -> "Makespan":
        """Of a value with `mean`, `low`, `high`, `run_low` and `run_high`."""
        return cls(name, said.mean, (said.low, said.high), (said.run_low, said.run_high))


class Checked(NamedTuple):
    """A configuration that was predicted and really run."""

    name: str
    predicted_s: float
    """The median."""
    range_s: Ends
    """Where one run should lie."""
    measured_s: Sequence[float]
    measured_median_s: float

    @classmethod
    def of(cls, said: Any, name: str = "") -> "Checked":
        """Of a value with these, under another name where one is given."""
        ends = said.predicted_range_s or UNKNOWN
        return cls(name or said.name, said.predicted_s, ends, said.measured_s, said.measured_median_s)


class Apart(NamedTuple):
    """A difference or a gain, with the interval of itself and the wider one that holds for all together."""

    name: str
    mean: float | None
    interval: Ends = UNKNOWN
    together: Ends = UNKNOWN
    sure: bool = False
    """Whether it is one after correction for all."""

    @classmethod
    def of(cls, name: str, gain: Any, together: Any = None) -> "Apart":
        """A gain, of values with `mean`, `low` and `high`; None where they are not known."""
        if gain is None:
            return cls(name, None)
        wide = UNKNOWN if together is None else (together.low, together.high)
        ends = _known(wide)
        return cls(name, gain.mean, (gain.low, gain.high), wide, bool(ends) and not ends[0] <= 1 <= ends[1])


class Spent(NamedTuple):
    """What a run of a point takes, and what it costs."""

    makespan_s: float
    run: float
    front: bool
    """Whether none beats it in both."""
    base: bool


def makespans(
    rows: Sequence[Makespan],
    recommended: str | None = None,
    *,
    mark: str = "recommended",
    level: float = intervals.LEVEL,
    kind: str = "makespans",
) -> Drawing:
    """Draw predicted makespans, a row each: the mean, its interval, and where one run lies.

    `recommended`, `mark`: the name to emphasise, and what that one is.
    """
    if not rows:
        return NOTHING
    largest = max(one.mean for one in rows)
    decimals = min(9, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 0

    def draw(axes: "Axes") -> None:
        for row, one in enumerate(rows):
            best = mark if one.name == recommended else ""
            _draw_prediction(axes, one, row=row, mark=best, decimals=decimals, level=level)
        axes.set_xlim(0, axes.get_xlim()[1] * 1.04)
        names = [label(one.name) for one in rows]
        name_rows(axes, names, below="predicted makespan in s", ends=(len(rows) - 0.5, -0.6))
        for tick, one in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if one.name == recommended else "normal")

    said = [
        f"{label(one.name)}{f' ({mark})' if one.name == recommended else ''} {one.mean:.{decimals}f} s" for one in rows
    ]
    heights = 1.05 + 0.42 * len(rows), 0.75 + 0.24 * len(rows)
    title = f"Predicted makespan{' of each strategy' if kind == 'strategies' else ''}"
    return Drawing(kind, title, {"all": draw}, "mean makespan: " + "; ".join(said), heights)


def _known(ends: Ends | None) -> list[float]:
    """Both ends, or none where one is not known or has no end."""
    known = [end for end in ends or () if end is not None and math.isfinite(end)]
    return known if len(known) == 2 else []


def _draw_prediction(axes: "Axes", one: Makespan, *, row: int, mark: str, decimals: int, level: float) -> None:
    """A row, its mean written at the right."""
    best, percent = bool(mark), f"{100 * level:.4g} %"
    colour = series(1) if best else series(0)
    interval, spread = _known(one.interval), _known(one.runs)
    if interval:
        text = None if best else f"{percent} interval of the mean"
        axes.plot(interval, [row, row], color=colour, lw=13, alpha=0.35, solid_capstyle="butt", label=text)
    if spread:
        text = None if best else f"{percent} of runs"
        axes.plot(spread, [row, row], color=colour, lw=1.4, marker="|", ms=7, label=text)
    axes.plot(one.mean, row, color=colour, ls="", marker="D" if best else "o", ms=5, label=mark or "mean")
    axes.annotate(
        f"{one.mean:.{decimals}f} s",
        (max([one.mean, *spread, *interval]), row),
        xytext=(8, -4),
        textcoords="offset points",
        fontweight="bold" if best else "normal",
        annotation_clip=False,
    )


def verification(rows: Sequence[Checked]) -> Drawing:
    """Draw predicted against measured: the predicted median and range above, every measured repetition below."""
    if not rows:
        return NOTHING

    def draw(axes: "Axes") -> None:
        for row, one in enumerate(rows):
            _draw_verified(axes, one, row=row)
        axes.set_xlim(0, axes.get_xlim()[1])
        name_rows(axes, [label(one.name) for one in rows], below="makespan in s", ends=(len(rows) - 0.5, -0.5))

    heights = 1.05 + 0.66 * len(rows), 0.8 + 0.36 * len(rows)
    said = "; ".join(map(_tell, rows))
    return Drawing("verification", "Predicted against measured", {"all": draw}, said, heights)


def _draw_verified(axes: "Axes", one: Checked, *, row: int) -> None:
    """Every repetition, neighbours on three heights so that none hides another, and their median."""
    above, ink = row - 0.2, series(1)
    if span := _known(one.range_s):
        axes.plot(span, [above] * 2, color=series(0), lw=1.4, marker="|", ms=7, label="predicted, 90 % of runs")
    axes.plot(one.predicted_s, above, color=series(0), ls="", marker="D", ms=6.5, label="predicted median")
    if measured := sorted(one.measured_s):
        median = [one.measured_median_s] * 2
        axes.plot(median, [row + 0.05, row + 0.41], color=INK, lw=1.8, label="measured median")
        heights = [row + 0.16 + 0.07 * (index % 3) for index in range(len(measured))]
        axes.plot(measured, heights, color=ink, ls="", marker="o", ms=5, mfc="none", label="measured run")


def _tell(one: Checked) -> str:
    medians = (("predicted", one.predicted_s), ("measured", one.measured_median_s))
    said = ", ".join(f"{what} median {units.show_duration(value)}" for what, value in medians)
    return f"{label(one.name)}: {said}, {len(one.measured_s)} measured runs"


def differences(
    entries: Sequence[Apart],
    *,
    axis: str,
    title: str = "",
    level: float = intervals.LEVEL,
    less_is_better: bool = True,
    origin: float = 0.0,
    kind: str = "differences",
) -> Drawing:
    """Draw each difference with the interval of itself, and the wider one that holds for all together.

    A filled dot is a difference that is one after correction for all, an open dot one that may be none.

    `axis`: what the axis measures, with its unit.
    `less_is_better`: whether what lies below `origin`, which is no difference, has the colour of gains.
    """
    known = [one for one in entries if one.mean is not None]
    rows = known[:MOST_DIFFERENCES]
    if not rows:
        return NOTHING
    left_out = f"; the first {len(rows)} of {len(known)}" if len(rows) < len(known) else ""

    def draw(axes: "Axes") -> None:
        axes.axvline(origin, color=INK, lw=1)
        for row, one in enumerate(rows):
            below = (one.mean or 0.0) < origin
            _draw_row(axes, row, one, f"{100 * level:.4g} %", series(below != less_is_better), origin=f"{origin:g}")
        name_rows(axes, (), below=f"{axis}{left_out}", ends=(len(rows) - 0.6, -0.8))

    heights = 1.25 + 0.44 * len(rows), 0.85 + 0.27 * len(rows)
    said = "; ".join(_described(one, origin) for one in rows) + left_out
    return Drawing(kind, title or axis, {"all": draw}, said, heights)


def _draw_row(axes: "Axes", row: int, one: Apart, level: str, colour: str, *, origin: str) -> None:
    """Both intervals, the dot, and what they are of above them."""
    if wide := _known(one.together):
        axes.plot(wide, [row, row], color=INK, lw=1, marker="|", ms=7, label=f"{level} of all together")
    if own := _known(one.interval):
        look: Any = {"alpha": 0.6, "solid_capstyle": "butt", "label": f"{level} interval"}
        axes.plot(own, [row, row], color=colour, lw=5, **look)
    said = f"surely not {origin}" if one.sure else f"perhaps {origin}"
    axes.plot(one.mean or 0.0, row, color=INK, mfc=INK if one.sure else PAPER, ls="", marker="o", ms=6, label=said)
    head_of_row(axes, row, label(one.name, most=LONGEST))


def _described(one: Apart, origin: float) -> str:
    ends = _known(one.interval)
    between = f" ({ends[0]:.4g} to {ends[1]:.4g})" if ends else ""
    return f"{label(one.name, most=LONGEST)} {one.mean:.4g}{between}{'' if one.sure else f', perhaps {origin:g}'}"


def gains(changes: Sequence[Apart], *, level: float = intervals.LEVEL) -> Drawing:
    """Draw how many times as fast each change makes a run, in the order given (a tornado, if that is by gain)."""
    about: Any = {"axis": "times as fast as it is", "title": "Gain of each change", "kind": "gains"}
    return differences(changes, **about, level=level, less_is_better=False, origin=1.0)


def costs(points: Sequence[Spent], *, unit: str) -> Drawing:
    """Draw makespan against what a run costs, a dot per point, those that none beats in both as a line."""
    if not points:
        return NOTHING
    front = sorted(one for one in points if one.front)

    def draw(axes: "Axes") -> None:
        rest, base = [one for one in points if not one.front], [one for one in points if one.base]
        axes.plot(*_places(rest), color=series(0), ls="", marker="o", ms=4, alpha=0.55, label="point")
        axes.plot(*_places(front), color=series(1), lw=1, marker="D", ms=5, label="on the front")
        axes.plot(*_places(base), color=INK, ls="", marker="s", ms=9, mfc="none", label="as it is")
        axes.set(xlabel="mean makespan in s", ylabel=f"of a run, {unit}")
        axes.grid()

    said = f"{len(front)} of {len(points)} points on the front"
    return Drawing("costs", f"Makespan against {unit}", {"all": draw}, said, (3.4, 2.4))


def _places(shown: Sequence[Spent]) -> tuple[list[float], list[float]]:
    return [one.makespan_s for one in shown], [one.run for one in shown]

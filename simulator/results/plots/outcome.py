"""Outcomes: predicted makespans, predictions against real runs, differences, sensitivity, and what changes gain."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from simulator.base import intervals, units
from simulator.base.figures import (
    INK,
    LINES,
    NOTHING,
    PAPER,
    Drawing,
    Entry,
    head_of_row,
    label,
    name_rows,
    number,
    numbers,
    series,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_DIFFERENCES = 24
"""Differences in a figure; the first ones."""
LONGEST = 56
_ENDS = ("low", "high"), ("low_together", "high_together")
MOST_PARAMETERS = 12
_HATCHES = ("", "////")
MOST_BARS = 20
"""Changes in a figure: those that gain most, and the last ones those that lose most."""
LONGEST_CHANGE = 44
_MARKERS = ("o", "s", "^", "D", "v", "P")


def makespans(
    rows: Sequence[Entry],
    recommended: str | None = None,
    *,
    mark: str = "recommended",
    level: float = intervals.LEVEL,
    kind: str = "makespans",
) -> Drawing:
    """Draw predicted makespans, a row each: the mean, its interval, and where one run lies.

    `rows`: one entry each: `name`, `predicted_makespan_s` with `mean`, `low`, `high`, `run_low`, `run_high`.
    `recommended`, `mark`: the name to emphasise, and what that one is.
    """
    found = [entry for entry in rows if number(_predicted(entry).get("mean")) is not None]
    if not found:
        return NOTHING
    largest = max(number(_predicted(entry)["mean"]) or 0.0 for entry in found)
    decimals = min(9, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 0

    def draw(axes: "Axes") -> None:
        for row, entry in enumerate(found):
            best = mark if entry.get("name") == recommended else ""
            _draw_prediction(axes, _predicted(entry), row=row, mark=best, decimals=decimals, level=level)
        axes.set_xlim(0, axes.get_xlim()[1] * 1.04)
        names = [label(entry.get("name")) for entry in found]
        name_rows(axes, names, below="predicted makespan in s", ends=(len(found) - 0.5, -0.6))
        for tick, entry in zip(axes.get_yticklabels(), found, strict=True):
            tick.set_fontweight("bold" if entry.get("name") == recommended else "normal")

    said = [
        f"{label(entry.get('name'))}{f' ({mark})' if entry.get('name') == recommended else ''} "
        f"{_predicted(entry)['mean']:.{decimals}f} s"
        for entry in found
    ]
    heights = 1.05 + 0.42 * len(found), 0.75 + 0.24 * len(found)
    title = f"Predicted makespan{' of each strategy' if kind == 'strategies' else ''}"
    return Drawing(kind, title, {"all": draw}, "mean makespan: " + "; ".join(said), heights)


def _predicted(entry: Entry) -> Any:
    return entry.get("predicted_makespan_s") or {}


def _draw_prediction(axes: "Axes", predicted: Entry, *, row: int, mark: str, decimals: int, level: float) -> None:
    """A row, its mean written at the right."""
    best, percent = bool(mark), f"{100 * level:.4g} %"
    colour = series(1) if best else series(0)
    mean = number(predicted.get("mean")) or 0.0
    spread = numbers([predicted.get("run_low"), predicted.get("run_high")])
    interval = numbers([predicted.get("low"), predicted.get("high")])
    if len(interval) == 2:
        text = None if best else f"{percent} interval of the mean"
        axes.plot(interval, [row, row], color=colour, lw=13, alpha=0.35, solid_capstyle="butt", label=text)
    if len(spread) == 2:
        text = None if best else f"{percent} of runs"
        axes.plot(spread, [row, row], color=colour, lw=1.4, marker="|", ms=7, label=text)
    axes.plot(mean, row, color=colour, ls="", marker="D" if best else "o", ms=5, label=mark or "mean")
    axes.annotate(
        f"{mean:.{decimals}f} s",
        (max([mean, *spread, *interval]), row),
        xytext=(8, -4),
        textcoords="offset points",
        fontweight="bold" if best else "normal",
        annotation_clip=False,
    )


def verification(rows: Sequence[Entry], *, from_zero: bool = False) -> Drawing:
    """Draw predicted against measured: the predicted median and range above, every measured repetition below.

    `rows`: one entry per configuration that was run: `name`, `predicted_s`, `predicted_range_s`, `measured_s`,
    `measured_median_s`.
    """
    found = [entry for entry in rows if numbers([entry.get("predicted_s"), *(entry.get("measured_s") or ())])]
    if not found:
        return NOTHING

    def draw(axes: "Axes") -> None:
        for row, entry in enumerate(found):
            _draw_predicted(axes, entry, row=row)
            _draw_measured(axes, entry, row=row)
        names, below = [label(entry.get("name")) for entry in found], "makespan in s"
        if from_zero:
            axes.set_xlim(0, axes.get_xlim()[1])
        else:
            below += " (axis does not begin at 0)"
        name_rows(axes, names, below=below, ends=(len(found) - 0.5, -0.5))

    heights = 1.05 + 0.66 * len(found), 0.8 + 0.36 * len(found)
    said = "; ".join(map(_tell, found))
    title = "Predicted against measured" if from_zero else "Predicted against measured makespan"
    return Drawing("verification", title, {"all": draw}, said, heights)


def _draw_predicted(axes: "Axes", entry: Entry, *, row: int) -> None:
    span = numbers(entry.get("predicted_range_s"))
    if len(span) == 2:
        axes.plot(span, [row - 0.2] * 2, color=series(0), lw=1.4, marker="|", ms=7, label="predicted, 90 % of runs")
    if (predicted := number(entry.get("predicted_s"))) is not None:
        axes.plot(predicted, row - 0.2, color=series(0), ls="", marker="D", ms=6.5, label="predicted median")


def _draw_measured(axes: "Axes", entry: Entry, *, row: int) -> None:
    """Every repetition, neighbours on three heights so that none hides another, and their median."""
    measured = sorted(numbers(entry.get("measured_s")))
    if (median := number(entry.get("measured_median_s"))) is not None:
        axes.plot([median] * 2, [row + 0.05, row + 0.41], color=INK, lw=1.8, label="measured median")
    if measured:
        heights = [row + 0.16 + 0.07 * (index % 3) for index in range(len(measured))]
        axes.plot(measured, heights, color=series(1), ls="", marker="o", ms=5, mfc="none", label="measured run")


def _tell(entry: Entry) -> str:
    parts = [
        f"{what} {units.show_duration(value)}"
        for what, key in (("predicted median", "predicted_s"), ("measured median", "measured_median_s"))
        if (value := number(entry.get(key))) is not None
    ]
    count = len(numbers(entry.get("measured_s")))
    return f"{label(entry.get('name'))}: {', '.join([*parts, f'{count} measured runs'])}"


def differences(
    entries: Sequence[Entry],
    *,
    axis: str,
    title: str = "",
    level: float = 0.95,
    less_is_better: bool = True,
    kind: str = "differences",
) -> Drawing:
    """Draw each difference with the interval of itself, and the wider one that holds for all together.

    A filled dot is a difference that is one after correction for all, an open dot one that may be 0. What
    has no interval is left out.

    `entries`: one per difference: `name`; `mean`, `low`, `high`; `low_together`, `high_together`; `sure`, whether it is
    one.
    `axis`: what the axis measures, with its unit.
    `title`: what the figure shows.
    `less_is_better`: whether differences below 0 have the colour of gains.
    """
    known = [entry for entry in entries if len(numbers(map(entry.get, ("mean", "low", "high")))) == 3]
    rows = known[:MOST_DIFFERENCES]
    if not rows:
        return NOTHING
    left_out = f"; the first {len(rows)} of {len(known)}" if len(rows) < len(known) else ""

    def draw(axes: "Axes") -> None:
        axes.axvline(0, color=INK, lw=1)
        for row, entry in enumerate(rows):
            below = (number(entry["mean"]) or 0.0) < 0
            _draw_row(axes, row, entry, f"{100 * level:.4g} %", series(below != less_is_better))
        name_rows(axes, (), below=f"{axis}{left_out}", ends=(len(rows) - 0.6, -0.8))

    heights = 1.25 + 0.44 * len(rows), 0.85 + 0.27 * len(rows)
    said = "; ".join(map(_described, rows)) + left_out
    return Drawing(kind, title or axis, {"all": draw}, said, heights)


def _draw_row(axes: "Axes", row: int, entry: Entry, level: str, colour: str) -> None:
    """Both intervals, the dot, and what they are of above them."""
    own, wide = (numbers(map(entry.get, ends)) for ends in _ENDS)
    mean, first = number(entry.get("mean")) or 0.0, row == 0
    if len(wide) == 2:
        axes.plot(
            wide, [row, row], color=INK, lw=1, marker="|", ms=7, label=f"{level} of all together" if first else None
        )
    axes.plot(
        own,
        [row, row],
        color=colour,
        lw=5,
        alpha=0.6,
        solid_capstyle="butt",
        label=f"{level} interval" if first else None,
    )
    sure = bool(entry.get("sure"))
    said = "surely not 0" if sure else "perhaps 0"
    axes.plot(mean, row, color=INK, mfc=INK if sure else PAPER, ls="", marker="o", ms=6, label=said)
    head_of_row(axes, row, label(entry.get("name"), most=LONGEST))


def _described(entry: Entry) -> str:
    mean, low, high = (number(entry.get(key)) or 0.0 for key in ("mean", "low", "high"))
    unsure = "" if entry.get("sure") else ", perhaps 0"
    return f"{label(entry.get('name'), most=LONGEST)} {mean:.4g} ({low:.4g} to {high:.4g}){unsure}"


_Effects = list[tuple[float, float, float, float]]


def sensitivity(entries: Sequence[Entry]) -> Drawing:
    """Draw for each parameter the change of the makespan at each change of it, the largest on top.

    `entries`: one per parameter: `parameter`, `effects` with `change` (of the parameter), `makespan` (the change of it)
    and its interval `low`, `high`, as shares.
    """
    found = [(label(entry.get("parameter"), most=30), effects) for entry in entries if (effects := _effects(entry))]
    rows = sorted(found, key=lambda row: -max(abs(effect[1]) for effect in row[1]))[:MOST_PARAMETERS]
    if not rows:
        return NOTHING
    said = "; ".join(
        f"{text}: " + ", ".join(f"{100 * change:+.0f} % gives {100 * made:+.1f} %" for change, made, *_ in effects)
        for text, effects in rows
    )
    heights, title = (1.2 + 0.4 * len(rows), 0.75 + 0.26 * len(rows)), "Change of the makespan by each parameter"
    return Drawing("sensitivity", title, {"all": partial(_draw_sensitivity, rows=rows)}, said, heights)


def _draw_sensitivity(axes: "Axes", *, rows: Sequence[tuple[str, _Effects]]) -> None:
    changes = sorted({change for _, effects in rows for change, *_ in effects})
    for row, (_, effects) in enumerate(rows):
        for change, makespan, low, high in effects:
            place = changes.index(change)
            shift = (place - (len(changes) - 1) / 2) * 0.36
            axes.barh(
                row + shift,
                100 * makespan,
                0.34,
                color=series(place),
                edgecolor=PAPER,
                hatch=_HATCHES[place % 2],
                lw=0,
                label=f"{100 * change:+.0f} % of the parameter",
            )
            axes.plot([100 * low, 100 * high], [row + shift] * 2, color=INK, lw=1)
    axes.axvline(0, color=INK, lw=0.9)
    name_rows(axes, [text for text, _ in rows], below="change of the makespan in %", ends=(len(rows) - 0.4, -0.6))


def _effects(entry: Entry) -> _Effects:
    found = []
    for effect in entry.get("effects") or ():
        change, makespan, low, high = (number(effect.get(key)) for key in ("change", "makespan", "low", "high"))
        if change is not None and makespan is not None:
            found.append((change, makespan, makespan if low is None else low, makespan if high is None else high))
    return found


def gains(changes: Sequence[Entry], *, level: float = intervals.LEVEL) -> Drawing:
    """Draw how many times as fast each change makes a run, in the order given (a tornado, if that is by gain).

    `changes`: one entry per change: `name`; `gain` with `mean`, `low`, `high`; `together` with `low` and `high`.
    """
    rows = [entry for entry in changes if number((entry.get("gain") or {}).get("mean")) is not None]
    rows = [*rows[: MOST_BARS // 2], *rows[-MOST_BARS // 2 :]] if len(rows) > MOST_BARS else rows
    if not rows:
        return NOTHING
    said = "; ".join(
        f"{label(entry.get('name'), most=LONGEST_CHANGE)} {entry['gain']['mean']:.2f} times as fast" for entry in rows
    )
    heights, draw = (1.15 + 0.42 * len(rows), 0.85 + 0.27 * len(rows)), partial(_draw_gains, rows=rows, level=level)
    return Drawing("gains", "Gain of each change", {"all": draw}, said, heights)


def _draw_gains(axes: "Axes", *, rows: Sequence[Entry], level: float) -> None:
    percent = f"{100 * level:.4g} %"
    axes.axvline(1, color=INK, lw=1, label="as it is")
    for row, entry in enumerate(rows):
        gain, both = entry["gain"], entry.get("together") or {}
        mean = number(gain.get("mean")) or 0.0
        colour = series(0) if mean >= 1 else series(1)
        axes.barh(row, mean - 1, left=1, height=0.42, color=colour, alpha=0.3)
        wide, own = numbers([both.get("low"), both.get("high")]), numbers([gain.get("low"), gain.get("high")])
        if len(wide) == 2:
            axes.plot(wide, [row, row], color=INK, lw=1, marker="|", ms=7, label=f"{percent} interval of all together")
        if len(own) == 2:
            axes.plot(own, [row, row], color=colour, lw=5, solid_capstyle="butt", label=f"{percent} interval")
        axes.plot(mean, row, color=INK, ls="", marker="o", ms=4)
        head_of_row(axes, row, label(entry.get("name"), most=LONGEST_CHANGE))
    name_rows(axes, (), below="times as fast as it is", ends=(len(rows) - 0.5, -0.8))


def costs(points: Sequence[Entry], *, unit: str) -> Drawing:
    """Draw makespan against what a run costs, a dot per point, those that none beats in both as a line.

    `points`: one entry per point: `makespan_s`, `run`, `front` and `base` (whether it is on the front, and whether it
    is the base).
    """
    found = [entry for entry in points if len(numbers([entry.get("makespan_s"), entry.get("run")])) == 2]
    if not found:
        return NOTHING
    front = sorted((entry for entry in found if entry.get("front")), key=lambda entry: float(entry["makespan_s"]))

    def draw(axes: "Axes") -> None:
        rest, base = (
            [row for row in found if bool(row.get(key)) is on] for key, on in (("front", False), ("base", True))
        )
        axes.plot(*_places(rest), color=series(0), ls="", marker="o", ms=4, alpha=0.55, label="point")
        axes.plot(*_places(front), color=series(1), lw=1, marker="D", ms=5, label="on the front")
        axes.plot(*_places(base), color=INK, ls="", marker="s", ms=9, mfc="none", label="as it is")
        axes.set(xlabel="mean makespan in s", ylabel=f"of a run, {unit}")
        axes.grid()

    said = f"{len(front)} of {len(found)} points on the front"
    return Drawing("costs", f"Makespan against {unit}", {"all": draw}, said, (3.4, 2.4))


def _places(entries: Sequence[Entry]) -> tuple[list[float], list[float]]:
    return [entry["makespan_s"] for entry in entries], [entry["run"] for entry in entries]


def points(
    at: Sequence[float],
    means: Mapping[str, Sequence[Entry]],
    *,
    below: str,
    level: float = intervals.LEVEL,
    names: Sequence[str] = (),
) -> Drawing:
    """Draw the mean makespan over one thing that is varied: a line with the interval of each mean per configuration.

    `means`: configuration -> of each point `mean`, `low`, `high`.
    `below`: what is varied, with its unit.
    `names`: of the points, where their places are no numbers.
    """

    def draw(axes: "Axes") -> None:
        for place, (name, entries) in enumerate(means.items()):
            _draw_points(axes, at, entries, place=place, name=label(name), joined=not names)
        if names:
            axes.set_xticks(list(at), [label(name) for name in names])
            axes.margins(x=0.15)
        elif min(at) > 0 and max(at) / min(at) >= 8:
            axes.set_xscale("log")
        axes.set(xlabel=below, ylabel=f"mean makespan in s,\n{100 * level:.4g} % interval")
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.grid(axis="y")

    return Drawing("points", f"Mean makespan over {below}", {"all": draw}, ", ".join(means), (3.0, 2.3))


def _draw_points(
    axes: "Axes", at: Sequence[float], entries: Sequence[Entry], *, place: int, name: str, joined: bool
) -> None:
    """One configuration."""
    order = sorted(range(len(at)), key=lambda k: at[k])
    rows = [(at[k], *(number(entries[k].get(part)) for part in ("mean", "low", "high"))) for k in order]
    known = [(x, mean, low or mean, high or mean) for x, mean, low, high in rows if mean is not None]
    if not known:
        return
    x, mean, low, high = zip(*known, strict=True)
    look: Any = {"marker": _MARKERS[place % len(_MARKERS)], "ls": LINES[place % len(LINES)] if joined else ""}
    off = tuple([abs(m - end) for m, end in zip(mean, ends, strict=True)] for ends in (low, high))
    axes.errorbar(x, mean, off, color=series(place), lw=1.6, ms=6, capsize=2, elinewidth=0.8, label=name, **look)

"""Outcomes: predicted makespans of the strategies, and predictions against real runs.

Differences with their intervals, one below the other: which ones are surely above or below 0 (a forest plot).

Sensitivity: how far the makespan moves when one parameter at a time is changed (a tornado chart).

Changes of a what-if: the gain of each by itself, and makespan against cost of all points.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from simulator.base import units
from simulator.results.plots.frame import (
    INK,
    LINES,
    PAPER,
    SERIES,
    Entry,
    drawing,
    head_of_row,
    label,
    legend,
    name_rows,
    number,
    numbers,
    on_axes,
    svg,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def baselines_svg(
    baselines: Sequence[Entry],
    recommended: str | None,
    *,
    mark: str = "recommended",
    level: float = 0.9,
    name: str = "baselines",
) -> str:
    """Draw each strategy's predicted makespan: the mean, its interval, and where one run lies.

    Parameters
    ----------
    baselines
        One entry per strategy: `name`, `predicted_makespan_s` with `mean`, `low`, `high`, `run_low`, `run_high`.
    recommended
        The name to emphasise.
    mark
        What the emphasised one is.
    level
        How often the intervals hold.
    name
        Begins the ids of the figure.
    """
    rows = _predictions(baselines)
    if not rows:
        return ""
    with drawing(height_in=1.05 + 0.42 * len(rows)) as figure:
        axes = figure.subplots()
        parts = _draw_predictions(axes, rows, recommended, mark=mark, level=level)
        legend(figure, [axes])
        title, description = "Predicted makespan of each strategy", "mean makespan: " + "; ".join(parts)
        return svg(figure, name=name, title=title, description=description)


def plot_makespans(
    rows: Sequence[Entry],
    recommended: str | None = None,
    *,
    mark: str = "recommended",
    level: float = 0.9,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw predicted makespans, a row each: the mean, its interval, and where one run lies; see `baselines_svg`."""
    found = _predictions(rows)
    with on_axes(ax, height_in=0.75 + 0.24 * len(found)) as axes:
        _draw_predictions(axes, found, recommended, mark=mark, level=level)
    return axes


def _predictions(baselines: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in baselines if number(_predicted(entry).get("mean")) is not None]


def _draw_predictions(
    axes: "Axes", rows: Sequence[Entry], recommended: str | None, *, mark: str, level: float
) -> list[str]:
    """All rows; returns what each says."""
    largest = max((number(_predicted(entry).get("mean")) or 0.0 for entry in rows), default=0.0)
    decimals = min(9, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 0
    parts = []
    for row, entry in enumerate(rows):
        best = entry.get("name") == recommended
        how = partial(_draw_prediction, axes, _predicted(entry), decimals=decimals, level=f"{100 * level:.4g} %")
        mean = how(row=row, mark=mark if best else "")
        parts.append(f"{label(entry.get('name'))}{f' ({mark})' if best else ''} {mean}")
    axes.set_xlim(0, axes.get_xlim()[1] * 1.04)
    names = [label(entry.get("name")) for entry in rows]
    name_rows(axes, names, below="predicted makespan in s", ends=(len(rows) - 0.5, -0.6))
    for tick, entry in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if entry.get("name") == recommended else "normal")
    return parts


def verification_svg(verification: Sequence[Entry], *, name: str = "verification") -> str:
    """Draw predicted against measured: the predicted median and range above, every measured repetition below.

    Parameters
    ----------
    verification
        One entry per configuration that was run: `name`, `predicted_s`, `predicted_range_s`, `measured_s`,
        `measured_median_s`.
    name
        Begins the ids of the figure.
    """
    rows = _verified(verification)
    if not rows:
        return ""
    with drawing(height_in=1.05 + 0.66 * len(rows)) as figure:
        axes = figure.subplots()
        _draw_verified(axes, rows)
        legend(figure, [axes])
        title = "Predicted against measured makespan"
        return svg(figure, name=name, title=title, description="; ".join(_tell(entry) for entry in rows))


def plot_verification(verification: Sequence[Entry], *, ax: "Axes | None" = None) -> "Axes":
    """Draw predicted against measured: a row per configuration that was run; see `verification_svg`."""
    rows = _verified(verification)
    with on_axes(ax, height_in=0.8 + 0.36 * len(rows)) as axes:
        _draw_verified(axes, rows)
    return axes


def _verified(verification: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in verification if numbers([entry.get("predicted_s"), *(entry.get("measured_s") or ())])]


def _draw_verified(axes: "Axes", rows: Sequence[Entry]) -> None:
    for row, entry in enumerate(rows):
        _draw_predicted(axes, entry, row=row)
        _draw_measured(axes, entry, row=row)
    names, below = [label(entry.get("name")) for entry in rows], "makespan in s (axis does not begin at 0)"
    name_rows(axes, names, below=below, ends=(len(rows) - 0.5, -0.5))


def _predicted(entry: Entry) -> Any:
    return entry.get("predicted_makespan_s") or {}


def _draw_prediction(axes: "Axes", predicted: Entry, *, row: int, mark: str, decimals: int, level: str) -> str:
    """A row of the baselines; returns its mean as it is written there."""
    best = bool(mark)
    colour = SERIES[1] if best else SERIES[0]
    mean = number(predicted.get("mean")) or 0.0
    spread = numbers([predicted.get("run_low"), predicted.get("run_high")])
    interval = numbers([predicted.get("low"), predicted.get("high")])
    if len(interval) == 2:
        text = _own(f"{level} interval of the mean", best=best)
        axes.plot(interval, [row, row], color=colour, lw=13, alpha=0.35, solid_capstyle="butt", label=text)
    if len(spread) == 2:
        text = _own(f"{level} of runs", best=best)
        axes.plot(spread, [row, row], color=colour, lw=1.4, marker="|", ms=7, label=text)
    text = mark or "mean"
    axes.plot(mean, row, color=colour, ls="", marker="D" if best else "o", ms=5, label=text)
    written = f"{mean:.{decimals}f} s"
    axes.annotate(
        written,
        (max([mean, *spread, *interval]), row),
        xytext=(8, -4),
        textcoords="offset points",
        fontweight="bold" if best else "normal",
        annotation_clip=False,
    )
    return written


def _own(text: str, *, best: bool) -> str | None:
    """A label once for all rows: the recommended one explains itself by its mark."""
    return None if best else text


def _draw_predicted(axes: "Axes", entry: Entry, *, row: int) -> None:
    span = numbers(entry.get("predicted_range_s"))
    if len(span) == 2:
        axes.plot(span, [row - 0.2] * 2, color=SERIES[0], lw=1.4, marker="|", ms=7, label="predicted, 90 % of runs")
    if (predicted := number(entry.get("predicted_s"))) is not None:
        axes.plot(predicted, row - 0.2, color=SERIES[0], ls="", marker="D", ms=6.5, label="predicted median")


def _draw_measured(axes: "Axes", entry: Entry, *, row: int) -> None:
    """Every repetition, neighbours on three heights so that none hides another, and their median."""
    measured = sorted(numbers(entry.get("measured_s")))
    if (median := number(entry.get("measured_median_s"))) is not None:
        axes.plot([median] * 2, [row + 0.05, row + 0.41], color=INK, lw=1.8, label="measured median")
    if measured:
        heights = [row + 0.16 + 0.07 * (index % 3) for index in range(len(measured))]
        axes.plot(measured, heights, color=SERIES[1], ls="", marker="o", ms=5, mfc="none", label="measured run")


def _tell(entry: Entry) -> str:
    parts = [
        f"{what} {units.show_duration(value)}"
        for what, key in (("predicted median", "predicted_s"), ("measured median", "measured_median_s"))
        if (value := number(entry.get(key))) is not None
    ]
    count = len(numbers(entry.get("measured_s")))
    return f"{label(entry.get('name'))}: {', '.join([*parts, f'{count} measured runs'])}"


MOST_DIFFERENCES = 24
"""Differences in a figure; the first ones."""
LONGEST = 56
_ENDS = ("low", "high"), ("low_together", "high_together")


def differences_svg(
    differences: Sequence[Entry],
    *,
    axis: str,
    title: str,
    level: float = 0.95,
    less_is_better: bool = True,
    name: str = "differences",
) -> str:
    """Draw each difference with the interval of itself, and the wider one that holds for all together.

    A filled dot is a difference that is one after correction for all, an open dot one that may be 0. What
    has no interval is left out.

    Parameters
    ----------
    differences
        One entry per difference: `name`; `mean`, `low`, `high`; `low_together`, `high_together`; `sure`, whether it is
        one.
    axis
        What the axis measures, with its unit.
    title
        What the figure shows.
    level
        How often the intervals hold.
    less_is_better
        Whether differences below 0 have the colour of gains.
    name
        Begins the ids of the figure.
    """
    known = _differing(differences)
    rows = known[:MOST_DIFFERENCES]
    if not rows:
        return ""
    with drawing(height_in=1.25 + 0.44 * len(rows)) as figure:
        axes = figure.subplots()
        left_out = f"; the first {len(rows)} of {len(known)}" if len(rows) < len(known) else ""
        _draw_differences(axes, rows, axis=f"{axis}{left_out}", level=level, less_is_better=less_is_better)
        legend(figure, [axes])
        description = "; ".join(map(_described, rows)) + left_out
        return svg(figure, name=name, title=title, description=description)


def plot_differences(
    differences: Sequence[Entry],
    *,
    axis: str,
    level: float = 0.95,
    less_is_better: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw each difference with its intervals, the first ones of many; see `differences_svg`."""
    rows = _differing(differences)[:MOST_DIFFERENCES]
    with on_axes(ax, height_in=0.85 + 0.27 * len(rows)) as axes:
        _draw_differences(axes, rows, axis=axis, level=level, less_is_better=less_is_better)
    return axes


def _differing(differences: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in differences if len(numbers(map(entry.get, ("mean", "low", "high")))) == 3]


def _draw_differences(axes: "Axes", rows: Sequence[Entry], *, axis: str, level: float, less_is_better: bool) -> None:
    axes.axvline(0, color=INK, lw=1)
    for row, entry in enumerate(rows):
        below = (number(entry["mean"]) or 0.0) < 0
        _draw_row(axes, row, entry, f"{100 * level:.4g} %", SERIES[below != less_is_better])
    name_rows(axes, (), below=axis, ends=(len(rows) - 0.6, -0.8))


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


MOST_PARAMETERS = 12
_HATCHES = ("", "////")


def sensitivity_svg(sensitivity: Sequence[Entry], *, name: str = "sensitivity") -> str:
    """Draw for each parameter the change of the makespan at each change of it, the largest on top.

    Parameters
    ----------
    sensitivity
        One entry per parameter: `parameter`, `effects` with `change` (of the parameter), `makespan` (the change of it)
        and its interval `low`, `high`, as shares.
    name
        Begins the ids of the figure.
    """
    rows = _sensitive(sensitivity)
    if not rows:
        return ""
    with drawing(height_in=1.2 + 0.4 * len(rows)) as figure:
        axes = figure.subplots()
        _draw_sensitivity(axes, rows)
        legend(figure, [axes])
        summary = "; ".join(
            f"{text}: " + ", ".join(f"{100 * change:+.0f} % gives {100 * made:+.1f} %" for change, made, *_ in effects)
            for text, effects in rows
        )
        return svg(figure, name=name, title="Change of the makespan by each parameter", description=summary)


def plot_sensitivity(sensitivity: Sequence[Entry], *, ax: "Axes | None" = None) -> "Axes":
    """Draw how far the makespan moves with each parameter, the largest on top; see `sensitivity_svg`."""
    rows = _sensitive(sensitivity)
    with on_axes(ax, height_in=0.75 + 0.26 * len(rows)) as axes:
        _draw_sensitivity(axes, rows)
    return axes


_Effects = list[tuple[float, float, float, float]]


def _sensitive(sensitivity: Sequence[Entry]) -> list[tuple[str, _Effects]]:
    """Parameters with their effects, the largest first."""
    rows = [(label(entry.get("parameter"), most=30), found) for entry in sensitivity if (found := _effects(entry))]
    rows.sort(key=lambda row: -max(abs(effect[1]) for effect in row[1]))
    return rows[:MOST_PARAMETERS]


def _draw_sensitivity(axes: "Axes", rows: Sequence[tuple[str, _Effects]]) -> None:
    changes = sorted({change for _, effects in rows for change, *_ in effects})
    for row, (_, effects) in enumerate(rows):
        for change, makespan, low, high in effects:
            place = changes.index(change)
            shift = (place - (len(changes) - 1) / 2) * 0.36
            axes.barh(
                row + shift,
                100 * makespan,
                0.34,
                color=SERIES[place % len(SERIES)],
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


MOST_BARS = 20
"""Changes in a figure: those that gain most, and the last ones those that lose most."""
LONGEST_CHANGE = 44


def gains_svg(changes: Sequence[Entry], *, level: float = 0.9, name: str = "gains") -> str:
    """Draw how many times as fast each change makes a run, in the order given (a tornado, if that is by gain).

    Parameters
    ----------
    changes
        One entry per change: `name`; `gain` with `mean`, `low`, `high`; `together` with `low` and `high`.
    level
        How often the intervals hold.
    name
        Begins the ids of the figure.
    """
    rows = _gaining(changes)
    if not rows:
        return ""
    with drawing(height_in=1.15 + 0.42 * len(rows)) as figure:
        axes = figure.subplots()
        parts = _draw_gains(axes, rows, level=level)
        legend(figure, [axes])
        return svg(figure, name=name, title="Gain of each change", description="; ".join(parts))


def plot_gains(changes: Sequence[Entry], *, level: float = 0.9, ax: "Axes | None" = None) -> "Axes":
    """Draw how many times as fast each change makes a run; see `gains_svg`."""
    rows = _gaining(changes)
    with on_axes(ax, height_in=0.85 + 0.27 * len(rows)) as axes:
        _draw_gains(axes, rows, level=level)
    return axes


def _gaining(changes: Sequence[Entry]) -> list[Entry]:
    rows = [entry for entry in changes if number((entry.get("gain") or {}).get("mean")) is not None]
    return [*rows[: MOST_BARS // 2], *rows[-MOST_BARS // 2 :]] if len(rows) > MOST_BARS else rows


def _draw_gains(axes: "Axes", rows: Sequence[Entry], *, level: float) -> list[str]:
    """All rows; returns what each says."""
    parts, percent = [], f"{100 * level:.4g} %"
    axes.axvline(1, color=INK, lw=1, label="as it is")
    for row, entry in enumerate(rows):
        gain, both = entry["gain"], entry.get("together") or {}
        mean = number(gain.get("mean")) or 0.0
        colour = SERIES[0] if mean >= 1 else SERIES[1]
        axes.barh(row, mean - 1, left=1, height=0.42, color=colour, alpha=0.3)
        wide, own = numbers([both.get("low"), both.get("high")]), numbers([gain.get("low"), gain.get("high")])
        if len(wide) == 2:
            axes.plot(wide, [row, row], color=INK, lw=1, marker="|", ms=7, label=f"{percent} interval of all together")
        if len(own) == 2:
            axes.plot(own, [row, row], color=colour, lw=5, solid_capstyle="butt", label=f"{percent} interval")
        axes.plot(mean, row, color=INK, ls="", marker="o", ms=4)
        head_of_row(axes, row, label(entry.get("name"), most=LONGEST_CHANGE))
        parts.append(f"{label(entry.get('name'), most=LONGEST_CHANGE)} {mean:.2f} times as fast")
    name_rows(axes, (), below="times as fast as it is", ends=(len(rows) - 0.5, -0.8))
    return parts


def costs_svg(points: Sequence[Entry], *, unit: str, name: str = "costs") -> str:
    """Draw makespan against what a run costs, a dot per point, those that none beats in both as a line.

    Parameters
    ----------
    points
        One entry per point: `makespan_s`, `run`, `front` and `base` (whether it is on the front, and whether it is the
        base).
    unit
        Of `run`.
    name
        Begins the ids of the figure.
    """
    found = [entry for entry in points if len(numbers([entry.get("makespan_s"), entry.get("run")])) == 2]
    if not found:
        return ""
    with drawing(height_in=3.4) as figure:
        axes = figure.subplots()
        front = sorted((entry for entry in found if entry.get("front")), key=lambda entry: float(entry["makespan_s"]))
        rest = [entry for entry in found if not entry.get("front")]
        axes.plot(*_places(rest), color=SERIES[0], ls="", marker="o", ms=4, alpha=0.55, label="point")
        axes.plot(*_places(front), color=SERIES[1], lw=1, marker="D", ms=5, label="on the front")
        base = [entry for entry in found if entry.get("base")]
        axes.plot(*_places(base), color=INK, ls="", marker="s", ms=9, mfc="none", label="as it is")
        axes.set_xlabel("mean makespan in s")
        axes.set_ylabel(f"of a run, {unit}")
        axes.grid()
        legend(figure, [axes])
        ends = f"{len(front)} of {len(found)} points on the front"
        return svg(figure, name=name, title=f"Makespan against {unit}", description=ends)


def break_even_svg(axes_found: Sequence[Entry], *, name: str = "scheduling") -> str:
    """Draw the gain of one way over another against the factor by which one thing is changed, a line for each thing.

    Parameters
    ----------
    axes_found
        One entry per thing: `what`, `factors`, `gains` (shares) and `break_even` (a factor, or None).
    name
        Begins the ids of the figure.
    """
    with drawing(height_in=2.8) as figure:
        axes, parts = figure.subplots(), []
        for number_of, entry in enumerate(axes_found):
            colour = SERIES[number_of % len(SERIES)]
            gains = [100 * gain for gain in numbers(entry.get("gains"))]
            axes.plot(
                numbers(entry.get("factors")), gains, color=colour, marker="o", ms=3.5, label=label(entry["what"])
            )
            end = number(entry.get("break_even"))
            if end is not None:
                axes.axvline(end, color=colour, lw=0.8, ls=":")
            parts.append(f"{entry['what']}: break-even at {'none' if end is None else f'{end:.2g}'}")
        axes.axhline(0.0, color=INK, lw=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("factor")
        axes.set_ylabel("gain in %")
        axes.grid()
        legend(figure, [axes])
        return svg(figure, name=name, title="Static or dynamic", description="; ".join(parts))


def _places(entries: Sequence[Entry]) -> tuple[list[float], list[float]]:
    return [entry["makespan_s"] for entry in entries], [entry["run"] for entry in entries]


def plot_shares(
    names: Sequence[str],
    shares: Mapping[str, Sequence[float]],
    *,
    unit: str = "units",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw who gets how much: a group of bars per PE, one bar for each way to divide the work.

    Parameters
    ----------
    names
        Of the PEs.
    shares
        Way -> what each PE gets.
    unit
        Of what they get.
    """
    ways = list(shares)
    height = 0.8 / max(1, len(ways))
    with on_axes(ax, height_in=0.7 + (0.1 + 0.13 * len(ways)) * len(names)) as axes:
        for place, way in enumerate(ways):
            rows = [row + (place - (len(ways) - 1) / 2) * height for row in range(len(names))]
            axes.barh(
                rows,
                list(shares[way]),
                0.92 * height,
                color=SERIES[place % len(SERIES)],
                edgecolor=PAPER,
                hatch=_HATCHES[place % 2],
                lw=0,
                label=label(way),
            )
        names = [label(name) for name in names]
        name_rows(axes, names, below=f"{unit} of each PE", ends=(len(names) - 0.4, -0.6))
    return axes


_MARKERS = ("o", "s", "^", "D", "v", "P")


def plot_points(
    at: Sequence[float],
    series: Mapping[str, Sequence[Entry]],
    *,
    below: str,
    level: float = 0.9,
    names: Sequence[str] = (),
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the mean makespan over one thing that is varied: a line with the interval of each mean per configuration.

    Parameters
    ----------
    at
        Where each point lies.
    series
        Configuration -> of each point `mean`, `low`, `high`.
    below
        What is varied, with its unit.
    names
        Of the points, where their places are no numbers.
    """
    order = sorted(range(len(at)), key=lambda place: at[place])
    with on_axes(ax, height_in=2.3) as axes:
        for place, (name, entries) in enumerate(series.items()):
            colour = SERIES[place % len(SERIES)]
            rows = [(at[k], *(number(entries[k].get(part)) for part in ("mean", "low", "high"))) for k in order]
            known = [(x, mean, low or mean, high or mean) for x, mean, low, high in rows if mean is not None]
            if not known:
                continue
            x, mean, low, high = zip(*known, strict=True)
            look: Any = {"marker": _MARKERS[place % len(_MARKERS)], "ls": "" if names else LINES[place % len(LINES)]}
            below_mean, above = ([abs(m - end) for m, end in zip(mean, ends, strict=True)] for ends in (low, high))
            axes.errorbar(
                x,
                mean,
                (below_mean, above),
                color=colour,
                lw=1.6,
                ms=6,
                capsize=2,
                elinewidth=0.8,
                label=label(name),
                **look,
            )
        if names:
            axes.set_xticks(list(at), [label(name) for name in names])
            axes.margins(x=0.15)
        elif min(at) > 0 and max(at) / min(at) >= 8:
            axes.set_xscale("log")
        axes.set(xlabel=below, ylabel=f"mean makespan in s,\n{100 * level:.4g} % interval")
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.grid(axis="y")
    return axes


def plot_runs(runs_s: "Mapping[str, NDArray[np.float64]]", *, ax: "Axes | None" = None) -> "Axes":
    """Draw which share of the runs of each configuration has ended by a time.

    Parameters
    ----------
    runs_s
        Configuration -> makespans in seconds; (replication,).
    """
    import numpy as np

    with on_axes(ax, height_in=2.1) as axes:
        for place, (name, times) in enumerate(runs_s.items()):
            at = np.sort(times)
            share = 100 * np.arange(1, at.size + 1) / at.size
            steps = np.concatenate((at[:1], at)), np.concatenate(([0.0], share))
            look: Any = {"color": SERIES[place % len(SERIES)], "ls": LINES[place % len(LINES)], "lw": 1.8}
            axes.plot(*steps, drawstyle="steps-post", label=label(name), **look)
        axes.set(xlabel="makespan in s", ylabel="% of runs that have ended", ylim=(0, 102))
        axes.grid()
    return axes


def plot_breakdown(processes: Sequence[Entry], *, ax: "Axes | None" = None) -> "Axes":
    """Draw where the time of each process goes, as means: computing, waiting, idle.

    Parameters
    ----------
    processes
        One entry per process: `pe`, `process`, `busy_s`, `waiting_s`, `idle_s`; the first ones of many.
    """
    rows = list(processes)[:MOST_BARS]
    parts = {"busy_s": "computes", "waiting_s": "waits", "idle_s": "idle"}
    with on_axes(ax, height_in=0.75 + 0.2 * len(rows)) as axes:
        ends = [0.0] * len(rows)
        for place, (part, text) in enumerate(parts.items()):
            widths = [number(entry.get(part)) or 0.0 for entry in rows]
            colour, hatch = SERIES[place], ("", "////", "....")[place]
            axes.barh(
                range(len(rows)), widths, 0.66, ends, color=colour, edgecolor=PAPER, hatch=hatch, lw=0, label=text
            )
            ends = [end + width for end, width in zip(ends, widths, strict=True)]
        alone = len({entry.get("pe") for entry in rows}) == len(rows)
        names = [label(one.get("pe")) if alone else f"{label(one.get('pe'))}, {one.get('process')}" for one in rows]
        name_rows(axes, names, below="mean time in s", ends=(len(rows) - 0.45, -0.55))
    return axes

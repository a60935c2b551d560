"""The answer as a picture: who gets how much, runs one above the other, all that was verified."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.base.figures import INK, NOTHING, PAPER, Drawing, label, name_rows, number, numbers, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.base.arrays import Floats
    from simulator.results.shares import Share

BINS: Final = 200
"""Stretches of time that a row of a run is drawn in."""
_HATCH: Final = "////"
MOST_CASES: Final = 24
"""Predictions that a scorecard draws."""


def amount(value: float) -> str:
    """A number of units: whole ones with their thousands apart, three digits of what is no whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


# Who gets how much


def shares(
    rows: "Sequence[Share]", *, unit: str, of: str = "PE", names: tuple[str, str] = ("as now", "advised")
) -> Drawing:
    """Draw what each PE or node has as now, hatched, and as advised, full; beneath its name its speed and load.

    `unit`: what is shared out, such as `rows`.
    `names`: what the configurations before and after are called; nothing is drawn of one without a name.
    """
    if not rows:
        return NOTHING
    each = f"{unit} per {of}" if any(share.count > 1 for share in rows) or of == "node" else unit
    said = "; ".join(_said(share, unit, names) for share in rows)
    draw = partial(_draw_shares, rows=rows, what=(unit, of), each=each, names=names)
    high = sum(0.5 if share.before is not None else 0.4 for share in rows)
    heights = 0.75 + high, 0.75 + 0.8 * high
    return Drawing("shares", f"Who gets how much: {each}", {"all": draw}, said, heights)


def _draw_shares(
    axes: "Axes", *, rows: "Sequence[Share]", what: tuple[str, str], each: str, names: tuple[str, str]
) -> None:
    """`what`: the unit, and what rows are of."""
    longest = max(max(share.before or 0.0, share.after, share.high) for share in rows) or 1.0
    for row, share in enumerate(rows):
        if share.before is not None and names[0]:
            look: Any = {"facecolor": "none", "edgecolor": INK, "hatch": _HATCH, "lw": 0.5, "label": label(names[0])}
            axes.barh(row - 0.25, share.before, 0.22, **look)
            _beside(axes, share.before, row - 0.26, amount(share.before), weight="normal")
        axes.barh(row + 0.14, share.after, 0.34, color=series(0), label=label(names[1]))
        if share.count > 1 and share.high > share.low:
            axes.plot([share.low, share.high], [row + 0.14] * 2, color=INK, lw=1.4)
        _beside(axes, max(share.after, share.high), row + 0.15, f"{_after_text(share)} {_processes(share)}".strip())
    axes.set_xlim(0, 1.35 * longest)
    name_rows(axes, [_named(share, *what) for share in rows], below=each, ends=(len(rows) - 0.5, -0.5))


def _beside(axes: "Axes", x: float, y: float, text: str, *, weight: str = "bold") -> None:
    axes.annotate(
        text, (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontweight=weight, annotation_clip=False
    )


def _named(share: "Share", unit: str, of: str) -> str:
    """Its name over what it can do."""
    several = f"{share.count} {of}s" if share.name.endswith("…") else ""
    return "\n".join(
        filter(None, (label(share.name), label(", ".join(filter(None, (several, _can(share, unit)))), most=27)))
    )


def _after_text(share: "Share") -> str:
    """Its units as advised, and how much more or less that is."""
    if not share.after:
        return "nothing" if share.before is None or share.before else "0"
    change = "" if not share.before else f" ({100 * (share.after / share.before - 1):+.0f} %)".replace("-", "−")
    return amount(share.after) + ("" if change in {" (+0 %)", " (−0 %)"} else change)


def _processes(share: "Share") -> str:
    """By how many processes, where there are several on one PE."""
    return f"in {share.processes:.2g} processes" if share.processes > share.pes else ""


def _can(share: "Share", unit: str) -> str:
    """Its speed and its load, as far as they are known."""
    speed = "" if share.speed is None else f"{_three(share.speed)} {unit}/s"
    load = f"load {share.load:.2g}" if share.load else _left(share) or ("no load" if share.left is not None else "")
    return ", ".join(filter(None, (speed, load)))


def _left(share: "Share") -> str:
    """What its load leaves to us."""
    return "" if share.left is None or share.left >= 0.9995 else f"{100 * share.left:.0f} % left"


def _three(value: float) -> str:
    """Three digits, thousands apart; thousands and millions by letter where there are many."""
    if value <= 0:
        return "0"
    for size, letter, least in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if value >= least:
            return f"{_three(value / size)} {letter}"
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _said(share: "Share", unit: str, names: tuple[str, str]) -> str:
    before = "" if share.before is None else f"{amount(share.before)} {unit} {names[0]}, "
    can = ", ".join(filter(None, (_can(share, unit), _left(share))))
    return f"{share.name}: {before}{amount(share.after)} {names[1]}" + (f" ({can})" if can else "")


# Runs, one above the other


def runs(every: Sequence[Mapping[str, Any]]) -> Drawing:
    """Draw runs one above the other on one axis of time: how many of a row's processes compute, and exchange messages.

    `every`: one entry per run: `title`, `makespan_s`, `mean_s` of all runs if that is known, and `rows`, each with
    `name` and the parts of its processes that compute and that exchange messages (or do something else) in `BINS`
    stretches of the run: `computing`, `other`.
    """
    if not every:
        return NOTHING
    said = "; ".join(f"{answer['title']}: {units.show_duration(float(answer['makespan_s']))}" for answer in every)
    high = 0.65 + sum(0.3 + 0.2 * len(answer["rows"]) for answer in every)
    return Drawing("runs", "Runs one above the other", {"all": partial(_draw_runs, every=every)}, said, (high, high))


def _draw_runs(axes: "Axes", *, every: Sequence[Mapping[str, Any]]) -> None:
    """Each row one high, the title of a run on a row of its own."""
    at, names, places = 0.0, list[str](), list[float]()
    for place, run in enumerate(every):
        makespan, colour = float(run["makespan_s"]), series(0) if place == len(every) - 1 else INK
        end = f"{label(run['title'], most=40)}: {units.show_duration(makespan)}"
        axes.text(0, at + 0.5, end, va="center", fontweight="bold")
        top = at + 1.0
        for row in run["rows"]:
            at += 1.0
            _draw_busy(axes, row, at, makespan, colour, full=place == len(every) - 1)
            names.append(label(row["name"], most=21))
            places.append(at + 0.5)
        axes.plot([makespan] * 2, [top, at + 1.0], color=INK, lw=1.4, ls=(0, (1, 1)))
        if (mean := number(run.get("mean_s"))) is not None:
            axes.plot([mean], [top], marker="v", color=INK, ms=6, clip_on=False)
        at += 1.2
    name_rows(axes, (), below="time in s", ends=(at, -0.1))
    axes.set_yticks(places, names)
    axes.set_xlim(
        0, 1.02 * max(max(float(answer["makespan_s"]), number(answer.get("mean_s")) or 0.0) for answer in every)
    )


def _draw_busy(axes: "Axes", row: Mapping[str, Any], at: float, makespan: float, colour: str, *, full: bool) -> None:
    """The part of a row's processes that computes, and above it those that do something else."""
    import numpy as np

    computing, other = (np.asarray(row[key], dtype=np.float64) for key in ("computing", "other"))
    edges = np.linspace(0.0, makespan, computing.size + 1)
    foot, high = at + 0.92, 0.84
    curves = [np.append(part, part[-1]) for part in (computing, np.minimum(1.0, computing + other))]
    first, second = (foot - high * part for part in curves)
    look: Any = {"step": "post", "lw": 0}
    axes.fill_between(edges, first, foot, color=colour, alpha=1.0 if full else 0.5, **look, label="computing")
    look |= {"facecolor": "none", "edgecolor": INK, "hatch": _HATCH, "label": "messages, waiting"}
    axes.fill_between(edges, second, first, **look)


# All that was predicted and really run


def scorecard(cases: Sequence[Mapping[str, Any]]) -> Drawing:
    """Draw measured over predicted of each case, and where it was stated to lie; a filled dot where that held.

    `cases`: one entry per case: `name`; `ratio`, and its `low` and `high` or None; `held`.
    """
    shown = [case for case in cases if (number(case.get("ratio")) or 0) > 0][:MOST_CASES]
    if not shown:
        return NOTHING
    held = sum(case.get("held") is True for case in shown)
    judged = sum(case.get("held") is not None for case in shown)
    heights, said = (0.9 + 0.2 * len(shown), 0.8 + 0.15 * len(shown)), f"{held} of {judged} stated intervals held"
    title = "Measured over predicted, of all that was verified"
    return Drawing("scorecard", title, {"all": partial(_draw_cases, shown=shown)}, said, heights)


def _draw_cases(axes: "Axes", *, shown: Sequence[Mapping[str, Any]]) -> None:
    for row, case in enumerate(shown):
        ends = [value for value in numbers([case.get("low"), case.get("high")]) if value > 0]
        if len(ends) == 2:
            axes.plot(ends, [row, row], color=series(0), lw=8, alpha=0.3, solid_capstyle="butt")
        held = case.get("held")
        edge = series(0) if held else INK if held is None else series(1)
        look: Any = {"color": edge, "mfc": edge if held else PAPER, "ls": "", "marker": "o", "ms": 6}
        axes.plot(float(case["ratio"]), row, **look)
    axes.axvline(1, color=INK, lw=1, ls="--")
    axes.set_xscale("log")
    every = [
        value for case in shown for value in numbers([case["ratio"], case.get("low"), case.get("high")]) if value > 0
    ]
    most = max(1.05, *(max(value, 1 / value) for value in every))
    ticks = (1 / most, 1.0, most)
    axes.set_xticks(ticks, [f"× {ticks[0]:.2f}", "as predicted", f"× {ticks[2]:.2f}"])
    axes.set_xlim(most**-1.2, most**1.2)
    below = "measured over predicted; left: quicker than predicted"
    name_rows(axes, [label(case.get("name"), most=26) for case in shown], below=below, ends=(len(shown) - 0.5, -0.5))


def coverage_of(bars: Iterable[tuple[float, float]], length: float, bins: int = BINS) -> "Floats":
    """Which part of each of equal stretches of a length is covered by bars that do not overlap; (bins,)."""
    import numpy as np

    spans = np.array(sorted(bars), dtype=np.float64).reshape(-1, 2)
    if not spans.size or length <= 0:
        return np.zeros(bins)
    knots = spans.reshape(-1)
    lasts = spans[:, 1] - spans[:, 0]
    covered = np.stack((np.cumsum(lasts) - lasts, np.cumsum(lasts)), axis=1).reshape(-1)
    edges = np.linspace(0.0, length, bins + 1)
    return np.asarray(np.clip(np.diff(np.interp(edges, knots, covered)) * bins / length, 0.0, 1.0))

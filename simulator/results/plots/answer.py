"""The answer as a picture: who gets how much, runs one above the other, all that was verified."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.base.figures import INK, NOTHING, Drawing, label, name_rows, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.base.arrays import Floats
    from simulator.results.shares import Share

BINS: Final = 200
"""Stretches of time that a row of a run is drawn in."""
MOST_PROCESSES: Final = 48
COMPUTING: Final = ("compute", "farm")
"""Operations that are computing; others are messages, disks and barriers."""
LEVELS: Final = 64
"""Heights of a row that a reader can tell apart."""
_HATCH: Final = "////"


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


@dataclass(frozen=True, eq=False)
class RunRow:
    """A row of a run: the parts of its processes that compute, and that do something else, in `BINS` stretches."""

    name: str
    computing: "Floats"
    other: "Floats"


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it is drawn."""

    title: str
    makespan_s: float
    rows: tuple[RunRow, ...]
    mean_s: float | None = None
    """Of all runs, if that is known."""
    full: bool = True
    """Whether it is drawn in full colour, not as what it is compared with."""


def runs(every: Sequence[Run]) -> Drawing:
    """Draw runs one above the other on one axis of time: how many processes of a row compute, or do something else."""
    if not every:
        return NOTHING
    said = "; ".join(f"{one.title}: {units.show_duration(one.makespan_s)}" for one in every)
    high = 0.65 + sum(0.3 + 0.2 * len(one.rows) for one in every)
    return Drawing("runs", "Runs one above the other", {"all": partial(_draw_runs, every=every)}, said, (high, high))


def timeline(entries: Sequence[Mapping[str, Any]]) -> Drawing:
    """Draw one run by its operations, a row for each process; the first ones of many.

    `entries`: one per operation, see `RunSet.timeline`.
    """
    bars = defaultdict[tuple[int, bool], list[tuple[float, float]]](list)
    pes = {int(one["process"]): str(one["pe"]) for one in entries}
    for one in entries:
        bars[int(one["process"]), one["operation"] in COMPUTING].append((one["start_s"], one["end_s"]))
    makespan_s, alone = max((float(one["end_s"]) for one in entries), default=0.0), len({*pes.values()}) == len(pes)
    rows = tuple(
        RunRow(
            pes[process] if alone else f"{pes[process]}, process {process}",
            *(coverage_of(bars[process, computing], makespan_s) for computing in (True, False)),
        )
        for process in sorted(pes)[:MOST_PROCESSES]
    )
    part = "" if len(rows) == len(pes) else f"The first {len(rows)} of {len(pes)} processes"
    return replace(runs([Run(part or "Makespan of one run", makespan_s, rows)]), kind="timeline") if rows else NOTHING


def _draw_runs(axes: "Axes", *, every: Sequence[Run]) -> None:
    """Each row one high, the title of a run on a row of its own."""
    at, names, places = 0.0, list[str](), list[float]()
    for run in every:
        end = f"{label(run.title, most=40)}: {units.show_duration(run.makespan_s)}"
        axes.text(0, at + 0.5, end, va="center", fontweight="bold")
        top = at + 1.0
        for row in run.rows:
            at += 1.0
            _draw_busy(axes, row, at, run)
            names.append(label(row.name, most=21))
            places.append(at + 0.5)
        axes.plot([run.makespan_s] * 2, [top, at + 1.0], color=INK, lw=1.4, ls=(0, (1, 1)))
        if run.mean_s is not None:
            axes.plot([run.mean_s], [top], marker="v", color=INK, ms=6, clip_on=False)
        at += 1.2
    name_rows(axes, (), below="time in s", ends=(at, -0.1))
    axes.set_yticks(places, names)
    axes.set_xlim(0, 1.02 * max(max(one.makespan_s, one.mean_s or 0.0) for one in every))


def _draw_busy(axes: "Axes", row: RunRow, at: float, run: Run) -> None:
    """The part of a row's processes that computes, and above it those that do something else."""
    import numpy as np

    foot, high, colour = at + 0.92, 0.84, series(0) if run.full else INK
    parts = np.round(LEVELS * np.stack((row.computing, np.minimum(1.0, row.computing + row.other)))) / LEVELS
    kept = np.flatnonzero(np.append(True, np.any(np.diff(parts), axis=0)))  # what stays as it is needs no points
    edges = np.append(kept / parts.shape[1], 1.0) * run.makespan_s
    first, second = (foot - high * np.append(part[kept], part[-1]) for part in parts)
    look: Any = {"step": "post", "lw": 0}
    axes.fill_between(edges, first, foot, color=colour, alpha=1.0 if run.full else 0.5, **look, label="computing")
    look |= {"facecolor": "none", "edgecolor": INK, "hatch": _HATCH, "label": "messages, waiting"}
    axes.fill_between(edges, second, first, **look)


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

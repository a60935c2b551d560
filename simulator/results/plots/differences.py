"""Differences with their intervals, one below the other: which ones are surely above or below 0 (a forest plot)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.results.plots.frame import INK, PAPER, SERIES, Entry, drawing, label, legend, number, numbers, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    A filled dot is a difference that is one after correction for all, an open dot one that cannot be told from 0. What
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
    told = [entry for entry in differences if len(numbers(map(entry.get, ("mean", "low", "high")))) == 3]
    rows = told[:MOST_DIFFERENCES]
    if not rows:
        return ""
    with drawing(height_in=1.25 + 0.44 * len(rows)) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=INK, lw=1)
        for row, entry in enumerate(rows):
            below = (number(entry["mean"]) or 0.0) < 0
            _draw_row(axes, row, entry, f"{100 * level:.4g} %", SERIES[below != less_is_better])
        axes.set_yticks([])
        axes.set_ylim(len(rows) - 0.6, -0.8)
        axes.spines["left"].set_visible(False)
        left_out = f"; the first {len(rows)} of {len(told)}" if len(rows) < len(told) else ""
        axes.set_xlabel(f"{axis}{left_out}")
        axes.grid(axis="x")
        legend(figure, [axes])
        description = "; ".join(map(_described, rows)) + left_out
        return svg(figure, name=name, title=title, description=description)


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
    axes.text(
        *(0.0, row - 0.42, label(entry.get("name"), most=LONGEST)),
        transform=axes.get_yaxis_transform(),
        va="center",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
    )


def _described(entry: Entry) -> str:
    mean, low, high = (number(entry.get(key)) or 0.0 for key in ("mean", "low", "high"))
    unsure = "" if entry.get("sure") else ", not told from 0"
    return f"{label(entry.get('name'), most=LONGEST)} {mean:.4g} ({low:.4g} to {high:.4g}){unsure}"

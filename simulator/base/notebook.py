"""How values show themselves in a notebook: small tables and charts as HTML, every text escaped, for light and dark."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.figures import Drawing, label, name_rows, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 20
"""Rows of a table; further ones are counted."""
MOST_COLUMNS = 12
MOST_LETTERS = 120
"""Letters of one text."""
MOST_KNOTS = 160
"""Points of one curve."""


def page(title: str, *parts: str, warnings: Sequence[str] = ()) -> str:
    """A heading, parts below one another, and what to know before it is trusted."""
    lines = "".join(f"<li>{_text(line)}</li>" for line in warnings[:MOST_ROWS])
    more = f"<li>and {len(warnings) - MOST_ROWS} more</li>" if len(warnings) > MOST_ROWS else ""
    listed = f'<ul class="warnings" style="opacity:.8">{lines}{more}</ul>' if lines else ""
    return f'<div style="max-width:60em"><p><b>{_text(title, most=400)}</b></p>{"".join(parts)}{listed}</div>'


def facts(named: Mapping[str, object]) -> str:
    """Names and values, a row each; None is left out."""
    left = 'style="text-align:left"'
    rows = "".join(
        f'<tr><th scope="row" {left}>{_text(name)}</th><td {left}>{_cell(value)}</td></tr>'
        for name, value in list(named.items())[: 2 * MOST_ROWS]
        if value is not None
    )
    return f"<table>{rows}</table>"


def table(rows: Sequence[Mapping[str, object]], *, count: int | None = None) -> str:
    """Rows of the same columns, in the order of the first one."""
    if not rows:
        return "<p>nothing</p>"
    names = list(rows[0])[:MOST_COLUMNS]
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row.get(name))}</td>' for name in names)}</tr>" for row in rows[:MOST_ROWS]
    )
    left = (len(rows) if count is None else count) - min(len(rows), MOST_ROWS)
    more = f'<p style="opacity:.8">and {left} more rows</p>' if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def ranges(rows: Sequence[tuple[str, float | None, float, float | None]], *, unit: str) -> str:
    """A line from low to high and a point between for each name; rows of (name, low, middle, high).

    The point alone where low and high are None: one replication has no range.
    """
    whole = [
        (name, middle if low is None else low, middle, middle if high is None else high)
        for name, low, middle, high in rows[:MOST_ROWS]
    ]
    shown = [row for row in whole if all(map(math.isfinite, row[1:]))]
    if not shown:
        return ""

    def draw(axes: "Axes") -> None:
        for place, (_, low, middle, high) in enumerate(shown):
            axes.plot([low, high], [place, place], color=series(0))
            axes.plot(middle, place, "o", color=series(1), ms=5)
        name_rows(axes, [label(row[0]) for row in shown], below=unit, ends=(len(shown) - 0.5, -0.5))

    heights = 0.7 + 0.25 * len(shown), 0.0
    return Drawing("ranges", f"{len(shown)} ranges in {unit}", {"all": draw}, unit, heights).svg()


def curves(
    x: ArrayLike,
    lines: Mapping[str, ArrayLike],
    *,
    labels: tuple[str, str],
    band: tuple[ArrayLike, ArrayLike] | None = None,
    log: tuple[bool, bool] = (False, False),
    steps: bool = False,
) -> str:
    """Lines over a common axis, with a band behind them if there is one.

    `x`, `lines`, `band`: ascending values, curves by name, and the two edges of the band; (n,) each.
    `log`: which axes are logarithmic; one with values of 0 or below is not.
    """
    xs = np.asarray(x, dtype=np.float64)
    named = {name: np.asarray(values, dtype=np.float64) for name, values in lines.items()}
    edges = [] if band is None else [np.asarray(edge, dtype=np.float64) for edge in band]
    heights = np.concatenate([*named.values(), *edges])
    if xs.size < 2 or not np.all(np.isfinite(xs)) or not np.all(np.isfinite(heights)):
        return ""
    kept = np.unique(np.linspace(0, xs.size - 1, min(xs.size, MOST_KNOTS)).astype(int))

    def draw(axes: "Axes") -> None:
        if edges:
            axes.fill_between(xs[kept], *(edge[kept] for edge in edges), color=series(0), alpha=0.3, lw=0)
        style: Any = {"drawstyle": "steps-post"} if steps else {}
        for place, (name, values) in enumerate(named.items()):
            text = label(name) if len(named) > 1 else None
            axes.plot(xs[kept], values[kept], color=series(place), lw=1.5, label=text, **style)
        axes.set(xlabel=label(labels[0], most=40), ylabel=label(labels[1]))
        axes.set(
            xscale="log" if log[0] and xs[0] > 0 else "linear",
            yscale="log" if log[1] and heights.min() > 0 else "linear",
        )

    title = f"{labels[1]} over {labels[0]}"
    return Drawing("curves", title, {"all": draw}, ", ".join(named), (2.4, 0.0)).svg()


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, tuple | list):
        shown, more = ", ".join(map(str, value[:8])), f", ... ({len(value)})" if len(value) > 8 else ""
        return _text(shown + more)
    return _text(value)


def _text(value: object, *, most: int = MOST_LETTERS) -> str:
    """A text for HTML, cut where it is long."""
    text = str(value)
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…")

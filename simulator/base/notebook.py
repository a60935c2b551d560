"""How values show themselves in a notebook: small tables and charts as HTML, every text escaped, for light and dark."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["curves", "facts", "page", "ranges", "table"]

MOST_ROWS = 20
"""Rows of a table; further ones are counted."""
MOST_COLUMNS = 12
MOST_LETTERS = 120
"""Letters of one text."""
MOST_KNOTS = 160
"""Points of one curve."""
WIDTH, HEIGHT = 420, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 10, 34
_SVG = f'<svg viewBox="0 0 {WIDTH} %d" width="{WIDTH}" role="img" aria-label="%s" style="max-width:100%%;height:auto"'
_SVG += ' fill="currentColor" stroke="none" font-family="sans-serif" font-size="11">'
_COLOURS = ("#2f7ed8", "#d9822b", "#3a9d5d", "#b0578d")
"""Seen on white and on black."""

Floats = NDArray[np.float64]


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
    """Rows of the same columns, in the order of the first one.

    `count`: how many rows there are in all, where not all of them are handed over.
    """
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
    least, most = min(row[1] for row in shown), max(row[3] for row in shown)
    axis = _Axis(least, most, 130, WIDTH - _RIGHT)
    height = 18 * len(shown) + _BOTTOM
    parts = [_SVG % (height, f"{len(shown)} ranges in {_text(unit)}")]
    for number, (name, low, middle, high) in enumerate(shown):
        y = 18 * number + 12
        parts += [
            f'<text x="124" y="{y + 4}" text-anchor="end">{_text(name, most=20)}</text>',
            f'<line x1="{axis.at(low)}" x2="{axis.at(high)}" y1="{y}" y2="{y}" stroke="{_COLOURS[0]}"/>',
            f'<circle cx="{axis.at(middle)}" cy="{y}" r="4" fill="{_COLOURS[1]}"/>',
        ]
    parts += _ticks(axis, height - _BOTTOM + 8, unit)
    return f"{''.join(parts)}</svg>"


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

    Parameters
    ----------
    x, lines, band
        Ascending values, curves by name, and the two edges of the band; (n,) each.
    labels
        Of the axes.
    log
        Which axes are logarithmic; one with values of 0 or below is not.
    steps
        Whether a value holds up to the next one.
    """
    xs = np.asarray(x, dtype=np.float64)
    named = {name: np.asarray(values, dtype=np.float64) for name, values in lines.items()}
    edges = [] if band is None else [np.asarray(edge, dtype=np.float64) for edge in band]
    every = [xs, *named.values(), *edges]
    if xs.size < 2 or not all(np.all(np.isfinite(values)) for values in every):
        return ""
    if steps:
        xs = np.repeat(xs, 2)[1:]
        named = {name: np.repeat(values, 2)[:-1] for name, values in named.items()}
    kept = (
        np.unique(np.linspace(0, xs.size - 1, MOST_KNOTS).astype(int)) if xs.size > MOST_KNOTS else np.arange(xs.size)
    )
    xs, named = xs[kept], {name: values[kept] for name, values in named.items()}
    edges = [edge[kept] for edge in edges]
    heights = np.concatenate([*named.values(), *edges])
    across = _Axis(float(xs[0]), float(xs[-1]), _LEFT, WIDTH - _RIGHT, log=log[0])
    upright = _Axis(float(heights.min()), float(heights.max()), HEIGHT - _BOTTOM, _TOP, log=log[1])
    parts = [_SVG % (HEIGHT, f"{_text(labels[1])} over {_text(labels[0])}")]
    if edges:
        outline = _points(across, upright, np.append(xs, xs[::-1]), np.append(edges[0], edges[1][::-1]))
        parts.append(f'<polygon points="{outline}" fill="{_COLOURS[0]}" fill-opacity=".3"/>')
    for number, (name, values) in enumerate(named.items()):
        colour, drawn = _COLOURS[number % len(_COLOURS)], _points(across, upright, xs, values)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        if len(named) > 1:
            place = f'x="{WIDTH - _RIGHT}" y="{_TOP + 11 + 13 * number}" text-anchor="end"'
            parts.append(f'<text {place} fill="{colour}">{_text(name, most=24)}</text>')
    parts += _ticks(across, HEIGHT - _BOTTOM, labels[0])
    for value in (upright.low, upright.high):
        y = min(max(upright.at(value), 9.0), HEIGHT - _BOTTOM)
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 3}" text-anchor="end">{number_text(value)}</text>')
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    turned = f'transform="rotate(-90 12 {middle})"'
    parts.append(f'<text x="12" y="{middle}" text-anchor="middle" {turned}>{_text(labels[1], most=24)}</text>')
    return f"{''.join(parts)}</svg>"


def number_text(value: float) -> str:
    """Four digits at most."""
    return f"{value:.4g}"


class _Axis:
    """Values along a line of the picture."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool = False) -> None:
        self.low, self.high, self._start, self._end = low, high, start, end
        self._log = log and low > 0

    def at(self, value: float) -> float:
        """Where a value lies."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        share = (self._scaled(value) - low) / (high - low) if high > low else 0.5
        return round(self._start + share * (self._end - self._start), 1)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self._log else value


def _points(across: _Axis, upright: _Axis, xs: Floats, ys: Floats) -> str:
    return " ".join(f"{across.at(x)},{upright.at(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))


def _ticks(axis: _Axis, y: float, label: str) -> Iterable[str]:
    """A line with its ends and what it is."""
    start, end = sorted((axis.at(axis.low), axis.at(axis.high)))
    yield f'<line x1="{start}" x2="{end}" y1="{y}" y2="{y}" stroke="currentColor" stroke-opacity=".5"/>'
    yield f'<text x="{start}" y="{y + 13}">{number_text(axis.low)}</text>'
    yield f'<text x="{end}" y="{y + 13}" text-anchor="end">{number_text(axis.high)}</text>'
    yield f'<text x="{(start + end) / 2}" y="{y + 25}" text-anchor="middle">{_text(label, most=40)}</text>'


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else number_text(float(value))
    if isinstance(value, tuple | list):
        return _text(_few(value))
    return _text(value)


def _few(values: Sequence[Any], *, most: int = 8) -> str:
    """Some of many."""
    shown = ", ".join(str(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)})"


def _text(value: object, *, most: int = MOST_LETTERS) -> str:
    """A text for HTML, cut where it is long."""
    text = str(value)
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…")

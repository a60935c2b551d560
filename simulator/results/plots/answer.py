"""The answer as a picture: who gets how much, runs one above the other, predicted against measured; light SVG.

These are written by hand and not by matplotlib, which takes most of a second for its first figure: notebooks show them
with every value. The colours of a page are its own; elsewhere they are seen on white and on black.
"""

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.results.plots.frame import label, number, numbers

if TYPE_CHECKING:
    from simulator.models.speed import Floats
    from simulator.results.shares import Share

__all__ = ["coverage_of", "makespans_svg", "runs_svg", "scorecard_svg", "shares_svg"]

WIDTH: Final = 430
"""So wide that text is legible on a phone, which shows all of it."""
NAMES: Final = 132
"""Of the column of names at the left."""
BINS: Final = 200
"""Stretches of time that a row of a run is drawn in."""
ADVISED: Final = "var(--ap-1, #2f7ed8)"
OTHER: Final = "var(--ap-2, #d9822b)"
_QUIET: Final = 'fill-opacity=".72"'
_LETTER: Final = 5.6
_BOLD: Final = 6.9
"""About the widths of a letter."""
_LAST: Final = f'fill="{ADVISED}"'
_FORMER: Final = 'fill="currentColor" fill-opacity=".5"'
_OUTLINED: Final = 'fill="url(#{}-hatch)" stroke="currentColor" stroke-opacity=".6"'


class _Canvas:
    """Elements from the top down, and the height that they take."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = 0.0

    def text(self, x: float, y: float, said: str, more: str = "") -> None:
        """A text whose foot is at y."""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}"{more and f" {more}"}>{html.escape(said)}</text>')

    def bar(self, x: float, y: float, wide: float, high: float, more: str) -> None:
        """A box, at least a line wide."""
        box = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(wide, 0.8))}" height="{_n(high)}"'
        self.parts.append(f"<rect {box} {more}/>")

    def line(self, x: float, y: float, to: tuple[float, float], more: str = 'stroke-opacity=".3"') -> None:
        """A straight line."""
        self.parts.append(
            f'<line x1="{_n(x)}" y1="{_n(y)}" x2="{_n(to[0])}" y2="{_n(to[1])}" stroke="currentColor" {more}/>'
        )

    def svg(self, *, name: str, title: str, description: str) -> str:
        """The whole element; its ids begin with the name."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {WIDTH} {_n(self.y)}" role="img" '
            f'style="max-width:100%;height:auto;vertical-align:top" width="{WIDTH}" height="{_n(self.y)}" '
            'fill="currentColor" '
            f'font-size="11" font-family="var(--ap-font, sans-serif)" aria-labelledby="{name}-title {name}-desc">'
            f'<title id="{name}-title">{html.escape(title)}</title>'
            f'<desc id="{name}-desc">{html.escape(description)}</desc>{"".join(self.parts)}</svg>'
        )


def _n(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".removesuffix(".0")


def _hatch(name: str) -> str:
    """A pattern of slanted lines, which is told from a full colour in grey, too."""
    return (
        f'<defs><pattern id="{name}-hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="4" stroke="currentColor" stroke-width="1.6" '
        'stroke-opacity=".55"/></pattern></defs>'
    )


def amount(value: float) -> str:
    """A number of units: whole ones with their thousands apart, three digits of what is no whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


# Who gets how much


def shares_svg(
    rows: "Sequence[Share]",
    *,
    unit: str,
    of: str = "PE",
    names: tuple[str, str] = ("as now", "advised"),
    name: str = "who",
) -> str:
    """Draw what each PE or node has as now, hatched, and as advised, full; beneath its name its speed and load.

    Parameters
    ----------
    rows
        Of `simulator.gathered_shares`.
    unit
        What is shared out, such as `rows`.
    of
        What a row is of.
    names
        What the configurations before and after are called.
    name
        Begins the ids of the figure.
    """
    if not rows:
        return ""
    several = any(one.count > 1 for one in rows)
    longest = max(max(one.before or 0.0, one.after, one.high) for one in rows) or 1.0
    beyond = max(_BOLD * len(_after_text(one)) + _LETTER * len(_processes(one)) for one in rows)
    drawn, scale = _Canvas(), max(WIDTH - NAMES - 16 - beyond, 60.0) / longest
    drawn.parts.append(_hatch(name))
    compared = any(one.before is not None for one in rows)
    each = f"{unit} per {of}" if several or of == "node" else unit
    _legend(drawn, name, each, names if compared else ("", names[1]))
    for one in rows:
        _share(drawn, one, (name, unit, of), scale)
    said = [_said(one, unit, names) for one in rows]
    return drawn.svg(name=name, title=f"Who gets how much: {each}", description="; ".join(said))


def _legend(drawn: _Canvas, name: str, unit: str, names: tuple[str, str]) -> None:
    before, after = names
    x = float(NAMES)
    if before:
        drawn.bar(x, 3.5, 14, 7, _OUTLINED.format(name))
        drawn.text(x + 19, 11, before)
        x += 32 + _LETTER * len(before)
    drawn.bar(x, 2.5, 14, 9, f'fill="{ADVISED}"')
    drawn.text(x + 19, 11, after)
    drawn.text(0, 11, unit, _QUIET)
    drawn.y = 20


def _share(drawn: _Canvas, one: "Share", what: tuple[str, str, str], scale: float) -> None:
    """Its name over what it can do, and a bar for each configuration; `what`: ids' name, unit, what rows are of."""
    name, unit, of = what
    top, high = drawn.y, 34 if one.before is not None else 28
    title = html.escape(f"{one.name}: {', '.join(filter(None, (_can(one, unit), _left(one), _doing(one))))}")
    drawn.parts.append(f"<g><title>{title}</title>")
    drawn.text(0, top + 12, label(one.name, most=20), 'font-weight="600"')
    several = f"{one.count} {of}s" if one.name.endswith("…") else ""
    beneath = ", ".join(filter(None, (several, _can(one, unit))))
    drawn.text(0, top + 25, label(beneath, most=27), f'font-size="10" {_QUIET}')
    y = top + 3.0
    if one.before is not None:
        drawn.bar(NAMES, y, one.before * scale, 8, _OUTLINED.format(name))
        drawn.text(NAMES + one.before * scale + 5, y + 8, amount(one.before), f'font-size="10" {_QUIET}')
        y += 10
    if one.after:
        drawn.bar(NAMES, y, one.after * scale, 12, f'fill="{ADVISED}"')
    x = NAMES + max(one.after, one.high) * scale + (5 if one.after else 0)
    drawn.text(x, y + 10, _after_text(one), 'font-weight="600"')
    drawn.text(x + 5 + _BOLD * len(_after_text(one)), y + 10, _processes(one), f'font-size="10" {_QUIET}')
    if one.count > 1 and one.high > one.low:
        drawn.line(NAMES + one.low * scale, y + 6, (NAMES + one.high * scale, y + 6), 'stroke-width="1.4"')
    drawn.parts.append("</g>")
    drawn.y = top + high


def _after_text(one: "Share") -> str:
    """Its units as advised, and how much more or less that is."""
    if not one.after:
        return "nothing" if one.before is None or one.before else "0"
    change = "" if not one.before else f" ({100 * (one.after / one.before - 1):+.0f} %)".replace("-", "−")
    return amount(one.after) + ("" if change in {" (+0 %)", " (−0 %)"} else change)


def _processes(one: "Share") -> str:
    """By how many processes, where there are several on one PE."""
    return f"in {one.processes:.2g} processes" if one.processes > one.pes else ""


def _can(one: "Share", unit: str) -> str:
    """Its speed and its load, as far as they are known."""
    speed = "" if one.speed is None else f"{_three(one.speed)} {unit}/s"
    load = f"load {one.load:.2g}" if one.load else _left(one) or ("no load" if one.left is not None else "")
    return ", ".join(filter(None, (speed, load)))


def _left(one: "Share") -> str:
    """What its load leaves to us."""
    return "" if one.left is None or one.left >= 0.9995 else f"{100 * one.left:.0f} % left"


def _doing(one: "Share") -> str:
    """How many processes and PEs, where there are several."""
    parts = [f"{amount(one.processes)} processes"] if one.processes > 1 else []
    parts += [f"{one.pes} PEs"] if one.pes > 1 else []
    return ", ".join([*parts, *([f"each of {one.count}"] if one.count > 1 else [])])


def _three(value: float) -> str:
    """Three digits, thousands apart; thousands and millions by letter where there are many."""
    if value <= 0:
        return "0"
    for size, letter, least in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if value >= least:
            return f"{_three(value / size)} {letter}"
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _said(one: "Share", unit: str, names: tuple[str, str]) -> str:
    before = "" if one.before is None else f"{amount(one.before)} {unit} {names[0]}, "
    can = ", ".join(filter(None, (_can(one, unit), _left(one))))
    return f"{one.name}: {before}{amount(one.after)} {names[1]}" + (f" ({can})" if can else "")


# Runs, one above the other


def runs_svg(runs: Sequence[Mapping[str, Any]], *, name: str = "runs") -> str:
    """Draw runs one above the other on one axis of time: how many of a row's processes compute, and exchange messages.

    Parameters
    ----------
    runs
        One entry per run: `title`, `makespan_s`, and `rows`, each with `name` and the parts of its processes that
        compute and that exchange messages (or do something else) in `BINS` stretches of the run: `computing`, `other`.
    name
        Begins the ids of the figure.
    """
    if not runs:
        return ""
    longest = max(float(one["makespan_s"]) for one in runs) or 1.0
    drawn = _Canvas()
    drawn.parts.append(_hatch(name))
    _run_legend(drawn, name)
    for place, one in enumerate(runs):
        _run(drawn, one, f"{name}-hatch", longest, _LAST if place == len(runs) - 1 else _FORMER)
    _time_axis(drawn, longest)
    said = "; ".join(f"{one['title']}: {units.show_duration(float(one['makespan_s']))}" for one in runs)
    return drawn.svg(name=name, title="Runs one above the other", description=said)


def _run_legend(drawn: _Canvas, name: str) -> None:
    drawn.bar(NAMES, 3, 14, 9, f'fill="{ADVISED}"')
    drawn.text(NAMES + 19, 11, "computing")
    drawn.bar(NAMES + 86, 3, 14, 9, _OUTLINED.format(name))
    drawn.text(NAMES + 105, 11, "messages, waiting")
    drawn.y = 18


def _run(drawn: _Canvas, run: Mapping[str, Any], hatch: str, longest: float, filled: str) -> None:
    import numpy as np

    rows, makespan = run["rows"], float(run["makespan_s"])
    scale, top = (WIDTH - NAMES - 2) / longest, drawn.y
    wide = makespan * scale
    drawn.text(0, top + 13, label(run["title"], most=40), 'font-weight="600"')
    end, heavy = units.show_duration(makespan), 'font-weight="600"'
    fits = wide > _LETTER * (len(end) + 2) and NAMES + wide > _LETTER * (len(str(run["title"])) + len(end) + 4)
    drawn.text(NAMES + wide, top + 13, end, f'text-anchor="end" {heavy}' if fits else heavy)
    high = 15.0 if len(rows) <= 4 else 10.0
    y = top + 18
    for row in rows:
        drawn.text(0, y + high - 2, label(row["name"], most=21), f'font-size="10" {_QUIET}')
        computing, other = (np.asarray(row[key], dtype=np.float64) for key in ("computing", "other"))
        drawn.parts.append(_area(computing, np.zeros(computing.size), (NAMES, y, wide, high), filled))
        both = np.minimum(1.0, computing + other)
        drawn.parts.append(_area(both, computing, (NAMES, y, wide, high), f'fill="url(#{hatch})"'))
        drawn.line(NAMES, y + high, (NAMES + wide, y + high), 'stroke-opacity=".25" stroke-width=".8"')
        y += high + 3
    drawn.line(NAMES + wide, top + 16, (NAMES + wide, y), 'stroke-width="1.4" stroke-dasharray="2 2"')
    drawn.y = y + 4


def _area(upper: "Floats", lower: "Floats", box: tuple[float, float, float, float], more: str) -> str:
    """What lies between two curves of steps from 0 to 1; nothing where they meet."""
    x, y, wide, high = box
    step, parts, place = wide / max(1, upper.size), list[str](), 0
    upper, lower = upper.round(2), lower.round(2)
    while place < upper.size:
        end = place + 1
        while end < upper.size and upper[end] == upper[place] and lower[end] == lower[place]:
            end += 1
        if upper[place] > lower[place]:
            left, right = _n(x + place * step), _n(x + end * step)
            top, foot = _n(y + high * (1 - upper[place])), _n(y + high * (1 - lower[place]))
            parts.append(f"M{left} {foot}V{top}H{right}V{foot}Z")
        place = end
    return f'<path d="{"".join(parts)}" {more}/>' if parts else ""


def _time_axis(drawn: _Canvas, longest: float) -> None:
    scale = (WIDTH - NAMES - 2) / longest
    drawn.line(NAMES, drawn.y, (WIDTH - 2, drawn.y))
    for tick in _ticks(longest):
        x = NAMES + tick * scale
        drawn.line(x, drawn.y, (x, drawn.y + 3))
        last = x > WIDTH - 24
        drawn.text(x, drawn.y + 14, _time_text(tick, longest), f'text-anchor="{"end" if last else "middle"}" {_QUIET}')
    drawn.y += 18


def _ticks(longest: float, most: int = 4) -> list[float]:
    """Round values from 0 on."""
    raw = longest / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    return [step * place for place in range(int(longest / step + 1e-9) + 1)]


def _time_text(tick: float, longest: float) -> str:
    """All in the unit of the longest."""
    if not tick:
        return "0"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if longest >= size:
            return f"{tick / size:,.4g} {unit}"
    return f"{tick * 1e9:.4g} ns"


# Predicted against measured


def makespans_svg(rows: Sequence[Mapping[str, Any]], *, level: float = 0.9, name: str = "makespans") -> str:
    """Draw for each configuration what was predicted, with its interval, and every real run with their median.

    Parameters
    ----------
    rows
        One entry per configuration: `name`; `predicted_s` with `low_s` and `high_s`; `measured_s`, of each run, and
        `median_s`; `advised`. What is not known is None.
    level
        How often the intervals hold.
    name
        Begins the ids of the figure.
    """
    known = [row for row in rows if number(row.get("predicted_s")) is not None or numbers(row.get("measured_s"))]
    if not known:
        return ""
    ends = [numbers([row.get("predicted_s"), row.get("high_s"), *(row.get("measured_s") or ())]) for row in known]
    longest = max(map(max, ends)) or 1.0
    scale, drawn = (WIDTH - NAMES - 2) / (1.02 * longest), _Canvas()
    measured = any(numbers(row.get("measured_s")) for row in known)
    _makespan_legend(
        drawn, f"{100 * level:.4g} %", interval=any(row.get("low_s") is not None for row in known), measured=measured
    )
    for row in known:
        _makespan(drawn, row, scale)
    _time_axis(drawn, 1.02 * longest)
    said = "; ".join(_makespan_said(row) for row in known)
    title = "Predicted against measured" if measured else "Predicted makespan"
    return drawn.svg(name=name, title=title, description=said)


def _makespan_legend(drawn: _Canvas, level: str, *, interval: bool, measured: bool) -> None:
    _diamond(drawn, NAMES + 6, 7)
    said = f"predicted, {level} interval" if interval else "predicted"
    drawn.text(NAMES + 16, 11, said)
    if measured:
        x = NAMES + 32 + _LETTER * len(said)
        drawn.parts.append(f'<circle cx="{_n(x)}" cy="7" r="3.4" fill="none" stroke="{OTHER}" stroke-width="1.5"/>')
        drawn.text(x + 9, 11, "measured, | median")
    drawn.y = 20


def _diamond(drawn: _Canvas, x: float, y: float) -> None:
    drawn.parts.append(f'<path d="M{_n(x - 5)} {_n(y)}l5 -5 5 5 -5 5z" fill="{ADVISED}"/>')


def _makespan(drawn: _Canvas, row: Mapping[str, Any], scale: float) -> None:
    top, runs = drawn.y, sorted(numbers(row.get("measured_s")))
    heavy = 'font-weight="600"' if row.get("advised") else ""
    drawn.text(0, top + 12, label(row.get("name"), most=22), heavy)
    drawn.text(0, top + 24, label(_makespan_short(row), most=27), f'font-size="10" {_QUIET}')
    ends = numbers([row.get("low_s"), row.get("high_s")])
    if len(ends) == 2:
        wide = (ends[1] - ends[0]) * scale
        drawn.bar(NAMES + ends[0] * scale, top + 5, wide, 8, f'fill="{ADVISED}" fill-opacity=".35"')
    if (predicted := number(row.get("predicted_s"))) is not None:
        _diamond(drawn, NAMES + predicted * scale, top + 9)
    for place, value in enumerate(runs):
        centre = f'cx="{_n(NAMES + value * scale)}" cy="{_n(top + 20 + 3.2 * (place % 3 - 1))}"'
        drawn.parts.append(f'<circle {centre} r="2.8" fill="none" stroke="{OTHER}" stroke-width="1.3"/>')
    if (median := number(row.get("median_s"))) is not None:
        x = NAMES + median * scale
        drawn.line(x, top + 14, (x, top + 27), 'stroke-width="2"')
    drawn.y = top + (34 if runs else 30)


def _makespan_short(row: Mapping[str, Any]) -> str:
    """Measured and error, where there is one, else what is predicted."""
    predicted, median = number(row.get("predicted_s")), number(row.get("median_s"))
    if median is None or predicted is None:
        value = predicted if median is None else median
        return "" if value is None else units.show_duration(value)
    error = 100 * (predicted / median - 1) if median else 0.0
    return f"{units.show_duration(median)}; predicted {error:+.1f} %".replace("-", "−")


def _makespan_said(row: Mapping[str, Any]) -> str:
    parts = _durations(row, ("predicted", "predicted_s"), ("from", "low_s"), ("to", "high_s"), ("measured", "median_s"))
    return f"{label(row.get('name'))}: {', '.join(parts)}"


def _durations(row: Mapping[str, Any], *named: tuple[str, str]) -> Iterator[str]:
    for said, key in named:
        if (value := number(row.get(key))) is not None:
            yield f"{said} {units.show_duration(value)}"


# All that was predicted and really run


MOST_CASES: Final = 24
"""Predictions that a scorecard draws."""


def scorecard_svg(cases: Sequence[Mapping[str, Any]], *, name: str = "scorecard") -> str:
    """Draw measured over predicted of each case, and where it was stated to lie; a filled dot where that held.

    Parameters
    ----------
    cases
        One entry per case: `name`; `ratio`, and its `low` and `high` or None; `held`.
    name
        Begins the ids of the figure.
    """
    shown = [one for one in cases if (number(one.get("ratio")) or 0) > 0][:MOST_CASES]
    if not shown:
        return ""
    every = [value for one in shown for value in numbers([one["ratio"], one.get("low"), one.get("high")]) if value > 0]
    most = max(1.05, *(max(value, 1 / value) for value in every)) ** 1.06
    drawn, pixels = _Canvas(), (WIDTH - NAMES - 8) / 2 / math.log(most)
    middle = NAMES + 4 + pixels * math.log(most)
    drawn.text(NAMES + 4, 11, "quicker than predicted", _QUIET)
    drawn.text(WIDTH - 2, 11, "slower", f'text-anchor="end" {_QUIET}')
    drawn.y = 16
    for one in shown:
        _case(drawn, one, (middle, pixels))
    drawn.line(middle, 16, (middle, drawn.y), 'stroke-dasharray="2 2"')
    for ratio in (1 / most**0.7, 1.0, most**0.7):
        said = "as predicted" if ratio == 1 else f"× {ratio:.2f}"
        drawn.text(middle + pixels * math.log(ratio), drawn.y + 13, said, f'text-anchor="middle" {_QUIET}')
    drawn.y += 18
    held = sum(one.get("held") is True for one in shown)
    judged = sum(one.get("held") is not None for one in shown)
    title = "Measured over predicted, of all that was verified"
    return drawn.svg(name=name, title=title, description=f"{held} of {judged} stated intervals held")


def _case(drawn: _Canvas, one: Mapping[str, Any], axis: tuple[float, float]) -> None:
    (middle, pixels), y = axis, drawn.y + 7
    drawn.text(0, y + 4, label(one.get("name"), most=26), f'font-size="10" {_QUIET}')
    ends = [middle + pixels * math.log(value) for value in numbers([one.get("low"), one.get("high")]) if value > 0]
    if len(ends) == 2:
        drawn.bar(ends[0], y - 4, ends[1] - ends[0], 8, f'fill="{ADVISED}" fill-opacity=".3"')
    x, held = middle + pixels * math.log(float(one["ratio"])), one.get("held")
    mark = f'fill="{ADVISED}"' if held else f'fill="none" stroke="{OTHER if held is False else "currentColor"}"'
    drawn.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3.6" {mark} stroke-width="1.8"/>')
    drawn.y += 14


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

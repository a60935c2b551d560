"""The points of a what-if: sliders that move between them, and, without a script, tables."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from advisor import wording
from advisor.report import whatif_words as words
from advisor.results import Stated
from advisor.whatif import Findings
from advisor.whatif.findings import Configured, PointFound
from advisor.wording import clean
from simulator import blocks

MOST_BYTES = 900_000
"""Of the data of the sliders: the page is to stay below 1.5 MB with all else in it."""
MOST_ROWS = 400
MOST_REASON = 200


def grid_section(found: Findings) -> blocks.Section:
    """The grid to play with."""
    data, left_out = grid_data(found)
    notes = tuple(blocks.Text(line, quiet=True) for line in left_out)
    label, tables = "What if: sliders between the points that were simulated", (_points(found),)
    shown: tuple[blocks.Block, ...] = tables if data is None else (blocks.Widget("whatif", label, data, tables),)
    return blocks.Section("whatif", "What if", (*shown, *notes))


def grid_data(found: Findings, *, most_bytes: int = MOST_BYTES) -> tuple[dict[str, Any] | None, list[str]]:
    """What the sliders move over, and in words what is left out so that the page stays small.

    First advised partitions are, then the sliders themselves.
    """
    if not any(point.best is not None for point in found.points):
        return None, []
    advised = any(point.advice for point in found.points)
    data, left_out = _data(found, advised=advised), []
    if advised and _bytes(data) > most_bytes:
        data = _data(found, advised=False)
        left_out.append("Advised partitions are left out here; the files in points/ have them.")
    if _bytes(data) > most_bytes:
        return None, [*left_out, "These are too many points for sliders; points.csv has all."]
    return data, left_out


def _bytes(data: Any) -> int:
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())


def _data(found: Findings, *, advised: bool) -> dict[str, Any]:
    """Numbers as flat lists over the grid, the last field's fastest; None where a point has no answer."""
    points, fields = found.points, found.grid.fields
    numbers = np.asarray(found.grid.places).reshape(-1).tolist()
    shown = [points[number] for number in numbers]
    names = list(dict.fromkeys(one.name for point in points for one in point.configurations))
    fastest = found.pays_most if found.pays_most is not None else _fastest(points)
    data = {
        "fields": [
            {
                "name": clean(field.name),
                "stops": [clean(stop.text) for stop in field.stops],
                "values": [stop.value for stop in field.stops] if field.numeric else None,
                "asIs": next((place for place, stop in enumerate(field.stops) if stop.as_is), None),
            }
            for field in fields
        ],
        "level": wording.level_text(found.drawn.held),
        "ties": [place for place, number in enumerate(numbers) if number in found.ties],
        "names": [clean(name) for name in names],
        "base": [_configuration(points[0], name) for name in names],
        "baseBest": _best(points[0], names),
        "rows": [[_configuration(point, name) for point in shown] for name in names],
        "best": [_best(point, names) for point in shown],
        "pays": [int(number in found.pays) for number in numbers],
        "gain": [None if point.gain is None else _three(point.gain) for point in shown],
        "chance": [point.chance for point in shown],
        "fastest": numbers.index(fastest) if fastest in numbers else None,
        "failed": {
            str(place): words.reason(found, point)[:MOST_REASON] for place, point in enumerate(shown) if point.error
        },
    }
    spent = {of: [point.spent(of) for point in shown] for of in ("cost", "energy")}
    more = {of: [None if one is None else _short(one.run, 5) for one in own] for of, own in spent.items() if any(own)}
    return data | ({"advice": [_advice(point) for point in shown]} if advised else {}) | more


def _fastest(points: Sequence[PointFound]) -> int | None:
    known = [(point.chance, point.point) for point in points if point.chance is not None]
    return max(known, key=lambda one: one[0])[1] if known else None


def _best(point: PointFound, names: Sequence[str]) -> int | None:
    return None if point.best is None else names.index(point.best)


def _configuration(point: PointFound, name: str) -> list[float | None] | None:
    """Mean makespan with its ends, difference to the base with its ends, ends of the gain; None for what is unknown."""
    one = next((one for one in point.configurations if one.name == name), None)
    return None if one is None else [*_three(one.makespan_s), *_three(one.difference_s), *_three(one.gain)[1:]]


def _three(stated: Stated | None) -> list[float | None]:
    """A value and the ends of its interval; None for what is not known."""
    values = (None, None, None) if stated is None else (stated.mean, stated.low, stated.high)
    return [None if value is None else _short(value, 6) for value in values]


def _short(value: float, digits: int) -> float:
    """A number with so many digits, which JSON writes in short."""
    found = float(f"{value:.{digits}g}")
    return int(found) if found == int(found) and abs(found) < 1e15 else found


def _advice(point: PointFound) -> str | None:
    advice = point.advice
    return None if advice is None else clean(f"{advice.recommended}: {', '.join(advice.shares)}")


def _points(found: Findings) -> blocks.Table:
    """Points with their configurations, as far as there is room."""
    points = found.points
    every = sum(max(1, len(point.configurations)) for point in points) <= MOST_ROWS
    shown = list(points) if len(points) <= MOST_ROWS else [points[0], *found.by_gain()[: MOST_ROWS - 1]]
    said = wording.interval_sentence(found.drawn)
    note = f"Differences and gains are to the scenario as it is, on the same draws. {said}"
    if not every:
        note = f"Each point under its best configuration, against the best one of the scenario as it is. {note}"
    if len(shown) < len(points):
        note = f"The {len(shown)} points that gain most of {len(points)}; points.csv has all. {note}"
    rows = [row for point in shown for row in _rows(found, point, every=every)]
    head = ["point", "changes", "configuration", "makespan", "difference", "gain", "fastest with chance"]
    best = None if found.pays_most is None else str(found.pays_most)
    return blocks.table("Points, predicted", head, rows, text_columns=3, best=best, tag="pays most", note=note)


def _rows(found: Findings, point: PointFound, *, every: bool) -> Iterator[list[str]]:
    head = [str(point.point), words.named(found, point)]
    if point.own is None:
        yield [*head, "failed", *[wording.NOTHING] * 4]  # a section of its own says why
    for one in point.configurations if every else filter(None, [point.own]):
        against: Configured | PointFound = one if every else point
        difference = wording.with_interval(against.difference_s, signed=True) if point.point else wording.NOTHING
        yield [
            *head,
            one.name,
            wording.with_interval(one.makespan_s),
            difference,
            wording.with_interval(against.gain, ""),
            words.chance(found, point) if one.name == point.best else "",
        ]

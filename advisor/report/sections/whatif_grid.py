"""The points of a what-if: sliders that move between them, and, without a script, tables."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from advisor import wording
from advisor.report import whatif_words as words
from advisor.report.page import Block, Section, Table, Text, Widget, table
from advisor.wording import Document, clean

MOST_BYTES = 900_000
"""Of the data of the sliders: the page is to stay below 1.5 MB with all else in it."""
MOST_COLUMNS = 12
MOST_ROWS = 400
MOST_REASON = 200


def section(document: Document) -> Section:
    """The grid to play with."""
    data, left_out = grid_data(document)
    blocks: list[Block] = [Text(line, quiet=True) for line in left_out]
    if data is not None:
        label = "What if: sliders between the points that were simulated"
        blocks = [Widget("whatif", label, data, tuple(_tables(document))), *blocks]
    else:
        blocks = [*_tables(document), *blocks]
    return Section("whatif", "What if", tuple(blocks))


def grid_data(document: Document, *, most_bytes: int = MOST_BYTES) -> tuple[dict[str, Any] | None, list[str]]:
    """What the sliders move over, and in words what is left out of it.

    First advised partitions are left out, then values of the field with the most of them, evenly; the first and the
    last one, what the scenario has and the fastest point stay.
    """
    stops = [list(range(len(field["stops"]))) for field in document["grid"]["fields"]]
    if not any(entry["best"] is not None for entry in document["points"]):
        return None, []
    advised = any(entry["advice"] for entry in document["points"])
    left_out = []
    data = _data(document, stops, advised=advised)
    if advised and _bytes(data) > most_bytes:
        data, advised = _data(document, stops, advised=False), False
        left_out.append("Advised partitions are left out here; the files in points/ have them.")
    kept = _kept(document)
    while _bytes(data) > most_bytes and max(map(len, stops)) > 2:
        longest = max(range(len(stops)), key=lambda place: len(stops[place]))
        ends = {stops[longest][0], stops[longest][-1], *kept[longest]}
        thinner = [stop for place, stop in enumerate(stops[longest]) if place % 2 == 0 or stop in ends]
        if len(thinner) == len(stops[longest]):
            break
        stops[longest] = thinner
        data = _data(document, stops, advised=advised)
    for field, some in zip(document["grid"]["fields"], stops, strict=True):
        if len(some) < len(field["stops"]):
            gone = f"{len(field['stops']) - len(some)} of {len(field['stops'])} values of {clean(field['name'])}"
            left_out.append(f"The sliders leave out {gone}, evenly, to keep this page small; points.csv has all.")
    return data, left_out


def _bytes(data: Any) -> int:
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())


def _kept(document: Document) -> list[set[int]]:
    """Stops of each field that are never left out."""
    grid = document["grid"]
    kept = [{place for place, stop in enumerate(field["stops"]) if stop["as_is"]} for field in grid["fields"]]
    for wanted in {document["pays_most"], document["pays_most_alone"]} - {None}:
        for place, stop in enumerate(_find(grid["points"], wanted) or ()):
            kept[place].add(stop)
    return kept


def _find(points: Any, wanted: int) -> tuple[int, ...] | None:
    """Where a point is in nested lists."""
    for place, one in enumerate(points):
        if one == wanted:
            return (place,)
        if isinstance(one, list) and (found := _find(one, wanted)) is not None:
            return (place, *found)
    return None


def _picked(points: Any, stops: Sequence[Sequence[int]]) -> Iterator[int]:
    """Points at some stops of each field, the last field's fastest."""
    for where in itertools.product(*stops):
        found = points
        for place in where:
            found = found[place]
        yield found


def _data(document: Document, stops: Sequence[Sequence[int]], *, advised: bool) -> dict[str, Any]:
    """Numbers as flat lists over the grid; None where a point has no answer."""
    points, fields = document["points"], document["grid"]["fields"]
    numbers = list(_picked(document["grid"]["points"], stops))
    shown = [points[number] for number in numbers]
    names = list(dict.fromkeys(one["name"] for entry in points for one in entry["configurations"]))
    wanted, pays = document["pays_most"], set(document["pays"])
    fastest = wanted if wanted is not None else _fastest(points)
    found = {
        "fields": [
            {
                "name": clean(field["name"]),
                "stops": [clean(field["stops"][place]["text"]) for place in some],
                "values": _values(field, some),
                "asIs": next((new for new, place in enumerate(some) if field["stops"][place]["as_is"]), None),
            }
            for field, some in zip(fields, stops, strict=True)
        ],
        "level": wording.level_text(document),
        "ties": [place for place, number in enumerate(numbers) if number in document["ties"]],
        "names": [clean(name) for name in names],
        "base": [_configuration(points[0], name) for name in names],
        "baseBest": _best(points[0], names),
        "rows": [[_configuration(entry, name) for entry in shown] for name in names],
        "best": [_best(entry, names) for entry in shown],
        "pays": [int(number in pays) for number in numbers],
        "gain": [None if entry["gain"] is None else _three(entry["gain"]) for entry in shown],
        "chance": [entry["chance"] for entry in shown],
        "fastest": numbers.index(fastest) if fastest in numbers else None,
        "failed": {
            str(place): words.reason(document, entry)[:MOST_REASON]
            for place, entry in enumerate(shown)
            if entry["error"]
        },
    }
    if advised:
        found["advice"] = [_advice(entry) for entry in shown]
    for of in ("cost", "energy"):
        if any(of in entry for entry in shown):
            found[of] = [_short(entry[of]["run"], 5) if of in entry else None for entry in shown]
    return found


def _values(field: Document, some: Sequence[int]) -> list[float] | None:
    values = [field["stops"][place]["value"] for place in some]
    return None if None in values else values


def _fastest(points: Sequence[Document]) -> int | None:
    some = [entry for entry in points if entry["chance"] is not None]
    return max(some, key=lambda entry: entry["chance"])["point"] if some else None


def _best(entry: Document, names: Sequence[str]) -> int | None:
    return None if entry["best"] is None else list(names).index(entry["best"])


def _configuration(entry: Document, name: str) -> list[float | None] | None:
    """Mean makespan with its ends, difference to the base with its ends, ends of the gain; None for what is unknown."""
    one = next((one for one in entry["configurations"] if one["name"] == name), None)
    if one is None:
        return None
    makespan, difference = one["makespan_s"], one["difference_s"]
    gain = one["gain"]
    return [*_three(makespan), *_three(difference), *_three(gain)[1:]]


def _three(found: Document | None) -> list[float | None]:
    """A value and the ends of its interval; None for what is not known."""
    values = [wording.number((found or {}).get(key)) for key in ("mean", "low", "high")]
    return [None if value is None else _short(value, 6) for value in values]


def _short(value: float, digits: int) -> float:
    """A number with so many digits, which JSON writes in short."""
    found = float(f"{value:.{digits}g}")
    return int(found) if found == int(found) and abs(found) < 1e15 else found


def _advice(entry: Document) -> str | None:
    advice = entry["advice"]
    if advice is None:
        return None
    shares = [f"{clean(pe)} {part}" for pe, part in zip(advice["pes"], advice["partition"], strict=True)]
    return f"{clean(advice['recommended'])}: {', '.join(shares)}"


def _tables(document: Document) -> Iterator[Table]:
    """The same without a script: a matrix for two fields, and all points."""
    found = words.matrix(document)
    if found is not None and len(found[0]) <= MOST_COLUMNS + 1 and len(found[1]) <= MOST_ROWS:
        head, rows, unit = found
        down, across = (clean(field["name"]) for field in document["grid"]["fields"])
        yield table(f"Mean makespan in {unit}: {down} down, {across} across", [down, *head[1:]], rows)
    yield _points(document)


def _points(document: Document) -> Table:
    """Points with their configurations, as far as there is room."""
    points = document["points"]
    every = sum(max(1, len(entry["configurations"])) for entry in points) <= MOST_ROWS
    shown = list(points)
    if len(points) > MOST_ROWS:
        shown = [points[0], *words.by_gain(document)[: MOST_ROWS - 1]]
    note = (
        f"Differences and gains are to the scenario as it is, on the same draws. {wording.interval_sentence(document)}"
    )
    if not every:
        note = f"Each point under its best configuration, against the best one of the scenario as it is. {note}"
    if len(shown) < len(points):
        note = f"The {len(shown)} points that gain most of {len(points)}; points.csv has all. {note}"
    rows = [row for entry in shown for row in _rows(document, entry, every=every)]
    head = ["point", "changes", "configuration", "makespan", "difference", "gain", "fastest with chance"]
    most = document["pays_most"]
    best = None if most is None else str(most)
    return table("Points", head, rows, text_columns=3, best=best, tag="pays most", note=note)


def _rows(document: Document, entry: Document, *, every: bool) -> Iterator[list[str]]:
    head = [str(entry["point"]), words.named(document, entry)]
    if entry["best"] is None:
        yield [*head, "failed", *[wording.NOTHING] * 4]  # why is told in a section of its own
    shown = entry["configurations"] if every else [words.best_of(entry)] if entry["best"] is not None else []
    for one in shown:
        best = one["name"] == entry["best"]
        against = one if every else entry
        yield [
            *head,
            clean(one["name"]),
            wording.with_interval(one["makespan_s"]),
            words.difference(against["difference_s"]) if entry["point"] else wording.NOTHING,
            words.gain(against["gain"]),
            words.chance(document, entry) if best else "",
        ]

"""A what-if on a page and on a terminal: which change pays most, sliders over all points, and what it rests on."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from advisor import wording
from advisor.report.origin import timeless_section
from advisor.report.verdict import verdict
from advisor.results import Stated
from advisor.whatif.findings import Configured, Findings, Front, PointFound
from advisor.whatif.purchases import price_unit, share_text
from advisor.wording import clean, counted
from simulator import blocks, plots, units

MOST_UPGRADES = 20
MOST_DRAWN = 6
"""Changes in the picture that the page opens with."""
MOST_EXAMPLES = 3
"""Points that are named with a reason."""
MOST_FIRST = 4
"""Points that the answer stands among."""
MOST_BYTES = 900_000
"""Of the data of the sliders: the page is to stay below 1.5 MB with all else in it."""
MOST_ROWS, MOST_REASON = 400, 200
"""Rows of the table of points, and characters of why one has no answer."""
LITTLE = 0.01
"""Chance below which it is written as none."""
QUESTIONS = {
    "simulated": "the scenario's own configurations, simulated",
    "advised": "the work divided again, and what runs now",
}
NO_SINGLE = (
    "No point changes one field alone, so the gain of each by itself is not known: give each field its present value "
    "among the others (for a quantity `x1`)."
)


def whatif_page(found: Findings, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """Explored, compared."""
    costs = tuple(_front_blocks(found, front) for front in found.fronts)
    count = sum(len(field.paths) for field in found.grid.fields)
    return blocks.Page(
        title=f"{found.scenario}: {counted(count, 'field')} varied, {counted(len(found.points), 'point')}",
        answer=found.sentence,
        sections=(
            blocks.Section("whatif", "What if", tuple(_grid(found))),
            blocks.Section("upgrades", "Which upgrade pays most", tuple(_upgrades(found))),
            blocks.Section("costs", "What it costs", costs),
            blocks.Section("failed", "What failed", tuple(_failed(found))),
            timeless_section(found.provenance),
        ),
        command="whatif",
        settings=f"at each point {QUESTIONS.get(found.question, found.question)}; {wording.drawn_text(found.drawn)}",
        picture=_picture(found),
        run=run,
        facts=blocks.pairs(_facts(found)),
        rows=_first_rows(found),
        verdict=verdict(found.warnings),
        warnings=found.warnings,
    )


def _ranked(found: Findings) -> tuple[list[PointFound], bool]:
    """The points that are ranked, and whether each changes one field alone."""
    alone = bool(found.single)
    return [found.points[number] for number in found.single] if alone else found.by_gain(), alone


def _picture(found: Findings) -> tuple[tuple[blocks.Block, ...], ...]:
    """The changes that gain most."""
    ranked, alone = _ranked(found)
    if not ranked:
        return ()
    shown = ranked[:MOST_DRAWN]
    rows = [plots.Apart.of(_named(found, one), one.gain, one.together or one.gain) for one in shown]
    figure = plots.gains(rows, level=found.drawn.level)
    of = "single changes" if alone else "points"
    first = f"The {len(shown)} {of} that gain most of {len(ranked)}" if len(shown) < len(ranked) else of.capitalize()
    caption = f"{first}, on the same draws as the scenario as it is. Thin: holds for all {found.comparisons} together."
    return ((blocks.Figure(figure, caption),),) if figure else ()


def changes_that_pay(found: Findings) -> list[str]:
    """The change that pays most, as `--set` takes it; nothing where none pays."""
    most = None if found.pays_most is None else found.points[found.pays_most]
    if most is None:
        return []
    return [text for text, path in zip(most.set, most.changes, strict=True) if path in most.differs]


def _facts(found: Findings) -> dict[str, str]:
    """What the points rest on, and those without an answer."""
    points, failed = counted(len(found.points), "point"), ""
    if lost := _failures(found):
        failed = f"{counted(sum(len(some) for _, some in lost), 'point')} without an answer: {lost[0][0]}"
    most = found.points[found.pays_most or 0]
    idle = {_named(found, one): one.advice.idle for one in (*found.by_gain()[:1], most) if one.advice}
    said = "; ".join(f"{name}: {text}" for name, text in idle.items() if text)
    return {
        "Rests on": f"{points} on the same draws: {wording.rests_text(found.drawn)}; predicted",
        "Idle": said,
        "Failed": failed,
    }


def _first_rows(found: Findings) -> blocks.Table | None:
    """The scenario as it is, and the points that gain most."""
    gaining = found.by_gain(every=True)[: MOST_FIRST - 1]
    rows = [
        (_named(found, one), _makespan(one), wording.with_interval(one.gain, ""), _chance(found, one))
        for one in (*gaining, found.points[0])
        if one.best is not None
    ]
    return blocks.table("", ("point", "makespan, predicted", "times as fast", "fastest"), rows) if rows else None


def _failed(found: Findings) -> Iterator[blocks.Block]:
    """Points that have no answer, each with its reason."""
    lost = [
        [why, str(len(points)), "; ".join(_named(found, point) for point in points[:MOST_EXAMPLES])]
        for why, points in _failures(found)
    ]
    if lost:
        count = sum(bool(point.error) for point in found.points)
        yield blocks.Text(
            f"{counted(count, 'point')} of {len(found.points)} without an answer; the others have theirs."
        )
        yield blocks.table("Points that failed", ["reason", "points", "changes"], lost, text_columns=3)


# Which upgrade pays most


def _upgrades(found: Findings) -> Iterator[blocks.Block]:
    """Gains, sorted, and how sure that is."""
    shown, alone = _ranked(found)
    if not shown:
        yield blocks.Text("No point has an answer to compare with the scenario as it is.")
    elif not alone and len(found.grid.fields[0].paths) == 1:
        yield blocks.Text(NO_SINGLE)
    if shown:
        yield _gains(found, shown, alone=alone)


def _gains(found: Findings, shown: Sequence[PointFound], *, alone: bool) -> blocks.Table:
    rows = [
        [
            _named(found, point),
            _makespan(point),
            wording.with_interval(point.gain, ""),
            _together(point),
            _chance(found, point),
            *(_run_text(point, front.of) for front in found.fronts),
            *_per_price(found, point),
        ]
        for point in shown[:MOST_UPGRADES]
    ]
    of, more = "single changes" if alone else "points", ""
    if len(shown) > MOST_UPGRADES:
        more = f"The {MOST_UPGRADES} that gain most of {len(shown)} {of}; points.csv has all. "
    note = (
        f"{more}All together: intervals of all {found.comparisons} comparisons hold at once (Bonferroni), so "
        "that the best of many is not flattered by chance; a change pays where that is above 1 and it gains more than "
        "1 %. Fastest: the chance that no other point is faster, "
        "combinations and the scenario as it is included."
    )
    head = ["change", "makespan", "gain", "all together", "fastest"]
    head += [f"{front.of} of a run" for front in found.fronts]
    head += [] if found.bought is None else ["price", f"more work for each {price_unit(found.bought)}"]
    most = found.pays_most_alone if alone else found.pays_most
    best = None if most is None else _named(found, found.points[most])
    tag = "pays most alone" if alone else "pays most"
    return blocks.table(f"Predicted gain of {of}", head, rows, best=best, tag=tag, note=note)


def _front_blocks(found: Findings, front: Front) -> blocks.Block:
    of, unit = front.of, front.unit
    drawn = [
        plots.Spent(point.own.makespan_s.mean, spent.run, point.point in front.points, point.point == 0)
        for point in found.points
        if (spent := point.spent(of)) is not None and point.own is not None
    ]
    rows = []
    for point in (found.points[number] for number in front.points):
        rate = point.cost.cost_per_s if of == "cost" and point.cost else point.energy.power_w if point.energy else None
        said = [_named(found, point), _makespan(point), _run_text(point, of), wording.digits(rate, 4)]
        rows.append(said)
    note = "Fastest first; by mean makespans, noise not counted."
    note += f" {front.silent} points say no {of} of some PE." if front.silent else ""
    head = ["change", "makespan", "of a run", "per second" if of == "cost" else "W"]
    table = blocks.table(f"Points that none beats in both, predicted, {of} in {unit}", head, rows, note=note)
    caption = f"Every point: mean makespan, and the {of} of a run: all PEs of the platform for the whole makespan."
    figure = blocks.Figure(plots.costs(drawn, unit=unit), caption)
    return blocks.SideBySide(figure, (table,))


# Sliders over the points, and, without a script, tables


def _grid(found: Findings) -> Iterator[blocks.Block]:
    """The grid to play with."""
    (data, left_out), table = grid_data(found), _points_table(found)
    label = "What if: sliders between the points that were simulated"
    yield table if data is None else blocks.Widget("whatif", label, data, (table,))
    yield from (blocks.Text(line, quiet=True) for line in left_out)


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
        "level": wording.level_text(found.drawn.level),
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
        "failed": {str(place): _reason(found, point)[:MOST_REASON] for place, point in enumerate(shown) if point.error},
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


def _points_table(found: Findings) -> blocks.Table:
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
    rows = [row for point in shown for row in _rows_of(found, point, every=every)]
    head = ["point", "changes", "configuration", "makespan", "difference", "gain", "fastest with chance"]
    best = None if found.pays_most is None else str(found.pays_most)
    return blocks.table("Points, predicted", head, rows, text_columns=3, best=best, tag="pays most", note=note)


def _rows_of(found: Findings, point: PointFound, *, every: bool) -> Iterator[list[str]]:
    head = [str(point.point), _named(found, point)]
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
            _chance(found, point) if one.name == point.best else "",
        ]


# In words


def _short_paths(found: Findings) -> dict[str, str]:
    """Each path by as many of its last parts as tell it from the others."""
    paths = [path for field in found.grid.fields for path in field.paths]
    short = {}
    for path in paths:
        parts = path.split(".")
        tails = (".".join(parts[-count:]) for count in range(1, len(parts) + 1))
        others = [f".{other}" for other in paths if other != path]
        short[path] = next((tail for tail in tails if not any(other.endswith(f".{tail}") for other in others)), path)
    return short


def _named(found: Findings, point: PointFound) -> str:
    """What a point changes, by short names, or that it changes nothing."""
    paths = _short_paths(found)
    changed = zip(point.set, point.changes, strict=True)
    return (
        ", ".join(f"{paths[path]}={text.partition('=')[2]}" for text, path in changed if path in point.differs)
        or "as it is"
    )


def _reason(found: Findings, point: PointFound) -> str:
    """Why a point has no answer, without the path to the scenario."""
    text = clean(point.error)
    before, cut, after = text.partition(f"{found.scenario}: ")
    return after if cut and " " not in before else text


def _failures(found: Findings) -> list[tuple[str, list[PointFound]]]:
    """Reasons, each with the points that it kept from an answer."""
    lost: dict[str, list[PointFound]] = {}
    for point in found.points:
        if point.error:
            lost.setdefault(_reason(found, point), []).append(point)
    return list(lost.items())


def _makespan(point: PointFound) -> str:
    """Mean makespan with its interval, in the unit that reads best."""
    return wording.with_interval(None if point.own is None else point.own.makespan_s)


def _together(point: PointFound) -> str:
    """The interval of its gain that holds with those of all other points."""
    ends = point.together
    return wording.NOTHING if ends is None else units.show_range(ends.low, ends.high, unit="")


def _chance(found: Findings, point: PointFound) -> str:
    """The chance that no other point is faster, or that it is tied with the fastest: nobody is sure to win a tie."""
    share, said = point.chance, wording.chance(point.chance, found.drawn)
    if point.point not in found.ties:
        return said
    return f"{said} (tie)" if share is not None and LITTLE <= share <= 1 - LITTLE else "tie"


def _per_price(found: Findings, point: PointFound) -> list[str]:
    """The price of a purchase, and what it gains for a round part of it."""
    bought = found.bought or ()
    return [text for one in bought if one.point == point.point for text in (f"{one.price:g}", share_text(one, bought))]


def _run_text(point: PointFound, of: str) -> str:
    """What a run costs or draws."""
    spent = point.spent(of)
    return wording.NOTHING if spent is None else wording.digits(spent.run, 4)

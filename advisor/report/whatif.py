"""A what-if on a page and on a terminal: which change pays most, all points, and what it rests on."""

from collections.abc import Iterator, Sequence

from advisor import wording
from advisor.report import whatif_words as words
from advisor.report.origin import timeless_section
from advisor.report.verdict import verdict
from advisor.report.whatif_grid import grid_section
from advisor.whatif import Findings
from advisor.whatif.findings import Front, PointFound
from advisor.whatif.purchases import price_unit
from advisor.wording import counted
from simulator import blocks, plots

MOST_UPGRADES = 20
MOST_DRAWN = 6
"""Changes in the picture that the page opens with."""
MOST_EXAMPLES = 3
"""Points that are named with a reason."""
MOST_FIRST = 4
"""Points that the answer stands among."""
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
            grid_section(found),
            blocks.Section("upgrades", "Which upgrade pays most", tuple(_upgrades(found))),
            blocks.Section("sensitivity", "Sensitivity", tuple(_sensitivity(found))),
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
    rows = [plots.Apart.of(words.named(found, one), one.gain, one.together or one.gain) for one in shown]
    figure = plots.gains(rows, level=found.drawn.held)
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
    if lost := words.failures(found):
        failed = f"{counted(sum(len(some) for _, some in lost), 'point')} without an answer: {lost[0][0]}"
    most = found.points[found.pays_most or 0]
    idle = {words.named(found, one): one.advice.idle for one in (*found.by_gain()[:1], most) if one.advice}
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
        (words.named(found, one), words.makespan(one), wording.with_interval(one.gain, ""), words.chance(found, one))
        for one in (*gaining, found.points[0])
        if one.best is not None
    ]
    return blocks.table("", ("point", "makespan, predicted", "times as fast", "fastest"), rows) if rows else None


def _failed(found: Findings) -> Iterator[blocks.Block]:
    """Points that have no answer, each with its reason."""
    lost = [
        [why, str(len(points)), "; ".join(words.named(found, point) for point in points[:MOST_EXAMPLES])]
        for why, points in words.failures(found)
    ]
    if lost:
        count = sum(bool(point.error) for point in found.points)
        yield blocks.Text(
            f"{counted(count, 'point')} of {len(found.points)} without an answer; the others have theirs."
        )
        yield blocks.table("Points that failed", ["reason", "points", "changes"], lost, text_columns=3)


# Which upgrade pays most


def _upgrades(found: Findings) -> Iterator[blocks.Block]:
    """Gains, sorted; how sure that is; diminishing returns."""
    shown, alone = _ranked(found)
    if not shown:
        yield blocks.Text("No point has an answer to compare with the scenario as it is.")
    elif not alone and len(found.grid.fields[0].paths) == 1:
        yield blocks.Text(NO_SINGLE)
    if shown:
        yield _gains(found, shown, alone=alone)
    if found.diminishing:
        note = (
            "Each value against the fastest one beyond it, intervals of all pairs together. That no gain is seen does "
            'not mean that there is none: "at most" is the upper end of its interval.'
        )
        note += _other_fields({one.others for one in found.diminishing})
        rows = [words.diminishing(one) for one in found.diminishing]
        yield blocks.table("Where more gains nothing", words.DIMINISHING, rows, text_columns=5, note=note)


def _other_fields(others: set[str]) -> str:
    """What the other fields were."""
    said = sorted(others - {""})
    return f" Other fields {' or '.join(said)}." if said else ""


def _gains(found: Findings, shown: Sequence[PointFound], *, alone: bool) -> blocks.Table:
    rows = [
        [
            words.named(found, point),
            words.makespan(point),
            wording.with_interval(point.gain, ""),
            words.low_to_high(point.together),
            words.chance(found, point),
            *(words.run_text(point, front.of) for front in found.fronts),
            *words.per_price(found, point),
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
    best = None if most is None else words.named(found, found.points[most])
    tag = "pays most alone" if alone else "pays most"
    return blocks.table(f"Predicted gain of {of}", head, rows, best=best, tag=tag, note=note)


def _sensitivity(found: Findings) -> Iterator[blocks.Block]:
    """Percent of makespan per percent of each field; nothing without fields of two numbers."""
    if not found.elasticity:
        return
    rows = []
    for one in found.elasticity:
        means = [step.mean or 0.0 for step in one.steps]
        over = "" if len(means) < 2 else f"{min(means):+.2f} to {max(means):+.2f}"
        said = wording.with_interval(one.here, "", signed=True)
        rows.append([one.field, said, f"{one.here.begin} to {one.here.to}", over])
    note = (
        "Elasticity: so many percent of makespan for one percent more of the field, with its "
        f"{wording.level_text(found.drawn.held)} interval; -1 is as good as it gets for a speed that "
        "everything waits for, 0 means that it does not matter."
    )
    note += _other_fields({one.others for one in found.elasticity})
    head = ["field", "% makespan per %", "between", "over single steps"]
    yield blocks.table("Predicted elasticity of each field", head, rows, note=note)


def _front_blocks(found: Findings, front: Front) -> blocks.Block:
    of, unit = front.of, front.unit
    drawn = [
        plots.Spent(point.own.makespan_s.mean or 0.0, spent.run, point.point in front.points, point.point == 0)
        for point in found.points
        if (spent := point.spent(of)) is not None and point.own is not None
    ]
    rows = []
    for point in (found.points[number] for number in front.points):
        rate = point.cost.cost_per_s if of == "cost" and point.cost else point.energy.power_w if point.energy else None
        said = [words.named(found, point), words.makespan(point), words.run_text(point, of), wording.digits(rate, 4)]
        rows.append(said)
    note = "Fastest first; by mean makespans, noise not counted."
    note += f" {front.silent} points say no {of} of some PE." if front.silent else ""
    head = ["change", "makespan", "of a run", "per second" if of == "cost" else "W"]
    table = blocks.table(f"Points that none beats in both, predicted, {of} in {unit}", head, rows, note=note)
    caption = f"Every point: mean makespan, and the {of} of a run: all PEs of the platform for the whole makespan."
    figure = blocks.Figure(plots.costs(drawn, unit=unit), caption)
    return blocks.SideBySide(figure, (table,))

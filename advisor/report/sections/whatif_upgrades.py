"""Which upgrade pays most: gains of single changes, changes together, where more gains nothing, and what it costs."""

from collections.abc import Iterator

from advisor import wording
from advisor.report import whatif_words as words
from advisor.report.page import Beside, Block, Figure, Section, Table, Text, table
from advisor.wording import Document, clean

MOST_ROWS = 20
_NO_SINGLE = (
    "No point changes one field alone, so the gain of each by itself is not known: give each field its present value "
    "among the others (for a quantity `x1`)."
)


def section(document: Document) -> Section:
    """Gains, sorted; how sure that is; together; diminishing returns."""
    return Section("upgrades", "Which upgrade pays most", tuple(_blocks(document)))


def _blocks(document: Document) -> Iterator[Block]:
    from simulator import plots

    points = document["points"]
    alone = bool(document["single"])
    shown = [points[number] for number in document["single"]] if alone else words.by_gain(document)
    several = len(document["grid"]["fields"][0]["paths"]) > 1
    if not shown:
        yield Text("No point has an answer to compare with the scenario as it is.")
    if not alone and not several and shown:
        yield Text(_NO_SINGLE)
    if shown:
        named = [{**entry, "name": words.named(document, entry)} for entry in shown]
        drawn = plots.gains_svg(named, level=wording.level_of(document))
        what = "Single changes" if alone else "Points"
        caption = (
            f"{what} by gain: how many times as fast as the scenario as it is, on the same draws. Thick: "
            f"{wording.level_text(document)} interval of each by itself. Thin: intervals that hold for all "
            f"{document['comparisons']} comparisons together; a change is said to pay only where that one is above 1."
        )
        gains = _gains(document, shown, alone=alone)
        if document["fronts"]:  # more columns than there is room for beside a figure
            yield from (Figure(drawn, caption), gains)
        else:
            yield Beside(Figure(drawn, caption), (gains,))
    if document["diminishing"]:
        note = (
            "Each value against the fastest one beyond it, intervals of all pairs together. That no gain is seen does "
            'not mean that there is none: "at most" is the upper end of its interval.'
        )
        rows = [words.diminishing(found) for found in document["diminishing"]]
        yield table("Where more gains nothing", words.DIMINISHING, rows, text_columns=5, note=_others(document, note))
    if document["interactions"]:
        yield _interactions(document)


def _others(document: Document, note: str) -> str:
    """The note, and what the other fields were."""
    told = {one["others"] for one in document["diminishing"]} - {""}
    return f"{note} Other fields {' or '.join(sorted(told))}." if told else note


def _gains(document: Document, shown: list[Document], *, alone: bool) -> Table:
    rows = [
        [
            words.named(document, entry),
            words.makespan(entry),
            words.gain(entry["gain"]),
            words.low_to_high(entry["together"]),
            words.chance(document, entry),
            *_spent(document, entry),
        ]
        for entry in shown[:MOST_ROWS]
    ]
    of = "single changes" if alone else "points"
    more = (
        f"The {MOST_ROWS} that gain most of {len(shown)} {of}; points.csv has all. " if len(shown) > MOST_ROWS else ""
    )
    note = (
        f"{more}All together: intervals of all {document['comparisons']} comparisons hold at once (Bonferroni), so "
        "that the best of many is not flattered by chance. Fastest: the chance that no other point is faster, "
        "combinations and the scenario as it is included."
    )
    head = ["change", "makespan", "gain", "all together", "fastest", *_spent_head(document)]
    alone_best = document["pays_most_alone"] if alone else document["pays_most"]
    best = None if alone_best is None else words.named(document, document["points"][alone_best])
    tag = "pays most alone" if alone else "pays most"
    return table(f"Gain of {of}", head, rows, best=best, tag=tag, note=note)


def _spent_head(document: Document) -> list[str]:
    return [f"{front['of']} of a run" for front in document["fronts"]]


def _spent(document: Document, entry: Document) -> list[str]:
    return [
        wording.digits(entry[front["of"]]["run"], 4) if front["of"] in entry else wording.NOTHING
        for front in document["fronts"]
    ]


def _interactions(document: Document) -> Table:
    found, points = document["interactions"], document["points"]
    rows = [
        [
            words.named(document, points[one["point"]]),
            f"{one['gain']:.2f}",
            f"{one['product']:.2f}",
            wording.with_interval(one["factor"], ""),
        ]
        for one in found
    ]
    note = (
        f"Those that differ most of {document['combinations']} combinations. Factor: gain together over the product of "
        "the single gains, intervals hold for all of them together. Above 1 the changes help each other, below 1 the "
        "one leaves less to the other."
    )
    return table("Changes together", ["combination", "gain", "single gains multiplied", "factor"], rows, note=note)


def sensitivity_section(document: Document) -> Section | None:
    """Percent of makespan per percent of each field; None without fields of two numbers."""
    found = document["elasticity"]
    if not found:
        return None
    rows = [
        [
            clean(one["field"]),
            words.percents(one["here"]),
            f"{clean(one['here']['from'])} to {clean(one['here']['to'])}",
            ""
            if len(one["steps"]) < 2
            else f"{min(step['mean'] for step in one['steps']):+.2f} to "
            f"{max(step['mean'] for step in one['steps']):+.2f}",
        ]
        for one in found
    ]
    note = (
        "Elasticity: so many percent of makespan for one percent more of the field, with its "
        f"{wording.level_text(document)} interval; -1 is as good as it gets for a speed that "
        "everything waits for, 0 means that it does not matter."
    )
    others = {one["others"] for one in found} - {""}
    if others:
        note += f" Other fields {' or '.join(sorted(others))}."
    head = ["field", "% makespan per %", "between", "over single steps"]
    return Section("sensitivity", "Sensitivity", (table("Elasticity of each field", head, rows, note=note),))


def costs_section(document: Document) -> Section | None:
    """Makespan against cost and energy; None where no point says them."""
    from simulator import plots

    if not document["fronts"]:
        return None
    points = document["points"]
    blocks: list[Block] = []
    for front in document["fronts"]:
        of, unit = front["of"], front["unit"]
        told = [entry for entry in points if of in entry]
        drawn = plots.costs_svg(
            [
                {
                    "makespan_s": words.best_of(entry)["makespan_s"]["mean"],
                    "run": entry[of]["run"],
                    "front": entry["point"] in front["points"],
                    "base": entry["point"] == 0,
                }
                for entry in told
            ],
            unit=unit,
            name=f"front-{of}",
        )
        rows = [
            [
                words.named(document, points[number]),
                words.makespan(points[number]),
                wording.digits(points[number][of]["run"], 4),
                wording.digits(next(iter(points[number][of].values())), 4),
            ]
            for number in front["points"]
        ]
        rate = "per second" if of == "cost" else "W"
        note = "Fastest first; by mean makespans, noise not counted."
        if front["silent"]:
            note += f" {front['silent']} points say no {of} of some PE."
        front_table = table(
            f"Points that none beats in both, {of} in {unit}", ["change", "makespan", "of a run", rate], rows, note=note
        )
        caption = f"Every point: mean makespan, and the {of} of a run: all PEs of the platform for the whole makespan."
        blocks.append(Beside(Figure(drawn, caption), (front_table,)))
    return Section("costs", "What it costs", tuple(blocks))

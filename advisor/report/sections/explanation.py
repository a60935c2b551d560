"""Why an advice is as it is, where it switches, and what it is sensitive to."""

from collections.abc import Iterator

from advisor import wording
from advisor.report.explanation_text import change_text, gain_text, objective_text, sharing_lines, value_text
from advisor.report.page import Beside, Block, Figure, Section, Table, Text, table
from advisor.wording import Document, clean, number, percent

HEADING = "Why, and how far it holds"
NONE = "Not asked for: with --explain, advise tells why, where another strategy is best, and what it is sensitive to."


def section(document: Document) -> Section:
    """The explanation in words, tables and a figure."""
    if "explanation" not in document:
        return Section("explanation", HEADING, (Text(NONE),))
    blocks = [*_why(document), *_sensitivity(document), *_switches(document), *_spent(document)]
    return Section("explanation", HEADING, tuple(blocks))


def _why(document: Document) -> Iterator[Block]:
    why = document.get("why")
    if not why:
        return
    limits = [
        [clean(one["pe"]), percent(one["path_share"]), percent(one["computes_last"])]
        for one in why["limits"]
        if max(one["path_share"], one["computes_last"]) >= 0.005
    ]
    note = (
        f"PEs in use spend {percent(why['computing'])} of their time computing, "
        f"{percent(why['waiting'])} in messages and waiting, {percent(why['idle'])} done early."
    )
    head = ["PE", "of the critical path", "computes last in"]
    limiting = table("PEs that limit, over replications", head, limits[:12], note=note)
    costs = [
        [
            "the best problem size" if one["of"] == "problem size" else f"no {one['of']}",
            change_text(one["share"], one, less=True),
            change_text(-one["divided_anew"]),
        ]
        for one in why["costs"]
    ]
    others = [
        [
            f"{one['change']} {clean(one['pe'])}",
            wording.duration(one["makespan_s"]),
            change_text(one["longer"], one),
        ]
        for one in why.get("others") or ()
    ]
    waits = [
        [f"{clean(one['pe'])} for {clean(one['waits_for'])}", wording.duration(one["seconds"])] for one in why["waits"]
    ]
    tables = [table("Change of the makespan with", ["with", "as advised", "redivided"], costs)] if costs else []
    if others:
        tables.append(
            table("One change of this advice, the units divided for it", ["change", "makespan", "longer"], others)
        )
    if waits:
        tables.append(table("Who waits for whom to be ready, longest first", ["who", "mean"], waits[:6]))
    yield Beside(limiting, tuple(tables)) if tables else limiting
    if bound := sharing_lines(why):
        yield Text("Sharing domains that bind: " + "; ".join(bound) + ".")


def _sensitivity(document: Document) -> Iterator[Block]:
    from simulator import plots

    found = list(document.get("sensitivity") or ())
    drawn = plots.sensitivity_svg(found)
    if not drawn:
        return
    changes = [change_text(effect["change"], decimals=0) for effect in found[0]["effects"]]
    rows = [
        [
            clean(one["parameter"]),
            *(change_text(effect["makespan"]) for effect in one["effects"]),
            percent(one["regret"], 2),
        ]
        for one in found
    ]
    least = number(document["explanation"].get("search_regret"))
    note = "Regret: what this advice takes longer than the best found for the changed value. " + (
        f"Of the unchanged scenario on these draws: {percent(least, 2)}." if least else ""
    )
    told = table("Sensitivity: change of the makespan", ["parameter", *changes, "regret"], rows, note=note)
    caption = (
        f"The makespan of this advice when one parameter is off. Thin line: {wording.level_text(document)} interval."
    )
    yield Beside(Figure(drawn, caption), (told,))


def _switches(document: Document) -> Iterator[Table]:
    rows = []
    for found in document.get("switch_points") or ():
        name = "load times" if found["of"] == "load" else clean(found["parameter"]) or clean(found["of"])
        span = f"{value_text(found['low'])} to {value_text(found['high'])}"
        for point in found["points"]:
            below, above = point["below"], point["above"]
            rows.append(
                [
                    f"{name} {value_text(point['value'])}",
                    f"{clean(below['strategy'])}{gain_text(below)}",
                    f"{clean(above['strategy'])}{gain_text(above)}",
                ]
            )
        if not found["points"] and found["strategy"]:
            rows.append([f"{name} {span}", f"{clean(found['strategy'])} stays best", ""])
        if found["note"]:
            rows.append([f"{name} {span if found['strategy'] else ''}".rstrip(), clean(found["note"]), ""])
    if rows:
        yield table(
            "Switch points: where another strategy is best", ["at", "below", "from there"], rows, text_columns=3
        )


def _spent(document: Document) -> Iterator[Text]:
    spent = document["explanation"]
    drawn = wording.counted(spent["replications"], "replication")
    runs = f"{spent['simulated_runs']} simulated runs of {drawn} each"
    told = f"Explained by {runs}; by {objective_text(document)} makespans."
    if spent.get("adopted_instead_of"):
        name, longer = clean(spent["adopted_instead_of"]), percent(spent["adopted_gain"], 2)
        told += f" This advice was found while explaining; the search's own, {name}, takes {longer} longer."
    if spent.get("left_out"):
        told += f" Left out: {', '.join(map(clean, spent['left_out']))}."
    yield Text(told, quiet=True)

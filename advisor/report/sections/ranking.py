"""The best candidates of a search, and how sure it is that they are the best."""

from advisor import wording
from advisor.report.page import Block, Section, Text, table
from advisor.wording import Document, clean, number

MOST = 10
VALUES = {"mean": "value", "low": "low", "high": "high"}


def section(document: Document) -> Section:
    """Ranking and Pareto fronts."""
    blocks: list[Block] = []
    if told := wording.confirmed_text(document):
        blocks.append(Text(f"{told}."))
    entries, tied = document.get("ranking") or (), wording.tied_names(document)
    if told := wording.tie_text(document):
        blocks.append(Text(f"{told[0].upper()}{told[1:]}"))
    if len(entries) > 1:
        rows = [
            [
                clean(entry.get("name")),
                wording.with_interval(wording.ranked_value(entry), wording.objective_unit(document)),
                wording.best_text(entry, document, tied),
                wording.loss_text(entry.get("expected_loss")),
                wording.percent(entry.get("regret"), 1),
            ]
            for entry in entries[:MOST]
        ]
        objective = clean(document.get("objective") or "mean")
        caption = f"The best {len(rows)} of {len(entries)}" if len(entries) > MOST else "All candidates, best first"
        head = ["candidate", objective, "is best", "expected loss", "above bound"]
        note = (
            "Chance to be the best, and what it is expected to have more than the best; those within 1 % are a tie. "
            "Above bound: over what no candidate can be below."
        )
        note = " ".join(filter(None, (note, wording.interval_sentence(document))))
        blocks.append(table(caption, head, rows, best=clean(document.get("recommended")), note=note))
    for front in document.get("pareto") or ():
        of, unit = clean(front.get("of")), clean(front.get("unit"))
        rows = [
            [
                clean(point.get("name")),
                wording.partition_text(point.get("partition"), most=3),
                wording.digits(point.get("objective_s"), 4),
                wording.digits(number(point.get(of)), 4),
            ]
            for point in front.get("points") or ()
        ]
        caption = f"Pareto front of makespan and {of}, over {front.get('considered')} configurations"
        head = ["configuration", wording.unit_of(document), "makespan in s", f"{of} ({unit})"]
        blocks.append(table(caption, head, rows, text_columns=2, note=clean(front.get("scope") or "")))
    return Section("ranking", "How sure it is", tuple(blocks) or (Text("Nothing was ranked."),))

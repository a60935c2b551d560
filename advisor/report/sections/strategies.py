"""The strategies compared: predicted makespans of the recommended configuration and the naive ones."""

from advisor import wording
from advisor.report.page import Beside, Figure, Section, Table, Text, table
from advisor.wording import Document


def section(
    document: Document, *, heading: str = "Strategies compared", noun: str = "strategy", tag: str = "recommended"
) -> Section:
    """Makespans with intervals, as a figure and a table.

    Parameters
    ----------
    noun, tag
        What each is, and what the one named `recommended` is called.
    """
    from simulator import plots

    entries = wording.strategies(document)
    shown, level = [entry for _, entry in entries], wording.level_of(document)
    drawn = plots.baselines_svg(shown, document.get("recommended"), mark=tag, level=level)
    if not drawn:
        return Section("baselines", heading, (Text("Nothing was simulated."),))
    several = f"Simulated makespan of each {noun} under the same draws. Less is better."
    caption = several if len(entries) > 1 else "Simulated makespan."
    return Section("baselines", heading, (Beside(Figure(drawn, caption), (_table(document, noun, tag),)),))


def _table(document: Document, noun: str, tag: str) -> Table:
    """Columns that would say nothing are left out: gains of one alone, spreads where nothing is drawn."""
    entries = wording.strategies(document)
    same = bool(document.get("deterministic"))
    several, better = len(entries) > 1, wording.better_text(document)
    notes = [] if same else [wording.interval_sentence(document)]
    notes += [] if same else [f"{wording.runs_text(document)}: where one run lies."]
    if several:
        notes.append(f"Gain: how many times {better} the {tag} one is.")
        notes += [] if same else [f"{better.capitalize()} in: replications in which the {tag} one is {better}."]
    gains = [] if not several else ["gain"] if same else ["gain", f"{better} in"]
    return table(
        "Predicted makespan",
        [noun, wording.unit_of(document), *(["makespan"] if same else ["mean", wording.runs_text(document)]), *gains],
        [_row(document, label, entry, same=same)[: 2 + (1 if same else 2) + len(gains)] for label, entry in entries],
        text_columns=2,
        best=next((label for label, entry in entries if entry.get("name") == document.get("recommended")), None)
        if tag
        else None,
        tag=tag,
        note=" ".join(filter(None, notes)),
    )


def _row(document: Document, label: str, entry: Document, *, same: bool) -> list[str]:
    predicted, best = entry.get("predicted_makespan_s") or {}, entry.get("name") == document.get("recommended")
    gain = entry.get("gain_of_recommended") or {}
    head = [label, wording.partition_text(entry.get("partition"))]
    if same:
        gained = wording.NOTHING if best else wording.times(gain.get("mean"))
        return [*head, wording.with_interval(predicted), gained]
    times = [wording.with_interval(predicted), wording.of_runs(predicted)]
    if best:
        return [*head, *times, wording.NOTHING, wording.NOTHING]
    faster = wording.frequency(entry.get("probability_recommended_faster"), document)
    return [*head, *times, wording.with_interval(gain, ""), faster]

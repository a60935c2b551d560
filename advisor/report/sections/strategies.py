"""The strategies compared: predicted makespans of the recommended configuration and the naive ones."""

from advisor.report import wording
from advisor.report.page import Beside, Figure, Section, Table, Text, table
from advisor.report.wording import Document, clean


def section(document: Document, *, heading: str = "Strategies compared", tag: str = "recommended") -> Section:
    """Makespans with intervals, as a figure and a table.

    Parameters
    ----------
    tag
        What the one named `recommended` is called.
    """
    from simulator import plots

    entries = [entry for _, entry in wording.strategies(document)]
    drawn = plots.baselines_svg(entries, document.get("recommended"), mark=tag)
    if not drawn:
        return Section("baselines", heading, (Text("Nothing was simulated."),))
    caption = f"Simulated makespan of each {_kind(tag)} under the same draws. Less is better."
    return Section("baselines", heading, (Beside(Figure(drawn, caption), (_table(document, tag),)),))


def _kind(tag: str) -> str:
    return "strategy" if tag == "recommended" else "configuration"


def _table(document: Document, tag: str) -> Table:
    rows = []
    for label, entry in wording.strategies(document):
        predicted, best = entry.get("predicted_makespan_s") or {}, entry.get("name") == document.get("recommended")
        gain = entry.get("gain_of_recommended")
        rows.append(
            [
                label,
                wording.partition_text(entry.get("partition"), most=wording.MOST_NAMED),
                wording.with_interval(predicted),
                wording.spread(predicted, low="p05", high="p95"),
                wording.NOTHING if best else wording.with_interval(gain),
                wording.NOTHING if best else wording.probability(entry.get("probability_recommended_faster")),
            ]
        )
    return table(
        "Predicted makespan in seconds",
        [_kind(tag), wording.unit_of(document), "mean", "5 to 95 %", "gain", "faster in"],
        rows,
        text_columns=2,
        best=clean(document.get("recommended")),
        tag=tag,
        note=f"Mean and gain with their 95 % interval. Gain: how many times longer it takes than the {tag} one. "
        f"Faster in: replications in which the {tag} one is faster.",
    )

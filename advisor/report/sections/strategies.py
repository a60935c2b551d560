"""The strategies compared: predicted makespans of the recommended configuration and the naive ones."""

from advisor.report import wording
from advisor.report.page import Beside, Figure, Section, Table, Text, table
from advisor.report.wording import Document, clean


def section(document: Document) -> Section:
    """Makespans with intervals, as a figure and a table."""
    from simulator import plots

    entries = [entry for _, entry in wording.strategies(document)]
    drawn = plots.baselines_svg(entries, document.get("recommended"))
    if not drawn:
        return Section("baselines", "Strategies compared", (Text("Nothing was simulated."),))
    caption = "Simulated makespan of each strategy under the same draws of the load. Less is better."
    return Section("baselines", "Strategies compared", (Beside(Figure(drawn, caption), (_table(document),)),))


def _table(document: Document) -> Table:
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
        ["strategy", wording.unit_of(document), "mean", "5 to 95 %", "gain", "faster in"],
        rows,
        text_columns=2,
        best=clean(document.get("recommended")),
        note="Mean and gain with their 95 % interval. Gain: how many times longer the strategy takes than the "
        "recommended one. Faster in: replications in which the recommended one is faster.",
    )

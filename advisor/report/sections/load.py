"""The background load that ran, or is assumed, beside us."""

from advisor import wording
from advisor.report.page import Beside, Figure, Pairs, Section, Text, pairs
from advisor.wording import Document, clean

RULES = {
    "fair": "fair: all runnable processes of the PE get equal shares",
    "idle": "idle: we get what the competitors leave",
    "given": "given: the trace states our share",
}


def section(document: Document) -> Section:
    """The trace over time, and what it leaves us."""
    from simulator import plots

    drawn = plots.load_svg(document.get("load"))
    if not drawn:
        return Section("load", "Background load", (Text("No background load was set."),))
    caption = "The load that ran beside us and that every replication starts at another point of. Dashed: its mean."
    return Section("load", "Background load", (Beside(Figure(drawn, caption), (_facts(document),)),))


def _facts(document: Document) -> Pairs:
    load = document.get("load") or {}
    return pairs(
        {
            "On": clean(load.get("pe") or ""),
            "Rule": RULES.get(str(load.get("rule")), clean(load.get("rule") or "")),
            "Share left to us, predicted": wording.percent(load.get("predicted_share"), 1),
            "Share left to us, measured": wording.percent(document.get("available_share"), 1),
        }
    )

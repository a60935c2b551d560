"""The page of a simulation: all configurations of a scenario on the same draws."""

from advisor import wording
from advisor.report.page import Page, Section
from advisor.report.pages.common import drawn, head
from advisor.report.sections import changes, platform, provenance, strategies, time_spent, timeline
from advisor.wording import Document, clean, number

CLOSE = 1.005
"""Ratio up to which two configurations are as fast as each other."""


def page(document: Document) -> Page:
    """Compared, followed in time, broken down."""
    several = len(document.get("baselines") or ()) > 1
    sections: list[Section | None] = [
        strategies.section(document, heading="Configurations compared", noun="configuration", tag="fastest")
        if several
        else strategies.section(document, heading="Makespan", noun="configuration", tag=""),
        timeline.section(document),
        time_spent.section(document),
        changes.section(document),
        platform.section(document),
        provenance.section(document),
    ]
    return Page(
        title=wording.asked(document),
        answer=_answer(document),
        sections=tuple(section for section in sections if section is not None),
        settings=", ".join(filter(None, (drawn(document), f"engine {clean(document.get('engine') or '')}"))),
        **head(document),
    )


def _answer(document: Document) -> str:
    entries = [entry for entry in document.get("baselines") or () if _mean(entry) is not None]
    if not entries:
        return "Nothing was simulated."
    entries.sort(key=lambda entry: _mean(entry) or 0.0)
    best, *others = entries
    takes = f"{clean(best.get('name'))} takes {wording.with_interval(best['predicted_makespan_s'])}"
    if not others:
        return f"{takes}."
    return f"{takes}: {_against(others)}."


def _mean(entry: Document) -> float | None:
    return number((entry.get("predicted_makespan_s") or {}).get("mean"))


def _against(others: list[Document]) -> str:
    """How much faster than the next and than the slowest."""
    if all(number((entry.get("gain_of_recommended") or {}).get("low")) is None for entry in others):
        return f"{_faster(others[0])} in the one replication there is, which tells nothing of others"
    near = [entry for entry in others if (number((entry.get("gain_of_recommended") or {}).get("low")) or 0.0) < CLOSE]
    if near:
        names = ", ".join(clean(entry.get("name")) for entry in near[: wording.MOST_NAMED])
        said = f"too close to tell from {names}"
        far = [entry for entry in others if entry not in near]
        return said + (f", {_faster(far[-1])}" if far else "")
    said = _faster(others[0])
    return (
        said if len(others) == 1 else f"{said}, the next, and {_times(others[-1])} than {clean(others[-1].get('name'))}"
    )


def _faster(entry: Document) -> str:
    return f"{_times(entry)} times faster than {clean(entry.get('name'))}"


def _times(entry: Document) -> str:
    return wording.with_interval(entry.get("gain_of_recommended"), "")

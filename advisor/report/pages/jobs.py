"""The page of a job stream under one policy: how long its jobs waited, who waited most, and what the machine did."""

from advisor import wording
from advisor.report.page import Page, pairs
from advisor.report.pages.common import head
from advisor.report.sections import jobs, provenance
from advisor.wording import Document, clean


def page(document: Document) -> Page:
    """Averages, over time, by class, how it was asked."""
    sections = (
        jobs.averages_section(document),
        jobs.over_time_section(document),
        jobs.classes_section(document),
        jobs.asked_section(document),
        provenance.section(document),
    )
    found = document.get("averages") or {}
    figures = {
        "mean wait": wording.duration(found.get("wait_s")),
        "mean bounded slowdown": wording.digits(found.get("bounded_slowdown"), 4),
        "utilisation": wording.percent(found.get("utilisation"), 1),
        "wait of 95 % is below": wording.duration(found.get("wait_p95_s")),
    }
    stream = document.get("stream") or {}
    return Page(
        title=f"{wording.counted(stream.get('jobs'), 'job')} of {clean(stream.get('name') or 'a stream')}",
        answer=_answer(document),
        sections=sections,
        settings=f"engine {clean(document.get('engine') or wording.NOTHING)}",
        key_figures=pairs({name: text for name, text in figures.items() if text != wording.NOTHING}),
        **head(document),
    )


def _answer(document: Document) -> str:
    found = document.get("averages")
    if not found:
        return "Nothing was simulated."
    marked = ", but the stream is overloaded and the averages measure its length" if document.get("overloaded") else ""
    waits, slow = wording.duration(found.get("wait_s")), wording.digits(found.get("bounded_slowdown"), 4)
    policy = clean((document.get("policy") or {}).get("name"))
    return f"Under {policy} a job waits {waits} in the mean, and its bounded slowdown is {slow}{marked}."

"""The pages: what makes the page of each command's document. A new page is a file, and a line here."""

from collections.abc import Callable, Mapping

from advisor.report.page import Page
from advisor.report.pages import advice, jobs, papers, quickstart, simulation, verification, whatif
from advisor.wording import Document

PAGES: Mapping[str, Callable[[Document], Page]] = {
    "advise": advice.page,
    "jobs advise": jobs.advice,
    "jobs compare": jobs.comparison,
    "jobs run": jobs.page,
    "quickstart": quickstart.page,
    "reproduce": papers.page,
    "simulate": simulation.page,
    "verify": verification.page,
    "whatif": whatif.page,
}
"""By the `command` of a document."""


def page_of(document: Document) -> Page:
    """The page of a document; one of an unknown command is shown like a quickstart's, as far as it goes."""
    return PAGES.get(str(document.get("command")), quickstart.page)(document)

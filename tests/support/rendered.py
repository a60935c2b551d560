"""Documents as terminals show them, and what pages take of them."""

from advisor.advise.advice import Advice
from advisor.advise.explanation import Explanation
from advisor.report import whatif_grid
from advisor.report.advice import advice_page
from advisor.report.quickstart import QuickstartResult, quickstart_page
from advisor.report.strategies import MOST_RANKED
from advisor.report.text import page_blocks, render_blocks
from advisor.report.whatif import whatif_page
from advisor.whatif import Findings
from simulator import documents


def render_text(document, *, width=100):
    return whole(quickstart_page(documents.from_dict(QuickstartResult, document)), width=width)


def render_advice(document, *, width=100, top=MOST_RANKED):
    return whole(advice_page(documents.from_dict(Advice, document), top=top), width=width)


def render_whatif(document):
    return whole(whatif_page(documents.from_dict(Findings, document)))


def whole(page, *, width=10_000):
    """All of a page as text."""
    return render_blocks(page_blocks(page), width=width)


def grid_data(document, **more):
    return whatif_grid.grid_data(documents.from_dict(Findings, document), **more)


def explained(document):
    return documents.from_dict(Explanation, document)

"""Documents as terminals show them, and what pages take of them."""

from advisor.advise.advice import Advice
from advisor.advise.explanation import Explanation
from advisor.report import whatif_grid
from advisor.report.advice import advice_text
from advisor.report.quickstart import QuickstartResult, quickstart_text
from advisor.report.strategies import TOP
from advisor.report.text import render_blocks
from advisor.report.whatif import whatif_text
from advisor.whatif import Findings
from simulator import documents


def render_text(document, *, width=100):
    return render_blocks(quickstart_text(documents.from_dict(QuickstartResult, document)), width=width) + "\n"


def render_advice(document, *, width=100, top=TOP):
    return render_blocks(advice_text(documents.from_dict(Advice, document), top=top), width=width)


def render_whatif(document):
    return render_blocks(whatif_text(documents.from_dict(Findings, document)))


def grid_data(document, **more):
    return whatif_grid.grid_data(documents.from_dict(Findings, document), **more)


def explained(document):
    return documents.from_dict(Explanation, document)

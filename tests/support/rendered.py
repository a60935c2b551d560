"""Documents as pages and terminals show them."""

from advisor.report import pages, whatif
from advisor.report.advice import advice_page
from advisor.report.html import render_page
from advisor.report.strategies import MOST_RANKED
from advisor.report.text import page_blocks, render_blocks
from tests.support.made import made


def answer(document):
    """The answer of which a document holds at least a part."""
    return made(pages.READ[document["command"]], document)


def page_of(document):
    return pages.page_of(answer(document))


def render_html(document):
    return render_page(page_of(document))


def render_text(document, *, width=100):
    return whole(page_of(document), width=width)


def render_advice(document, *, width=100, top=MOST_RANKED):
    return whole(advice_page(answer(document), top=top), width=width)


def render_whatif(document):
    return whole(page_of(document))


def whole(page, *, width=10_000):
    """All of a page as text."""
    return render_blocks(page_blocks(page), width=width)


def grid_data(document, **more):
    return whatif.grid_data(answer(document), **more)

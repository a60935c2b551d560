"""Where the doubt of an advice comes from, and what to measure next."""

from collections.abc import Iterator

from advisor.report.doubt_text import (
    NEXT_HEAD,
    SHARE_HEAD,
    again_lines,
    doubt_sentence,
    next_lines,
    next_rows,
    share_rows,
)
from advisor.report.page import Block, Section, Text, table
from advisor.wording import Document

HEADING = "Where the doubt comes from"
NONE = "Nothing is doubted: no model of this scenario says what measuring left unknown."


def section(document: Document) -> Section:
    """Shares by source, and what measuring each is expected to bring."""
    return Section("doubt", HEADING, tuple(_blocks(document)) or (Text(NONE),))


def _blocks(document: Document) -> Iterator[Block]:
    if lines := again_lines(document):
        yield Text(". ".join(line.strip() for line in lines) + ".")
    if not document.get("doubt"):
        return
    if told := doubt_sentence(document):
        yield Text(f"{told}.")
    note = "Shares of the variance over truths; what sources do only together, and noise, is no source's."
    yield table("What is not known, by source", list(SHARE_HEAD), share_rows(document), note=note)
    if rows := next_rows(document):
        note = "Expected loss: what the advice takes longer than the best of each truth, in the mean."
        yield table("What measuring again would bring", list(NEXT_HEAD), rows, note=note)
    if lines := next_lines(document):
        yield Text("; ".join(lines) + ".", quiet=True)

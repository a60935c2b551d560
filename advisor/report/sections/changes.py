"""What was set in place of the scenario's own values, and where models are used outside what was measured."""

from advisor import wording
from advisor.report.page import Block, Section, table
from advisor.wording import Document, clean


def section(document: Document) -> Section | None:
    """Changed fields and extrapolations; none where there are neither."""
    blocks: list[Block] = []
    changes = [
        [clean(one.get("path")), clean(one.get("before")), clean(one.get("after"))] for one in _of(document, "changes")
    ]
    if changes:
        blocks.append(table("Set for this run", ["field", "in the file", "here"], changes, text_columns=3))
    found = [[clean(value) for value in one.values()] for one in _of(document, "extrapolation")]
    if found:
        head = [clean(name).replace("_", " ") for name in _of(document, "extrapolation")[0]]
        blocks.append(table("Models used outside what was measured", head, found, text_columns=len(head)))
    return Section("changes", "Changed and extrapolated", tuple(blocks)) if blocks else None


def _of(document: Document, key: str) -> list[wording.Document]:
    return list(document.get(key) or ())

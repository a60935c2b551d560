"""What a page of the report consists of: sections of blocks, as plain values that know nothing of HTML.

A **page** is a function `page(document) -> Page` in `pages/`, listed by its document's `command` in that package.
A **section** is a function `section(document) -> Section` in `sections/`, one file each; pages choose and order them.
A section never fails on a document that lacks its part: it says so in a `Text`.
A **block** is one of the classes below; what it looks like is in `templates/blocks.html`.
A **widget** is a block that a script brings to life: `templates/widgets/NAME.js`, if need be with `NAME.css` beside it.
The script calls `widget("NAME", (stage, data, host) => ...)` and builds into `stage`, an empty element, from `data`,
the JSON of the block. Until then, on paper and without scripts the block shows its `fallback`, so that nothing is told
by a script alone. Scripts are allowed by their hash: no `on...` attributes, no `eval`, nothing fetched; styles may be
inline.

Texts are plain: the templates escape them, and write "+/-" and "-" with the signs that a page has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_ROWS = 400
"""Rows of a table that a page shows; the JSON document holds all."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    quiet: bool = False
    """A note in small letters."""


@dataclass(frozen=True)
class Pairs:
    """Names with their values."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A table of texts: the first cell of a row is its header. Make it by `table`, which bounds its rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    """How many columns, from the left, hold words; the others hold numbers."""
    best: str | None = None
    """Header of the row to emphasise."""
    tag: str = "recommended"
    """What the emphasised one is."""
    note: str = ""


@dataclass(frozen=True)
class Listing:
    """Text as it is in a file, line by line."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A drawing of `simulator.results.plots` with its caption, whose markup is not escaped again by what draws it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Folded:
    """Blocks that open on a click, and on paper."""

    summary: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Beside:
    """A figure with blocks at its right where the page is wide, below it elsewhere."""

    left: "Block"
    right: "tuple[Block, ...]"


@dataclass(frozen=True)
class Widget:
    """Something to operate; see the module's text."""

    name: str
    """Of its script: letters, digits and hyphens."""
    label: str
    """What a screen reader calls it."""
    data: Any
    """What the script reads: anything that JSON holds."""
    fallback: "tuple[Block, ...]"


Block = Text | Listing | Pairs | Table | Figure | Folded | Beside | Widget


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading of its own."""

    id: str
    """Unique in the page: the ids of everything in it begin with it."""
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """A whole page: the answer first, then warnings, then sections."""

    title: str
    """What was asked."""
    answer: str
    """In one sentence."""
    sections: tuple[Section, ...]
    command: str = "run"
    """The command that made the document."""
    host: str = ""
    """Where, if that matters."""
    made: str = ""
    """When: ISO 8601."""
    settings: str = ""
    """How it was asked: budget, seed ..."""
    key_figures: Pairs = field(default_factory=lambda: Pairs(()))
    """The few numbers that a reader looks for first."""
    warnings: tuple[str, ...] = ()


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: int = 1,
    best: str | None = None,
    tag: str = "recommended",
    note: str = "",
) -> Table:
    """A table of at most `MOST_ROWS` rows, whose note says how many there would be."""
    more = f"The first {MOST_ROWS} of {len(rows)} rows; the JSON document has all. " if len(rows) > MOST_ROWS else ""
    shown = tuple(tuple(row) for row in rows[:MOST_ROWS])
    return Table(caption, tuple(head), shown, text_columns, best, tag, more + note)


def pairs(items: dict[str, str]) -> Pairs:
    """Those of the items that have a value."""
    return Pairs(tuple((name, text) for name, text in items.items() if text))

"""What a result is shown as: sections of blocks, plain values that know nothing of HTML, terminals or notebooks.

A **widget** is a block that a script brings to life: `templates/widgets/NAME.js` calls `widget("NAME", (stage, data,
host) => ...)` and builds into `stage`, an empty element, from `data`, the JSON of the block; without scripts the block
shows its `fallback`. Scripts are allowed by their hash: no `on...` attributes, no `eval`, nothing fetched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.base.figures import Drawing

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
    tag: str = "recommended"
    note: str = ""


@dataclass(frozen=True)
class Listing:
    """Text as it is in a file, line by line."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A drawing of `simulator.results.plots`, or the markup of one, with its caption."""

    drawing: Drawing | str
    caption: str


@dataclass(frozen=True)
class Command:
    """A line to copy and run."""

    line: str
    label: str = ""


@dataclass(frozen=True)
class Folded:
    """Blocks that open on a click, and on paper."""

    summary: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class SideBySide:
    """A figure with blocks at its right where the page is wide, below it elsewhere."""

    left: "Block"
    right: "tuple[Block, ...]"


@dataclass(frozen=True)
class Widget:
    """Something to operate; see the module's text."""

    name: str
    """Of its script: letters, digits and hyphens."""
    label: str
    data: Any
    """What the script reads: anything that JSON holds."""
    fallback: "tuple[Block, ...]"


Block = Text | Listing | Pairs | Table | Figure | Command | Folded | SideBySide | Widget


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading of its own."""

    id: str
    """Unique in the page: the ids of everything in it begin with it."""
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """A whole page: the answer first, in words, as a picture and as a line to run; then warnings, then sections."""

    title: str
    answer: str
    """In one sentence."""
    sections: tuple[Section, ...]
    command: str = "run"
    """The command that made the document."""
    host: str = ""
    made: str = ""
    """When: ISO 8601."""
    settings: str = ""
    warnings: tuple[str, ...] = ()
    verdict: str = ""
    """What the warnings come to, in one line; by default how many there are."""
    picture: tuple[tuple[Block, ...], ...] = ()
    """The answer drawn: columns, side by side where the page is wide."""
    run: tuple[Command, ...] = ()
    """What to run now, the first one shown, the others folded."""
    facts: Pairs = field(default_factory=lambda: Pairs(()))
    """What an answer needs beside it, a line each: times as now and as advised, and what they rest on."""
    told: Pairs = field(default_factory=lambda: Pairs(()))
    """Further ones of a terminal, which a page has in its sections."""
    rows: Table | None = None
    """The few rows that the answer stands among, the most important first."""

    def __post_init__(self) -> None:
        """Leave out sections that have nothing to show."""
        object.__setattr__(self, "sections", tuple(one for one in self.sections if one.blocks))


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


def plain(text: object) -> str:
    """Text from outside without line ends, escape sequences or anything else that does not print."""
    return "".join(character if character.isprintable() else " " for character in str(text)).strip()


def pairs(items: Mapping[str, str]) -> Pairs:
    """Those of the items that have a value."""
    return Pairs(tuple((name, text) for name, text in items.items() if text))

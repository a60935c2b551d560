"""Blocks as plain text for a terminal: paragraphs, names with values, aligned tables; no colours."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import takewhile

from advisor import wording
from simulator import blocks

MOST_WARNINGS = 4
_GAP, _NARROW = "   ", "  "
"""Between columns; where lines would break."""


def render_blocks(shown: Iterable[blocks.Block], *, width: int = 10_000) -> str:
    """Blocks with an empty line between, figures left out; lines are at most `width` long where they can be broken."""
    lines = []
    for block in shown:
        own = [line for line in _lines(block, width) if line]
        lines += [*wrapped(own, width=max(40, width)), ""] if own else []
    return "\n".join(lines).rstrip()


def _lines(block: blocks.Block, width: int) -> list[str]:
    match block:
        case blocks.Table():
            return _table(block, width)
        case blocks.Text():
            return [wording.clean(block.text)]
        case blocks.Listing():
            return [line.rstrip() for line in block.text.splitlines()]
        case blocks.Command():
            return [*([f"{wording.clean(block.label)}:"] if block.label else []), f"  {wording.clean(block.line)}"]
        case blocks.Pairs():
            return [f"{name:<10}{wording.clean(text)}" for name, text in block.items]
        case _:
            return [line for one in inside(block) for line in _lines(one, width)]


def inside(block: blocks.Block) -> tuple[blocks.Block, ...]:
    """What a block holds."""
    match block:
        case blocks.Folded():
            return block.blocks
        case blocks.SideBySide():
            return (block.left, *block.right)
        case blocks.Widget():
            return block.fallback
        case _:
            return ()


def _table(table: blocks.Table, width: int) -> list[str]:
    """Caption, columns and note; nothing without rows. Columns of fixed widths move closer where they would break."""
    rows = [[wording.clean(cell) if cell.strip() == cell else cell for cell in row] for row in table.rows]
    if not rows:
        return []
    head, notes = table.caption.splitlines(), table.note.splitlines()
    if table.widths:
        lines = [_fixed(row, table.widths) for row in (table.head, *rows)]
        if max(map(len, lines)) <= width:
            return [*head, *lines, *notes]
        rows = [[cell.strip() for cell in row] for row in rows]
    left = len(list(takewhile(lambda one: one < 0, table.widths))) if table.widths else table.text_columns
    lines = aligned(table.head, rows, left=left)
    if max(map(len, lines)) > width:
        lines = aligned(table.head, rows, left=left, gap=_NARROW)
    return [*head, *lines, *(f"  {line}" for line in notes)]


def warnings(lines: Sequence[str]) -> blocks.Listing:
    """Warnings, a line each; of many the first ones."""
    shown = [f"Warning   {wording.clean(line)}" for line in lines]
    more = len(shown) - MOST_WARNINGS
    shown = shown if more <= 1 else [*shown[:MOST_WARNINGS], f"Warning   and {more} more, listed in the report"]
    return blocks.Listing("\n".join(shown))


def wrapped(block: Sequence[str], *, width: int) -> list[str]:
    """The lines of a block, long ones continued under the text that they begin with."""
    lines = []
    for line in block:
        inner = len(line) - len(line.lstrip())
        hang = line.find("  ", inner) if inner == 0 else -1
        under = len(line) - len(line[hang:].lstrip()) if 0 < hang < 12 else inner
        lines += textwrap.wrap(
            line, width, subsequent_indent=" " * under, break_on_hyphens=False, break_long_words=False
        ) or [""]
    return lines


def _fixed(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells in columns of their widths."""
    padded = [cell.rjust(width) if width > 0 else cell.ljust(-width) for cell, width in zip(cells, widths, strict=True)]
    return "".join(padded).rstrip()


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, gap: str = _GAP) -> list[str]:
    """Aligned columns under a header: the first `left` ones to the left, numbers to the right, a `*` behind them."""
    marked = [any(row[column].endswith(" *") for row in rows) for column in range(len(header))]
    lines = [
        [
            f"{text}  " if column >= left and marked[column] and not text.endswith(" *") else text
            for column, text in enumerate(row)
        ]
        for row in (header, *rows)
    ]
    widths = [max(len(row[column]) for row in lines) for column in range(len(header))]
    return [
        "  "
        + gap.join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    ]

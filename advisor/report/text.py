"""A page as plain text for a terminal: its first twelve lines, or all its blocks; no colours."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from advisor import wording
from advisor.report.verdict import worst_first
from simulator import blocks

MOST_LINES = 12
"""Of an answer at a terminal, if nothing else is asked for."""
LEAST_ROWS, MOST_ROWS = 2, 4
"""Of the rows that the answer stands among."""
MOST_LISTED, MOST_FOLDED = 40, 12
"""Rows of a table in all of an answer, and of one that a page folds."""
NARROWEST = 40
MOST_OF_RUN, CUT_LINE = 2, " ... (--full)"
"""Lines of a command that is printed whole, and the end of one that is longer."""
LABEL = 10
"""Columns of a name before its text."""
SIGNS = str.maketrans({"−": "-", "×": "x", "–": "-", "…": "..."})
"""What a page writes otherwise than a terminal may show."""
_GAP, _NARROW = "   ", "  "
"""Between columns; where lines would break."""


def render_first(page: blocks.Page, written: Mapping[str, str], *, width: int) -> str:
    """The answer of a page, what it rests on, the rows it stands among, the worst warning and what to run next.

    At most `MOST_LINES` lines that are at most `width` long, as far as what is no word of ours (a path) can be broken.

    `written`: what was written where, by what it is called.
    """
    width, few = max(NARROWEST, width), 1 + min(LEAST_ROWS, _rows_of(page))
    ends = [*_command(page, width), *(f"{name:<{LABEL}}{text}" for name, text in written.items())]
    room = MOST_LINES - len(ends)
    tries = [_words_of(page, width, *limits) for limits in ((4, 2, 4), (4, 1, 4), (4, 1, 2), (3, 1, 2))]
    said = next((lines for lines in tries if room - len(lines) >= few + bool(page.warnings)), tries[-1])
    warning = _worst(page.warnings, width, max(1, room - len(said) - few))
    rows = _first_rows(page, width, room - len(said) - len(warning))
    return "\n".join([*said, *rows, *warning, *ends]).translate(SIGNS)


def _words_of(page: blocks.Page, width: int, most: int, of_fact: int, count: int) -> list[str]:
    """The answer and the first facts, in so many lines each at most."""
    facts = (*page.facts.items, *page.told.items)[:count]
    return [
        *_cut(page.answer, width, most),
        *(line for name, text in facts for line in _cut(text, width, of_fact, name)),
    ]


def _cut(text: str, width: int, most: int, name: str = "") -> list[str]:
    """So many lines of a text at most, by whole sentences if one fits, behind its name."""
    begin = f"{name:<{LABEL}}" if name else ""
    under = " " * len(begin)
    whole = re.split(r"(?<=[.]) (?=[A-Z])", wording.clean(text))
    for count in range(len(whole), 0, -1):
        lines = _wrap(begin + " ".join(whole[:count]), width, under)
        if len(lines) <= most:
            return lines
    lines = _wrap(begin + whole[0], width, under)[:most]
    return [*lines[:-1], f"{lines[-1][: width - 4].rpartition(' ')[0]} ..."] if lines else []


def _wrap(line: str, width: int, under: str) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=under, break_on_hyphens=False, break_long_words=False)


def _command(page: blocks.Page, width: int) -> list[str]:
    """The line to run, broken as a shell reads it."""
    if not page.run:
        return []
    under, lines = " " * LABEL, [f"{'Run':<{LABEL}}"]
    for word in re.findall(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+", page.run[0].line):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip() != "Run":
            lines[-1] += " \\"
            lines.append(under)
        lines[-1] += word if len(lines[-1]) == LABEL else f" {word}"
    if len(lines) <= MOST_OF_RUN:
        return lines
    first = lines[0].rstrip(" \\")[: width - len(CUT_LINE)]
    return [first.rpartition(" ")[0] + CUT_LINE]


def _worst(warnings: Sequence[str], width: int, most: int) -> list[str]:
    """The warning that matters most, in full as far as there is room, and how many more there are."""
    first, *others = worst_first(warnings) or [""]
    more = f" (and {len(others)} more: --full)" if others else ""
    return _cut(f"{first}{more}", width, most, "Warning") if first else []


def _rows_of(page: blocks.Page) -> int:
    return 0 if page.rows is None else min(MOST_ROWS, len(page.rows.rows))


def _first_rows(page: blocks.Page, width: int, most: int) -> list[str]:
    """The header and the first rows, as far as there is room for two; columns that do not fit are left out."""
    if page.rows is None or not page.rows.rows or most < min(2, len(page.rows.rows)) + 1:
        return []
    rows = [[wording.clean(cell) for cell in row] for row in page.rows.rows[: min(MOST_ROWS, most - 1)]]
    for count in range(len(page.rows.head), 1, -1):
        lines = aligned(page.rows.head[:count], [row[:count] for row in rows], left=page.rows.text_columns, gap=_NARROW)
        if max(map(len, lines)) <= width:
            return lines
    return []


def page_blocks(page: blocks.Page) -> Iterator[blocks.Block]:
    """All of a page but what is drawn, for `--full` and for tables in other forms.

    Of what is folded there are the tables.
    """
    yield blocks.Text(page.answer)
    yield page.facts
    yield blocks.Listing("\n".join(f"Warning   {wording.clean(line)}" for line in page.warnings))
    for section in page.sections:
        yield from _unfolded(section.blocks)
    yield from page.run[:1]


def _unfolded(shown: Iterable[blocks.Block], *, folded: bool = False) -> Iterator[blocks.Block]:
    for block in shown:
        if isinstance(block, blocks.Table):
            most = MOST_FOLDED if folded else MOST_LISTED
            more = f"and {len(block.rows) - most} more; all with --json\n" if len(block.rows) > most else ""
            yield replace(block, rows=block.rows[:most], note=f"{more}{block.note}")
        elif isinstance(block, blocks.Folded):
            yield from _unfolded(block.blocks, folded=True)
        elif isinstance(block, blocks.SideBySide | blocks.Widget):
            yield from _unfolded(inside(block), folded=folded)
        elif not folded and not isinstance(block, blocks.Figure):
            yield block


def render_blocks(shown: Iterable[blocks.Block], *, width: int = 10_000) -> str:
    """Blocks with an empty line between, figures left out; lines are at most `width` long where they can be broken."""
    lines = []
    for block in shown:
        own = [line for line in _lines(block, width) if line]
        lines += [*wrapped(own, width=max(40, width)), ""] if own else []
    return "\n".join(lines).rstrip().translate(SIGNS)


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
            wide = max((len(name) + 2 for name, _ in block.items), default=0)
            return [
                line
                for name, text in block.items
                for line in _wrap(f"{name:<{max(LABEL, wide)}}{wording.clean(text)}", width, " " * max(LABEL, wide))
            ]
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


def walked(shown: Iterable[blocks.Block]) -> Iterator[blocks.Block]:
    """Blocks, each before what it holds."""
    for block in shown:
        yield block
        yield from walked(inside(block))


def on_page(page: blocks.Page) -> Iterator[blocks.Block]:
    """Every block of a page, in its order."""
    for shown in (*page.picture, *(section.blocks for section in page.sections)):
        yield from walked(shown)


def _table(table: blocks.Table, width: int) -> list[str]:
    """Caption, columns and note; nothing without rows. Columns beyond the width come below."""
    rows = [[wording.clean(cell) if cell.strip() == cell else cell for cell in row] for row in table.rows]
    if not rows:
        return []
    head, notes = table.caption.splitlines(), table.note.splitlines()
    return [*head, *_columns(table.head, rows, table.text_columns, width), *(f"  {line}" for line in notes)]


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], left: int, width: int) -> list[str]:
    """Columns as far as they fit, then the others behind the first one again."""
    for count in range(len(head), 1, -1):
        for gap in (_GAP, _NARROW):
            lines = aligned(head[:count], [row[:count] for row in rows], left=left, gap=gap)
            if max(map(len, lines)) <= width or (count == 2 and gap == _NARROW):
                rest = [[row[0], *row[count:]] for row in rows]
                more = _columns([head[0], *head[count:]], rest, max(1, left - count + 1), width)
                return lines if count == len(head) else [*lines, *more]
    return aligned(head, rows, left=left)


def wrapped(block: Sequence[str], *, width: int) -> list[str]:
    """The lines of a block, long ones continued under the text that they begin with."""
    lines = []
    for line in block:
        inner = len(line) - len(line.lstrip())
        hang = line.find("  ", inner) if inner == 0 else -1
        under = len(line) - len(line[hang:].lstrip()) if 0 < hang < 12 else inner
        lines += _wrap(line, width, " " * under) or [""]
    return lines


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, gap: str = _GAP) -> list[str]:
    """Aligned columns under a header: the first `left` ones to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(row[column]) for row in lines) for column in range(len(header))]
    return [
        "  "
        + gap.join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    ]

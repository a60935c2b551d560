"""Blocks as LaTeX or Markdown, for papers and notes: tables as tables, all else as what stands around them."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from advisor import wording
from advisor.report.text import inside
from simulator import blocks

PrintedForm = Literal["latex", "markdown"]
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


def render_printed(shown: Iterable[blocks.Block], form: PrintedForm) -> str:
    """Blocks in that form; figures are left out.

    LaTeX tables need the package booktabs; what stands around them is in comments, so that all of it can be included.
    """
    return "\n\n".join(text for block in shown for text in _parts(block, form) if text)


def _parts(block: blocks.Block, form: PrintedForm) -> list[str]:
    match block:
        case blocks.Table():
            return [(_latex_table if form == "latex" else _markdown_table)(block)] if block.rows else []
        case blocks.Text():
            return [_around([wording.clean(block.text)], form)]
        case blocks.Listing():
            return [_around([line.strip() for line in block.text.splitlines()], form)]
        case blocks.Pairs():
            return [_around([f"{name.strip()}: {wording.clean(text)}" for name, text in block.items], form)]
        case _:
            return [text for one in inside(block) for text in _parts(one, form)]


def _around(lines: Sequence[str], form: PrintedForm) -> str:
    """What is no table: comments of LaTeX, paragraphs of Markdown."""
    said = [line for line in lines if line]
    return "\n".join(f"% {line}" for line in said) if form == "latex" else "\n\n".join(map(_escaped, said))


def _left(table: blocks.Table) -> list[bool]:
    """Which columns hold words."""
    return [column < table.text_columns for column in range(len(table.head))]


def _cells(row: Sequence[str]) -> list[str]:
    return [wording.clean(cell).strip() for cell in row]


def _latex_table(table: blocks.Table) -> str:
    columns = "".join("l" if left else "r" for left in _left(table))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(_cells(table.head)), r"\midrule"]
    for row in table.rows:
        cells = _cells(row)
        lines.append(_latex_row(cells, bold=bool(table.best) and cells[0] == table.best))
    lines += [r"\bottomrule", r"\end{tabular}"]
    around = [line for text in (table.caption, table.note) for line in text.splitlines() if line.strip()]
    return "\n".join([*(f"% {line.strip()}" for line in around), *lines])


def _latex_row(cells: Sequence[str], *, bold: bool = False) -> str:
    written = ["".join(_LATEX.get(mark, mark) for mark in cell).replace("+/-", r"$\pm$") for cell in cells]
    written = [re.sub(r"^-(?=[\d.])", "$-$", cell) for cell in written]
    return " & ".join(rf"\textbf{{{cell}}}" if bold and cell else cell for cell in written) + r" \\"


def _markdown_table(table: blocks.Table) -> str:
    head = _cells(table.head)
    rows = [_cells(row) for row in table.rows]
    marks = [":--" if left else "--:" for left in _left(table)]
    lines = [_markdown_row(head), f"|{'|'.join(marks)}|"]
    lines += [_markdown_row(row, bold=bool(table.best) and row[0] == table.best) for row in rows]
    caption = [f"**{_escaped(table.caption.strip())}**", ""] if table.caption.strip() else []
    note = ["", *(_escaped(line.strip()) for line in table.note.splitlines() if line.strip())] if table.note else []
    return "\n".join([*caption, *lines, *note])


def _markdown_row(cells: Sequence[str], *, bold: bool = False) -> str:
    written = [_escaped(cell) for cell in cells]
    return f"| {' | '.join(f'**{cell}**' if bold and cell else cell for cell in written)} |"


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", text)

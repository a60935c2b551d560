"""All papers in one go: every table compared with ours, one report.

The folder holds `report.html`, `report.json` (the same as data), `inventory.csv` (a row per table and figure),
`cells.csv` (a row per figure compared), and a folder per paper with what its module returned (`result.json`), its text
and its drawings.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from advisor.report.papers import Paper, Reproduced
from advisor.reproduce import PAPERS
from advisor.results import Provenance
from simulator import ApportionError, documents, files

REPORT, PAGE, INVENTORY, CELLS = "report.json", "report.html", "inventory.csv", "cells.csv"
RESULT, TEXT = "result.json", "result.txt"
FIGURES = (".svg", ".png")
ON_PAGE = ("characterisation",)
"""Papers whose drawings are made for a page, in its colours, and hold nothing from outside; others stay apart."""
TABLE_COLUMNS = ("number", "title", "verdict", "compared", "within_rounding", "worst_off_percent", "because")
CELL_COLUMNS = ("where", "what", "unit", "printed", "ours", "difference", "off_percent", "within_rounding")


def module_of(paper: str) -> ModuleType:
    """What computes a paper of `PAPERS`."""
    return importlib.import_module(f"advisor.reproduce.{paper}")


def reproduce_one(paper: str, folder: Path | None) -> object:
    """Compute a paper's tables; the result, its text and drawings go into the folder, if there is one."""
    if folder is not None:
        files.make_folder(folder)
    result: object = module_of(paper).reproduce(folder)
    if folder is not None:
        files.write_text(folder / TEXT, module_of(paper).text(result) + "\n")
        files.write_json(folder / RESULT, documents.to_dict(result))
    return result


def reproduce_all(
    papers: Sequence[str] = PAPERS,
    *,
    folder: Path | None = None,
    on_paper: Callable[[str, str], None] = lambda _name, _state: None,
) -> Reproduced:
    """Compute all papers; one that fails stops no other.

    `folder`: where everything goes; None: nowhere.
    `on_paper`: called with each paper's name and state: `computing`, `done` or `failed: REASON`.
    """
    if folder is not None:
        files.make_folder(folder)
    found = Reproduced(tuple(_paper(paper, folder, on_paper) for paper in papers), Provenance.of(None))
    if folder is not None:
        _write(found, folder)
    return found


def lines(found: Reproduced) -> list[str]:
    """A line per table and figure, then the counts, for the terminal."""
    text = []
    for paper in found.papers:
        text += ["", paper.citation]
        if paper.error:
            text.append(f"  failed: {paper.error}")
        for table in paper.tables:
            cells = f"{table.within_rounding} of {len(table.cells)}" if table.cells else ""
            worst = table.worst_off_percent
            off = "" if not worst else f"{float(f'{worst:.2g}'):g} %"
            text.append(f"  {table.number:<20}{table.verdict:<20}{cells:>10}{off:>10}  {table.title}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items())
    return [
        "cells within rounding, and how far the worst lies beyond it",
        *text,
        "",
        f"tables and figures: {counts}",
    ]


def _paper(name: str, folder: Path | None, on_paper: Callable[[str, str], None]) -> Paper:
    own, drawn = module_of(name), list[Path]()
    empty = Paper(name, own.CITATION, tuple(own.MISPRINTS))
    on_paper(name, "computing")
    try:
        result = reproduce_one(name, None if folder is None else folder / name)
        tables = tuple(own.inventory(result))
    except (ApportionError, ArithmeticError, OSError, ValueError) as error:
        failed = replace(empty, error=" ".join(str(error).split()) or type(error).__name__)
        on_paper(name, f"failed: {failed.error}")
        return failed
    if folder is not None:
        drawn = sorted(path for path in (folder / name).iterdir() if path.suffix in FIGURES)
    on_paper(name, "done")
    return replace(
        empty, tables=tables, figures=tuple(str(path.relative_to(folder or path)) for path in drawn), result=result
    )


def _write(found: Reproduced, folder: Path) -> None:
    from advisor.report.html import render_page
    from advisor.report.papers import papers_page

    short = replace(found, papers=tuple(replace(one, result=None) for one in found.papers))
    # What a paper's module returned stands in its own folder.
    files.write_json(folder / REPORT, short.to_dict() | {"warnings": list(found.warnings)})
    rows = [[name, *map(table.to_dict().get, TABLE_COLUMNS)] for name, table in found.tables]
    files.write_text(folder / INVENTORY, files.csv_lines([("paper", *TABLE_COLUMNS), *rows]))
    rows = [
        [name, table.number, *map(cell.to_dict().get, CELL_COLUMNS)]
        for name, table in found.tables
        for cell in table.cells
    ]
    files.write_text(folder / CELLS, files.csv_lines([("paper", "table", *CELL_COLUMNS), *rows]))
    drawings = {
        paper.name: [(Path(name).stem, files.read_text(folder / name)) for name in paper.figures]
        for paper in found.papers
        if paper.name in ON_PAGE
    }
    files.write_text(folder / PAGE, render_page(papers_page(found, drawings)))

"""All papers in one go: every table compared with ours, one report.

The folder holds `report.html`, `report.json` (the same as data), `inventory.csv` (a row per table and figure),
`cells.csv` (a row per figure compared), and a folder per paper with what its module returned (`result.json`) and its
drawings.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from advisor.report.papers import Paper, Reproduced, papers_page
from advisor.reproduce import PAPERS
from advisor.results import Provenance
from simulator import ApportionError, blocks, documents, files

REPORT, PAGE, INVENTORY, CELLS = "report.json", "report.html", "inventory.csv", "cells.csv"
RESULT = "result.json"
FIGURES = (".svg", ".png")
ON_PAGE = ("characterisation",)
"""Papers whose drawings are made for a page, in its colours, and hold nothing from outside; others stay apart."""
TABLE_COLUMNS = ("number", "title", "verdict", "compared", "within_rounding", "worst_off_percent", "because")
CELL_COLUMNS = ("where", "what", "unit", "printed", "ours", "difference", "off_percent", "within_rounding")


def module_of(paper: str) -> ModuleType:
    """What computes a paper of `PAPERS`."""
    return importlib.import_module(f"advisor.reproduce.{paper}")


def reproduce_all(
    papers: Sequence[str] = PAPERS,
    *,
    folder: Path | None = None,
    on_paper: Callable[[str, str], None] = lambda _name, _state: None,
) -> Reproduced:
    """Compute some papers; one that fails stops no other.

    `folder`: where their drawings and results go; None: nowhere.
    `on_paper`: called with each paper's name and state: `computing`, `done` or `failed: REASON`.
    """
    return Reproduced(tuple(_paper(paper, folder, on_paper) for paper in papers), Provenance.of(None))


def _paper(name: str, folder: Path | None, on_paper: Callable[[str, str], None]) -> Paper:
    own, drawn, place = module_of(name), list[Path](), None if folder is None else folder / name
    empty = Paper(name, own.CITATION, tuple(own.MISPRINTS))
    on_paper(name, "computing")
    try:
        if place is not None:
            files.make_folder(place)
        result = own.reproduce(place)
        if place is not None:
            files.write_json(place / RESULT, documents.to_dict(result))
        tables = tuple(own.inventory(result))
    except (ApportionError, ArithmeticError, OSError, ValueError) as error:
        failed = replace(empty, error=" ".join(str(error).split()) or type(error).__name__)
        on_paper(name, f"failed: {failed.error}")
        return failed
    if place is not None:
        drawn = sorted(path for path in place.iterdir() if path.suffix in FIGURES)
    on_paper(name, "done")
    return replace(
        empty, tables=tables, figures=tuple(str(path.relative_to(folder or path)) for path in drawn), result=result
    )


def write_all(found: Reproduced, folder: Path) -> None:
    """The report as data, its tables, and the page."""
    from advisor.report.html import render_page

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
    files.write_text(folder / PAGE, render_page(page_of(found, folder)))


def page_of(found: Reproduced, folder: Path | None = None) -> blocks.Page:
    """The page of all papers, with the drawings that lie in a folder."""
    drawings = {
        paper.name: [(Path(name).stem, files.read_text(folder / name)) for name in paper.figures]
        for paper in found.papers
        if folder is not None and paper.name in ON_PAGE
    }
    return papers_page(found, drawings)

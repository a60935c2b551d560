"""All papers in one go: every table compared with ours, one report.

The folder holds `report.html`, `report.json` (the same as data), `inventory.csv` (a row per table and figure),
`cells.csv` (a row per figure compared), and a folder per paper with what its module returned (`result.json`), its text
and its drawings.
"""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from advisor.reproduce import PAPERS
from advisor.reproduce.comparison import IMPOSSIBLE, NOT_REPRODUCED, VERDICTS
from simulator import ApportionError, files, provenance

FORMAT = 1
REPORT, PAGE, INVENTORY, CELLS = "report.json", "report.html", "inventory.csv", "cells.csv"
RESULT, TEXT = "result.json", "result.txt"
FIGURES = (".svg", ".png")
ON_PAGE = ("characterisation",)
"""Papers whose drawings are made for a page, in its colours, and hold nothing from outside; others stay apart."""
TABLE_COLUMNS = ("number", "title", "verdict", "compared", "within_rounding", "worst_off_percent", "because")
CELL_COLUMNS = ("where", "what", "unit", "printed", "ours", "difference", "off_percent", "within_rounding")

Document = dict[str, Any]


def module_of(paper: str) -> ModuleType:
    """What computes a paper of `PAPERS`."""
    return importlib.import_module(f"advisor.reproduce.{paper}")


def reproduce_one(paper: str, folder: Path | None) -> Document:
    """Compute a paper's tables; the result, its text and drawings go into the folder, if there is one."""
    if folder is None:
        return dict(module_of(paper).reproduce())
    files.make_folder(folder)
    result = dict(module_of(paper).reproduce(folder))
    files.write_text(folder / TEXT, module_of(paper).text(result) + "\n")
    files.write_json(folder / RESULT, result)
    return result


def reproduce_all(
    papers: Sequence[str] = PAPERS,
    *,
    folder: Path | None = None,
    on_paper: Callable[[str, str], None] = lambda _name, _state: None,
) -> Document:
    """Compute all papers; one that fails stops no other.

    Parameters
    ----------
    folder
        Where everything goes; None: nowhere.
    on_paper
        Called with each paper's name and state: `computing`, `done` or `failed: REASON`.

    Returns
    -------
    dict
        `papers` (per paper `name`, `citation`, `state`, `error`, `tables`, `misprints`, `result`, `figures`), `counts`
        (verdict -> tables and figures), `provenance`.
    """
    if folder is not None:
        files.make_folder(folder)
    document = _document([_paper(paper, folder, on_paper) for paper in papers])
    if folder is not None:
        _write(document, folder)
    return document


def lines(document: Document) -> list[str]:
    """A line per table and figure, then the counts, for the terminal."""
    text = []
    for entry in document["papers"]:
        text += ["", entry["citation"]]
        if entry["error"]:
            text.append(f"  failed: {entry['error']}")
        for table in entry["tables"]:
            cells = f"{table['within_rounding']} of {len(table['cells'])}" if table["cells"] else ""
            worst = table["worst_off_percent"]
            off = "" if not worst else f"{float(f'{worst:.2g}'):g} %"
            text.append(f"  {table['number']:<20}{table['verdict']:<20}{cells:>10}{off:>10}  {table['title']}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in document["counts"].items())
    return [
        "cells within rounding, and how far the worst lies beyond it",
        *text,
        "",
        f"tables and figures: {counts}",
    ]


def _paper(name: str, folder: Path | None, on_paper: Callable[[str, str], None]) -> Document:
    own = module_of(name)
    entry: Document = {"name": name, "citation": own.CITATION, "misprints": list(own.MISPRINTS)}
    entry |= {"state": "failed", "error": None, "tables": [], "figures": [], "result": None}
    on_paper(name, "computing")
    try:
        result = reproduce_one(name, None if folder is None else folder / name)
        entry["tables"] = [one.to_dict() for one in own.inventory(result)]
    except (ApportionError, ArithmeticError, OSError, ValueError) as error:
        entry["error"] = " ".join(str(error).split()) or type(error).__name__
        on_paper(name, f"failed: {entry['error']}")
        return entry
    if folder is not None:
        drawn = sorted(path for path in (folder / name).iterdir() if path.suffix in FIGURES)
        entry["figures"] = [str(path.relative_to(folder)) for path in drawn]
    on_paper(name, "done")
    return entry | {"state": "done", "result": result}


def _document(found: Sequence[Document]) -> Document:
    verdicts = [table["verdict"] for entry in found for table in entry["tables"]]
    cells = [cell for entry in found for table in entry["tables"] for cell in table["cells"]]
    return {
        "format": FORMAT,
        "command": "lab reproduce",
        "papers": list(found),
        "verdicts": dict(VERDICTS),
        "counts": {verdict: verdicts.count(verdict) for verdict in VERDICTS},
        "cells": {
            "printed": len(cells),
            "compared": sum(cell["ours"] is not None for cell in cells),
            "within_rounding": sum(bool(cell["within_rounding"]) for cell in cells),
        },
        "not_reproduced": [
            {"paper": entry["name"]} | {key: table[key] for key in ("number", "title", "verdict", "because")}
            for entry in found
            for table in entry["tables"]
            if table["verdict"] in {NOT_REPRODUCED, IMPOSSIBLE}
        ],
        "warnings": [f"{entry['name']} failed: {entry['error']}" for entry in found if entry["error"]]
        + [f"{entry['name']}: {line}" for entry in found for line in (entry["result"] or {}).get("warnings", ())],
        "provenance": provenance.provenance(),
    }


def _write(document: Document, folder: Path) -> None:
    from advisor.report.pages import render_html

    plain = document | {
        # What a paper's module returned stands in its own folder.
        "papers": [{key: entry[key] for key in entry if key != "result"} for entry in document["papers"]]
    }
    files.write_json(folder / REPORT, plain)
    named = [(entry["name"], table) for entry in document["papers"] for table in entry["tables"]]
    rows = [[name, *map(table.get, TABLE_COLUMNS)] for name, table in named]
    files.write_text(folder / INVENTORY, files.csv_lines([("paper", *TABLE_COLUMNS), *rows]))
    rows = [[name, table["number"], *map(cell.get, CELL_COLUMNS)] for name, table in named for cell in table["cells"]]
    files.write_text(folder / CELLS, files.csv_lines([("paper", "table", *CELL_COLUMNS), *rows]))
    drawings = {
        entry["name"]: [(Path(name).stem, files.read_text(folder / name)) for name in entry["figures"]]
        for entry in document["papers"]
        if entry["name"] in ON_PAGE
    }
    files.write_text(folder / PAGE, render_html(plain | {"drawings": drawings}))

"""The page of `reproduce all`: every table of the papers and ours, and what cannot be had."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from advisor import wording
from advisor.results import Provenance
from simulator import blocks

NAMES = {
    "allocation": "Process allocation for unmodified programs",
    "apexmap": "Memory access times",
    "characterisation": "Characterisation",
    "gbbp": "Speed bands",
    "scopred": "Prediction from run history",
}
"""Short names for headings."""
DIGITS = 6


@dataclass(frozen=True)
class CellFacts:
    """A printed figure and ours."""

    where: str
    what: str
    unit: str
    printed: float | None
    ours: float | None
    difference: float | None
    within_rounding: bool
    off_percent: float | None


@dataclass(frozen=True)
class TableFacts:
    """A table or figure of a paper, and our verdict on it."""

    paper: str
    number: str
    title: str
    verdict: str
    because: str
    within_rounding: int | None
    worst_off_percent: float | None
    cells: tuple[CellFacts, ...]


@dataclass(frozen=True)
class PaperFacts:
    """A paper."""

    name: str
    citation: str
    error: str
    tables: tuple[TableFacts, ...]
    misprints: tuple[str, ...]
    figures: tuple[str, ...]


@dataclass(frozen=True)
class CellCounts:
    """How many figures were looked at."""

    printed: int | None
    compared: int | None
    within_rounding: int | None


@dataclass(frozen=True)
class Reproduced:
    """What `apportion lab reproduce all` answers."""

    papers: tuple[PaperFacts, ...]
    counts: Mapping[str, int]
    cells: CellCounts
    verdicts: Mapping[str, str]
    drawings: Mapping[str, Any]
    """By paper: titles and figures as SVG."""
    not_reproduced: tuple[TableFacts, ...]
    warnings: tuple[str, ...]
    provenance: Provenance


def papers_page(found: Reproduced) -> blocks.Page:
    """Inventory, a section per paper, what cannot be reproduced, provenance."""
    counts = {name: count for name, count in found.counts.items() if count}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    papers = (
        blocks.Section(f"paper-{one.name}", NAMES.get(one.name, one.name), tuple(_paper(found, one)))
        for one in found.papers
    )
    return blocks.Page(
        title="The tables of the papers and ours",
        answer=f"Of {sum(counts.values())} tables and figures: {said}." if said else "No paper was computed.",
        sections=(_inventory(found), *papers, _impossible(found), _provenance(found)),
        command="lab reproduce",
        made=found.provenance.made,
        settings="on shipped recordings, nothing was run",
        key_figures=blocks.pairs(
            {
                "figures of the papers looked at": str(found.cells.printed or ""),
                "of them computed again": str(found.cells.compared or ""),
                "the same within rounding": str(found.cells.within_rounding or ""),
            }
        ),
        warnings=found.warnings,
    )


def _inventory(found: Reproduced) -> blocks.Section:
    rows = [
        [
            f"{paper.name}, {one.number}",
            one.verdict,
            f"{one.within_rounding} of {len(one.cells)}" if one.cells else wording.NOTHING,
            _short(one.worst_off_percent, " %"),
            one.title,
        ]
        for paper in found.papers
        for one in paper.tables
    ]
    head = ["table", "verdict", "cells within rounding", "worst beyond it", "what it shows"]
    note = "Beyond rounding: in percent of the printed figure, or in points where figures are percentages."
    shown = blocks.table("Verdict on each", head, rows, text_columns=5, note=note)
    meant = blocks.Folded("What the verdicts mean", (blocks.pairs(found.verdicts),))
    return blocks.Section("inventory", "All tables and figures", (shown, meant))


def _paper(found: Reproduced, paper: PaperFacts) -> Iterator[blocks.Block]:
    yield blocks.Text(paper.citation)
    if paper.error:
        yield blocks.Text(f"Failed: {paper.error}")
    for one in paper.tables:
        yield _table(one)
    if paper.misprints:
        items = tuple((str(number), line) for number, line in enumerate(paper.misprints, start=1))
        yield blocks.Folded("Misprints and open points, and what we took them for", (blocks.Pairs(items),))
    if paper.figures and paper.name not in found.drawings:
        yield blocks.Text(f"Drawings in the folder of this page: {', '.join(paper.figures)}.", quiet=True)
    for title, svg in found.drawings.get(paper.name, ()):
        yield blocks.Figure(svg, f"{NAMES.get(paper.name, paper.name)}: {title}")


def _table(one: TableFacts) -> blocks.Block:
    """A table with its cells, folded under its verdict."""
    summary = f"{one.number[:1].upper()}{one.number[1:]}, {one.verdict}: {one.title}"
    rows = [
        [
            cell.where,
            cell.what + (f", {cell.unit}" if cell.unit else ""),
            _number(cell.printed),
            _number(cell.ours),
            _number(cell.difference, digits=3),
            "yes" if cell.within_rounding else _off(cell),
        ]
        for cell in one.cells
    ]
    head = ["where", "what", "printed", "ours", "difference", "within rounding"]
    shown = blocks.table(summary, head, rows, text_columns=2, note="Otherwise how far beyond it.")
    return blocks.Folded(summary, (blocks.Text(one.because), *([shown] if rows else [])))


def _off(cell: CellFacts) -> str:
    return _short(None if cell.ours is None else cell.off_percent, " points" if cell.unit == "%" else " %")


def _short(value: float | None, unit: str) -> str:
    return wording.NOTHING if value is None else f"{float(f'{value:.2g}'):g}{unit}"


def _number(value: float | None, *, digits: int = DIGITS) -> str:
    return wording.NOTHING if value is None else f"{value:.{digits}g}".replace("-", "−")


def _impossible(found: Reproduced) -> blocks.Section:
    items = tuple(
        (f"{one.paper}, {one.number}", f"{one.title}: {one.verdict}. {one.because}") for one in found.not_reproduced
    )
    return blocks.Section(
        "not-reproduced", "Not reproduced, and why", (blocks.Pairs(items) if items else blocks.Text("Nothing."),)
    )


def _provenance(found: Reproduced) -> blocks.Section:
    facts = {"Made": found.provenance.made} | {
        f"Version of {name}": value for name, value in found.provenance.versions.items()
    }
    return blocks.Section("provenance", "Provenance", (blocks.Folded("Versions", (blocks.pairs(facts),)),))

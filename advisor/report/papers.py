"""Tables of the papers and ours, cell by cell, and the page of `reproduce all`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor import wording
from advisor.report.origin import provenance_section
from advisor.results import Provenance
from simulator import blocks, documents

NAMES = {
    "allocation": "Process allocation for unmodified programs",
    "apexmap": "Memory access times",
    "characterisation": "Characterisation",
    "gbbp": "Speed bands",
    "scopred": "Prediction from run history",
}
"""Short names for headings."""
DIGITS = 6


REPRODUCED = "reproduced"
REPEATED = "repeated here"
INPUT = "taken as given"
NOT_REPRODUCED = "not reproduced"
IMPOSSIBLE = "not reproducible"
DEFINITION = "nothing to compute"
VERDICTS = {
    REPRODUCED: "computed from what the paper prints, the same figures within their rounding or the stated share",
    REPEATED: "the same experiment on other data or another machine: figures may differ, and do",
    NOT_REPRODUCED: "computed, and some cells differ or cannot be had; the reason is given",
    IMPOSSIBLE: "a machine that is gone or inputs that are not printed; the reason is given",
    INPUT: "measured on a machine that is gone; what we compute starts from it",
    DEFINITION: "a drawing or a definition, no result",
}
"""Verdict on a table -> what it means."""
PERCENT = "%"
RELATIVE_TO = 1e-12


@dataclass(frozen=True)
class Cell(documents.Record):
    """A printed figure and ours."""

    SPARSE, DERIVED = False, ("difference", "off_percent", "within_rounding")

    where: str
    """Row of the table."""
    what: str
    """Column of the table."""
    printed: float
    ours: float | None
    """None: not to be had."""
    half_unit: float = field(default=0.0, metadata=documents.NOT_WRITTEN)
    """How far two figures may be apart by rounding alone: half of the last digit, and what rounded inputs do."""
    unit: str = ""

    @property
    def off_percent(self) -> float | None:
        """How far ours lies beyond rounding: in percent of the printed figure, in points where both are percent."""
        if self.ours is None:
            return None
        beyond = max(0.0, abs(self.ours - self.printed) - self.half_unit * (1 + 1e-9) - RELATIVE_TO)
        if self.unit == PERCENT:
            return beyond
        return 100 * beyond / max(abs(self.printed), RELATIVE_TO)

    @property
    def difference(self) -> float | None:
        """Ours less the printed figure."""
        return None if self.ours is None else self.ours - self.printed

    @property
    def within_rounding(self) -> bool | None:
        """Whether both are the same but for rounding."""
        return None if self.off_percent is None else self.off_percent == 0


@dataclass(frozen=True)
class Compared(documents.Record):
    """A table or figure of a paper, the verdict on it, and the cells that were compared."""

    SPARSE, DERIVED = False, ("compared", "within_rounding", "worst_off_percent")

    number: str
    """As the paper counts: `table 4`."""
    title: str
    verdict: str
    because: str
    cells: tuple[Cell, ...] = ()

    @property
    def offs(self) -> list[float]:
        """How far the cells that could be had lie beyond rounding."""
        return [cell.off_percent for cell in self.cells if cell.off_percent is not None]

    @property
    def compared(self) -> int:
        """Cells that could be had."""
        return len(self.offs)

    @property
    def within_rounding(self) -> int:
        """Cells that are the same."""
        return sum(off == 0 for off in self.offs)

    @property
    def worst_off_percent(self) -> float | None:
        """Of the cell that is furthest off."""
        return max(self.offs, default=None)


@dataclass(frozen=True)
class Paper(documents.Record):
    """A paper whose tables were computed, or why they could not be."""

    SPARSE, DERIVED = False, ("state",)

    name: str
    citation: str
    misprints: tuple[str, ...]
    tables: tuple[Compared, ...] = ()
    figures: tuple[str, ...] = ()
    """Drawings, from the folder of all."""
    result: object = field(default=None, metadata=documents.SPARE)
    """What its module returned."""
    error: str | None = None

    @property
    def state(self) -> str:
        """Whether it was computed."""
        return "done" if self.error is None else "failed"


@dataclass(frozen=True)
class Reproduced:
    """What `apportion lab reproduce all` answers."""

    papers: tuple[Paper, ...]
    provenance: Provenance

    @property
    def tables(self) -> list[tuple[str, Compared]]:
        """All of them, each with the name of its paper."""
        return [(paper.name, one) for paper in self.papers for one in paper.tables]

    @property
    def cells(self) -> list[Cell]:
        """Of all tables."""
        return [cell for _, table in self.tables for cell in table.cells]

    @property
    def counts(self) -> dict[str, int]:
        """Verdict -> tables and figures."""
        verdicts = [table.verdict for _, table in self.tables]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}

    @property
    def compared(self) -> int:
        """Cells that could be computed."""
        return sum(cell.ours is not None for cell in self.cells)

    @property
    def within_rounding(self) -> int:
        """Cells that are the same."""
        return sum(cell.off_percent == 0 for cell in self.cells)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What failed, and what papers warn of."""
        failed = [f"{one.name} failed: {one.error}" for one in self.papers if one.error]
        said = [f"{one.name}: {line}" for one in self.papers for line in getattr(one.result, "warnings", ())]
        return (*failed, *said)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        cells = {"printed": len(self.cells), "compared": self.compared, "within_rounding": self.within_rounding}
        return {
            "format": 1,
            "command": "lab reproduce",
            **documents.by_field(self),
            "verdicts": dict(VERDICTS),
            "counts": self.counts,
            "cells": cells,
            "warnings": list(self.warnings),
        }


# Page


Drawings = Mapping[str, Sequence[tuple[str, str]]]
"""By paper: titles and figures as SVG."""


def papers_page(found: Reproduced, drawings: Drawings) -> blocks.Page:
    """Inventory, a section per paper, provenance."""
    counts = {name: count for name, count in found.counts.items() if count}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    cells = f"{len(found.cells)} looked at, {found.compared} computed, {found.within_rounding} equal within rounding"
    papers = (
        blocks.Section(f"paper-{one.name}", NAMES.get(one.name, one.name), tuple(_paper(one, drawings)))
        for one in found.papers
    )
    return blocks.Page(
        title="The tables of the papers and ours",
        answer=f"Of {sum(counts.values())} tables and figures: {said}." if said else "No paper was computed.",
        sections=(_inventory(found), *papers, provenance_section(found.provenance, None)),
        command="lab reproduce",
        made=found.provenance.made,
        settings="on shipped recordings, nothing was run",
        facts=blocks.pairs({"Figures": cells}),
        rows=_verdicts(found),
        warnings=found.warnings,
    )


def _verdicts(found: Reproduced) -> blocks.Table:
    rows = [
        [
            f"{name}, {one.number}",
            one.verdict,
            f"{one.within_rounding} of {len(one.cells)}" if one.cells else wording.NOTHING,
            _short(one.worst_off_percent, " %"),
            one.title,
        ]
        for name, one in found.tables
    ]
    head = ["table", "verdict", "cells within rounding", "worst beyond it", "what it shows"]
    note = "Beyond rounding: in percent of the printed figure, or in points where figures are percentages."
    return blocks.table("Verdict on each", head, rows, text_columns=5, note=note)


def _inventory(found: Reproduced) -> blocks.Section:
    meant = blocks.Folded("What the verdicts mean", (blocks.pairs(VERDICTS),))
    return blocks.Section("inventory", "All tables and figures", (_verdicts(found), meant))


def _paper(paper: Paper, drawings: Drawings) -> Iterator[blocks.Block]:
    yield blocks.Text(paper.citation)
    if paper.error:
        yield blocks.Text(f"Failed: {paper.error}")
    for one in paper.tables:
        yield _table(one)
    if paper.misprints:
        items = tuple((str(number), line) for number, line in enumerate(paper.misprints, start=1))
        yield blocks.Folded("Misprints and open points, and what we took them for", (blocks.Pairs(items),))
    if paper.figures and paper.name not in drawings:
        yield blocks.Text(f"Drawings in the folder of this page: {', '.join(paper.figures)}.", quiet=True)
    for title, svg in drawings.get(paper.name, ()):
        yield blocks.Figure(svg, f"{NAMES.get(paper.name, paper.name)}: {title}")


def _table(one: Compared) -> blocks.Block:
    """A table with its cells, folded under its verdict."""
    summary = f"{one.number[:1].upper()}{one.number[1:]}, {one.verdict}: {one.title}"
    rows = [
        [
            cell.where,
            cell.what + (f", {cell.unit}" if cell.unit else ""),
            _number(cell.printed),
            _number(cell.ours),
            _number(cell.difference, digits=3),
            "yes" if cell.off_percent == 0 else _short(cell.off_percent, " points" if cell.unit == "%" else " %"),
        ]
        for cell in one.cells
    ]
    head = ["where", "what", "printed", "ours", "difference", "within rounding"]
    shown = blocks.table(summary, head, rows, text_columns=2, note="Otherwise how far beyond it.")
    return blocks.Folded(summary, (blocks.Text(one.because), *([shown] if rows else [])))


def _short(value: float | None, unit: str) -> str:
    return wording.NOTHING if value is None else f"{float(f'{value:.2g}'):g}{unit}"


def _number(value: float | None, *, digits: int = DIGITS) -> str:
    return wording.NOTHING if value is None else f"{value:.{digits}g}".replace("-", "−")

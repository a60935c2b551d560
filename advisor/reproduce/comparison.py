"""A paper's table and ours, cell by cell: what was printed, what was computed, how far apart, and a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.results import Provenance
from simulator import documents
from simulator.calibration import read_shipped_table

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
TOLERANCE = 1.0
"""Percent beyond rounding up to which a computed table counts as reproduced."""
PERCENT = "%"
RELATIVE_TO = 1e-12


@dataclass(frozen=True)
class Cell:
    """A printed figure and ours."""

    where: str
    """Row of the table."""
    what: str
    """Column of the table."""
    printed: float
    ours: float | None
    """None: not to be had."""
    half_unit: float = 0.0
    """How far two figures may be apart by rounding alone: half of the last digit, and what rounded inputs do."""
    unit: str = ""

    @property
    def off(self) -> float | None:
        """How far ours lies beyond rounding: in percent of the printed figure, in points where both are percent."""
        if self.ours is None:
            return None
        beyond = max(0.0, abs(self.ours - self.printed) - self.half_unit * (1 + 1e-9) - RELATIVE_TO)
        if self.unit == PERCENT:
            return beyond
        return 100 * beyond / max(abs(self.printed), RELATIVE_TO)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the difference."""
        return {
            "where": self.where,
            "what": self.what,
            "unit": self.unit,
            "printed": self.printed,
            "ours": self.ours,
            "difference": None if self.ours is None else self.ours - self.printed,
            "off_percent": self.off,
            "within_rounding": None if self.off is None else self.off == 0,
        }


@dataclass(frozen=True)
class Compared:
    """A table or figure of a paper, the verdict on it, and the cells that were compared."""

    number: str
    """As the paper counts: `table 4`."""
    title: str
    verdict: str
    because: str
    cells: tuple[Cell, ...] = ()

    @property
    def offs(self) -> list[float]:
        """How far the cells that could be had lie beyond rounding."""
        return [cell.off for cell in self.cells if cell.off is not None]

    @property
    def within_rounding(self) -> int:
        """Cells that are the same."""
        return sum(off == 0 for off in self.offs)

    @property
    def worst_off_percent(self) -> float | None:
        """Of the cell that is furthest off."""
        return max(self.offs, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the cells and counts over them."""
        counts = {"compared": len(self.offs), "within_rounding": self.within_rounding}
        return documents.by_field(self) | counts | {"worst_off_percent": self.worst_off_percent}


@dataclass(frozen=True)
class Paper:
    """A paper whose tables were computed, or why they could not be."""

    name: str
    citation: str
    misprints: tuple[str, ...]
    tables: tuple[Compared, ...] = ()
    figures: tuple[str, ...] = ()
    """Drawings, from the folder of all."""
    result: Mapping[str, Any] | None = field(default=None, metadata=documents.SPARE)
    """What its module returned."""
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return documents.by_field(self) | {"state": "done" if self.error is None else "failed"}


@dataclass(frozen=True)
class Reproduced:
    """What `apportion reproduce all` answers."""

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
        return sum(cell.off == 0 for cell in self.cells)

    @property
    def not_reproduced(self) -> list[tuple[str, Compared]]:
        """Tables that differ or cannot be had."""
        return [(name, one) for name, one in self.tables if one.verdict in {NOT_REPRODUCED, IMPOSSIBLE}]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What failed, and what papers warn of."""
        failed = [f"{one.name} failed: {one.error}" for one in self.papers if one.error]
        said = [f"{one.name}: {line}" for one in self.papers for line in (one.result or {}).get("warnings", ())]
        return (*failed, *said)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        cells = {"printed": len(self.cells), "compared": self.compared, "within_rounding": self.within_rounding}
        return {
            "format": 1,
            "command": "reproduce",
            **documents.by_field(self),
            "verdicts": dict(VERDICTS),
            "counts": self.counts,
            "cells": cells,
            "not_reproduced": [
                {"paper": name} | {key: getattr(one, key) for key in ("number", "title", "verdict", "because")}
                for name, one in self.not_reproduced
            ],
            "warnings": list(self.warnings),
        }


def judged(number: str, title: str, because: str, cells: Iterable[Cell], *, tolerance: float = TOLERANCE) -> Compared:
    """A table that was computed from what the paper prints; its cells decide whether it is reproduced."""
    found = tuple(cells)
    offs = [cell.off for cell in found]
    missed = [off for off in offs if off is None or off > tolerance]
    worst = max((off for off in offs if off is not None), default=0.0)
    within = sum(off == 0 for off in offs)
    unit = "points" if found and all(cell.unit == PERCENT for cell in found) else "%"
    said = f"{within} of {len(found)} cells within rounding"
    said += f", the worst {float(f'{worst:.2g}'):g} {unit} beyond it" if worst else ""
    reason = f"{said}. {because}" if because else f"{said}."
    return Compared(number, title, NOT_REPRODUCED if missed else REPRODUCED, reason, found)


def given(number: str, title: str, because: str) -> Compared:
    """A table of measurements on a machine that is gone."""
    return Compared(number, title, INPUT, because)


def defined(number: str, title: str, because: str = "A drawing.") -> Compared:
    """A table or figure without a result."""
    return Compared(number, title, DEFINITION, because)


def lost(number: str, title: str, because: str) -> Compared:
    """A table or figure that cannot be computed from what is printed."""
    return Compared(number, title, IMPOSSIBLE, because)


def half_of_last_digit(text: str) -> float:
    """What a printed figure may be off by rounding: 0.005 for `1.25`."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def shipped_rows(name: str) -> list[dict[str, str]]:
    """A shipped table, a dict per row."""
    table = read_shipped_table(name)
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def published(name: str, keys: Sequence[str], value: str) -> dict[tuple[str, ...], float]:
    """The numbers in a column of a shipped table, as far as it has them, by what other columns say."""
    return {tuple(row[key] for key in keys): float(row[value]) for row in shipped_rows(name) if row[value]}


def in_order(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order in which they come first."""
    return list(dict.fromkeys(values))

"""A paper's table and ours judged, and what reads a paper's table that is shipped."""

from collections.abc import Iterable, Sequence
from typing import Any

from advisor.report.papers import DEFINITION, IMPOSSIBLE, INPUT, NOT_REPRODUCED, PERCENT, REPRODUCED, Cell, Compared
from simulator.calibration import read_shipped_table

TOLERANCE = 1.0
"""Percent beyond rounding up to which a computed table counts as reproduced."""


def judged(number: str, title: str, because: str, cells: Iterable[Cell], *, tolerance: float = TOLERANCE) -> Compared:
    """A table that was computed from what the paper prints; its cells decide whether it is reproduced."""
    found = tuple(cells)
    offs = [cell.off_percent for cell in found]
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

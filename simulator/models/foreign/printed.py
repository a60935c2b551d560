"""What other programs print, read line by line: every line is understood, or refused by its number."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simulator.base.errors import ScenarioError
from simulator.base.tables import Table
from simulator.base.units import to_number

Line = tuple[int, str]
"""Its number, and its text without blanks around it."""


@dataclass(frozen=True)
class Printed:
    """Results of another program as a table of ours, and what to know of them."""

    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of a file with a title of its own."""

    title: str
    lines: tuple[Line, ...]


def lines_of(text: str) -> list[Line]:
    """All but the empty ones."""
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def sections_of(text: str, title: re.Pattern[str]) -> list[Section]:
    """Those that begin with a title, whose first group names them; what stands before the first is left out."""
    found: list[tuple[str, list[Line]]] = []
    for line in lines_of(text):
        if match := title.search(line[1]):
            found.append((match[1], []))
        elif found:
            found[-1][1].append(line)
    return [Section(name, tuple(lines)) for name, lines in found]


def not_understood(line: Line, place: str, wanted: str) -> ScenarioError:
    """A line that says nothing that is known."""
    return ScenarioError(f"{place}:{line[0]}: {line[1][:60]!r} is not understood; {wanted}")


def numbers_of(line: Line, place: str, names: Sequence[str], texts: Sequence[str] = ()) -> list[float]:
    """The numbers of a row, none below 0; 0 in columns of text."""
    cells = line[1].split()
    if len(cells) != len(names):
        raise not_understood(line, place, f"write {len(names)} columns: {', '.join(names)}")
    found = [0.0 if name in texts else to_number(cell) for name, cell in zip(names, cells, strict=True)]
    if any(value is None or not 0 <= value < float("inf") for value in found):
        raise not_understood(line, place, f"write numbers of at least 0: {', '.join(names)}")
    return [value or 0.0 for value in found]


def time_at(rate: float, amount: float, line: Line, place: str) -> float:
    """Seconds that an amount takes at the rate of a row."""
    if not rate > 0:
        raise not_understood(line, place, "give a rate above 0")
    return amount / rate


def check_once(keys: Sequence[object], lines: Sequence[Line], place: str) -> None:
    """Refuse what comes twice in one section."""
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise ScenarioError(f"{place}:{lines[number][0]}: {lines[number][1][:60]!r} comes twice; leave one out")


def table_of(place: str, names: Sequence[str], rows: Sequence[Sequence[float]], lines: Sequence[Line]) -> Table:
    """Rows as a table of ours, each with the line that it is from."""
    cells = tuple(tuple(f"{cell:.15g}" for cell in row) for row in rows)
    return Table(place, tuple(names), cells, tuple(number for number, _ in lines))

"""Tables of numbers in CSV files, read strictly: every fault names its file, line and column."""

import csv
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.units import to_number

MAX_FAULTS = 20
"""Most faults listed at once."""
MAX_BYTES = 512 * 2**20
"""Largest table read."""


@dataclass(frozen=True)
class Table:
    """A table as text, with where each row stood."""

    place: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def labels(self) -> tuple[str, ...]:
        """`FILE:LINE` of each row."""
        return tuple(f"{self.place}:{line}" for line in self.lines)

    def text(self, name: str) -> tuple[str, ...]:
        """One column as text, shape (rows,)."""
        at = self.names.index(name)
        return tuple(row[at] for row in self.rows)

    def some(self, rows: Sequence[int]) -> "Table":
        """Some of its rows."""
        return replace(self, rows=tuple(self.rows[row] for row in rows), lines=tuple(self.lines[row] for row in rows))

    def only(self, said: str | None) -> "Table":
        """The rows in whose columns stands what `said` names, such as `kernel=gemm,pinned=1`; None: all.

        Raises ScenarioError if it names no column of the table, or no row has these values.
        """
        if said is None:
            return self
        point = parse_points([said], place="--only")
        wanted = dict(zip(point.names, point.rows[0], strict=True))
        for name, value in wanted.items():
            if name not in self.names:
                raise ScenarioError(f"--only: {self.place} has no column {name!r}{meant(name, self.names)}")
            if value not in (values := sorted(set(self.text(name)))):
                raise ScenarioError(f"--only: {name} is never {value!r} in {self.place}, but {some_names(values)}")
        rows = [row for row in range(len(self.rows)) if all(self.text(name)[row] == wanted[name] for name in wanted)]
        if not rows:
            raise ScenarioError(f"--only: no row of {self.place} has {said}; take values that stand together in a row")
        return self.some(rows)

    def numbers(self, name: str) -> Floats:
        """One column as numbers, shape (rows,).

        Raises ScenarioError if there is no such column, or a cell is empty or holds no finite number; one line per
        cell.
        """
        if name not in self.names:
            raise ScenarioError(f"{self.place}: there is no column {name!r}; add it to {', '.join(self.names)}")
        found = np.empty(len(self.rows))
        faults = []
        for i, cell in enumerate(self.text(name)):
            value = to_number(cell)
            if value is None or not np.isfinite(value):
                shown = repr(cell) if cell else "an empty cell"
                faults.append(f"{self.place}:{self.lines[i]}: {name}: {shown} is no finite number; write one")
            else:
                found[i] = value
        if faults:
            more = (
                [f"{self.place}: {name}: {len(faults) - MAX_FAULTS} more such cells"]
                if len(faults) > MAX_FAULTS
                else []
            )
            raise ScenarioError(faults[:MAX_FAULTS] + more)
        return found


def read_table(path: str | Path) -> Table:
    """Read a CSV file with a header line; commas, semicolons or tabs; lines that start with `#` are comments.

    Raises ScenarioError if the file cannot be read, has no header or no row, a name twice, or a row of another length.
    """
    path = Path(path)
    text = files.read_text(path, limit_bytes=MAX_BYTES)
    return parse_table(text, place=str(path))


def as_table(at: "Table | str | Path") -> Table:
    """A table as it is, or read from a file: what predictions are asked for at."""
    return at if isinstance(at, Table) else read_table(at)


def parse_points(texts: Sequence[str], *, place: str) -> Table:
    """A row for each text `NAME=VALUE,NAME=VALUE`; commas or semicolons between, the same names in each.

    Raises ScenarioError if a part is no NAME=VALUE, or rows name other columns; one line per part.
    """
    rows, faults = [], []
    for text in texts:
        cells: dict[str, str] = {}
        for part in filter(str.strip, re.split("[;,]", text)):  # no spaces: `beside=triad:1e6 dgemm:1e5`
            name, mark, value = (word.strip() for word in part.partition("="))
            if not (name and mark and value) or name in cells:
                wrong = "is no NAME=VALUE, such as N=12000" if not (name and value) else "is there twice; leave one out"
                faults.append(f"{place}: {part.strip()!r} {wrong}")
            cells[name] = value
        rows.append(cells)
    names = tuple(rows[0]) if rows else ()
    faults += [
        f"{place}: {text!r} names other columns than {texts[0]!r}; name {', '.join(names)}"
        for text, cells in zip(texts, rows, strict=True)
        if set(cells) != set(names) and not faults
    ]
    if faults:
        raise ScenarioError(faults)
    cells_of = tuple(tuple(row[name] for name in names) for row in rows)
    return Table(place, names, cells_of, tuple(range(1, len(rows) + 1)))


def read_shipped_table(name: str) -> Table:
    """Read a table that ships with the product, by its name below `scenarios/`."""
    return read_table(files.shipped("scenarios", name))


def parse_table(text: str, *, place: str, delimiter: str | None = None) -> Table:
    """Parse the text of a table; see `read_table`."""
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        raise ScenarioError(f"{place}: there is no header line; begin with the names of the columns")
    mark = delimiter or next((m for m in ",;\t" if m in lines[0][1]), ",")
    try:
        cells = [tuple(c.strip() for c in row) for row in csv.reader((line for _, line in lines), delimiter=mark)]
    except csv.Error as error:
        raise ScenarioError(f"{place}: this is no CSV table: {error}") from error
    names, rows, numbers = cells[0], cells[1:], [number for number, _ in lines[1:]]
    if all(to_number(word) is not None for name in names for word in name.split() or [""]):
        raise ScenarioError(f"{place}:{lines[0][0]}: the first line holds numbers; begin with the names of the columns")
    if len(rows) != len(numbers):
        raise ScenarioError(f"{place}: a cell holds a line break; write one row per line")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    faults = [f"{place}: the column {name!r} comes twice; leave one out" for name in twice]
    faults += [
        f"{place}:{number}: the row has {len(row)} cells and the header {len(names)}; write as many"
        for number, row in itertools.islice(
            ((n, r) for n, r in zip(numbers, rows, strict=True) if len(r) != len(names)), MAX_FAULTS
        )
    ]
    if not rows:
        faults.append(f"{place}: there is no row below the header; add at least one")
    if faults:
        raise ScenarioError(faults)
    return Table(place, names, tuple(rows), tuple(numbers))

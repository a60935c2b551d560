"""Runs of a program that gives every process the same work, from a CSV file; every fault has its line."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_FAULTS, Table, read_table
from simulator.base.units import to_number
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

PARTS = ("pes", "procs", "comp_s", "comm_s")
"""What a table can say of a kind, as `KIND.pes`; the last two are optional."""
MOST = 100_000
"""PEs of a kind, and processes on each of them."""
_COLUMN = re.compile(rf"(.*)\.({'|'.join(PARTS)})")
_KIND = re.compile(r"[^\s:,=]+")


def read_allocation_runs(path: str | Path) -> tuple[AllocationRuns, tuple[str, ...]]:
    """Read runs from a CSV file, and say which columns were not looked at.

    Columns: `N` (problem size), `time_s` (of the whole run), and per kind of PE `KIND.pes` (how many took part) and
    `KIND.procs` (processes on each of them), both 0 where the kind took no part; perhaps `KIND.comp_s` and
    `KIND.comm_s` (its computation and communication), whose cells may be empty. Repeated rows are repetitions.

    Raises
    ------
    ScenarioError
        If the table cannot be read, lacks a column or has no kind, or for every cell that cannot be: one line each.
    """
    path = Path(path)
    table = read_table(path)
    kinds, ignored = _columns(table)
    cells = _Cells(table, [])
    size, time_s = (cells.numbers(name, lambda value: value > 0, "a number above 0") for name in ("N", "time_s"))
    allocations = np.stack(
        [np.stack([cells.whole(f"{kind}.{p}") for p in PARTS[:2]], axis=1) for kind in kinds], axis=1
    )
    cells.check_rows(kinds, allocations)
    comp_s, comm_s = (np.stack([cells.optional(f"{kind}.{p}") for kind in kinds], axis=1) for p in PARTS[2:])
    if cells.faults:
        faults = [line for _, line in sorted(cells.faults)]
        more = [f"{table.place}: {len(faults) - MAX_FAULTS} more faults"] if len(faults) > MAX_FAULTS else []
        raise ScenarioError(faults[:MAX_FAULTS] + more)
    idle = allocations[:, :, 0] == 0
    comp_s, comm_s = np.where(idle, np.nan, comp_s), np.where(idle, np.nan, comm_s)
    notes = (f"{table.place}: columns not looked at: {', '.join(ignored)}",) if ignored else ()
    return AllocationRuns(kinds, size, allocations, time_s, comp_s, comm_s), notes


def _columns(table: Table) -> tuple[tuple[str, ...], list[str]]:
    """Kinds in their order, and the columns that say nothing of them."""
    found = {name: _COLUMN.fullmatch(name) for name in table.names}
    kinds = tuple(dict.fromkeys(match.group(1) for match in found.values() if match))
    faults = [
        f"{table.place}: column {f'{kind}.pes'!r}: kind {kind!r} found, a name without blanks, ':', ',' and '=' allowed"
        for kind in kinds
        if not _KIND.fullmatch(kind)
    ]
    wanted = ["N", "time_s", *(f"{kind}.{part}" for kind in kinds for part in PARTS[:2])]
    shown = ", ".join(table.names)
    faults += [f"{table.place}: column {name!r} missing, {shown} found" for name in wanted if name not in table.names]
    if not kinds:
        faults.append(f"{table.place}: no kind of PE found, columns such as fast.pes and fast.procs allowed")
    if faults:
        raise ScenarioError(faults[:MAX_FAULTS])
    return kinds, [name for name, match in found.items() if not match and name not in wanted]


@dataclass(frozen=True)
class _Cells:
    """The cells of a table as numbers, and those that are none."""

    table: Table
    faults: list[tuple[int, str]]
    """Row and message."""

    def numbers(
        self, name: str, fits: Callable[[float], bool], allowed: str, *, unread: float = 1.0, empty: float | None = None
    ) -> Floats:
        """A column; cells that do not fit are told of and `unread`."""
        found = np.full(len(self.table.rows), unread)
        for place, cell in enumerate(self.table.text(name)):
            value = to_number(cell)
            if value is not None and np.isfinite(value) and fits(value):
                found[place] = value
            elif empty is not None and cell.lower() in {"", "nan"}:
                found[place] = empty
            else:
                self._tell(place, name, f"{cell or 'an empty cell'} found, {allowed} allowed")
        return found

    def whole(self, name: str) -> Ints:
        """PEs or processes; -1 where they cannot be read."""
        allowed = f"a whole number from 0 to {MOST}"
        values = self.numbers(name, lambda value: value.is_integer() and 0 <= value <= MOST, allowed, unread=-1)
        return values.astype(np.int64)

    def optional(self, name: str) -> Floats:
        """Seconds that need not have been measured."""
        if name not in self.table.names:
            return np.full(len(self.table.rows), np.nan)
        return self.numbers(name, lambda value: value >= 0, "seconds of at least 0, or nothing", empty=np.nan)

    def check_rows(self, kinds: Sequence[str], allocations: Ints) -> None:
        """Tell of rows that are no allocation."""
        read = np.all(allocations >= 0, axis=(1, 2))
        for place in np.flatnonzero(read & np.any((allocations == 0).sum(axis=2) == 1, axis=1)).tolist():
            for kind, (pes, procs) in zip(kinds, allocations[place].tolist(), strict=True):
                if (pes == 0) != (procs == 0):
                    allowed = "both 0 or both at least 1 allowed"
                    self._tell(place, f"{kind}.pes", f"{pes} found where {kind}.procs is {procs}, {allowed}")
        for place in np.flatnonzero(read & np.all(allocations == 0, axis=(1, 2))).tolist():
            names = ", ".join(f"{kind}.pes" for kind in kinds)
            self._tell(place, names, "no process found (P = 0), at least one allowed")

    def _tell(self, place: int, name: str, text: str) -> None:
        line = self.table.lines[place]
        self.faults.append((line, f"{self.table.place}:{line}: {name}: {text}"))

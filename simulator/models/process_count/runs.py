"""Runs of a program that gives every process the same work, on kinds of PEs, their table, and estimates of others."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from simulator.base.arrays import Floats, Ints, Known, Vector
from simulator.base.documents import NOT_WRITTEN, Array, Data, Record
from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_FAULTS, Table, read_table
from simulator.base.units import to_number

PARTS = ("pes", "procs", "comp_s", "comm_s")
"""What a table can say of a kind, as `KIND.pes`; the last two are optional."""
MOST = 100_000
"""PEs of a kind, and processes on each of them."""
_COLUMN = re.compile(rf"(.*)\.({'|'.join(PARTS)})")
_KIND = re.compile(r"[^\s:,=]+")


@dataclass(frozen=True)
class AllocationRuns(Record):
    """Runs, one per row; rows that agree in everything but the time are repetitions."""

    kinds: tuple[str, ...] = field(metadata=NOT_WRITTEN)
    size: Vector
    """Problem size N; (runs,)."""
    allocations: Annotated[Ints, Array("int64", 3)]
    """PEs that took part and processes on each of them, both 0 for a kind that took no part; (runs, kind, 2)."""
    time_s: Vector
    """Of the whole run; (runs,)."""
    comp_s: Known
    """Computation Ta of each kind's PEs, not a number where it was not measured; (runs, kind)."""
    comm_s: Known
    """Communication Tc likewise; (runs, kind)."""

    def __post_init__(self) -> None:
        each = self.size.size, len(self.kinds)
        shapes = (*each, 2), each[:1], each, each
        if tuple(part.shape for part in (self.allocations, self.time_s, self.comp_s, self.comm_s)) != shapes:
            raise ScenarioError("there is not one entry for each run and kind")

    def to_dict(self) -> Data:
        """Plain data for JSON; null where nothing was measured."""
        parts = {"comp_s": self.comp_s.tolist(), "comm_s": self.comm_s.tolist()}
        known = {
            name: [[None if np.isnan(one) else one for one in row] for row in part] for name, part in parts.items()
        }
        return super().to_dict() | known

    @property
    def processes(self) -> Ints:
        """P of each run; (runs,)."""
        return processes_of(self.allocations)


def processes_of(allocations: Ints) -> Ints:
    """Processes of each configuration, shape (n, kind, 2); (n,)."""
    return np.asarray((allocations[..., 0] * allocations[..., 1]).sum(axis=1))


def row_faults(runs: AllocationRuns) -> list[str]:
    """What is no run: the first such row for each reason; files name their lines before."""
    if not len(runs.size):
        return ["runs: there are none; give some"]
    some = (processes_of(runs.allocations) > 0) & (runs.allocations.min(axis=(1, 2)) >= 0)
    faults = []
    for name, good, advice in (
        ("size", (runs.size > 0) & (runs.size < np.inf), "give a number above 0"),
        ("time_s", (runs.time_s > 0) & (runs.time_s < np.inf), "give a number above 0"),
        ("allocations", some, "give at least one process"),
    ):
        if not good.all():
            row = int(np.argmin(good))
            faults.append(f"runs: row {row + 1}: {name} is {getattr(runs, name)[row].tolist()}; {advice}")
    return faults


@dataclass(frozen=True)
class Estimates:
    """Of n configurations at one problem size."""

    level: float
    mean_s: Floats
    """What was measured, of a configuration that was run at this size; (n,)."""
    low_s: Floats
    """Lower end of the interval of one run; (n,)."""
    high_s: Floats
    warnings: tuple[tuple[str, ...], ...]
    """Why an estimate is weak, per configuration."""

    def at(self, place: int) -> dict[str, float]:
        """Of one configuration: `mean`, `low`, `high`."""
        return {name: float(getattr(self, f"{name}_s")[place]) for name in ("mean", "low", "high")}


# From a CSV file; every fault has its line.


def read_allocation_runs(path: str | Path) -> tuple[AllocationRuns, tuple[str, ...]]:
    """Read runs from a CSV file, and say which columns were not read.

    Columns: `N` (problem size), `time_s` (of the whole run), and per kind of PE `KIND.pes` (how many took part) and
    `KIND.procs` (processes on each of them), both 0 where the kind took no part; perhaps `KIND.comp_s` and
    `KIND.comm_s` (its computation and communication), whose cells may be empty. Repeated rows are repetitions.

    Raises ScenarioError if the table cannot be read, lacks a column or has no kind, or for every cell that cannot be:
    one line each.
    """
    path = Path(path)
    table = read_table(path)
    kinds, ignored = _columns(table)
    cells = _Cells(table, [])
    size, time_s = (cells.numbers(name, lambda value: value > 0, "give a number above 0") for name in ("N", "time_s"))
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
    notes = (f"{table.place}: columns that were not read: {', '.join(ignored)}",) if ignored else ()
    return AllocationRuns(kinds, size, allocations, time_s, comp_s, comm_s), notes


def _columns(table: Table) -> tuple[tuple[str, ...], list[str]]:
    """Kinds in their order, and the columns that say nothing of them."""
    found = {name: _COLUMN.fullmatch(name) for name in table.names}
    kinds = tuple(dict.fromkeys(match.group(1) for match in found.values() if match))
    faults = [
        f"{table.place}: column '{kind}.pes' names a kind with a blank, ':', ',' or '='; give it a plain name"
        for kind in kinds
        if not _KIND.fullmatch(kind)
    ]
    wanted = ["N", "time_s", *(f"{kind}.{part}" for kind in kinds for part in PARTS[:2])]
    shown = ", ".join(table.names)
    faults += [
        f"{table.place}: column {name!r} is missing; there are {shown}" for name in wanted if name not in table.names
    ]
    if not kinds:
        faults.append(f"{table.place} names no kind of PE; add columns such as fast.pes and fast.procs")
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
        self, name: str, fits: Callable[[float], bool], advice: str, *, unread: float = 1.0, empty: float | None = None
    ) -> Floats:
        """A column; a cell that does not fit is a fault and `unread`."""
        found = np.full(len(self.table.rows), unread)
        for place, cell in enumerate(self.table.text(name)):
            value = to_number(cell)
            if value is not None and np.isfinite(value) and fits(value):
                found[place] = value
            elif empty is not None and cell.lower() in {"", "nan"}:
                found[place] = empty
            else:
                self._fault(place, f"{name} is {cell or 'empty'}; {advice}")
        return found

    def whole(self, name: str) -> Ints:
        """PEs or processes; -1 where they cannot be read."""
        advice = f"give a whole number from 0 to {MOST}"
        values = self.numbers(name, lambda value: value.is_integer() and 0 <= value <= MOST, advice, unread=-1)
        return values.astype(np.int64)

    def optional(self, name: str) -> Floats:
        """Seconds that need not have been measured."""
        if name not in self.table.names:
            return np.full(len(self.table.rows), np.nan)
        return self.numbers(
            name, lambda value: value >= 0, "give seconds of at least 0, or leave it empty", empty=np.nan
        )

    def check_rows(self, kinds: Sequence[str], allocations: Ints) -> None:
        """Rows that are no allocation are faults."""
        read = np.all(allocations >= 0, axis=(1, 2))
        for place in np.flatnonzero(read & np.any((allocations == 0).sum(axis=2) == 1, axis=1)).tolist():
            for kind, (pes, procs) in zip(kinds, allocations[place].tolist(), strict=True):
                if (pes == 0) != (procs == 0):
                    advice = "give 0 for both or at least 1 for both"
                    self._fault(place, f"{kind}.pes is {pes} where {kind}.procs is {procs}; {advice}")
        for place in np.flatnonzero(read & np.all(allocations == 0, axis=(1, 2))).tolist():
            names = ", ".join(f"{kind}.pes" for kind in kinds)
            self._fault(place, f"the run has no process: {names} are all 0")

    def _fault(self, place: int, text: str) -> None:
        line = self.table.lines[place]
        self.faults.append((line, f"{self.table.place}:{line}: {text}"))

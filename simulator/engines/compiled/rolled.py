"""Finds the loop of each process again in its operations, so that one turn of it is kept in place of all.

A program's operations fill megabytes, and a run reads all of them: from memory that takes longer than to do them. Of a
loop whose turns are alike to the last byte one turn is kept, and the process goes round in it.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.engines.compiled.cache import callee, compiled
from simulator.programs.columns import Columns, Kind

Ints = NDArray[np.int64]
Short = NDArray[np.int32]

FEWEST = 8
"""Operations of a process from which on a loop is looked for."""
TRIES = 64
"""Periods that are tried, those at which the operation in the middle comes again."""
_BARRIER = int(Kind.BARRIER)


class Rows(NamedTuple):
    """A program's columns, all that decides what an operation does and costs."""

    first: Ints
    kind: NDArray[np.int8]
    partner: Short
    source: Short
    tag: Short
    amount: NDArray[np.float64]
    size: NDArray[np.float64]
    barriers: Short


@dataclass(frozen=True)
class Rolled:
    """A program, each process's longest loop rolled up."""

    columns: Columns
    """One turn of each loop."""
    row: Ints
    """The row of the whole program that each one was; (N',)."""
    before: Ints
    """Rows left out before each process's first one; (P,)."""
    times: Ints
    """How often each row is done; (N',)."""
    loop_end: Ints
    """Row after each process's loop, -1 without one; (P,)."""
    loop_size: Ints
    """Rows of one turn; (P,)."""
    turns: Ints
    """Turns after the first one; (P,)."""


def rolled(columns: Columns) -> Rolled:
    """Roll up what can be."""
    loops = _loops(columns)
    begin, size, turns = loops.reshape(-1, 3).T
    skipped = size * turns
    first = columns.first
    new_first = first - np.concatenate(([0], np.cumsum(skipped)))
    row = np.arange(columns.kind.size)
    if turns.any():
        edge = np.zeros(columns.kind.size + 1, dtype=np.int64)  # up by one where rows are left out, down where not
        looped = np.flatnonzero(turns)
        edge[(begin + size)[looped]] = 1
        edge[(begin + size + skipped)[looped]] = -1
        row = np.flatnonzero(np.cumsum(edge[:-1]) == 0)
        kept = {name: getattr(columns, name)[row] for name in ("kind", "index", "partner", "source", "tag")}
        columns = replace(columns, first=new_first, amount=columns.amount[row], size=columns.size[row], **kept)
    begin = np.where(turns > 0, begin - first[:-1] + new_first[:-1], -1)
    times = np.ones(row.size, dtype=np.int64)
    for where in np.flatnonzero(turns).tolist():
        times[begin[where] : begin[where] + size[where]] += turns[where]
    return Rolled(columns, row, first[:-1] - new_first[:-1], times, np.where(turns > 0, begin + size, -1), size, turns)


def _loops(columns: Columns) -> Ints:
    """First row, size and further turns of each process's loop; flat (P, 3), turns 0 where there is none."""
    rows = Rows(
        *(np.require(getattr(columns, name), kind, ["C", "A", "W"]) for name, kind in _KINDS.items()),
    )
    loops = np.zeros(3 * columns.processes, dtype=np.int64)
    meant = np.full(columns.barriers.size, -1, dtype=np.int32)
    if not compiled(find_loops)(rows, loops, meant):
        loops[:] = 0
    return loops


_KINDS: dict[str, Any] = {
    "first": np.int64,
    "kind": np.int8,
    "partner": np.int32,
    "source": np.int32,
    "tag": np.int32,
    "amount": np.float64,
    "size": np.float64,
    "barriers": np.int32,
}


def find_loops(rows: Rows, loops: Ints, meant: Short) -> bool:
    """Kernel: fill `loops`; whether barriers stay what they are, `meant` being which one of a first turn each is."""
    for process in range(rows.first.size - 1):
        _find_loop(rows, process, loops)
    for process in range(rows.first.size - 1):
        begin, size, turns = loops[3 * process], loops[3 * process + 1], loops[3 * process + 2]
        for row in range(rows.first[process], rows.first[process + 1]):
            if rows.kind[row] == _BARRIER:
                inside = begin <= row < begin + size * (turns + 1)
                base = rows.partner[begin + (row - begin) % size] if inside else rows.partner[row]
                number = rows.partner[row]
                if meant[number] == -1:
                    meant[number] = base
                if meant[number] != base or rows.barriers[number] != rows.barriers[base]:
                    return False
    return True


@callee
def _find_loop(rows: Rows, process: int, loops: Ints) -> None:
    """Look for a period from the middle row on; it has to save half of the rows."""
    low, high = rows.first[process], rows.first[process + 1]
    loops[3 * process], loops[3 * process + 1], loops[3 * process + 2] = low, 1, 0
    if high - low < FEWEST:
        return
    middle, tries = low + (high - low) // 2, 0
    for size in range(1, high - middle):
        if not _alike(rows, middle, middle + size):
            continue
        begin, last = middle, middle
        while begin > low and _alike(rows, begin - 1, begin - 1 + size):
            begin -= 1
        while last + 1 + size < high and _alike(rows, last + 1, last + 1 + size):
            last += 1
        turns = (last + size - begin + 1) // size
        if 2 * size * (turns - 1) >= high - low:
            loops[3 * process], loops[3 * process + 1], loops[3 * process + 2] = begin, size, turns - 1
            return
        tries += 1
        if tries == TRIES:
            return


@callee
def _alike(rows: Rows, one: int, other: int) -> bool:
    """Whether two operations of a process are the same; barriers are compared afterwards."""
    return (
        rows.kind[one] == rows.kind[other]
        and (rows.partner[one] == rows.partner[other] or rows.kind[one] == _BARRIER)
        and rows.amount[one] == rows.amount[other]
        and rows.size[one] == rows.size[other]
        and rows.source[one] == rows.source[other]
        and rows.tag[one] == rows.tag[other]
    )

"""What processes on GPUs move to them and back, put into the columns of a program."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.documents import Data
from simulator.base.units import write_size
from simulator.programs.columns import INTO, OUT, POSTED_MOVE, Columns, Kind

BY_ROW = "kind", "index", "partner", "source", "tag", "amount", "size"


@dataclass(frozen=True)
class Moves:
    """Bytes that each process moves if it runs on a GPU; (P,) each."""

    into: Floats
    """Before its first computation."""
    out: Floats
    """After its last one."""
    each_into: Floats
    """Before each computation, the first one's besides."""
    each_out: Floats

    @classmethod
    def of(
        cls,
        processes: int,
        *,
        into: Floats | float = 0.0,
        out: Floats | float = 0.0,
        each_into: Floats | float = 0.0,
        each_out: Floats | float = 0.0,
    ) -> "Moves":
        """One number for all processes, or one for each."""
        every = (into, out, each_into, each_out)
        return cls(*(np.broadcast_to(np.asarray(one, dtype=np.float64), processes) for one in every))


@dataclass(frozen=True)
class Amount:
    """Bytes that a process moves, by its units."""

    unit: float = 0.0
    process: float = 0.0


@dataclass(frozen=True)
class StatedMoves:
    """What a scenario says of an application whose moves are not known."""

    into: Amount = Amount()
    out: Amount = Amount()
    each_into: Amount = Amount()
    each_out: Amount = Amount()

    def to_data(self) -> Data:
        """What a file says."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: {part: write_size(size) for part, size in asdict(one).items() if size}
            for name, one in said.items()
            if one != Amount()
        }

    def moves(self, partition: tuple[int, ...]) -> Moves:
        """Of the processes of a partition; those without units move nothing."""
        units = np.array(partition, dtype=np.float64)
        amounts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Moves.of(
            units.size,
            **{name: np.where(units > 0, one.unit * units + one.process, 0.0) for name, one in amounts.items()},
        )


def with_moves(columns: Columns, moves: Moves, streams: Ints) -> Columns:
    """The columns with moves before and after the computations of processes on GPUs, where there are bytes to move.

    `streams`: of each process, 0 where it is on no GPU; with 2 each computation is cut in two, and the second half
    moves in while the first is computed, and the first out while the second is.
    """
    process = columns.process
    rows = np.flatnonzero((columns.kind == Kind.COMPUTE) & (streams[process] > 0))
    owners = process[rows]
    into, out = moves.each_into[owners], moves.each_out[owners]
    if rows.size:
        mine, first = np.unique(owners, return_index=True)
        into[first] += moves.into[mine]
        out[np.append(first[1:], rows.size) - 1] += moves.out[mine]
    halves = streams[owners] > 1
    made = _around(columns, rows, into, out, halves)
    others = np.delete(np.arange(columns.kind.size), rows)
    key = np.concatenate((others, made.pop("row")))
    order = np.argsort(key, kind="stable")
    new: dict[str, Any] = {name: np.concatenate((getattr(columns, name)[others], made[name]))[order] for name in BY_ROW}
    firsts = np.searchsorted(key[order], columns.first)
    return replace(columns, first=firsts, **new)


def _around(columns: Columns, rows: Ints, into: Floats, out: Floats, halves: Flags) -> dict[str, NDArray[Any]]:
    """What stands in the place of each computation, as columns, with the row of each operation."""
    parts = np.where(halves, 0.5, 1.0)
    found: dict[str, NDArray[Any]] = {
        name: np.repeat(getattr(columns, name)[rows][:, np.newaxis], len(STEPS), axis=1) for name in BY_ROW
    }
    there = np.zeros(found["kind"].shape, dtype=np.bool_)
    for at, (kind, request, half) in enumerate(STEPS):
        amount = {INTO: into, OUT: out, None: columns.amount[rows]}[request]
        there[:, at] = (amount > 0) & (halves | (not half))
        found["kind"][:, at] = kind
        found["amount"][:, at] = amount * parts if kind in MOVING else 0.0
        if kind != Kind.COMPUTE:
            posted = kind in (Kind.POST_SEND, Kind.POST_RECV)
            found["partner"][:, at] = columns.process[rows] if posted else -1
            found["source"][:, at] = request if kind == Kind.READ_WRITE else FIRST_REQUEST - 2 * (request or 0)
            found["source"][:, at] -= int(kind in (Kind.POST_RECV, Kind.WAIT) and half == RECEIVED)
            found["size"][:, at] = POSTED_MOVE + (request or 0) if kind == Kind.POST_SEND else 0.0
            found["tag"][:, at] = MOVE_TAG if posted else 0
    row = np.repeat(rows[:, np.newaxis], len(STEPS), axis=1)
    return {name: values[there] for name, values in (*found.items(), ("row", row))}


SENT, RECEIVED = 1, 2
"""Steps of the second half in a move that is posted: what it waits for as sender, and as receiver."""
STEPS: tuple[tuple[Kind, int | None, int], ...] = (
    (Kind.READ_WRITE, INTO, 0),
    (Kind.POST_SEND, INTO, SENT),
    (Kind.POST_RECV, INTO, RECEIVED),
    (Kind.COMPUTE, None, 0),
    (Kind.WAIT, INTO, SENT),
    (Kind.WAIT, INTO, RECEIVED),
    (Kind.POST_SEND, OUT, SENT),
    (Kind.POST_RECV, OUT, RECEIVED),
    (Kind.COMPUTE, None, SENT),
    (Kind.WAIT, OUT, SENT),
    (Kind.WAIT, OUT, RECEIVED),
    (Kind.READ_WRITE, OUT, 0),
)
"""Around a computation: what, in which direction, and 0 where it is there without overlapping, too."""
MOVING = Kind.READ_WRITE, Kind.POST_SEND, Kind.COMPUTE
FIRST_REQUEST, MOVE_TAG = -(2**30), -2

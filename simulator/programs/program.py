"""The operations of all processes as data; a program knows nothing of where its processes run.

A row lists what one process does, in order. Processes that do the same, each with its own figures, share one row: a
field may then be an array whose last axis is the process, and inside loops its leading axes are the iterations. So a
million operations are a few arrays. `ANY`, `NOBODY` and `group` are explained where they stand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.models.doubt import Doubt, Noise
from simulator.programs.columns import Columns, SelfScheduling, UnitSpread

Numbers = float | Floats | Ints
"""One number for all, or an array (iterations..., process)."""
Whole = int | Ints
"""One whole number for all, or an array: (iterations..., process), of a collective (iterations...)."""

ANY = -2
"""Receive from the process that sends first: least (tick of the request, process, operation)."""
NOBODY = -1
"""A partner that does not exist: the operation is left out for that process."""

BroadcastAlgorithm = Literal["ring", "modified_ring", "two_rings", "binomial", "linear", "scatter_ring"]
TreeAlgorithm = Literal["linear", "binomial", "posted"]
AllToAllAlgorithm = Literal["pairwise", "linear", "posted"]
AllReduceAlgorithm = Literal["recursive_doubling", "ring", "reduce_broadcast"]
Group = tuple[int, ...]
Mode = Literal["threshold", "rendezvous", "eager"]
"""How a message is sent: as its size and the network's eager threshold say, always by rendezvous, or always eager."""


@dataclass(frozen=True, eq=False)
class _ByFields:
    """Equality that also holds for fields that are arrays."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Compute(_ByFields):
    """Work on the process's own PE; without volume it is left out."""

    volume: Numbers
    """Units of volume, for example floating point operations."""
    size: Numbers
    """Problem size in elements, which decides the speed."""


@dataclass(frozen=True, eq=False)
class Send(_ByFields):
    """A message to another process.

    Above the network's eager threshold by rendezvous: it starts when both are ready, and both go on when it has ended.
    Up to it, it starts at once and the sender goes on at once.
    """

    to: Whole
    size_bytes: Whole
    tag: int = 0
    mode: Mode = "threshold"


@dataclass(frozen=True, eq=False)
class Recv(_ByFields):
    """Wait for a message of another process, or of `ANY`; those of one sender and tag match in program order."""

    source: Whole
    tag: int = 0


@dataclass(frozen=True, eq=False)
class Exchange(_ByFields):
    """Send to one process and receive from another (or the same) at once; it ends when both have."""

    to: Whole
    source: Whole
    size_bytes: Whole
    tag: int = 0
    mode: Mode = "threshold"


@dataclass(frozen=True, eq=False)
class PostSend(_ByFields):
    """Post a message and go on at once; the request is over when a `Send` would be."""

    to: Whole
    size_bytes: Whole
    request: Whole
    """A small number of the process's own, 0 or more, free for another post once it was waited for."""
    tag: int = 0
    mode: Mode = "threshold"


@dataclass(frozen=True, eq=False)
class PostRecv(_ByFields):
    """Post a receive from a named process and go on at once; the request is over when a `Recv` would be."""

    source: Whole
    request: Whole
    tag: int = 0


@dataclass(frozen=True, eq=False)
class Wait(_ByFields):
    """Wait until a request is over; what is posted moves meanwhile, whatever the process does."""

    request: Whole
    """`NOBODY`: the operation is left out, as the post was whose partner is `NOBODY`."""


@dataclass(frozen=True, eq=False)
class Broadcast(_ByFields):
    """From one process to all others of the group."""

    root: Whole
    size_bytes: Whole
    algorithm: BroadcastAlgorithm | Literal["posted"] = "ring"
    group: Group | None = None
    """Processes that take part, in ring order; all by default. The same in each of their rows."""


@dataclass(frozen=True, eq=False)
class Scatter(_ByFields):
    """A part for each process of the group from one of them."""

    root: Whole
    size_bytes: Whole
    """Of one process's part."""
    algorithm: TreeAlgorithm = "binomial"
    group: Group | None = None


@dataclass(frozen=True, eq=False)
class Gather(_ByFields):
    """A part of each process of the group to one of them."""

    root: Whole
    size_bytes: Whole
    """Of one process's part."""
    algorithm: TreeAlgorithm = "binomial"
    group: Group | None = None


@dataclass(frozen=True, eq=False)
class AllToAll(_ByFields):
    """A part from each process of the group to each other."""

    size_bytes: Whole
    algorithm: AllToAllAlgorithm = "pairwise"
    group: Group | None = None


@dataclass(frozen=True, eq=False)
class Reduce(_ByFields):
    """Combine the data of all processes of the group at one of them; combining itself costs nothing."""

    root: Whole
    size_bytes: Whole
    algorithm: TreeAlgorithm = "binomial"
    group: Group | None = None


@dataclass(frozen=True, eq=False)
class AllReduce(_ByFields):
    """Combine the data of all processes of the group at each of them; combining itself costs nothing."""

    size_bytes: Whole
    algorithm: AllReduceAlgorithm = "recursive_doubling"
    group: Group | None = None


@dataclass(frozen=True, eq=False)
class Barrier(_ByFields):
    """Wait until every process of the group is there; the k-th one of a group meets the k-th ones of the others."""

    group: Group | None = None


@dataclass(frozen=True, eq=False)
class Farm(_ByFields):
    """Self-scheduling: each process of the group pulls a chunk of the next units, computes it, and pulls again.

    A pull takes its time whether or not anything is left; a process that finds nothing left goes on.
    """

    volumes: Floats
    """Volume of each unit of work, in the order handed out; (units,)."""
    size: float
    """Problem size in elements of a unit, which decides the speed."""
    chunk: int = 1
    """Units per pull under `ss`; the last one may get fewer."""
    pull_s: float = 0.0
    """Seconds that a pull takes; at least one tick."""
    group: Group | None = None
    scheduling: SelfScheduling = field(default_factory=SelfScheduling)
    serve_s: float = 0.0
    """Seconds for which the pool serves a request and nobody else; they come before the pull."""
    unit_bytes: float = 0.0
    """Data of a unit, which goes from the pool, at the PE of the group's first process, to the one that pulls."""
    spread: UnitSpread | None = None
    """How units differ, drawn in each replication; None: the volumes as they are."""


@dataclass(frozen=True, eq=False)
class WaitUntil(_ByFields):
    """Sleep until a time since the start; nothing if that is over."""

    time_s: Numbers


@dataclass(frozen=True, eq=False)
class Delay(_ByFields):
    """Sleep; the PE is left to others."""

    duration_s: Numbers


@dataclass(frozen=True, eq=False)
class ReadWrite(_ByFields):
    """Move bytes to or from the disk of the process's node, which is a link like others."""

    size_bytes: Whole


@dataclass(frozen=True, eq=False)
class Custom(_ByFields):
    """An operation of the user's own, given to the `process` engine by the Python API; files cannot name one."""

    name: str
    arguments: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Loop(_ByFields):
    """A body done several times; fields inside may differ per iteration (leading axes, the outer loop first)."""

    iterations: int
    body: "tuple[Operation, ...]"


Collective = Broadcast | Scatter | Gather | AllToAll | Reduce | AllReduce
Operation = (
    Compute
    | Send
    | Recv
    | Exchange
    | PostSend
    | PostRecv
    | Wait
    | Collective
    | Barrier
    | Farm
    | WaitUntil
    | Delay
    | ReadWrite
    | Custom
    | Loop
)
Row = tuple[Operation, ...]


@dataclass(frozen=True)
class Program:
    """What every process does, in order."""

    operations: tuple[Row, ...]
    """One row per process; the same object where processes share it."""
    footprints_bytes: tuple[int, ...]
    """Memory that each process holds."""
    polls: bool = False
    """Whether a process that waits for others keeps its PE busy, as most MPI libraries do."""
    doubt: Doubt | None = None
    """What is not known of the times of its computations and delays, which all share it; None: nothing."""
    noise: Noise | None = None
    """How these times differ from run to run in addition to what PEs and links do; None: not at all."""
    assembled: Columns | None = None
    """Its operations as columns, where it was made of such; the rows are then empty."""

    @classmethod
    def everywhere(
        cls, processes: int, row: Row, *, footprints_bytes: tuple[int, ...] | None = None, polls: bool = False
    ) -> "Program":
        """One row for all processes; fields may be arrays over them."""
        return cls((row,) * processes, footprints_bytes or (0,) * processes, polls)

"""The operations of all processes as data; a program knows nothing of where its processes run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Compute:
    """Work on the process's own PE."""

    volume: float
    """Units of volume, for example floating point operations."""
    size: float
    """Problem size in elements, which decides the speed."""


@dataclass(frozen=True)
class Send:
    """A message to another process, by rendezvous: it starts when both are ready, and both go on when it has ended."""

    to: int
    size_bytes: int
    tag: int = 0


@dataclass(frozen=True)
class Recv:
    """Wait for a message of another process; messages of one sender and tag match in program order."""

    source: int
    tag: int = 0


Operation = Compute | Send | Recv


@dataclass(frozen=True)
class Program:
    """What every process does, in order."""

    operations: tuple[tuple[Operation, ...], ...]
    """One row per process."""
    footprints_bytes: tuple[int, ...]
    """Memory that each process holds."""

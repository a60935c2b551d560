"""A parallel program for real ranks, told in JSON, and what one rank does of it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bench.usage import Usage
from simulator.calibration.pingpong.channels import StreamChannel

Matrix = NDArray[np.float64]
Told = dict[str, float]
"""What a rank tells of its run, beside its times."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class RealProgram:
    """What runs, who does how much of it, and where."""

    name: str
    """One of `PROGRAMS`: the application of that name."""
    kernel: str
    """What its computations are."""
    parameters: Mapping[str, Any]
    """Of the application."""
    units: tuple[int, ...]
    """Of each rank; only a master may have none."""
    places: tuple[tuple[int, ...], ...]
    """The logical processors that each rank may use."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Seat:
    """One rank of a program: what it knows and whom it can reach."""

    program: RealProgram
    rank: int
    channels: Mapping[int, StreamChannel]
    """To rank 0 and to the ranks before and after it, or from rank 0 to all."""
    pool: int
    """File descriptor of which all ranks share the position."""

    @property
    def units(self) -> int:
        """Of this rank."""
        return self.program.units[self.rank]

    @property
    def first(self) -> int:
        """The first of its units."""
        return sum(self.program.units[: self.rank])


class Part(Protocol):
    """What one rank does of a program."""

    def ready(self) -> None:
        """Make again what a run overwrites; not timed."""

    def run(self) -> Usage:
        """Do this rank's part once; what its computation cost."""

    def check(self) -> Told:
        """Check this rank's answer after a run; not timed.

        Raises
        ------
        ValueError
            If it is wrong.
        """


class Room:
    """Arrays that the parts of one rank take in turns, since one of them runs at a time; pages are there once made."""

    def __init__(self) -> None:
        self._rows: dict[str, Matrix] = {}
        self._made: dict[str, Any] = {}

    def rows(self, name: str, rows: int, columns: int) -> Matrix:
        """So many whole rows; what is in them is what the last part left there."""
        kept = self._rows.get(name)
        if kept is None or kept.shape[0] < rows or kept.shape[1] != columns:
            self._rows[name] = kept = np.ones((rows, columns))  # ones, not zeros: the pages must be there
        return kept[:rows]

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What is made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made


class Stopwatch:
    """Adds up what stretches of computation cost."""

    def __init__(self) -> None:
        self.total = Usage()

    def timed(self, work: Callable[[], object]) -> None:
        """Do some work, whose cost counts."""
        before = Usage.now()
        work()
        self.total += Usage.now() - before

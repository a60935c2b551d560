"""What engines and advisor ask of an application whose units are divided among processes, and who takes part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt, Noise
from simulator.programs.configuration import Configuration
from simulator.programs.moves import Moves
from simulator.programs.program import NOBODY, Compute, Group, Program, Row

if TYPE_CHECKING:
    from simulator.platform.nodes import Platform

Shape = tuple[int, int]
"""Rows and columns; process i Q + j stands in row i and column j of Q columns."""


def wrong_sum(configuration: Configuration, found: int, *, total: int, noun: str, name: str) -> ScenarioError:
    """What is wrong with a partition whose units do not add up, and by how many."""
    off = f"add {total - found}" if found < total else f"take {found - total} away"
    where = f"configuration {configuration.name}: partition"
    return ScenarioError(f"{where}: its parts are {found} {noun} together, but {name} = {total}; {off}")


@dataclass(frozen=True)
class Team:
    """Processes with units; places among them are counted from 0."""

    units: Ints
    """Of every process, 0 for those that take no part; (P,)."""

    @classmethod
    def of(cls, configuration: Configuration, *, total: int, noun: str, name: str) -> "Team":
        """Those of a partition that divides a total."""
        found = sum(configuration.partition)
        if found != total:
            raise wrong_sum(configuration, found, total=total, noun=noun, name=name)
        return cls(np.array(configuration.partition, dtype=np.int64))

    @property
    def members(self) -> Ints:
        """Processes that take part; (G,)."""
        return np.flatnonzero(self.units)

    @property
    def size(self) -> int:
        """G."""
        return int(np.count_nonzero(self.units))

    @property
    def group(self) -> Group | None:
        """For collectives."""
        return None if self.size == self.units.size else tuple(self.members.tolist())

    @property
    def place(self) -> Ints:
        """Of each process among those that take part; -1 for others; (P,)."""
        return np.where(self.units > 0, np.cumsum(self.units > 0) - 1, -1)

    def process(self, place: Ints) -> Ints:
        """The process of a place, `NOBODY` where there is no such place."""
        exists = (place >= 0) & (place < self.size)
        return np.where(exists, self.members[np.clip(place, 0, self.size - 1)], NOBODY)

    def program(self, row: Row, footprints_bytes: Ints, *, polls: bool = False) -> Program:
        """One row for all that take part, none for the others."""
        footprints = np.where(self.units > 0, footprints_bytes, 0)
        rows = tuple(row if units else () for units in self.units.tolist())
        return Program(rows, tuple(footprints.tolist()), polls)


def shapes(processes: int) -> tuple[Shape, ...]:
    """All grids that so many processes form, the flattest (1 x P) first."""
    return tuple((rows, processes // rows) for rows in range(1, processes + 1) if processes % rows == 0)


@dataclass(frozen=True)
class Grid:
    """Rows of a square that each row of the grid has, and its columns of each column."""

    rows: Ints
    """(R,)."""
    columns: Ints
    """(Q,)."""

    @property
    def partition(self) -> tuple[int, ...]:
        """Elements of each process."""
        return tuple(np.outer(self.rows, self.columns).reshape(-1).tolist())

    @classmethod
    def near(cls, side: int, partition: tuple[int, ...], shape: Shape) -> "Grid":
        """Rows in proportion to what a row of the grid has, columns likewise."""
        elements = np.array(partition, dtype=np.float64).reshape(shape)
        return cls(*(whole_shares(side, elements.sum(axis=axis)) for axis in (1, 0)))

    @classmethod
    def of(cls, side: int, configuration: Configuration, shape: Shape, *, noun: str, power: str) -> "Grid":
        """The grid that a partition of the elements of a square describes."""
        partition = configuration.partition
        elements = np.array(partition, dtype=np.int64).reshape(shape)
        grid = cls(elements.sum(axis=1) // side, elements.sum(axis=0) // side)
        where = f"configuration {configuration.name}: partition"
        if sum(partition) != side**2:
            raise wrong_sum(configuration, sum(partition), total=side**2, noun=noun, name=power)
        for process, (found, wanted) in enumerate(zip(partition, grid.partition, strict=True)):
            if found != wanted:
                advice = f"give rows of its grid row x columns of its grid column, for example {wanted}"
                raise ScenarioError(f"{where}: process {process} has {found} {noun}; {advice}")
        return grid


def whole_shares(total: int, weights: Floats) -> Ints:
    """A total in whole numbers in proportion to weights, by largest remainders, the first of equals."""
    exact = total * weights / weights.sum()
    shares = np.floor(exact).astype(np.int64)
    order = np.argsort(shares - exact, kind="stable")
    shares[order[: total - int(shares.sum())]] += 1
    return np.asarray(shares)


@dataclass(frozen=True)
class Movable:
    """How units may change their process between iterations."""

    quantum: int
    size_bytes: int


class Work(Protocol):
    """An application with its parameters; an application that says nothing else has the answers given here."""

    @property
    def units(self) -> int:
        """How many units a partition divides."""

    @property
    def varies_with_processes(self) -> bool:
        """Whether the computation of a unit depends on how many processes take part."""
        return False

    @property
    def draws(self) -> bool:
        """Whether its units differ from run to run, by draws of its own."""
        return False

    @property
    def has_master(self) -> bool:
        """Whether process 0 handles the messages of all others, one after the other."""
        return False

    @property
    def by_rank(self) -> bool:
        """Whether each unit is a rank that is like no other: a process each, of which only the PE may vary."""
        return False

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """About how often the loop of a process goes round, each time with a computation and a few messages."""
        return 1

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """What a process with so many units computes in all, if so many processes take part; an estimate likewise."""

    def moves(self, partition: tuple[int, ...]) -> Moves | None:  # noqa: ARG002 - of most it is not known
        """What processes move to and from GPUs that they run on; None: it is not known."""
        return None

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Payloads that a process with so many units handles, one after the other; with a master, to and from it.

        An estimate for choosing partitions, which does not fall with the units; the program has them as they are.
        """

    def grids(self, processes: int) -> tuple[Shape, ...]:  # noqa: ARG002 - most have none
        """Grids that so many processes may form, (rows, columns), the flattest first; none if it knows no grids."""
        return ()

    def shape(self, configuration: Configuration) -> Shape | None:
        """The grid that the processes of a configuration form; None if it knows no grids."""
        return configuration.grid

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:  # noqa: ARG002
        """The partition nearest to one that the application can use; most can use any that adds up.

        `grid`: of the configuration; None: as the application has it.
        """
        return partition

    def movable(self, configuration: Configuration) -> Movable | None:  # noqa: ARG002 - most cannot
        """How units may change their process between iterations; None: they stay where they are."""
        return None

    def stretch(self, configuration: Configuration, first: int, count: int) -> Program:  # noqa: ARG002
        """The operations of some iterations, of `rounds` in all; of what has none that units move between, all."""
        return self.program(configuration)

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes.

        Raises ScenarioError if the partition does not fit.
        """

    def hosted_on(self, configuration: Configuration, platform: "Platform") -> Program:  # noqa: ARG002
        """The operations of all processes where they depend on the links and disks of a platform; most do not.

        Raises ScenarioError if the partition does not fit, or the platform lacks what it asks for.
        """
        return self.program(configuration)

    @property
    def hosted(self) -> bool:
        """Whether the program depends on where its processes are placed."""
        return False

    def doubt(self, processes: int) -> Doubt | None:  # noqa: ARG002 - what is counted is not doubted
        """What is not known of its times if so many processes take part, as `Program.doubt` says it."""
        return None

    def noise(self, processes: int) -> Noise | None:  # noqa: ARG002
        """How its times differ from run to run, as `Program.noise` says it."""
        return None

    def warnings(self, processes: int) -> tuple[str, ...]:  # noqa: ARG002 - most have the same for any number: none
        """What to know before the costs are trusted, if so many processes take part; one line each."""
        return ()

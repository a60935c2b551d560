"""The processes that take part in an application: those with units of work, in order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.programs.configuration import Configuration
from simulator.programs.program import NOBODY, Group, Program, Row

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
        """Those of a partition that divides a total.

        Raises
        ------
        ScenarioError
            If the units do not add up.
        """
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

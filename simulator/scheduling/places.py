"""On which free PEs a job runs, by number: sets of them are bits of an integer (bit i: PE i)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import and_

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.scheduling.nodes import Reservation
from simulator.scheduling.policy import Placement
from simulator.scheduling.profiles import Hole, Profile

FASTEST_FIRST = ("fastest", "earliest-finish", "min-min")
"""Placements that take fast PEs first."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """PEs by number; arrays (PE,).

    Raises ScenarioError without a PE, or for times that are not positive.
    """

    slowness: Floats
    """Run time of a job on PEs like this one over its run time on nominal PEs; a job's slowest PE decides."""
    memory_bytes: Floats
    """That one process may use; infinite where nothing limits it."""
    names: tuple[str, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    """Of PEs that are counted."""

    def __post_init__(self) -> None:
        if not self.slowness.size:
            raise ScenarioError("cluster: there is no PE; give at least one")
        if not np.all((self.slowness > 0) & np.isfinite(self.slowness)):
            raise ScenarioError(
                "cluster: a PE's slowness is not a positive number; give 1 for a nominal PE, 2 for half"
            )

    @property
    def count(self) -> int:
        """How many PEs."""
        return int(self.slowness.size)

    @property
    def classes(self) -> Floats:
        """Slowness of each class of PEs that are equally fast, fastest first; (class,)."""
        return np.unique(self.slowness)

    @property
    def class_of(self) -> Ints:
        """Class of each PE; (PE,)."""
        return np.searchsorted(self.classes, self.slowness).astype(np.int64)


def equal_pes(count: int) -> Cluster:
    """So many nominal PEs without a limit of memory."""
    return Cluster(np.ones(max(0, count)), np.full(max(0, count), np.inf))


def numbers_of(pes: int) -> Iterator[int]:
    """The numbers of PEs, ascending."""
    while pes:
        lowest = pes & -pes
        yield lowest.bit_length() - 1
        pes ^= lowest


def bits(members: np.ndarray) -> int:
    """PEs as bits, from their numbers."""
    return sum(1 << int(number) for number in members)


def groups_of(cluster: Cluster, placement: Placement) -> list[np.ndarray]:
    """The PEs in groups in the order in which they are taken, lowest numbers first within each."""
    if placement in FASTEST_FIRST:
        return [np.flatnonzero(cluster.class_of == kind) for kind in range(cluster.classes.size)]
    if placement == "memory":
        return [np.flatnonzero(cluster.memory_bytes == size) for size in np.unique(cluster.memory_bytes)]
    return [np.arange(cluster.count)]


class Places:
    """A cluster's PEs as one placement takes them.

    `choices`: number and size of each choice of a job.
    `plan`: planned ticks of each choice by class of the slowest PE; estimates that are made during a run are put in.
    `needs`: memory of a process of each job.
    """

    def __init__(
        self,
        cluster: Cluster,
        placement: Placement,
        choices: list[list[tuple[int, int]]],
        plan: list[list[int]],
        needs: list[float],
    ) -> None:
        kinds = cluster.classes.size
        self._choices, self._needs = choices, needs
        self._rule, self._plan, self._memory = placement, plan, cluster.memory_bytes
        self.every = (1 << cluster.count) - 1
        self._within = [bits(np.flatnonzero(cluster.class_of <= kind)) for kind in range(kinds)]
        """PEs of a class or faster."""
        self._groups = [bits(group) for group in groups_of(cluster, placement)]
        self._kinds = range(kinds) if placement in FASTEST_FIRST else range(kinds - 1, -1, -1)
        self.able = cache(lambda need: bits(np.flatnonzero(self._memory >= need)))
        """PEs with at least so much memory."""

    def profile(self, now: int) -> Profile:
        """All PEs are free from now on."""
        return Profile(now, self.every, and_)

    def slowest(self, pes: int) -> int:
        """The class of the slowest of some PEs."""
        return next(kind for kind, within in enumerate(self._within) if pes & ~within == 0)

    def best(self, profile: Profile, job: int) -> Hole | None:
        """The hole with the earliest planned end, of equal ones the first start and the fewest PEs.

        All placements but `earliest-finish` and `min-min` start each choice as early as they can.
        """
        best: Hole | None = None
        for choice, size in self._choices[job]:
            for place, start in enumerate(profile.times):
                if best is not None and start >= best.end:
                    break
                hole = self._at(profile, place, choice, size, self._needs[job])
                if hole is None:
                    continue
                if best is None or hole.end < best.end:
                    best = hole
                if self._rule not in {"earliest-finish", "min-min"}:
                    break
        return best

    def _at(self, profile: Profile, place: int, choice: int, size: int, need: float) -> Hole | None:
        """The hole that begins at a place of the profile."""
        for kind in self._kinds:
            free = profile.common(place, self._plan[choice][kind]) & self._within[kind] & self.able(need)
            if free.bit_count() >= size:
                pes = self._picked(free, size)
                return Hole(profile.times[place], self._plan[choice][self.slowest(pes)], choice, pes)
        return None

    def _picked(self, free: int, size: int) -> int:
        """So many of the free PEs."""
        found = 0
        for group in self._groups:
            here = free & group
            while here and size:
                lowest = here & -here
                found, here, size = found | lowest, here ^ lowest, size - 1
        return found

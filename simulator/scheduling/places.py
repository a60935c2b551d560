"""On which free PEs a job runs: what is free when, as counts or as bits of an integer (bit i: PE i); the best hole."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.scheduling.policy import Placement

__all__ = [
    "FASTEST_FIRST",
    "Cluster",
    "CountedProfile",
    "Hole",
    "NamedProfile",
    "Places",
    "bits",
    "equal_pes",
    "groups_of",
    "numbers_of",
]

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


@dataclass(frozen=True)
class Hole:
    """Where a job may run: from a tick on, for so long, with one of its choices, on PEs (0 if these are counted)."""

    start: int
    lasting: int
    choice: int
    pes: int = 0

    @property
    def end(self) -> int:
        """The planned end."""
        return self.start + self.lasting


class CountedProfile:
    """How many PEs are free, from each of `times` on up to the next; the last one holds for ever."""

    def __init__(self, now: int, free: int) -> None:
        self.times, self.free = [now], [free]

    def take(self, begin: int, end: int, count: int) -> None:
        """Have so many PEs fewer in [begin, end), or more if the count is negative."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] -= count

    def earliest(self, count: int, lasting: int) -> int:
        """The earliest time from which so many PEs are free for so long."""
        start = 0
        for place, free in enumerate(self.free):
            if self.times[place] >= self.times[start] + lasting and start < place:
                break
            if free < count:
                start = place + 1
        return self.times[start]


class NamedProfile:
    """Which PEs are free, from each of `times` on up to the next; the last one holds for ever."""

    def __init__(self, now: int, free: int) -> None:
        self.times, self.free = [now], [free]

    def take(self, begin: int, end: int, pes: int) -> None:
        """Occupy PEs in [begin, end)."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] &= ~pes

    def give(self, begin: int, end: int, pes: int) -> None:
        """Free PEs in [begin, end)."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] |= pes

    def common(self, place: int, lasting: int) -> int:
        """The PEs that are free from the begin of a place on for so long."""
        end, found = self.times[place] + lasting, self.free[place]
        while place + 1 < len(self.times) and self.times[place + 1] < end and found:
            place += 1
            found &= self.free[place]
        return found


def edge(times: list[int], free: list[int], time: int) -> int:
    """The place from which a time on counts, a new one where none begins there; 0 for what is over."""
    place = bisect_right(times, time) - 1
    if place < 0:
        return 0
    if times[place] != time:
        times.insert(place + 1, time)
        free.insert(place + 1, free[place])
        place += 1
    return place


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

    `plan`: planned ticks of each choice by class of the slowest PE; estimates that are made during a run are put in.
    """

    def __init__(self, cluster: Cluster, placement: Placement, plan: list[list[int]]) -> None:
        kinds = cluster.classes.size
        self._rule, self._plan, self._memory = placement, plan, cluster.memory_bytes
        self.every = (1 << cluster.count) - 1
        self._within = [bits(np.flatnonzero(cluster.class_of <= kind)) for kind in range(kinds)]
        """PEs of a class or faster."""
        self._groups = [bits(group) for group in groups_of(cluster, placement)]
        self._kinds = range(kinds) if placement in FASTEST_FIRST else range(kinds - 1, -1, -1)
        self.able = cache(lambda need: bits(np.flatnonzero(self._memory >= need)))
        """PEs with at least so much memory."""

    def slowest(self, pes: int) -> int:
        """The class of the slowest of some PEs."""
        return next(kind for kind, within in enumerate(self._within) if pes & ~within == 0)

    def best(self, profile: NamedProfile, choices: list[tuple[int, int]], need: float) -> Hole | None:
        """The hole with the earliest planned end, of equal ones the first start and the fewest PEs.

        All placements but `earliest-finish` and `min-min` start each choice as early as they can.

        `choices`: number and size of each.
        """
        best: Hole | None = None
        for choice, size in choices:
            for place, start in enumerate(profile.times):
                if best is not None and start >= best.end:
                    break
                hole = self._at(profile, place, choice, size, need)
                if hole is None:
                    continue
                if best is None or hole.end < best.end:
                    best = hole
                if self._rule not in {"earliest-finish", "min-min"}:
                    break
        return best

    def _at(self, profile: NamedProfile, place: int, choice: int, size: int, need: float) -> Hole | None:
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

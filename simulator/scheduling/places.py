"""On which of the free PEs a job runs, and the hole that is best for it."""

from functools import cache

import numpy as np

from simulator.scheduling.cluster import Cluster
from simulator.scheduling.policy import Placement
from simulator.scheduling.profiles import Hole, NamedProfile

__all__ = ["FASTEST_FIRST", "Places", "bits", "groups_of"]

FASTEST_FIRST = ("fastest", "earliest-finish", "min-min")
"""Placements that take fast PEs first."""


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

    Parameters
    ----------
    plan
        Planned ticks of each choice by class of the slowest PE; estimates that are made during a run are put in.
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

        Parameters
        ----------
        choices
            Number and size of each.
        need
            Bytes per process.
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

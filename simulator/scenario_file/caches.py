"""Caches that PEs of a node share: their domains as a file writes them, and the fitted levels that they are."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.base.documents import Data
from simulator.base.machine import INSTRUCTION, MEMORY_SIDE, CacheUnit, SharedCache
from simulator.base.names import in_few
from simulator.base.units import write_size
from simulator.models.memory import MemoryLevel

Groups = tuple[tuple[int, ...], ...]
"""Places of PEs, group by group."""


@dataclass(frozen=True)
class CacheGroups:
    """Caches of one level and size that several PEs share."""

    name: str
    size_bytes: int
    groups: Groups
    """The PEs of each cache that two or more share."""

    def entries(self, labels: Sequence[str], level: str | None = None) -> list[Data]:
        """The domains as a file writes them.

        `level`: what the node's `levels` call it, whose capacity then holds, and which says itself that all PEs share
        it; None: they do not have it.
        """
        if level is not None and len(self.groups[0]) == len(labels):
            return []  # the level is `shared`
        of_it = {"kind": "cache", "level": level or self.name}
        capacity = {"capacity": write_size(self.size_bytes)} if level is None else {}
        return [of_it | who | capacity for who in whose(self.groups, labels)]


def whose(groups: Groups, labels: Sequence[str]) -> list[Data]:
    """Fields that say whose domains these are: none where all PEs share one, `each` where they follow one another."""
    width = len(groups[0])
    in_order = [tuple(range(first, min(first + width, len(labels)))) for first in range(0, len(labels), width)]
    if list(groups) == in_order:
        return [{}] if len(groups) == 1 else [{"each": width}]
    return [{"pes": in_few([labels[place] for place in group], least=3)} for group in groups]


def cache_groups(cpus: Sequence[int], caches: Iterable[CacheUnit]) -> tuple[CacheGroups, ...]:
    """The shared caches of PEs on these logical processors, the nearest first; those of instructions left out."""
    places = {cpu: place for place, cpu in enumerate(cpus)}
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for cache in caches:
        members = tuple(sorted(places[cpu] for cpu in cache.cpus if cpu in places))
        if len(members) > 1 and cache.kind not in (INSTRUCTION, MEMORY_SIDE):
            found.setdefault((cache.level, cache.size_bytes), []).append(members)
    return tuple(
        CacheGroups(f"L{level}", held, tuple(sorted(groups))) for (level, held), groups in sorted(found.items())
    )


def counted_groups(caches: Iterable[SharedCache], pe_count: int) -> tuple[CacheGroups, ...]:
    """The same where only numbers are known: PEs that follow one another are taken to share."""
    found = []
    for cache in caches:
        if cache.most_pes > 1 and cache.kind not in (INSTRUCTION, MEMORY_SIDE):
            firsts = range(0, pe_count, cache.most_pes)
            groups = (tuple(range(first, min(first + cache.most_pes, pe_count))) for first in firsts)
            found.append(CacheGroups(cache.name, cache.size_bytes, tuple(group for group in groups if len(group) > 1)))
    return tuple(found)


def shared_levels(
    caches: Sequence[SharedCache], levels: Sequence[MemoryLevel]
) -> tuple[tuple[MemoryLevel, ...], tuple[str, ...]]:
    """Fitted levels with who shares them, and what a scenario cannot say of that.

    A fitted level is the cache whose capacity is nearest, by their ratio; one with none within a factor of 4 is each
    PE's own. One that all PEs share is `shared`; of caches that some of them share, each has its own capacity, and
    domains say who shares them. The last level is main memory, without a limit of its own.
    """
    found, notes = [], []
    for level in levels[:-1]:
        best = _nearest(caches, level)
        if best is None:
            notes.append(f"level {level.name}: no cache of about its capacity is known; taken as each PE's own")
        shared = best is not None and best.most_pes > 1 and best.instances == 1
        found.append(replace(level, shared=shared, capacity_bytes=float(round(level.capacity_bytes))))
    found += [replace(level, shared=True) for level in levels[-1:]]
    rounded = [replace(one, latency_s=float(f"{one.latency_s:.6g}"), gap_s=float(f"{one.gap_s:.6g}")) for one in found]
    return tuple(rounded), tuple(notes)


def _nearest(caches: Sequence[SharedCache], level: MemoryLevel) -> SharedCache | None:
    """The cache of about a level's capacity, if there is one."""
    capacity = level.capacity_bytes
    best = min(caches, key=lambda cache: abs(math.log(cache.size_bytes / capacity)), default=None)
    return best if best is not None and 0.25 <= best.size_bytes / capacity <= 4 else None


def level_names(caches: Sequence[SharedCache], levels: Sequence[MemoryLevel]) -> dict[tuple[str, int], str]:
    """What fitted levels are called that are caches, by name and size of the cache."""
    matched = [(_nearest(caches, level), level.name) for level in levels[:-1]]
    return {(cache.name, cache.size_bytes): name for cache, name in reversed(matched) if cache is not None}


def cache_entries(
    groups: Iterable[CacheGroups], caches: Sequence[SharedCache], levels: Sequence[MemoryLevel], labels: Sequence[str]
) -> list[Data]:
    """The domains of shared caches as a file writes them, called as the fitted levels that they are."""
    called = level_names(caches, levels)
    return [entry for one in groups for entry in one.entries(labels, called.get((one.name, one.size_bytes)))]

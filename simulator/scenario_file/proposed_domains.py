"""What PEs share by what the system or hwloc says: caches as domains, and what is left to be measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.base.machine import INSTRUCTION, MEMORY_SIDE, CacheUnit, SharedCache, Topology
from simulator.base.names import compact
from simulator.base.units import write_size

Groups = tuple[tuple[int, ...], ...]
"""Places of PEs, group by group."""
Data = dict[str, Any]


@dataclass(frozen=True)
class CacheGroups:
    """Caches of one level and size that several PEs share."""

    name: str
    """`L3`."""
    size_bytes: int
    groups: Groups
    """The PEs of each cache that two or more share."""

    def entries(self, labels: Sequence[str], level: str | None = None) -> list[Data]:
        """The domains as a file writes them.

        Parameters
        ----------
        labels
            The names of the PEs in their order, with `{node}` in them.
        level
            What the node's `levels` call it, whose capacity then holds, and which says itself that all PEs share it;
            None: they do not have it.
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
    return [{"pes": _named([labels[place] for place in group])} for group in groups]


def _named(names: Sequence[str]) -> list[str]:
    pattern = compact(names) if len(names) > 2 else None
    return [pattern] if pattern else list(names)


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
            found.append(CacheGroups(cache.name, cache.size_bytes, tuple(one for one in groups if len(one) > 1)))
    return tuple(found)


def to_measure(topology: Topology, labels: Sequence[str]) -> list[str]:
    """Domains of which the system does not say what they deliver, as lines to be filled in: memory, siblings, clock."""
    places = {core.cpu: place for place, core in enumerate(topology.pes)}
    groups = tuple(
        members
        for unit in topology.numa
        if (members := tuple(sorted(places[cpu] for cpu in unit.cpus if cpu in places)))
    )
    told = [
        f"- {{kind: memory, {_flow(who)}capacity: 20GB/s}}  # of the NUMA node; the figure is made up"
        for who in whose(groups or (tuple(range(len(labels))),), labels)
    ]
    if any(core.siblings for core in topology.pes):
        threads = 1 + max(len(core.siblings) for core in topology.pes)
        shares = ", ".join(["1", *["0.6"] * (threads - 1)])
        told.append(f"- {{kind: core, each: {threads}, shares: [{shares}]}}  # if SMT siblings become PEs; made up")
    return [*told, f"- {{kind: clock, shares: [1{', 1' * (len(labels) - 1)}]}}  # by how many compute; made up"]


def flow(entry: Data) -> str:
    """An entry on one line."""
    return f"{{{_flow(entry).removesuffix(', ')}}}"


def _flow(entry: Data) -> str:
    def shown(value: Any) -> str:
        return f"[{', '.join(shown(one) for one in value)}]" if isinstance(value, list) else _text(value)

    return "".join(f"{key}: {shown(value)}, " for key, value in entry.items())


def _text(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and ("{" in value or "[" in value) else str(value)

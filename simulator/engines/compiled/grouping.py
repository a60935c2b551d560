"""Sharing domains of a configuration as the event engine reads them: groups, their domains, and loads that press."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.engines.compiled import memory
from simulator.engines.costs import Sharing

Ints = NDArray[np.int64]
Records = NDArray[np.void]


@dataclass(frozen=True)
class Grouping:
    """Of one configuration."""

    group: Ints
    """Of each process, 0 for those that are in no domain; (P,)."""
    groups: Records
    """As they are in the beginning; `first` is where a group's heap begins."""
    domains: Records
    members: Ints
    """Groups of each domain."""
    loaded: Ints
    """PEs with load of each domain."""
    slots: Ints
    """Domain of each slot of a PE, -1 for none that matters; (PE, K)."""
    demands: Ints
    tables: Ints
    load_demands: Ints
    group_first: Ints
    """Where the groups of a PE that is not free begin, and how many there are; (PE,)."""
    group_count: Ints


def grouped(sharing: Sharing, configuration: int, placement: Ints, free: NDArray[np.bool_]) -> Grouping:
    """The groups of a configuration.

    Parameters
    ----------
    free
        PEs whose processes each have a whole core whatever happens; (PE,).
    """
    slots = np.where(_matter(sharing, configuration), sharing.slots, -1)
    demands, tables = sharing.demands[configuration], sharing.tables[configuration]
    inside = np.flatnonzero(sharing.inside[configuration][placement])
    own = np.where(free[placement], -1, placement * placement.size + np.arange(placement.size))
    keys = np.column_stack((own, slots[placement], demands, tables))[inside]
    distinct, first, number = _rows(keys)
    group = np.zeros(placement.size, dtype=np.int64)
    group[inside] = number
    made = np.zeros(distinct, memory.GROUP)
    sizes = np.bincount(number, minlength=distinct)
    made["first"], made["process"] = np.cumsum(sizes) - sizes, inside[first]
    made["pe"] = placement[made["process"]]
    domains = np.zeros(len(sharing.domains), memory.DOMAIN)
    domains["kind"] = sharing.kinds
    has_load = np.array([load is not None for load in sharing.loads])
    members, counts = _by_domain(slots[made["pe"]], domains.size)
    loaded, loads = _by_domain(np.where(has_load[:, np.newaxis], slots, -1), domains.size)
    for name, sizes in (("", counts), ("loaded_", loads)):
        domains[f"{name}first"], domains[f"{name}end"] = np.cumsum(sizes) - sizes, np.cumsum(sizes)
    bound = ~free[made["pe"]]
    group_first, group_count = np.zeros(free.size, dtype=np.int64), np.zeros(free.size, dtype=np.int64)
    np.add.at(group_count, made["pe"][bound], 1)
    numbers = np.flatnonzero(bound)[::-1]
    group_first[made["pe"][numbers]] = numbers
    return Grouping(
        group, made, domains, members, loaded, np.ascontiguousarray(slots),
        np.ascontiguousarray(demands), np.ascontiguousarray(tables),
        np.ascontiguousarray(sharing.load_demands[configuration]), group_first, group_count,
    )  # fmt: skip


def _by_domain(slots: Ints, count: int) -> tuple[Ints, Ints]:
    """Rows in which each domain stands, domain after domain, and how many they are."""
    rows, columns = np.nonzero(slots >= 0)
    found = slots[rows, columns]
    return rows[np.argsort(found, kind="stable")], np.bincount(found, minlength=count)


def _matter(sharing: Sharing, configuration: int) -> NDArray[np.bool_]:
    """Slots whose domain matters."""
    bites = np.append(sharing.biting[configuration], np.zeros(1, dtype=np.bool_))
    return np.asarray(bites[sharing.slots])


def _rows(keys: Ints) -> tuple[int, Ints, Ints]:
    """Distinct rows in order: their number, the first of each, and which each row is."""
    if not keys.size:
        empty = np.zeros(0, dtype=np.int64)
        return 0, empty, empty
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return int(new.sum()), order[new], number

"""What engines let each process keep beside its neighbours, read off their own tables: explanations are held to it."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from simulator.engines.costs.lowering import pages
from simulator.engines.costs.sharing import CACHE, FULL, Sharing, sharing_of
from simulator.models.neighbours import Kind
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

NANOSECOND_S = 1e-9


@dataclass(frozen=True)
class NeighbourShare:
    """What a process keeps of its lone speed in one sharing domain of its PE."""

    domain: str
    """Its name."""
    kind: Kind
    share: float
    """When all that are placed compute at once, without background load; 1 where nothing is lost."""


def neighbour_shares(scenario: Scenario, configuration: Configuration) -> tuple[tuple[NeighbourShare, ...], ...]:
    """Per process of a configuration, and per domain of its PE in the order in which shares multiply, what it keeps.

    Domains in which nobody loses anything are left out. The product over a process's domains is what it keeps in all;
    processes that take turns on a core lose to that besides, which is not in it.

    Raises
    ------
    ScenarioError
        If the application cannot do the configuration.
    """
    columns = assemble(scenario.program(configuration))
    placement = np.array([configuration.placement], dtype=np.int64)
    paging = pages(scenario, columns, placement)
    sharing = sharing_of(scenario, columns, placement, paging, tick_s=NANOSECOND_S)
    if sharing is None:
        return ((),) * len(configuration.placement)
    computing = sharing.demands[0].any(axis=1)
    counts = Counter(pe for pe, computes in zip(configuration.placement, computing.tolist(), strict=True) if computes)
    cores = [pe.cores for pe in scenario.platform.pes]
    whole = [_pressed(sharing, configuration.placement, slot) for slot in range(sharing.slots.shape[1])]
    found = []
    for process, pe in enumerate(configuration.placement):
        mine = []
        for slot, number in enumerate(sharing.slots[pe].tolist()):
            if number < 0 or not sharing.biting[0, number]:
                continue
            domain = sharing.domains[number]
            others = 0
            for place in domain.pes:
                units = whole[_slot(sharing, place, number)].get(place, 0)
                units -= int(sharing.demands[0, process, slot]) if place == pe else 0
                if sharing.kinds[number] != CACHE and counts[place] > cores[place]:
                    own = place == pe
                    units = units * (cores[place] - own) // (counts[place] - own)
                others += units
            mine.append(NeighbourShare(domain.name, domain.kind, _share(sharing, process, slot, others)))
        found.append(tuple(mine))
    return tuple(found)


def _slot(sharing: Sharing, pe: int, domain: int) -> int:
    return int(np.flatnonzero(sharing.slots[pe] == domain)[0])


def _pressed(sharing: Sharing, placement: tuple[int, ...], slot: int) -> dict[int, int]:
    """Units of all processes on each PE."""
    found: dict[int, int] = {}
    for process, pe in enumerate(placement):
        found[pe] = found.get(pe, 0) + int(sharing.demands[0, process, slot])
    return found


def _share(sharing: Sharing, process: int, slot: int, others: int) -> float:
    number = int(sharing.tables[0, process, slot])
    if number < 0:
        return 1.0
    table = sharing.table(number)
    return int(table[min(others, table.size - 1)]) / FULL

"""Processes more or less: on one PE, on all of a kind, of a node or a switch."""

from collections import Counter
from collections.abc import Hashable, Iterator

import numpy as np

from advisor.advise.judge import Judge
from advisor.advise.space import Placement, Space, whole_units
from simulator import Configuration, ties

WIDE = 2
"""Configurations of different placements from which steps are made."""
NEAR = 1.3
"""A configuration this many times as bad as the best is not worth it."""
LITTLE = (0.4, 0.15)
"""Parts of the usual units that a process on a new PE is also tried with, as its messages take time, too."""


def steps(space: Space, judge: Judge) -> Iterator[Configuration]:
    """A step of processes from the best configurations; those that the model finds best, with units by the model."""
    for base in judge.best_placed(min(WIDE, judge.width), near=NEAR):
        placements = [one for one in dict.fromkeys(_steps(space, base.placement)) if _runs(space, one)]
        made = [space.balanced(one) for one in placements]
        order = ties.in_order([seconds * judge.rate(one) for one, seconds in made]).tolist()
        yield from (made[place][0] for place in order[: judge.width])
        if space.unequal:
            yield from in_proportion(space, base, [placements[place] for place in order[: judge.width]])


def _runs(space: Space, placement: Placement) -> bool:
    return 0 < len(placement) <= space.units and space.takes(len(placement))


def _steps(space: Space, placement: Placement) -> Iterator[Placement]:
    """Less and more of each kind, node and switch."""
    busy, order, node_of = Counter(placement), space.order, space.scenario.platform.node_of
    members: list[tuple[int, ...]] = [kind.pes for kind in space.kinds]
    switches: dict[Hashable, list[int]] = {}
    for pe in order.pes:
        switches.setdefault(order.switch_of[pe], []).append(pe)
    members += [tuple(pes) for pes in switches.values() if len(switches) > 1]
    for pes in members:
        used, free = [pe for pe in pes if busy[pe]], [pe for pe in pes if busy[pe] < space.limit(pe)]
        if used:
            nodes = [pe for pe in used if node_of[pe] == node_of[used[-1]]]
            quarter = used[-max(1, len(used) // 4) :]
            for gone in ([used[-1]], [used[0]], nodes, quarter, used):
                yield without(placement, Counter({pe: busy[pe] for pe in gone}))
            yield without(placement, Counter(used[-1:]))
            yield without(placement, Counter(used))
        if free:
            usual = max([busy[pe] for pe in used], default=0)
            quarter = free[: max(1, len(pes) // 4)]
            for more in (Counter(free[:1]), Counter(free)):
                yield with_more(space, placement, more)
            for some in (free[:1], quarter, free):
                yield with_more(space, placement, Counter({pe: space.limit(pe) - busy[pe] for pe in some}))
                yield with_more(space, placement, Counter({pe: max(0, usual - busy[pe]) for pe in some}))
        if used and max(busy[pe] for pe in used) > 1:
            yield without(placement, Counter({pe: busy[pe] - 1 for pe in used}))


def without(placement: Placement, gone: Counter[int]) -> Placement:
    """Without so many of the last processes on each of some PEs."""
    left, kept = Counter(gone), []
    for pe in reversed(placement):
        if left[pe] > 0:
            left[pe] -= 1
        else:
            kept.append(pe)
    return tuple(reversed(kept))


def with_more(space: Space, placement: Placement, more: Counter[int]) -> Placement:
    """With so many more processes on each of some PEs: after those there, else where the order of the PEs has them."""
    added = [pe for pe in sorted(more, key=space.order.rank.__getitem__) for _ in range(more[pe])]
    if not added:
        return placement
    if placement == space.sorted(placement):
        return space.sorted((*placement, *added))
    found = list(placement)
    for pe in added:
        places = [rank for rank, other in enumerate(found) if other == pe]
        node = [rank for rank, other in enumerate(found) if space.order.switch_of[other] == space.order.switch_of[pe]]
        found.insert((places or node or [len(found) - 1])[-1] + 1, pe)
    return tuple(found)


def in_proportion(space: Space, base: Configuration, placements: list[Placement]) -> Iterator[Configuration]:
    """Units as the base has them on the PEs that stay; a new process has what is usual for its kind, or little."""
    units_on: dict[int, list[int]] = {}
    for pe, units in zip(base.placement, base.partition, strict=True):
        units_on.setdefault(pe, []).append(units)
    of_kind: dict[int, list[int]] = {}
    for pe, units in zip(base.placement, base.partition, strict=True):
        of_kind.setdefault(space.kind_of[pe], []).append(units)
    usual = float(np.mean(base.partition))
    for placement in placements:
        wanted, turn = np.zeros(len(placement)), Counter[int]()
        for rank, pe in enumerate(placement):
            mine = units_on.get(pe, [])
            alike = of_kind.get(space.kind_of[pe], []) or mine
            wanted[rank] = mine[turn[pe]] if turn[pe] < len(mine) else np.mean(alike) if alike else usual
            turn[pe] += 1
        new = np.array([pe not in units_on for pe in placement])
        for part in (1.0, *LITTLE) if new.any() else (1.0,):
            parts = whole_units(np.maximum(np.where(new, part * wanted, wanted), 1e-9), space.units)
            yield space.configured(placement, tuple(parts.tolist()))

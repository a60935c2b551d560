"""Orders of ranks: who is next to whom, and which PE has the first process, which may be a master."""

import itertools
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from advisor.advise.judge import Judge
from advisor.advise.space import Placement, Space, whole_units
from simulator import Configuration

WIDE = 2
"""Configurations of different placements that are put into other orders."""
NEAR = 1.3
"""A configuration this many times as bad as the best is not worth it."""
MOST_BLOCKS = 4
"""Switches or kinds up to which all their orders are tried."""
FEW = 5
"""Processes up to which all orders are tried."""


def propose(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configurations in other orders of their ranks, units going with their processes."""
    for base in judge.best_placed(WIDE, near=NEAR):
        if base.grid is None and len(set(base.placement)) > 1:
            seen = {base.placement}
            for order in _orders(space, base):
                placement = tuple(base.placement[rank] for rank in order)
                if placement not in seen:
                    seen.add(placement)
                    yield _reordered(space, base, order)
                if len(seen) > judge.width:
                    break
        if space.led and space.unequal:  # another master has other units, too, or none
            for first in _leaders(space, base.placement):
                yield space.divided((base.placement[first], *_but(base.placement, first)))
            yield from _resting(space, base)


def _resting(space: Space, base: Configuration) -> Iterator[Configuration]:
    """A master without units on each kind of PE, and on each switch; who was it has what others of its kind have."""
    start = int(not base.partition[0])
    workers, units = base.placement[start:], np.array(base.partition[start:], dtype=np.float64)
    kinds = np.array([space.kind_of[pe] for pe in workers])
    alike = units[1:][(kinds[1:] == kinds[0]) & (units[1:] > 0)]
    if not start and alike.size:
        units[0] = alike.mean()
    heads = dict[tuple[int, Hashable], int]()
    for pe in (*workers, *space.order.pes):
        heads.setdefault((space.kind_of[pe], space.order.switch_of[pe]), pe)
    whole = whole_units(units, space.units).tolist()
    for pe in heads.values():
        if space.takes(1 + len(workers)):
            yield space.configured((pe, *workers), (0, *whole))


def _reordered(space: Space, base: Configuration, order: Sequence[int]) -> Configuration:
    placement = tuple(base.placement[rank] for rank in order)
    parts = tuple(base.partition[rank] for rank in order) if space.unequal else base.partition
    return space.configured(placement, parts)


def _orders(space: Space, base: Configuration) -> Iterator[list[int]]:
    """Orders of ranks, the likeliest first."""
    ranks, rank_of, placement = list(range(len(base.placement))), space.order.rank, base.placement
    yield sorted(ranks, key=lambda rank: rank_of[placement[rank]])
    yield from ([first, *(rank for rank in ranks if rank != first)] for first in _leaders(space, placement))
    yield sorted(ranks, key=placement.__getitem__)
    for blocks in _blocks(space, placement):
        count = len(blocks)
        some = itertools.permutations(range(count)) if count <= MOST_BLOCKS else _moved(count)
        yield from ([rank for block in chosen for rank in blocks[block]] for chosen in some)
        turns = max(map(len, blocks))
        yield [block[turn] for turn in range(turns) for block in blocks if turn < len(block)]
    if len(ranks) <= FEW:
        yield from map(list, itertools.permutations(ranks))


def _moved(count: int) -> Iterator[Sequence[int]]:
    """Many blocks: reversed, and each one at each other place."""
    every = list(range(count))
    yield every[::-1]
    for one, place in itertools.product(every, every):
        rest = [other for other in every if other != one]
        yield [*rest[:place], one, *rest[place:]]


def _leaders(space: Space, placement: Placement) -> list[int]:
    """The first rank on each kind of PE, and on each switch."""
    found: dict[tuple[int, Hashable], int] = {}
    for rank, pe in enumerate(placement):
        found.setdefault((space.kind_of[pe], space.order.switch_of[pe]), rank)
    return list(found.values())


def _but(placement: Placement, first: int) -> Placement:
    return (*placement[:first], *placement[first + 1 :])


def _blocks(space: Space, placement: Placement) -> Iterator[list[list[int]]]:
    """Ranks by switch, by kind and by node, in the order in which these come first."""
    node_of = space.scenario.platform.node_of.tolist()
    keys: tuple[Sequence[Hashable], ...] = (
        [space.order.switch_of[pe] for pe in placement],
        [space.kind_of[pe] for pe in placement],
        [node_of[pe] for pe in placement],
    )
    for key_of in keys:
        blocks: dict[Hashable, list[int]] = {}
        for rank in range(len(placement)):
            blocks.setdefault(key_of[rank], []).append(rank)
        if len(blocks) > 1:
            yield list(blocks.values())

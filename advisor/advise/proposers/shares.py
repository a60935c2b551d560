"""Units moved between processes: by the ends that simulation shows, then between any two groups of alike processes."""

import itertools
from collections.abc import Iterator
from itertools import islice

import numpy as np

from advisor.advise.judge import Judge
from advisor.advise.space import MOST_GROUPS, Space, whole_units
from simulator import Configuration, ties

PARTS = (1.0, 0.5, 0.25)
"""Parts of the way to equal ends of computing that a move of all goes."""
EDGED = (0.01, 0.03, 0.06)
"""Parts of their units that processes have less for each neighbour on another node."""
STEPS = (0.04, 0.01, 0.0025)
"""Units that move from one group to another, as shares of all; and a unit for each of its processes."""
MOST_HEADS = 4
"""Groups up to which units are moved between each two of them."""
COMBINED = 8
"""Changes of units of which any two are tried together."""
WIDE = 3
"""Configurations of different placements whose units are moved."""
NEAR = 1.15
"""A configuration this many times as bad as the best is not worth it."""


def levelled(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configurations with units moved towards equal ends of computing, all at once or from last to first."""
    for base in judge.best_placed(min(WIDE, judge.width), near=NEAR) if space.unequal else ():
        yield from _edged(space, base)
        groups = _heads(space, base)
        shares = np.array([sum(base.partition[rank] for rank in group) for group in groups], dtype=np.float64)
        sizes = np.array([len(group) for group in groups], dtype=np.float64)
        computed = judge.ends(base)
        ends = np.array([computed[group].mean() for group in groups])
        if len(groups) < 2 or not np.all(ends > 0):
            continue
        rates = shares / ends
        for part in PARTS:
            wanted = (1 - part) * shares + part * rates * shares.sum() / rates.sum()
            yield _with(space, base, groups, np.maximum(wanted, sizes))
        late, early = ties.first_most(ends), ties.first_least(ends)
        for step in STEPS:
            for source, target in ((late, early), (early, late)):
                yield from _moved(space, base, groups, shares, step, source, target)


def _edged(space: Space, base: Configuration) -> Iterator[Configuration]:
    """Less for all processes that have neighbours on other nodes, at once: one alone would not help."""
    apart = np.array(space.apart(base.placement))
    if len(set(apart.tolist())) > 1:
        for part in EDGED:
            wanted = np.array(base.partition) * (1 - part * apart)
            yield space.configured(base.placement, tuple(whole_units(wanted, space.units).tolist()), grid=base.grid)


def moved(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configuration with a step of units from one group to another: between any two of a few, else all."""
    best = judge.best
    if not space.unequal or best is None:
        return
    groups = _heads(space, best)
    shares = np.array([sum(best.partition[rank] for rank in group) for group in groups], dtype=np.float64)
    places = range(len(groups))
    pairs = list(itertools.permutations(places, 2))
    if len(groups) > MOST_HEADS:  # with the group before, the one after and the one that ends first or last
        ends = np.array([judge.ends(best)[group].mean() for group in groups])
        late, early = ties.first_most(ends), ties.first_least(ends)
        near = [(one, (one + step) % len(groups)) for one in places for step in (1, -1)]
        near += [(late, one) for one in places] + [(one, early) for one in places]
        near += [(early, one) for one in places] + [(one, late) for one in places]
        pairs = list(dict.fromkeys(pair for pair in near if pair[0] != pair[1]))
    for step in STEPS:
        for source, target in pairs:
            yield from _moved(space, best, groups, shares, step, source, target)


def combined(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configuration with two changes of units at once that are nearly as good each: both ends have to move."""
    best = judge.best
    if not space.unequal or best is None:
        return
    base = np.array(best.partition)
    changes = [np.array(one.partition) - base for one in islice(_divided_otherwise(judge, best), COMBINED)]
    sums = [one + other for one, other in itertools.combinations_with_replacement(changes, 2)]
    for change in sums[: 2 * judge.width]:
        parts = np.maximum(base + change, np.minimum(base, 1))
        yield space.configured(
            best.placement, tuple(whole_units(parts.astype(np.float64), space.units).tolist()), grid=best.grid
        )


def _divided_otherwise(judge: Judge, best: Configuration) -> Iterator[Configuration]:
    """The same processes with other units, the best first."""
    for _, seen in judge.ranked():
        one = seen.configuration
        if (one.placement, one.grid) == (best.placement, best.grid) and one.partition != best.partition:
            yield one


def _heads(space: Space, configuration: Configuration) -> list[list[int]]:
    """Groups of processes whose units move together: as fine as can be."""
    alone = [[rank] for rank in range(len(configuration.partition))]
    if len(alone) <= MOST_HEADS:
        return alone
    fine = space.groups(configuration.placement, edges=True)
    return fine if len(fine) <= MOST_GROUPS else space.groups(configuration.placement)


def _moved(
    space: Space,
    base: Configuration,
    groups: list[list[int]],
    shares: np.ndarray,
    step: float,
    source: int,
    target: int,
) -> Iterator[Configuration]:
    """A step of units from one group to another, a unit for each process at the least."""
    least = float(max(1, min(len(groups[source]), len(groups[target]))))
    amount = min(max(step * float(shares.sum()), least), shares[source] - len(groups[source]))
    if source != target and amount > 0:
        changed = shares.copy()
        changed[source] -= amount
        changed[target] += amount
        yield _with(space, base, groups, changed)


def _with(space: Space, base: Configuration, groups: list[list[int]], shares: np.ndarray) -> Configuration:
    """The configuration with other units of its groups, divided within a group as they were."""
    wanted = np.zeros(len(base.partition))
    units = np.array(base.partition, dtype=np.float64)
    for group, share in zip(groups, shares, strict=True):
        within = units[group]
        wanted[group] = share / len(group) if within.max() - within.min() <= 1 else share * within / within.sum()
    parts = whole_units(wanted, space.units)
    return space.configured(base.placement, tuple(parts.tolist()), grid=base.grid)

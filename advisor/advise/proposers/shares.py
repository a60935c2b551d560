"""Units moved between processes: by the ends that simulation shows, then between any two groups of alike processes."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from advisor.advise.judge import Judge, Seen
from advisor.advise.objectives import over_runs
from advisor.advise.space import MOST_GROUPS, Floats, Space, whole_units
from simulator import Configuration, ties

PARTS = (1.0, 0.5, 0.25)
"""Parts of the way to equal times that a move of all goes."""
WORST = {"mean": 1.0, "p95": 0.05, "worst": 0.01}
"""Part of the draws, the worst ones, whose mean an objective is about."""
EDGED = (0.01, 0.03, 0.06)
"""Parts of their units that processes have less for each neighbour on another node."""
STEPS = (0.04, 0.01, 0.0025)
"""Units that move from one group to another, as shares of all: smaller ones where larger ones gain nothing."""
MOST_ALONE = 64
"""Processes up to which units of each one are levelled by its own times."""
ONE_BY_ONE = 6
"""Units that move one by one."""
MOST_HEADS = 4
"""Groups up to which units are moved between each two of them."""
WIDE = 3
"""Configurations of different placements whose units are moved."""
NEAR = 1.15
"""A configuration this many times as bad as the best is not worth it."""


def levelled(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The best configuration with units moved towards equal times of all, all at once or from last to first."""
    best = judge.best
    if space.unequal and best is not None:
        yield from _edged(space, best)
        yield from _at_once(space, judge, best)
        if len(best.partition) <= MOST_ALONE:
            yield from _met(space, best, judge.seen(best))
            yield from _unit_by_unit(space, best, judge.seen(best))


def others_levelled(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The same of the best ones of other placements."""
    for base in judge.best_placed(min(WIDE, judge.width), near=NEAR)[1:] if space.unequal else ():
        yield from _at_once(space, judge, base)


def _at_once(space: Space, judge: Judge, base: Configuration) -> Iterator[Configuration]:
    groups = _heads(space, base)
    yield from _evened(space, base)
    if len(groups) > 1:
        yield from _levelled(space, base, groups, judge.seen(base))
        ends = np.array([judge.ends(base)[group].mean() for group in groups])
        late, early = ties.first_most(ends), ties.first_least(ends)
        yield from _between(space, base, groups, [(late, early), (early, late)])


def _levelled(space: Space, base: Configuration, groups: list[list[int]], seen: Seen) -> Iterator[Configuration]:
    shares = np.array([sum(base.partition[rank] for rank in group) for group in groups], dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    for table in (seen.ends, seen.busy):
        rows = np.array([table[:, group].mean(axis=1) for group in groups]).T
        if not np.all(rows[:, shares > 0] > 0):
            continue
        level = balance(shares, rows, seen.weights, part=WORST[over_runs(space.objective)])
        for part in PARTS:
            yield _with(space, base, groups, np.maximum((1 - part) * shares + part * level, sizes * (shares > 0)))


def _met(space: Space, base: Configuration, seen: Seen) -> Iterator[Configuration]:
    """Units with which processes end at once, if each unit of a process takes what one of its own takes now."""
    ends, busy = (np.average(table, axis=0, weights=seen.weights) for table in (seen.ends, seen.busy))
    parts = np.array(base.partition, dtype=np.float64)
    held = (parts > 0) & (busy > 0)
    rates = parts[held] / busy[held]
    for part in PARTS[:2]:
        moved = parts.copy()
        moved[held] += part * rates * (np.sum(rates * ends[held]) / rates.sum() - ends[held])
        yield space.configured(
            base.placement, tuple(whole_units(np.maximum(moved, held), space.units).tolist()), grid=base.grid
        )


def _unit_by_unit(space: Space, base: Configuration, seen: Seen) -> Iterator[Configuration]:
    """A unit of the process that would end last, or compute longest, to the one that would first with it; and again."""
    ends, busy = (np.average(table, axis=0, weights=seen.weights) for table in (seen.ends, seen.busy))
    for table in (ends, busy):
        parts, until = np.array(base.partition), table.copy()
        each = busy / np.maximum(parts, 1)
        for _ in range(ONE_BY_ONE):
            late = ties.first_most(np.where(parts > 1, until, -np.inf))
            if parts[late] <= 1:  # nobody has one to give
                break
            early = ties.first_least(np.where((np.arange(parts.size) == late) | (parts == 0), np.inf, until + each))
            for rank, more in ((late, -1), (early, 1)):
                parts[rank] += more
                until[rank] += more * each[rank]
            yield space.configured(base.placement, tuple(parts.tolist()), grid=base.grid)


def balance(shares: Floats, rows: Floats, weights: Floats, *, part: float) -> Floats:
    """Shares with which the last time of all is least, if each group takes in proportion to what it has.

    `rows`: what each group takes now; (draw, group).
    `weights`: of the draws.
    `part`: the mean is that of this part of the draws, the worst ones.
    """
    level, held = np.zeros(shares.size), shares > 0
    takes = rows[:, held] / shares[held]
    if len(takes) == 1:
        level[held] = shares.sum() / takes[0] / np.sum(1 / takes[0])
        return level
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    draws, groups = takes.shape  # variables: shares, a time, by how much each draw's is above it
    row, scale = np.arange(draws * groups), float(np.average(rows.max(axis=1), weights=weights)) / shares.sum()
    place = np.concatenate((np.tile(np.arange(groups), draws), np.full(row.size, groups), groups + 1 + row // groups))
    values = np.concatenate((takes.ravel() / scale, np.full(2 * row.size, -1.0)))
    found = linprog(
        np.concatenate((np.zeros(groups), [1.0], weights / weights.sum() / part)),
        A_ub=coo_array((values, (np.tile(row, 3), place))),
        b_ub=np.zeros(row.size),
        A_eq=np.concatenate((np.ones(groups), np.zeros(1 + draws)))[np.newaxis],
        b_eq=[shares.sum()],
    )
    level[held] = shares[held] if found.x is None else found.x[:groups]
    return level


def _evened(space: Space, base: Configuration) -> Iterator[Configuration]:
    """Equal units for all processes that are alike, those at the edge of a node among them or apart."""
    for edges in (False, True):
        units = np.array(base.partition, dtype=np.float64)
        for group in space.groups(base.placement, edges=edges):
            units[group] = units[group].mean()
        yield space.configured(base.placement, tuple(whole_units(units, space.units).tolist()), grid=base.grid)


def _edged(space: Space, base: Configuration) -> Iterator[Configuration]:
    """Less for all processes that have neighbours on other nodes, at once: one alone would not help."""
    apart = np.array(space.apart(base.placement))
    if len(set(apart.tolist())) > 1:
        for part in EDGED:
            wanted = np.array(base.partition) * (1 - part * apart)
            yield space.configured(base.placement, tuple(whole_units(wanted, space.units).tolist()), grid=base.grid)


def moved(space: Space, judge: Judge, *, step: float) -> Iterator[Configuration]:
    """The best configuration with a share of all units moved between any two of a few groups, else near ones."""
    best = judge.best
    if not space.unequal or best is None:
        return
    fine, coarse = _heads(space, best), space.groups(best.placement)
    for groups in (fine, coarse) if 1 < len(coarse) < len(fine) else (fine,):
        places = range(len(groups))
        pairs = list(itertools.permutations(places, 2))
        if len(groups) > MOST_HEADS:  # with the group before, the one after and the one that ends first or last
            ends = np.array([judge.ends(best)[group].mean() for group in groups])
            late, early = ties.first_most(ends), ties.first_least(ends)
            near = [(one, (one + way) % len(groups)) for one in places for way in (1, -1)]
            near += [(late, one) for one in places] + [(one, early) for one in places]
            near += [(early, one) for one in places] + [(one, late) for one in places]
            pairs = list(dict.fromkeys(pair for pair in near if pair[0] != pair[1]))
        yield from _between(space, best, groups, pairs, [step])
        yield from _spread(space, best, groups, step)


def _spread(space: Space, base: Configuration, groups: list[list[int]], step: float) -> Iterator[Configuration]:
    """Units of one group to all others, or from them: where all have to give, no pair gains (9 % in a stencil)."""
    sizes = np.array([len(group) for group in groups])
    shares = np.array([sum(base.partition[rank] for rank in group) for group in groups], dtype=np.float64)
    total = shares.sum()
    for one, sign in itertools.product(range(len(groups)), (1, -1)):
        if shares[one] < total:
            changed = shares * (1 - sign * step * total / (total - shares[one]))
            changed[one] = shares[one] + sign * step * total
            yield _with(space, base, groups, np.maximum(changed, sizes * (shares > 0)))


def _between(
    space: Space,
    base: Configuration,
    groups: list[list[int]],
    pairs: Sequence[tuple[int, int]],
    steps: Sequence[float] = STEPS,
) -> Iterator[Configuration]:
    """Units moved from one group to another; see `moved`."""
    shares = np.array([sum(base.partition[rank] for rank in group) for group in groups], dtype=np.float64)
    for step, (source, target) in itertools.product(steps, pairs):
        least = max(1, min(len(groups[source]), len(groups[target])))
        amount = min(max(step * float(shares.sum()), least), shares[source] - len(groups[source]))
        if source != target and amount > 0:
            changed = shares.copy()
            changed[source] -= amount
            changed[target] += amount
            yield _with(space, base, groups, changed)


def _heads(space: Space, configuration: Configuration) -> list[list[int]]:
    """Groups of processes whose units move together: as fine as can be."""
    alone = [[rank] for rank in range(len(configuration.partition))]
    if len(alone) <= MOST_GROUPS:
        return alone
    fine = space.groups(configuration.placement, edges=True)
    return fine if len(fine) <= MOST_GROUPS else space.groups(configuration.placement)


def _with(space: Space, base: Configuration, groups: list[list[int]], shares: np.ndarray) -> Configuration:
    """The configuration with other units of its groups, divided within a group as they were."""
    wanted = np.zeros(len(base.partition))
    units = np.array(base.partition, dtype=np.float64)
    for group, share in zip(groups, shares, strict=True):
        within = units[group]
        wanted[group] = share / len(group) if within.max() - within.min() <= 1 else share * within / within.sum()
    parts = whole_units(wanted, space.units)
    return space.configured(base.placement, tuple(parts.tolist()), grid=base.grid)

"""The exact integer min-max partition where times may fall while units grow, with a bound that certifies it.

Khaleghzadeh, Manumachu and Lastovetsky, "A Novel Data-Partitioning Algorithm for Performance Optimization of
Data-Parallel Applications on Heterogeneous HPC Platforms", IEEE Transactions on Parallel and Distributed Systems 29
(2018), pose the problem and branch and bound it. Here a limit T is tested by sums of sets: PE i may take any of
`A_i(T) = {k : t_i(k) <= T}`, and all units must be such a sum. What is missing to the greatest elements is small near
the optimum, so sets of few bits decide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.partition.min_max import check_units, narrowed, shared
from advisor.advise.partition.result import FEW_ENTRIES, Partition, Table, of_shares, padding_bound, tabulated
from advisor.advise.partition.speed_kinds import Ints, SpeedKinds
from simulator import ties

# Whether a sum can be made of one number from each of many sets, by bits of long integers, and how.


@dataclass(frozen=True)
class Choices:
    """Numbers that each of some identical members may choose; 0 is one of them."""

    numbers: Ints
    """Ascending, from 0."""
    members: int


def ways_to(total: int, choices: Sequence[Choices]) -> list[list[int]] | None:
    """What members may choose so that all choices add up to a total; None if nothing does.

    Returns
    -------
    Per entry of `choices`, the numbers other than 0 that its first members choose.
    """
    mask = (1 << (total + 1)) - 1
    reached, goal = 1, 1 << total
    steps: list[tuple[int, int]] = []  # whose turn, and what was reached before
    for index, choice in enumerate(choices):
        if reached & goal:
            break
        runs = list(_runs(choice.numbers[choice.numbers <= total]))
        for _ in range(choice.members):
            further = 0
            for begin, length in runs:
                further |= multiples(reached, 1, length - 1) << begin
            further &= mask
            if further == reached:  # more of the same adds nothing
                break
            steps.append((index, reached))
            reached = further
            if reached & goal:
                break
    return _traced(total, choices, steps) if reached & goal else None


def multiples(bits: int, step: int, most: int) -> int:
    """The bits of a set of sums shifted by 0, 1 ... `most` steps, all together; shifts double."""
    done = 0
    while done < most:
        further = min(done + 1, most - done)
        bits |= bits << (step * further)
        done += further
    return bits


def _traced(total: int, choices: Sequence[Choices], steps: list[tuple[int, int]]) -> list[list[int]]:
    chosen: list[list[int]] = [[] for _ in choices]
    for index, before in reversed(steps):
        number = next(n for n in choices[index].numbers.tolist() if n <= total and before >> (total - n) & 1)
        if number:
            chosen[index].append(number)
        total -= number
    return chosen


def _runs(numbers: Ints) -> Iterator[tuple[int, int]]:
    """Begin and length of each run of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    begins = np.concatenate(([0], breaks + 1))
    ends = np.concatenate((breaks, [numbers.size - 1]))
    return zip(numbers[begins].tolist(), (ends - begins + 1).tolist(), strict=True)


ENTRIES_PER_KNOT = 4
"""Where there are hardly more times than knots, ruling some out costs more than looking at all."""
MOST_ENTRIES = 20_000_000
"""Times that are looked at one by one, over all kinds; beyond, only a bound is given."""


def discontinuous(units: int, pes: SpeedKinds) -> Partition:
    """The partition with the least possible makespan, whatever shape the times have.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.
    """
    check_units(units, pes)
    reach = np.minimum(pes.limits, units)
    if int(reach.sum()) > max(FEW_ENTRIES, ENTRIES_PER_KNOT * pes.sizes.size):
        feasible = _bounded(units, pes)
        if feasible.optimal:
            return feasible
        reach = _reach(units, pes, feasible.makespan_s)
        if int((reach + 1).sum()) > MOST_ENTRIES:
            warning = (
                f"more than {MOST_ENTRIES} sizes to look at one by one: a good partition and a bound are given; "
                "larger units would allow the exact one"
            )
            return replace(feasible, warnings=(warning,))
    table = tabulated(pes, reach)
    limit_s, chosen = _least_feasible(units, pes, table, padding_bound(units, pes, table))
    values, repeats = _runs_of(pes, *chosen)
    return Partition("functional", pes, values, repeats, limit_s, limit_s)


def _bounded(units: int, pes: SpeedKinds) -> Partition:
    """The better of two partitions, never beyond a first fall of times or beyond all of them, with a bound."""
    rising, lasting = narrowed(units, pes, envelope="first"), narrowed(units, pes, envelope="last")
    found = [
        of_shares("functional", pes, shared(pes, bracket.low, bracket.high, units), lasting.low_s)
        for bracket in (rising, lasting)
    ]
    return found[ties.first_least([partition.makespan_s for partition in found])]


def _reach(units: int, pes: SpeedKinds, limit_s: float) -> Ints:
    """No fewer units than any PE of each kind can take within a limit, (K,)."""
    x = pes.inverse(limit_s * (1 + 1e-9))[0]  # rounding must not hide a time that meets the limit
    most = np.minimum(x * (1 + 1e-9) + 1, np.minimum(pes.limits, units))
    return np.floor(most).astype(np.int64)


def _least_feasible(
    units: int, pes: SpeedKinds, table: Table, low_s: float
) -> tuple[float, tuple[Ints, list[list[int]]]]:
    """The least of all times that can be met, from a bound upwards: steps that double, then halves."""
    first = _chosen(units, pes, table, low_s)
    if first is not None:
        return low_s, first
    between_s = np.unique(table.times_s[table.times_s > low_s])
    below, step, at = -1, 1, 0
    while (found := _chosen(units, pes, table, float(between_s[at]))) is None:
        below, at, step = at, min(at + step, between_s.size - 1), 2 * step
    while at - below > 1:
        middle = (at + below) // 2
        tried = _chosen(units, pes, table, float(between_s[middle]))
        if tried is None:
            below = middle
        else:
            at, found = middle, tried
    return float(between_s[at]), found


def _chosen(units: int, pes: SpeedKinds, table: Table, limit_s: float) -> tuple[Ints, list[list[int]]] | None:
    """Whether all units are a sum of what PEs may take: the most of each kind, and what its first PEs take less."""
    allowed: NDArray[np.bool_] = table.times_s <= limit_s
    entries = np.flatnonzero(allowed)
    starts = np.searchsorted(entries, table.starts)  # each kind may always take nothing
    most = table.units[entries[starts[1:] - 1]]
    missing = int(pes.counts @ most) - units
    if missing < 0:
        return None
    if missing == 0:
        return most, [[] for _ in most]
    taken = table.units[entries]
    choices = [
        Choices(most[kind] - taken[starts[kind] : starts[kind + 1]][::-1], int(pes.counts[kind]))
        for kind in range(most.size)
    ]
    less = ways_to(missing, choices)
    return None if less is None else (most, less)


def _runs_of(pes: SpeedKinds, most: Ints, less: list[list[int]]) -> tuple[Ints, Ints]:
    """Units and lengths of runs of PEs."""
    values, repeats = [], []
    for top, fewer, count in zip(most.tolist(), less, pes.counts.tolist(), strict=True):
        values += [top - number for number in fewer] + [top]
        repeats += [1] * len(fewer) + [count - len(fewer)]
    return np.array(values, np.int64), np.array(repeats, np.int64)

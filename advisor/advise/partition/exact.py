"""The exact integer min-max partition: the least time limit within which all units fit, and who then takes them.

A limit T lets a PE of kind i take some units. Where times grow with the units, it takes any up to `c_i(T)`, and T can
be met if and only if `C(T) = sum count_i c_i(T)` reaches all units: float64 numbers are halved until two neighbours
are left. Where times may fall, it takes any of `A_i(T) = {k : t_i(k) <= T}`, and all units must be a sum of such
numbers. What is missing to the greatest ones is small near the optimum, so sets of few bits decide. Khaleghzadeh,
Manumachu and Lastovetsky, "A Novel Data-Partitioning Algorithm for Performance Optimization of Data-Parallel
Applications on Heterogeneous HPC Platforms", IEEE Transactions on Parallel and Distributed Systems 29 (2018), pose
that problem and branch and bound it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from advisor.advise.partition.result import ROUNDING, Partition
from advisor.advise.partition.speed_kinds import MOST_UNITS, Floats, Ints, SpeedKinds
from simulator import ScenarioError

MOST_ENTRIES = 20_000_000
"""Times that are looked at one by one, over all kinds; beyond, only a bound is given."""
SLACK = 1e-9
"""Rounding must not hide a time that meets a limit."""


def check_units(units: int, pes: SpeedKinds) -> None:
    """Refuse what no partition could be made of.

    Raises ScenarioError if there is no unit, or all memory together holds fewer than all of them.
    """
    if units < 1:
        raise ScenarioError(f"units is {units}; give at least 1")
    if units > MOST_UNITS:
        raise ScenarioError(f"units is {units}, more than {MOST_UNITS}; make one unit larger")
    room = int(pes.total(np.minimum(pes.limits, units)))
    if room < units:
        raise ScenarioError(
            f"units is {units}, {units - room} more than fit the memory of all PEs (max_size, {room} in all); add PEs, "
            "raise max_size, or divide less"
        )


def exact(method: str, units: int, pes: SpeedKinds) -> Partition:
    """The partition with the least possible makespan, whatever shape the times have.

    Beyond `MOST_ENTRIES` times that may fall, the better of two partitions, with a bound.
    """
    if pes.grows(units):
        limit_s, shares = least_limit(units, pes)
        return Partition(method, pes, shares, limit_s)
    reach = np.minimum(pes.limits, units)
    low_s, lasting = _limit(units, pes, lambda limit_s: _floor(pes.inverse(limit_s), reach))
    _, rising = _limit(units, pes, lambda limit_s: _floor(pes.inverse(limit_s, first=True), reach))
    low_s *= 1 - ROUNDING / 2
    found = min((Partition(method, pes, shares, low_s) for shares in (rising, lasting)), key=lambda one: one.makespan_s)
    most = _floor(pes.inverse(found.makespan_s * (1 + SLACK)) * (1 + SLACK) + 1, reach)
    if int((most + 1).sum()) <= MOST_ENTRIES:
        return _searched(found, most)
    if found.optimal:
        return found
    warning = (
        f"more than {MOST_ENTRIES} sizes to look at one by one: a good partition and a bound are given; "
        "larger units would allow the exact one"
    )
    return Partition(method, pes, found.units, low_s, (warning,))


# Times that grow


def least_limit(units: int, pes: SpeedKinds) -> tuple[float, Ints]:
    """The least makespan and units of each PE that have it, for times that grow with the units; (p,)."""
    limits, kinds = np.minimum(pes.limits, units), np.arange(pes.counts.size)

    def within(limit_s: float) -> Ints:
        """The most units of one PE of each kind, true to its times as float64 has them, (K,)."""
        most = _floor(pes.inverse(limit_s), limits)
        while True:  # the real inverse is off by rounding
            late = (most > 0) & (pes.time_s(kinds, most) > limit_s)
            early = ~late & (most < limits) & (pes.time_s(kinds, np.minimum(most + 1, limits)) <= limit_s)
            if not np.any(late | early):
                return most
            most = most - late + early

    return _limit(units, pes, within)


def _floor(x: Floats, limits: Ints) -> Ints:
    return np.floor(np.minimum(x, limits)).astype(np.int64)


def _limit(units: int, pes: SpeedKinds, within: Callable[[float], Ints]) -> tuple[float, Ints]:
    """The least float64 limit within which all units fit, and units of each PE within it, (p,)."""
    low, high = 0, int(np.float64(np.inf).view(np.int64))
    base, top = np.zeros_like(pes.limits), np.minimum(pes.limits, units)
    while high - low > 1:  # floats above zero are in the order of their bits
        middle = (low + high) // 2
        taken = np.clip(within(float(np.int64(middle).view(np.float64))), base, top)
        if pes.total(taken) >= units:
            high, top = middle, taken
        else:
            low, base = middle, taken
    left, jump = units - int(pes.total(base)), top - base  # what is left goes to the first kinds that can take it
    room = np.minimum(pes.counts.astype(np.float64) * jump, left).astype(np.int64)
    extra = np.clip(left - (np.cumsum(room) - room), 0, room)
    full = extra // np.maximum(jump, 1)
    odd = (full < pes.counts).astype(np.int64)
    values = np.stack((top, base + (extra - full * jump), base), axis=1)
    repeats = np.stack((full, odd, pes.counts - full - odd), axis=1)
    return float(np.int64(high).view(np.float64)), np.repeat(values.ravel(), repeats.ravel())


# Times that may fall


def _searched(found: Partition, reach: Ints) -> Partition:
    """The best of all, from a partition and the most units of each kind within its makespan; (K,)."""
    pes, units = found.pes, int(found.units.sum())
    times_s = [pes.table_s(kind, most) for kind, most in enumerate(reach.tolist())]
    every_s = np.unique(np.concatenate(times_s))
    every_s = every_s[every_s >= found.lower_bound_s]

    def taken(limit_s: float) -> Ints | None:
        return _taken(units, pes, [np.flatnonzero(one <= limit_s) for one in times_s])

    step = 1
    while taken(every_s[min(step, every_s.size) - 1]) is None:
        step *= 2
    until = min(step, every_s.size) - 1
    least_s = every_s[bisect_left(every_s, 1, step // 2, until, key=lambda limit_s: taken(limit_s) is not None)]
    return Partition(found.method, pes, np.asarray(taken(least_s)), float(least_s))


def _taken(units: int, pes: SpeedKinds, allowed: Sequence[Ints]) -> Ints | None:
    """Units of each PE, of what each kind may take, that are all units together; None if there are none such."""
    most = [int(one[-1]) for one in allowed]
    missing = int(pes.counts @ most) - units
    if missing < 0:
        return None
    less = ways_to(
        missing, [(top - one[::-1], count) for top, one, count in zip(most, allowed, pes.counts.tolist(), strict=True)]
    )
    if less is None:
        return None
    every = np.repeat(most, pes.counts)
    for first, fewer in zip((np.cumsum(pes.counts) - pes.counts).tolist(), less, strict=True):
        every[first : first + len(fewer)] -= np.array(fewer, np.int64)
    return every


def ways_to(total: int, choices: Sequence[tuple[Ints, int]]) -> list[list[int]] | None:
    """What members may choose so that all choices add up to a total; None if nothing does. By bits of long integers.

    `choices`: numbers that each of so many identical members may choose, ascending from 0.

    Returns
    -------
    Per entry of `choices`, the numbers other than 0 that its first members choose.
    """
    mask = (1 << (total + 1)) - 1
    reached, goal = 1, 1 << total
    steps: list[tuple[int, int]] = []  # whose turn, and what was reached before
    for index, (numbers, members) in enumerate(choices):
        runs = list(_runs(numbers[numbers <= total]))
        for _ in range(members):
            if reached & goal:
                break
            further = 0
            for begin, length in runs:
                further |= _widened(reached, length) << begin
            further &= mask
            if further == reached:  # more of the same adds nothing
                break
            steps.append((index, reached))
            reached = further
    return _traced(total, choices, steps) if reached & goal else None


def _widened(bits: int, length: int) -> int:
    """The bits of a set of sums shifted by 0, 1 ... `length` - 1, all together; shifts double."""
    done = 1
    while done < length:
        further = min(done, length - done)
        bits |= bits << further
        done += further
    return bits


def _traced(total: int, choices: Sequence[tuple[Ints, int]], steps: list[tuple[int, int]]) -> list[list[int]]:
    chosen: list[list[int]] = [[] for _ in choices]
    for index, before in reversed(steps):
        number = next(n for n in choices[index][0].tolist() if n <= total and before >> (total - n) & 1)
        if number:
            chosen[index].append(number)
        total -= number
    return chosen


def _runs(numbers: Ints) -> Iterator[tuple[int, int]]:
    """Begin and length of each run of numbers that follow each other."""
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        yield int(run[0]), run.size

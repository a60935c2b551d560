"""The exact integer min-max partition for times that grow with the units and come from any function."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator import ties

Units = NDArray[np.int64]
Times = Callable[[Units], NDArray[np.float64]]
"""Seconds that each process needs for its units, (p,) to (p,); not decreasing in the units, 0 for none."""


def by_times(units: int, processes: int, times_s: Times) -> tuple[int, ...]:
    """The partition with the least possible latest finish.

    For a limit T, process i can take `c_i(T) = max{k : t_i(k) <= T}` units, so T can be met if and only if the `c_i(T)`
    add up to all units. Bisection ends at the least float T that can be met; what is too much is taken from those that
    finish last. Times grow with the units where a line through the origin meets each speed function at most once; where
    they do not, all units are given, and another partition may be better.

    Parameters
    ----------
    units, processes
        How much there is, and for how many.
    times_s
        Seconds per process; see `Times`.
    """
    nobody, everything = np.zeros(processes, dtype=np.int64), np.full(processes, units, dtype=np.int64)
    low, high = 0.0, float(np.max(times_s(everything)))
    fewest, most = nobody, everything  # that the two limits allow: what a limit between them allows lies between
    while low < (middle := (low + high) / 2) < high:
        if np.all(most - fewest <= 1):
            high = _last_limit(times_s, fewest, most, units)
            break
        within = _most(times_s, fewest, most, middle)
        if int(within.sum()) >= units:
            high, most = middle, within
        else:
            low, fewest = middle, within
    partition = _most(times_s, nobody, everything, high)
    # Who would end at the same time but for rounding may take a unit more alike: else rounding would choose.
    alike = _most(times_s, nobody, everything, high * (1 + ties.SAME))
    if np.all(alike - partition <= 1):
        partition = alike
    while (surplus := int(partition.sum()) - units) > 0:
        finish = np.where(partition > 0, times_s(partition), -np.inf)
        last = ties.first_most(finish)
        partition[last] -= min(surplus, int(partition[last]), max(1, surplus // processes))
    while (lacking := units - int(partition.sum())) > 0:  # where times fall with the units, bisection misses some
        more = max(1, lacking // processes)
        partition[ties.first_least(times_s(partition + more))] += more
    return tuple(int(count) for count in partition)


def _last_limit(times_s: Times, fewest: Units, most: Units, units: int) -> float:
    """The least limit that can be met where each process takes its fewest units, which are too few, or one more."""
    open_to_one = most > fewest
    limits = np.sort(times_s(most)[open_to_one])
    return float(limits[units - int(fewest.sum()) - 1])


def _most(times_s: Times, fewest: Units, most: Units, limit_s: float) -> Units:
    """The most units that each process finishes within the limit, by bisection over all processes at once.

    Parameters
    ----------
    fewest, most
        Between which they lie, both of them among what may be answered.
    """
    low, high = fewest.copy(), most.copy()
    high[times_s(most) <= limit_s] += 1  # low can be done, high cannot
    while np.any(high - low > 1):
        middle = (low + high) // 2
        fits = times_s(np.minimum(middle, most)) <= limit_s
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        low = np.minimum(low, most)
    return low

"""When two numbers that decide something count as equal, so that no choice hangs on a processor's last bits.

Sums, logarithms and linear algebra differ in their last bits from one processor, library and number of threads to the
next. What is chosen by comparing numbers (a form, an allocation, the next point, an order of rows) must not: numbers
that differ by less than `SAME` of themselves, or by less than a floor that the comparison states, are equal. Of equals
the first one wins, so lists of what is chosen from begin with the simplest.
"""

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Flags, Ints

SAME = 1e-9
"""Share of themselves by which numbers may differ and be equal: far above rounding, far below what is measured."""


def is_less(one: float, other: float, *, floor: float = 0.0) -> bool:
    """Whether one number is less than the other by more than rounding, and by more than a floor."""
    if one == other or not (np.isfinite(one) and np.isfinite(other)):
        return bool(one < other)
    return bool(other - one > max(floor, SAME * max(abs(one), abs(other))))


def near_least(values: ArrayLike, *, floor: float = 0.0, axis: int | None = None) -> Flags:
    """Which numbers are equal to the least of them (along an axis); what is not a number never is; as `values`."""
    known = np.asarray(values, dtype=np.float64)
    known = np.where(np.isnan(known), np.inf, known)
    least = np.min(known, axis=axis, keepdims=True)
    some = np.where(np.isfinite(least), least, 0.0)
    margin = np.maximum(SAME * np.abs(some), floor)
    return np.asarray(np.where(np.isfinite(least), known - some <= margin, known == least))


def first_least(values: ArrayLike, *, floor: float = 0.0) -> int:
    """Place of the first number that is equal to the least of them.

    `values`: at least one; (n,).
    """
    return int(np.argmax(near_least(values, floor=floor)))


def first_most(values: ArrayLike, *, floor: float = 0.0) -> int:
    """Place of the first number that is equal to the greatest of them; see `first_least`."""
    return first_least(-np.asarray(values, dtype=np.float64), floor=floor)


def levels(values: ArrayLike, *, floor: float = 0.0) -> Ints:
    """Rank of each number from 0 on, the same for equals, as a key to sort by; what is not a number ranks last; (n,).

    Numbers are equal to their neighbours in order, so a row of small steps is one rank.
    """
    known = np.asarray(values, dtype=np.float64)
    order = np.argsort(known, kind="stable")
    ascending = known[order]
    finite = np.isfinite(ascending)
    some = np.where(finite, ascending, 0.0)
    margin = np.maximum(SAME * np.maximum(np.abs(some[1:]), np.abs(some[:-1])), floor)
    both = finite[1:] & finite[:-1]
    apart = np.where(both, some[1:] - some[:-1] > margin, ascending[1:] > ascending[:-1])
    apart |= np.isnan(ascending[1:]) & ~np.isnan(ascending[:-1])
    found = np.zeros(known.size, dtype=np.int64)
    found[order[1:]] = np.cumsum(apart)
    return found


def in_order(*keys: ArrayLike, floor: float = 0.0) -> Ints:
    """Places of what has these numbers, the least first key first, of equals the least second one, and so on; (n,).

    What is equal in all of them stays in the order in which it came.

    `keys`: at least one, each (n,).
    """
    return np.lexsort([levels(values, floor=floor) for values in reversed(keys)]).astype(np.int64)

"""Switch points: problem sizes from which on another configuration is best, by bisection."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

Choice = TypeVar("Choice")
GRID = 33
"""Sizes that are looked at before bisection, each as many times the one before."""
MOST = 40
"""Switch points that are told of; more are noise of the model."""


class Switch(NamedTuple):
    """Where the best changes."""

    size: float
    """Least size looked at from which the one above is best."""
    last_below: float
    """Largest size looked at where the one below was."""
    below: int
    """What is best below, as `best_at` names it."""
    above: int


def switch_points(
    best_at: Callable[[float], int], low: float, high: float, *, step: float = 1.0, grid: int = GRID
) -> list[Switch]:
    """All switch points that the grid tells apart, each to within a step, in ascending order.

    Parameters
    ----------
    best_at
        Names the best configuration at a size, by a number.
    step
        Sizes are looked at in multiples of it.
    """
    known: dict[int, int] = {}

    def best(place: int) -> int:
        if place not in known:
            known[place] = best_at(place * step)
        return known[place]

    first, last = round(low / step), round(high / step)
    if last <= first:
        return []
    places = np.unique(np.rint(np.geomspace(max(first, 1), last, grid)).astype(np.int64)).tolist()
    open_ = [(a, b) for a, b in pairwise(places) if best(a) != best(b)]
    found = []
    while open_:
        a, b = open_.pop()
        if b - a == 1:
            found.append(Switch(b * step, a * step, best(a), best(b)))
            continue
        middle = (a + b) // 2
        open_ += [(x, y) for x, y in ((a, middle), (middle, b)) if best(x) != best(y)]
    return sorted(found)[:MOST]

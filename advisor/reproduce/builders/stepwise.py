"""Builders one point at a time: run again on the points so far, each stops at the size that it asks for next.

A builder is a plain function that asks its source for sizes. Given the same points it asks for the same sizes, so
running it from the start on what was measured so far tells the next size, and nothing has to be kept but the points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bands import BuiltBand, CutRule, PointMeasured, build

Floats = NDArray[np.float64]


class _AskedForError(Exception):
    """The builder asked for a size that is not measured yet."""

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class PointsSoFar:
    """A source that hands out the points measured so far, and none else."""

    smallest: float
    largest: float
    largest_is_memory_limit: bool
    largest_reason: str
    points: Mapping[int, PointMeasured]
    """By parameter n."""
    n_of: Callable[[float], int]
    """The parameter whose problem size is nearest to a size."""
    cost_of: Callable[[Floats], Floats]
    """Foretold experimental seconds of points whose single runs take so long."""
    level_ends: Sequence[tuple[str, float]] = ()
    """As the source tells them."""
    otherwise: Callable[[int], PointMeasured] | None = None
    """What to hand out in the place of points that are not there, to foretell what a builder will ask for."""

    def measure(self, size: float) -> PointMeasured:
        """The point nearest to a size."""
        n = self.n_of(size)
        if n in self.points:
            return self.points[n]
        if self.otherwise is None:
            raise _AskedForError(size)
        return self.otherwise(n)

    def cost_s(self, times_s: Floats) -> Floats:
        """Foretold experimental seconds of points whose single runs take so long."""
        return self.cost_of(times_s)


def next_step(
    method: str, so_far: PointsSoFar, *, rule: CutRule | None = None, budget_s: float | None = None
) -> float | BuiltBand:
    """The size in elements that a builder asks for next, or the band where it asks for none; options as in `build`."""
    try:
        return build(so_far, method=method, rule=rule, budget_s=budget_s)
    except _AskedForError as asked:
        return asked.size

"""Levels at which PEs run while all of them are at work: which there are at a size, and how long a PE keeps one.

Virtual cores that share a physical core, and cores whose clock changes, stay slow or quick for seconds to minutes. The
time of the slowest of many is then that of the slow levels, whatever the middle of all times is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import randomness
from simulator.base.arrays import Floats, Matrix, Vector
from simulator.base.documents import Record
from simulator.base.errors import ScenarioError

if TYPE_CHECKING:
    from simulator.models.load import LoadTrace

MOST = 32
"""Levels at a size: so that the slowest of some hundred PEs is at one that was seen."""
TURNS = 8
"""How often a trace comes to each level."""


@dataclass(frozen=True)
class Levels(Record):
    """Levels that are equally likely; each PE is at one, and keeps it for a while."""

    sizes: Vector
    """Ascending problem sizes, elements; straight lines over their logarithms, constant beyond."""
    factors: Matrix
    """Time over that at the middle speed, ascending; (size, level). Level k of n is the quantile (k + 1/2) / n."""
    lasts_s: float | None = None
    """Seconds until a PE has another level, in the mean; None: longer than anything that was measured."""

    def __post_init__(self) -> None:
        if self.factors.ndim != 2 or self.factors.shape[0] != self.sizes.size or not self.factors.size:
            raise ScenarioError("levels: give as many factors at each size, at least one size and one factor")
        if not np.all(np.isfinite(self.sizes)) or self.sizes[0] <= 0 or np.any(np.diff(self.sizes) <= 0):
            raise ScenarioError("levels: sizes have to be finite, above 0 and ascending")
        if not np.all(np.isfinite(self.factors)) or np.any(self.factors <= 0) or np.any(np.diff(self.factors) < 0):
            raise ScenarioError("levels: factors have to be finite, above 0 and not decrease")
        if self.lasts_s is not None and not 0 < self.lasts_s < np.inf:
            raise ScenarioError(f"levels: lasts_s is {self.lasts_s:g}; give a number of seconds above 0")

    @classmethod
    def mixed(cls, several: Sequence["Levels"], scales: Sequence[float] | None = None) -> Self:
        """What PEs of several kinds have in the mean, level by level."""
        by = [1.0] * len(several) if scales is None else scales
        sizes = np.unique(np.concatenate([one.sizes * scale for one, scale in zip(several, by, strict=True)]))
        places = middles(max(one.factors.shape[1] for one in several))
        logs = [np.log(one.at(sizes[:, np.newaxis] / scale, places)) for one, scale in zip(several, by, strict=True)]
        known = [one.lasts_s for one in several if one.lasts_s is not None]
        return cls(sizes, np.exp(np.mean(logs, axis=0)), float(np.mean(known)) if len(known) == len(several) else None)

    def at(self, size: ArrayLike, position: ArrayLike) -> Floats:
        """Factors at sizes and at positions from 0 (quick) to 1, which broadcast; drawn evenly they are as seen."""
        from scipy.ndimage import map_coordinates

        count = self.factors.shape[1]
        row = np.interp(np.log(np.asarray(size, np.float64)), np.log(self.sizes), np.arange(self.sizes.size))
        column = np.asarray(position, np.float64) * count - 0.5
        where = np.array(np.broadcast_arrays(row, np.clip(column, 0, count - 1)))
        found = map_coordinates(np.log(self.factors), where.reshape(2, -1), order=1, mode="nearest")
        return np.asarray(np.exp(found).reshape(where.shape[1:]))

    def trace(self, size: float) -> "LoadTrace":
        """The share of the quickest level's speed that a PE has over time at a problem size.

        Each level has the same time in all, and each stay its own length. Where in it a PE starts is to be drawn.
        """
        if self.lasts_s is None:
            raise ScenarioError("levels: it is not known how long one lasts, so that there is no trace of them")
        from simulator.models.load import LoadTrace  # what measures loads no more than it needs

        factors, draws = self.at(size, middles(self.factors.shape[1])), randomness.stream(0, "levels")
        order = np.concatenate([draws.permutation(factors.size) for _ in range(TURNS)])
        stays = draws.standard_exponential(order.size)
        ends_s = np.cumsum(stays / np.bincount(order, stays)[order]) * TURNS * self.lasts_s
        times_s = np.concatenate(([0.0], ends_s[:-1]))
        return LoadTrace(times_s, factors[0] / factors[order], float(ends_s[-1]))

    def __str__(self) -> str:
        least, most = float(self.factors[:, 0].min()), float(self.factors[:, -1].max())
        lasts = "longer than was measured" if self.lasts_s is None else f"{self.lasts_s:.2g} s"
        return f"times of {least:.2f} to {most:.2f} of the middle, each kept for {lasts}"


def middles(count: int) -> Floats:
    """The middles of so many equal parts from 0 to 1."""
    return np.asarray((np.arange(count) + 0.5) / count)

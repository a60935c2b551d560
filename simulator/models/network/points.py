"""Measured message times as points to fit: medians of repetitions, and how far each can be trusted."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import ScenarioError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEIGHBOURS = 3
"""Points on either side that foretell one."""
DOUBTED = 3.0
"""A point so many spreads away from what its neighbours foretell counts less, with the square of the ratio."""
LEAST_SPREAD = 0.02
BETWEEN = float(np.log(1.6))
"""How far a point that lies between its neighbours may be away."""


@dataclass(frozen=True)
class NetworkPoints:
    """Distinct sizes and distances with the median of their times, by hops and then by size; (points,)."""

    size_bytes: Floats
    hops: Floats
    time_s: Floats
    trust: Floats
    """1, or less for a spike: above or below its neighbours, and away from what those of either side foretell."""
    rows_size_bytes: Floats
    """As measured; (rows,)."""
    rows_hops: Floats
    rows_time_s: Floats
    point_of_row: Ints

    @property
    def distances(self) -> Floats:
        """Distinct numbers of hops."""
        return np.unique(self.hops)

    @cached_property
    def sizes(self) -> Floats:
        """Distinct sizes."""
        return np.unique(self.size_bytes)

    def without(self, left_out: NDArray[np.bool_]) -> "NetworkPoints":
        """The points that are not left out; (points,)."""
        keep = ~left_out
        rows, number = keep[self.point_of_row], np.cumsum(keep) - 1
        return NetworkPoints(
            self.size_bytes[keep],
            self.hops[keep],
            self.time_s[keep],
            self.trust[keep],
            self.rows_size_bytes[rows],
            self.rows_hops[rows],
            self.rows_time_s[rows],
            number[self.point_of_row[rows]],
        )


def make_points(size_bytes: ArrayLike, hops: ArrayLike, time_s: ArrayLike) -> NetworkPoints:
    """Points of measured message times, in any order; repetitions of one size and distance are one point.

    Raises
    ------
    ScenarioError
        For sizes below 0, hops below 1 or not whole, and times not above 0.
    """
    size, distance, time = (np.asarray(column, dtype=np.float64) for column in (size_bytes, hops, time_s))
    if np.any(size < 0) or np.any(distance < 1) or np.any(distance % 1) or not np.all(time > 0):
        raise ScenarioError("network: sizes of at least 0, whole hops from 1 on and times above 0 allowed")
    keys, point = np.unique(np.column_stack((distance, size)), axis=0, return_inverse=True)
    point = point.reshape(-1)
    order = np.lexsort((time, point))
    counts = np.bincount(point, minlength=len(keys))
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    sorted_s = time[order]
    median = 0.5 * (sorted_s[first + (counts - 1) // 2] + sorted_s[first + counts // 2])
    hop, sizes = keys[:, 0], keys[:, 1]
    return NetworkPoints(sizes, hop, median, _trust(sizes, hop, median), size, distance, time, point.astype(np.int64))


def _trust(size: Floats, hops: Floats, time: Floats) -> Floats:
    """Spikes: what no side's neighbours foretell; a step between two protocols is foretold by one side.

    A point between its neighbours is none up to a factor of 1.6: so it may be where the time grows fast.
    """
    away, allowed = np.zeros(size.size), np.zeros(size.size)
    for distance in np.unique(hops):
        mine = np.flatnonzero(hops == distance)
        x, y = np.log1p(size[mine]), np.log(time[mine])
        rises = np.concatenate(([True], np.diff(time[mine]) >= 0, [True]))
        allowed[mine] = np.where(rises[:-1] & rises[1:], BETWEEN, 0.0)
        for place in range(mine.size):
            left = np.arange(max(0, place - NEIGHBOURS), place)
            right = np.arange(place + 1, min(mine.size, place + 1 + NEIGHBOURS))
            sides = [side for side in (left, right, np.concatenate((left, right))) if side.size >= NEIGHBOURS]
            if sides:
                away[mine[place]] = min(abs(y[place] - _foretold(x[side], y[side], x[place])) for side in sides)
    spread = max(1.4826 * float(np.median(away)), LEAST_SPREAD) if away.size else LEAST_SPREAD
    return np.minimum(1.0, (np.maximum(DOUBTED * spread, allowed) / np.maximum(away, 1e-9)) ** 2)


def _foretold(x: Floats, y: Floats, at: float) -> float:
    """The median of the slopes between neighbours (Theil and Sen), through the median of the points."""
    i, j = np.triu_indices(x.size, 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    return float(np.median(y - slope * x)) + slope * at

"""Measured message times as points to fit, how far each can be trusted, and least squares of relative errors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError

NEIGHBOURS = 3
"""Points on either side that predict one."""
DOUBTED = 3.0
"""A point so many spreads away from what its neighbours predict counts less, with the square of the ratio."""
LEAST_SPREAD = 0.02
FEWEST_SIZES = 4
"""Below so many sizes nothing can be held out of a line."""
LEAST_ERROR = 1e-3
"""Relative error below which no better fit is looked for: clocks and models are no better."""
ROUNDS = 5
"""Rounds of reweighting: by the fitted times, and less for what lies far off."""
FAR_OFF = 2.5
"""Huber's: relative errors of more than so many spreads count in proportion, not squared."""
BETWEEN = float(np.log(1.6))
"""How far a point that lies between its neighbours may be away."""


@dataclass(frozen=True)
class NetworkPoints:
    """Distinct sizes and distances with the median of their times, by hops and then by size; (points,)."""

    size_bytes: Floats
    hops: Floats
    time_s: Floats
    trust: Floats
    """1, or less for a spike: above or below its neighbours, and away from what those of either side predict."""
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

    def without(self, left_out: Flags) -> "NetworkPoints":
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

    Raises ScenarioError for sizes below 0, hops below 1 or not whole, and times not above 0.
    """
    size, distance, time = (np.asarray(column, dtype=np.float64) for column in (size_bytes, hops, time_s))
    if np.any(size < 0) or np.any(distance < 1) or np.any(distance % 1) or not np.all(time > 0):
        raise ScenarioError("network: give sizes of at least 0, whole hops from 1 on and times above 0")
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
    """Spikes: what no side's neighbours predict; a step between two protocols is predicted by one side."""
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
                away[mine[place]] = min(abs(y[place] - _predicted(x[side], y[side], x[place])) for side in sides)
    spread = max(1.4826 * float(np.median(away)), LEAST_SPREAD) if away.size else LEAST_SPREAD
    return np.minimum(1.0, (np.maximum(DOUBTED * spread, allowed) / np.maximum(away, 1e-9)) ** 2)


def _predicted(x: Floats, y: Floats, at: float) -> float:
    """The median of the slopes between neighbours (Theil and Sen), through the median of the points."""
    i, j = np.triu_indices(x.size, 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    return float(np.median(y - slope * x)) + slope * at


def relative_fit(design: Floats, time: Floats, trust: Floats) -> tuple[Floats, Floats]:
    """Coefficients with the least trusted squares of relative errors, and their covariance.

    `design`: (points, coefficients); combinations that it does not determine get the smallest numbers, and what adds
    next to nothing to every time is 0: its sign would be one of rounding.
    """
    weights = np.sqrt(trust) / time
    coefficients = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        coefficients = without_rounding(solve_scaled(design, time, weights), design, time)
        fitted = design @ coefficients
        positive = np.where(fitted > 0, np.clip(fitted, 0.5 * time, 2 * time), time)
        error = (time - fitted) / positive
        spread = max(1.4826 * float(np.median(np.abs(error))), 1e-9)
        huber = np.sqrt(np.minimum(1.0, FAR_OFF * spread / np.maximum(np.abs(error), 1e-300)))
        weights = np.sqrt(trust) * huber / positive
    error = weights * (time - design @ coefficients)
    degrees = max(time.size - design.shape[1], 1)
    scale = column_scale(design, weights)
    inverse = np.linalg.pinv(design * weights[:, np.newaxis] / scale, rcond=1e-10)
    covariance = (inverse @ inverse.T) / np.outer(scale, scale) * float(error @ error) / degrees
    return coefficients, np.asarray(covariance)


def without_rounding(coefficients: Floats, design: Floats, time: Floats) -> Floats:
    """Coefficients that add no more than rounding to any time as 0."""
    share = np.max(np.abs(design * coefficients) / time[:, np.newaxis], axis=0, initial=0.0)
    return np.where(share <= ties.SAME, 0.0, coefficients)


def column_scale(design: Floats, weights: Floats) -> Floats:
    """Size of each weighted column, 1 for one of zeros: columns are divided by it before they are solved."""
    scale = np.sqrt(np.sum((design * weights[:, np.newaxis]) ** 2, axis=0))
    return np.where(scale > 0, scale, 1.0)


def solve_scaled(design: Floats, time: Floats, weights: Floats) -> Floats:
    """Coefficients of least weighted squares; combinations that are not determined get the smallest numbers."""
    scale = column_scale(design, weights)
    scaled = design * weights[:, np.newaxis] / scale
    return np.asarray(np.linalg.lstsq(scaled, time * weights, rcond=1e-10)[0] / scale)

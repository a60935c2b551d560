"""Message times as smooth monotone curves through knots, logarithms on both axes."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats, Vector
from simulator.models.choice import TooFewPoints
from simulator.models.network.kinds.kind import (
    LEAST_S,
    Fit,
    Fitted,
    Kind,
    KindForm,
    MessageModel,
    bandwidth_of,
    check_curve,
    refuse_unless,
    stretched,
)
from simulator.models.network.points import FEWEST_SIZES, NetworkPoints

FEWEST_TRUST = 0.25
"""Points that are trusted less become no knots."""


@dataclass(frozen=True)
class KnotsModel(MessageModel):
    """Smooth monotone curves through knots, time over bytes, logarithms on both axes; one for each number of hops.

    Between two measured distances straight lines over the hops, beyond them the last line goes on. Below the first
    knot its time holds, beyond the last knot its bandwidth over the last octave.
    """

    hops: Vector
    """Distances measured, ascending."""
    knots_bytes: tuple[Vector, ...]
    """Knots of each distance, ascending, at least two."""
    knots_s: tuple[Vector, ...]
    """Not decreasing, above zero."""

    def __post_init__(self) -> None:
        same = self.hops.size == len(self.knots_bytes) == len(self.knots_s) > 0
        ascending = same and bool(np.all(np.diff(self.hops) > 0))
        refuse_unless(ascending, "hops: distances have to ascend, each with its sizes and times")
        for sizes, times in zip(self.knots_bytes, self.knots_s, strict=True):
            check_curve(sizes, times, ("knots_bytes", "knots_s"))

    @property
    def knows_hops(self) -> bool:
        """Whether more than one distance was measured."""
        return self.hops.size > 1

    @property
    def latency_s(self) -> float:
        """Time of the least message to the next node."""
        return float(self.time_s(0.0))

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second beyond the last knot; `NO_LIMIT` where time does not grow."""
        return bandwidth_of(_last_gap(self.knots_bytes[0], self.knots_s[0]))

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(hops, np.float64))
        curves = np.array([_curve(*knots, size) for knots in zip(self.knots_bytes, self.knots_s, strict=True)])
        if self.hops.size == 1:
            return np.asarray(curves[0])
        low = np.clip(np.searchsorted(self.hops, distance, side="right") - 1, 0, self.hops.size - 2)
        part = (distance - self.hops[low]) / (self.hops[low + 1] - self.hops[low])
        below, above = (np.take_along_axis(curves, (low + k)[np.newaxis], axis=0)[0] for k in (0, 1))
        return np.asarray(np.maximum(below + part * (above - below), LEAST_S))

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "KnotsModel":
        """See `MessageModel.scaled`."""
        return replace(self, knots_s=tuple(stretched(knots, latency, bandwidth) for knots in self.knots_s))

    def drawn(self, deviate: float) -> "KnotsModel":
        """See `MessageModel.drawn`: each knot has the factor of its size."""
        doubt = self.doubt
        if doubt is None:
            return self
        pairs = zip(self.knots_bytes, self.knots_s, strict=True)
        curves = tuple(np.maximum.accumulate(times * doubt.factor(sizes, deviate)) for sizes, times in pairs)
        return replace(self, knots_s=curves, doubt=None)


def fit_knots(points: NetworkPoints) -> Fitted:
    """Knots where measured; times that fall with the size are pooled (isotonic regression of their logarithms)."""
    from scipy.optimize import isotonic_regression

    sizes, times = [], []
    for distance in points.distances:
        mine = (points.hops == distance) & (points.trust >= FEWEST_TRUST)
        if np.count_nonzero(mine) < FEWEST_SIZES:
            mine = points.hops == distance
        if np.count_nonzero(mine) < FEWEST_SIZES:
            count = np.count_nonzero(mine)
            raise TooFewPoints(
                f"{count} sizes at {distance:g} hops; at least {FEWEST_SIZES} are needed at every distance"
            )
        sizes.append(points.size_bytes[mine])
        pooled = isotonic_regression(np.log(points.time_s[mine]), weights=points.trust[mine]).x
        times.append(np.exp(np.maximum.accumulate(pooled)))
    knots = sum(column.size for column in sizes)
    note = f"{knots} knots, no parameters: it says nothing of what lies beyond the sizes measured"
    model = KnotsModel(points.distances, tuple(sizes), tuple(times))
    return Fitted(model, (), knots, (note,))


def _last_gap(sizes: Floats, times: Floats) -> float:
    """Seconds per byte over the last octave of knots."""
    start = min(int(np.searchsorted(sizes, sizes[-1] / 2, side="right")), sizes.size - 1) - 1
    start = max(start, 0)
    return float((times[-1] - times[start]) / (sizes[-1] - sizes[start]))


def _curve(sizes: Floats, times: Floats, size: Floats) -> Floats:
    """Through the knots; sizes are counted from one byte on, so that none is far from the first."""
    x, y, at = np.log(np.maximum(sizes, 0) + 1), np.log(times), np.log(np.maximum(size, 0) + 1)
    inside = np.exp(_monotone(x, y, np.clip(at, x[0], x[-1])))
    return np.asarray(inside + np.maximum(size - sizes[-1], 0.0) * _last_gap(sizes, times))


def _monotone(x: Floats, y: Floats, at: Floats) -> Floats:
    """Cubic that is monotone where the knots are (Fritsch and Butland's slopes: a weighted harmonic mean)."""
    steps, secants = np.diff(x), np.diff(y) / np.diff(x)
    slopes = np.zeros_like(x)
    slopes[0], slopes[-1] = secants[0], secants[-1]
    before, after = secants[:-1], secants[1:]
    weights = steps[:-1] + 2 * steps[1:], 2 * steps[:-1] + steps[1:]
    both = before * after > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (weights[0] + weights[1]) / (weights[0] / before + weights[1] / after)
    slopes[1:-1] = np.where(both, mean, 0.0)
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, steps.size - 1)
    h, u = steps[k], (at - x[k]) / steps[k]
    start, end = y[k], y[k + 1]
    return np.asarray(
        start * (1 + 2 * u) * (1 - u) ** 2
        + h * slopes[k] * u * (1 - u) ** 2
        + end * u**2 * (3 - 2 * u)
        + h * slopes[k + 1] * u**2 * (u - 1)
    )


class CurvesForm(KindForm):
    """A monotone curve through knots for each distance, logarithms on both axes."""

    hops: list[float]
    """Distances."""
    knots_bytes: list[list[float]]
    """Bytes, ascending, for each distance."""
    knots_s: list[list[float]]
    """Seconds at each of them."""

    def times(self) -> KnotsModel:
        """See `KindForm`."""
        return KnotsModel.from_dict(self.numbers())


KIND = Kind(KnotsModel, CurvesForm, (Fit("smooth", 4, f"{FEWEST_SIZES} sizes at each distance", fit_knots),))

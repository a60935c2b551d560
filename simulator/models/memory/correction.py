"""What a fitted form leaves: a smooth correction of its log residuals over (log M, log alpha, log L), by kriging."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.base import ties
from simulator.base.arrays import Floats, Matrix, Vector
from simulator.base.documents import FLAT, Record
from simulator.base.errors import ScenarioError
from simulator.models.memory.forms import MemoryTimes, scattered

LEAST_POINTS = 24
"""Distinct points below which no correction is tried: four for each of its six hyper-parameters."""
MOST_POINTS = 1500
"""Points that the correction rests on; of more, so many scattered over them."""
SEARCHED_POINTS = 250
"""Points that hyper-parameters are searched with; of more, so many scattered over them."""
AT_FIRST = (0.5, 0.5, 0.5)
"""Lengths that are likeliest before any point is seen, as shares of the ranges."""
PRIOR_WIDTH = np.array([1.5, 1.0, 1.0, 1.0, 1.5, 1.0])
"""Standard deviations of the hyper-parameters (logarithms but for the slope) before any point is seen."""
FLOOR = 1e-3
"""Noise is never taken for less: times are not known better."""
SLOPE_LIMIT = 4.0
OUTLYING = 2.5
"""Standard deviations from what all other points predict, from which a point counts less."""
PASSES = 2
"""How often outlying points are looked for."""
JITTER = 1e-10
_KIND = "gaussian process of log residuals, Matern 5/2"


@dataclass(frozen=True)
class Hyper:
    """What a correction is like before it sees residuals."""

    amplitude: float
    """Standard deviation of what the form misses, as a logarithm."""
    lengths: Vector
    """How far points say something of each other, as shares of the ranges; (3,)."""
    noise: float
    """Standard deviation of one measured time, as a logarithm, at the middle L."""
    slope: float
    """The logarithm of the noise falls by this much from the shortest run to the longest: long runs average."""

    def noises(self, places: Floats) -> Floats:
        """Standard deviation of a measured time at scaled places."""
        return np.asarray(self.noise * np.exp(self.slope * (0.5 - places[:, 2])))

    def between(self, one: Floats, other: Floats) -> Floats:
        """Covariance of what the form misses at scaled places."""
        squares = ((one[:, np.newaxis, :] - other[np.newaxis, :, :]) / self.lengths) ** 2
        return self.amplitude**2 * _matern(np.sqrt(np.sum(squares, axis=-1)))

    def root(self, places: Floats, inflation: Floats) -> Floats:
        """Inverse of the Cholesky factor of the covariance of measured residuals."""
        covariance = self.between(places, places)
        covariance[np.diag_indices_from(covariance)] += (inflation * self.noises(places)) ** 2 + JITTER
        return _root(covariance)


@dataclass(frozen=True)
class Correction(Record):
    """A Gaussian process over the log residuals of a form; far from points it returns to 0 and its own amplitude."""

    hyper: Hyper = field(metadata=FLAT)
    places: Matrix
    """Scaled (log M, log alpha, log L) of the points it rests on; (points, 3)."""
    inflation: Vector
    """Factor on the noise of each point, above 1 for outlying ones; (points,)."""
    origin: Vector
    """Least of each logarithm; (3,)."""
    extent: Vector
    """Range of each logarithm, 1 where all are the same; (3,)."""
    weights: Vector
    """Of each point in the mean; (points,)."""
    kind: str = _KIND

    def __post_init__(self) -> None:
        if self.places.shape != (self.weights.size, self.hyper.lengths.size):
            raise ScenarioError("places: there is not one row for each weight, with as many columns as lengths")

    @cached_property
    def root(self) -> Floats:
        """Inverse of the Cholesky factor of the points' covariance; (points, points)."""
        return self.hyper.root(self.places, self.inflation)

    def at(self, points: MemoryTimes) -> tuple[Floats, Floats]:
        """Mean and standard deviation (of a new measurement) of the log of measured over modelled time."""
        where = (_logs(points) - self.origin) / self.extent
        between = self.hyper.between(where, self.places)
        explained = np.sum((between @ self.root.T) ** 2, axis=-1)
        noises = self.hyper.noises(np.clip(where, 0, 1))
        variance = np.maximum(self.hyper.amplitude**2 - explained, 0.0) + noises**2
        return between @ self.weights, np.sqrt(variance)


def fit_correction(points: MemoryTimes, modelled_s: Floats, *, near: Correction | None = None) -> Correction:
    """Krige `log(measured / modelled)`: a Gaussian process with a Matern 5/2 covariance and noise that may fall with L.

    Its hyper-parameters make the marginal likelihood, times a broad prior, greatest. Points far from what all others
    predict of them then count as noisier, by as much as they lie beyond 2.5 standard deviations (Huber's weights).

    `modelled_s`: times per word of the form at the points, above 0; (points,).
    """
    rows = _scattered(points, MOST_POINTS)
    points, residuals = points.take(rows), np.log(points.time_s[rows] / modelled_s[rows])
    logs = _logs(points)
    origin, extent = logs.min(axis=0), np.ptp(logs, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    places = (logs - origin) / extent
    searched = _scattered(points, SEARCHED_POINTS)
    inflation, hyper = np.ones(len(points)), None if near is None else near.hyper
    for _ in range(PASSES):
        hyper = _search(places[searched], residuals[searched], inflation[searched], hyper)
        root = hyper.root(places, inflation)
        inverse = root.T @ root
        # What all other points predict of each lies (K^-1 r)_i / (K^-1)_ii from it, with variance 1 / (K^-1)_ii.
        off = np.abs(inverse @ residuals) / np.diag(inverse)
        alone = 1 / np.diag(inverse) - (inflation**2 - 1) * hyper.noises(places) ** 2
        inflation = np.maximum(1.0, off / np.sqrt(np.maximum(alone, hyper.noises(places) ** 2)) / OUTLYING)
    if hyper is None:
        raise AssertionError
    root = hyper.root(places, inflation)
    return Correction(hyper, places, inflation, origin, extent, root.T @ (root @ residuals))


def _scattered(points: MemoryTimes, most: int) -> NDArray[np.intp]:
    """Rows of at most so many points, scattered over (M, alpha, L) without chance."""
    order = np.lexsort((points.run_words, points.alpha, points.m_words))
    if len(points) > most:
        order = order[scattered(len(points))[:most]]
    return np.sort(order)


def _search(places: Floats, residuals: Floats, inflation: Floats, near: Hyper | None) -> Hyper:
    """The likeliest hyper-parameters."""
    from scipy.optimize import minimize

    size = max(float(np.std(residuals)), 2 * FLOOR)
    middle = np.array([*np.log([size, *AT_FIRST, size / 5]), 0.0])
    starts = [middle, middle + np.array([0, -0.9, -0.9, -0.9, -1.2, 0.5])]
    if near is not None:
        starts = [np.array([*np.log([near.amplitude, *near.lengths, near.noise]), near.slope])]
    squares = np.moveaxis((places[:, np.newaxis, :] - places[np.newaxis, :, :]) ** 2, -1, 0).copy()
    tilt = 0.5 - places[:, 2]
    bounds = [
        (np.log(FLOOR), 3.0),
        *[(np.log(0.03), np.log(20))] * 3,
        (np.log(FLOOR), 1.0),
        (-SLOPE_LIMIT, SLOPE_LIMIT),
    ]
    found = [
        minimize(
            _loss,
            np.clip(start, *np.transpose(bounds)),
            args=(squares, residuals, inflation, tilt, middle),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 40, "ftol": 1e-6},
        )
        for start in starts
    ]
    best = found[ties.first_least([float(item.fun) for item in found])].x
    theta = np.exp(best[:5])
    return Hyper(float(theta[0]), theta[1:4], float(theta[4]), float(best[5]))


def _loss(
    theta: Floats, squares: Floats, residuals: Floats, inflation: Floats, tilt: Floats, middle: Floats
) -> tuple[float, Floats]:
    """Minus the log of marginal likelihood times prior, and its gradient."""
    amplitude, lengths, noise = np.exp(theta[0]), np.exp(theta[1:4]), np.exp(theta[4])
    distance = np.sqrt(np.tensordot(1 / lengths**2, squares, axes=1))
    scaled = np.sqrt(5.0) * distance
    falling = amplitude**2 * np.exp(-scaled)
    covariance = falling * (1 + scaled + scaled**2 / 3)
    whole = covariance.copy()
    noises = (inflation * noise * np.exp(theta[5] * tilt)) ** 2
    whole[np.diag_indices_from(whole)] += noises + JITTER
    root = _root(whole)
    weights = root.T @ (root @ residuals)
    # d loss / d K = (K^-1 - w w') / 2
    outer = 0.5 * (root.T @ root - np.outer(weights, weights))
    own = 2 * noises * np.diag(outer)
    common = outer * falling * (5.0 / 3.0) * (1 + scaled)
    gradient = np.array(
        [
            2 * np.sum(outer * covariance),
            *(np.tensordot(squares, common, axes=2) / lengths**2),
            np.sum(own),
            np.sum(own * tilt),
        ]
    )
    off = (theta - middle) / PRIOR_WIDTH
    loss = 0.5 * residuals @ weights - np.sum(np.log(np.diag(root))) + 0.5 * off @ off
    return float(loss), gradient + off / PRIOR_WIDTH


def _logs(points: MemoryTimes) -> Floats:
    return np.log(np.stack((points.m_words, points.alpha, points.run_words), axis=-1))


def _matern(distance: Floats) -> Floats:
    scaled = np.sqrt(5.0) * distance
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def _root(covariance: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    lower = np.linalg.cholesky(covariance)
    return np.asarray(solve_triangular(lower, np.eye(len(lower)), lower=True))

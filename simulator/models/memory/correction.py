"""What a fitted form leaves: a smooth correction of its log residuals over (log M, log alpha, log L), by kriging."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.models.memory.forms import Floats, MemoryTimes

LEAST_POINTS = 12
"""Distinct points below which no correction is tried: it has five hyper-parameters."""
MOST_POINTS = 1500
"""Points that the correction rests on; of more, every second, third ... in the order of (M, alpha, L)."""
AT_FIRST = np.log([0.2, 0.5, 0.5, 0.5, 0.05])
"""Where the search for hyper-parameters begins: amplitude, three lengths as shares of the ranges, noise."""
PRIOR_WIDTH = np.array([1.5, 1.0, 1.0, 1.0, 1.5])
"""Standard deviations of the logarithms of the hyper-parameters before any point is seen."""
FLOOR = 1e-3
"""Noise is never taken for less: times are not known better."""


@dataclass(frozen=True)
class Correction:
    """A Gaussian process over the log residuals of a form; far from points it returns to 0 and its own amplitude."""

    places: Floats
    """Scaled (log M, log alpha, log L) of the points it rests on; (points, 3)."""
    origin: Floats
    """Least of each logarithm; (3,)."""
    extent: Floats
    """Range of each logarithm, 1 where all are the same; (3,)."""
    amplitude: float
    """Standard deviation of what the form misses, as a logarithm."""
    lengths: Floats
    """How far points tell about each other, as shares of the ranges; (3,)."""
    noise: float
    """Standard deviation of one measured time, as a logarithm."""
    weights: Floats
    """Of each point in the mean; (points,)."""
    root: Floats
    """Inverse of the Cholesky factor of the points' covariance; (points, points)."""

    def at(self, points: MemoryTimes) -> tuple[Floats, Floats]:
        """Mean and standard deviation (of a new measurement) of the log of measured over modelled time."""
        where = (_logs(points) - self.origin) / self.extent
        between = self.amplitude**2 * _matern(_distances(where, self.places, self.lengths))
        explained = np.sum((between @ self.root.T) ** 2, axis=-1)
        variance = np.maximum(self.amplitude**2 - explained, 0.0) + self.noise**2
        return between @ self.weights, np.sqrt(variance)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the factor is made again from the rest."""
        return {
            "kind": "gaussian process of log residuals, Matern 5/2",
            "amplitude": self.amplitude,
            "noise": self.noise,
        } | {name: getattr(self, name).tolist() for name in ("lengths", "origin", "extent", "places", "weights")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Correction":
        """The correction that `to_dict` wrote."""
        arrays = {
            name: np.asarray(data[name], dtype=np.float64)
            for name in ("lengths", "origin", "extent", "places", "weights")
        }
        amplitude, noise = float(data["amplitude"]), float(data["noise"])
        root = _root(_covariance(arrays["places"], amplitude, arrays["lengths"], noise))
        return cls(amplitude=amplitude, noise=noise, root=root, **arrays)


def fit_correction(points: MemoryTimes, modelled_s: Floats, *, near: Correction | None = None) -> Correction:
    """Krige `log(measured / modelled)`: a Gaussian process with a Matern 5/2 covariance and noise.

    Amplitude, one length per axis and noise make the marginal likelihood, times a broad prior, greatest.

    Parameters
    ----------
    modelled_s
        Times per word of the form at the points, above 0; (points,).
    near
        A correction whose hyper-parameters the search begins with.
    """
    from scipy.optimize import minimize

    rows = _thinned(points)
    points, residuals = points.take(rows), np.log(points.time_s[rows] / modelled_s[rows])
    logs = _logs(points)
    origin, extent = logs.min(axis=0), np.ptp(logs, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    places = (logs - origin) / extent
    middle = AT_FIRST.copy()
    middle[0] = np.log(max(float(np.std(residuals)), 2 * FLOOR))
    middle[4] = middle[0] - np.log(5)
    starts = [middle, middle + np.log([1, 0.4, 0.4, 0.4, 0.3])]
    if near is not None:
        starts = [np.log([near.amplitude, *near.lengths, near.noise])]
    squares = (places[:, np.newaxis, :] - places[np.newaxis, :, :]) ** 2
    bounds = [(np.log(FLOOR), 3.0)] + [(np.log(0.03), np.log(20))] * 3 + [(np.log(FLOOR), 1.0)]
    found = [
        minimize(
            lambda theta: _loss(theta, squares, residuals, middle),
            np.clip(start, *np.transpose(bounds)),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 60},
        )
        for start in starts
    ]
    theta = np.exp(min(found, key=lambda item: item.fun).x)
    amplitude, lengths, noise = float(theta[0]), theta[1:4], float(theta[4])
    root = _root(_covariance(places, amplitude, lengths, noise))
    weights = root.T @ (root @ residuals)
    return Correction(places, origin, extent, amplitude, lengths, noise, weights, root)


def _thinned(points: MemoryTimes) -> Any:
    order = np.lexsort((points.run_words, points.alpha, points.m_words))
    return np.sort(order[:: -(-len(points) // MOST_POINTS)])


def _logs(points: MemoryTimes) -> Floats:
    return np.log(np.stack((points.m_words, points.alpha, points.run_words), axis=-1))


def _distances(one: Floats, other: Floats, lengths: Floats) -> Floats:
    squares = ((one[:, np.newaxis, :] - other[np.newaxis, :, :]) / lengths) ** 2
    return np.asarray(np.sqrt(np.sum(squares, axis=-1)))


def _matern(distance: Floats) -> Floats:
    scaled = np.sqrt(5.0) * distance
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def _covariance(places: Floats, amplitude: float, lengths: Floats, noise: float) -> Floats:
    covariance = amplitude**2 * _matern(_distances(places, places, lengths))
    covariance[np.diag_indices_from(covariance)] += noise**2
    return covariance


def _root(covariance: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    lower = np.linalg.cholesky(covariance)
    return np.asarray(solve_triangular(lower, np.eye(len(lower)), lower=True))


def _loss(theta: Floats, squares: Floats, residuals: Floats, middle: Floats) -> tuple[float, Floats]:
    """Minus the log of marginal likelihood times prior, and its gradient."""
    amplitude, lengths, noise = np.exp(theta[0]), np.exp(theta[1:4]), np.exp(theta[4])
    distance = np.sqrt(squares @ (1 / lengths**2))
    covariance = amplitude**2 * _matern(distance)
    slope = amplitude**2 * (5.0 / 3.0) * (1 + np.sqrt(5.0) * distance) * np.exp(-np.sqrt(5.0) * distance)
    whole = covariance.copy()
    whole[np.diag_indices_from(whole)] += noise**2
    root = _root(whole)
    weights = root.T @ (root @ residuals)
    # d loss / d K = (K^-1 - w w') / 2
    outer = 0.5 * (root.T @ root - np.outer(weights, weights))
    gradient = np.empty(5)
    gradient[0] = 2 * np.sum(outer * covariance)
    common = outer * slope
    gradient[1:4] = np.einsum("ij,ijk->k", common, squares) / lengths**2
    gradient[4] = 2 * noise**2 * np.trace(outer)
    off = (theta - middle) / PRIOR_WIDTH
    loss = 0.5 * residuals @ weights - np.sum(np.log(np.diag(root))) + 0.5 * off @ off
    return float(loss), gradient + off / PRIOR_WIDTH

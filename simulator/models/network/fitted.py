"""What every fit of a message-time form gives, and the least squares of relative errors that all of them use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import ties
from simulator.models.network.fitted_forms import FittedForm
from simulator.models.network.points import NetworkPoints

Floats = NDArray[np.float64]
ROUNDS = 5
"""Rounds of reweighting: by the fitted times, and less for what lies far off."""
FAR_OFF = 2.5
"""Huber's: relative errors of more than so many spreads count in proportion, not squared."""


@dataclass(frozen=True)
class Parameter:
    """A fitted number; what the points do not determine has no value, and says so by name."""

    name: str
    value: float | None
    standard_error: float | None
    unit: str
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "value": self.value,
            "standard_error": self.standard_error,
            "unit": self.unit,
            "note": self.note,
        }


@dataclass(frozen=True)
class Fitted:
    """One form fitted to points."""

    model: FittedForm
    parameters: tuple[Parameter, ...]
    free: int
    """Numbers that were fitted."""
    notes: tuple[str, ...] = ()


Fit = Callable[[NetworkPoints], Fitted]


def relative_fit(design: Floats, time: Floats, trust: Floats) -> tuple[Floats, Floats]:
    """Coefficients with the least trusted squares of relative errors, and their covariance.

    Parameters
    ----------
    design
        (points, coefficients); combinations that it does not determine get the smallest numbers, and what adds next to
        nothing to every time is 0: its sign would be one of rounding.
    """
    weights = np.sqrt(trust) / time
    coefficients = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        coefficients = without_rounding(_solve(design, time, weights), design, time)
        fitted = design @ coefficients
        positive = np.where(fitted > 0, np.clip(fitted, 0.5 * time, 2 * time), time)
        error = (time - fitted) / positive
        spread = max(1.4826 * float(np.median(np.abs(error))), 1e-9)
        huber = np.sqrt(np.minimum(1.0, FAR_OFF * spread / np.maximum(np.abs(error), 1e-300)))
        weights = np.sqrt(trust) * huber / positive
    error = weights * (time - design @ coefficients)
    degrees = max(time.size - design.shape[1], 1)
    scale = _scale(design, weights)
    inverse = np.linalg.pinv(design * weights[:, np.newaxis] / scale, rcond=1e-10)
    covariance = (inverse @ inverse.T) / np.outer(scale, scale) * float(error @ error) / degrees
    return coefficients, np.asarray(covariance)


def without_rounding(coefficients: Floats, design: Floats, time: Floats) -> Floats:
    """Coefficients that add no more than rounding to any time as 0."""
    share = np.max(np.abs(design * coefficients) / time[:, np.newaxis], axis=0, initial=0.0)
    return np.where(share <= ties.SAME, 0.0, coefficients)


def _scale(design: Floats, weights: Floats) -> Floats:
    scale = np.sqrt(np.sum((design * weights[:, np.newaxis]) ** 2, axis=0))
    return np.where(scale > 0, scale, 1.0)


def _solve(design: Floats, time: Floats, weights: Floats) -> Floats:
    scale = _scale(design, weights)
    scaled = design * weights[:, np.newaxis] / scale
    return np.asarray(np.linalg.lstsq(scaled, time * weights, rcond=1e-10)[0] / scale)


def line_design(points: NetworkPoints, *, per_hop: bool) -> tuple[Floats, tuple[str, ...]]:
    """Design of one straight line: latency, gap, and both for each further hop where distances differ."""
    ones, more = np.ones_like(points.hops), points.hops - 1
    if not per_hop:
        return np.column_stack((ones, points.size_bytes)), ("latency", "gap")
    design = np.column_stack((ones, points.size_bytes, more, more * points.size_bytes))
    return design, ("latency", "gap", "hop_latency", "hop_gap")

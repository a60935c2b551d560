"""Gain: how many times longer one configuration takes than another that was simulated on the same draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator import describe


@dataclass(frozen=True)
class Gain:
    """How many times longer a baseline takes than the recommended configuration."""

    mean: float
    """Ratio of the mean makespans."""
    low: float
    high: float
    """Its 95 % interval."""
    probability: float
    """Share of replications in which the recommended one is faster; ties count half."""


def gain(baseline_s: NDArray[np.float64], recommended_s: NDArray[np.float64]) -> Gain:
    """Compare makespans of paired replications, both (R,); the interval is a ratio's of paired means (delta method)."""
    ratio = float(np.mean(baseline_s) / np.mean(recommended_s))
    spread = describe(baseline_s - ratio * recommended_s)
    half = (spread["high"] - spread["mean"]) / float(np.mean(recommended_s))
    wins = float(np.mean((recommended_s < baseline_s) + 0.5 * (recommended_s == baseline_s)))
    return Gain(ratio, ratio - half, ratio + half, wins)

"""Gain: how many times longer one configuration takes than another that was simulated on the same draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.objectives import Objective, statistic
from advisor.ranking.paired import gains
from simulator import randomness

DRAWS = 1_000
"""Of the bootstrap."""


@dataclass(frozen=True)
class Gain:
    """How many times longer a baseline takes than the recommended configuration."""

    mean: float
    """Ratio of the objectives: of the mean makespans, if nothing else is asked for."""
    low: float
    high: float
    """Its 95 % interval."""
    probability: float
    """Share of replications in which the recommended one is faster; ties count half."""


def gain(
    baseline_s: NDArray[np.float64], recommended_s: NDArray[np.float64], objective: Objective = "mean", *, seed: int = 0
) -> Gain:
    """Compare makespans of paired replications, both (R,).

    The interval is that of a ratio of paired means (delta method), and of a bootstrap of replications for the other
    objectives, whose draws the seed decides.
    """
    wins = float(np.mean((recommended_s < baseline_s) + 0.5 * (recommended_s == baseline_s)))
    if objective != "mean":
        ratio = float(statistic(baseline_s, objective) / statistic(recommended_s, objective))
        size = recommended_s.size
        picked = randomness.stream(seed, "gain").integers(0, size, (DRAWS, size))
        drawn = statistic(baseline_s[picked], objective) / statistic(recommended_s[picked], objective)
        low, high = np.quantile(drawn, (0.025, 0.975))
        return Gain(ratio, float(low), float(high), wins)
    found = gains(baseline_s, recommended_s[np.newaxis])
    return Gain(float(found.mean[0]), float(found.low[0]), float(found.high[0]), wins)

"""Gain: how many times longer one configuration takes than another that was simulated on the same draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, statistic
from advisor.advise.ranking.paired import gains
from simulator import FEWEST_EQUAL, randomness

DRAWS = 1_000
"""Of the bootstrap."""


@dataclass(frozen=True)
class Gain:
    """How many times longer a baseline takes than the recommended configuration."""

    mean: float
    """Ratio of the objectives: of the mean makespans, if nothing else is asked for."""
    low: float | None
    high: float | None
    """Its 95 % interval; None where replications are too few to have one."""
    probability: float | None
    """Share of replications in which the recommended one is faster; ties count half. None of one that was drawn."""

    @property
    def change(self) -> tuple[float, float | None, float | None]:
        """How much longer the baseline takes, as a share, with its interval."""
        low, high = (None if end is None else end - 1 for end in (self.low, self.high))
        return self.mean - 1, low, high


def gain(
    baseline_s: NDArray[np.float64],
    recommended_s: NDArray[np.float64],
    objective: Objective = "mean",
    *,
    seed: int = 0,
    deterministic: bool = False,
) -> Gain:
    """Compare makespans of paired replications, both (R,).

    The interval is that of a ratio of paired means (delta method), and of a bootstrap of replications for the other
    objectives, whose draws the seed decides; those need a few replications (`FEWEST_EQUAL`).
    """
    wins: float | None = float(np.mean((recommended_s < baseline_s) + 0.5 * (recommended_s == baseline_s)))
    size = recommended_s.size
    wins = wins if size > 1 or deterministic else None
    if objective != "mean" and not deterministic:
        ratio = float(statistic(baseline_s, objective) / statistic(recommended_s, objective))
        if size < FEWEST_EQUAL:
            return Gain(ratio, None, None, wins)
        picked = randomness.stream(seed, "gain").integers(0, size, (DRAWS, size))
        drawn = statistic(baseline_s[picked], objective) / statistic(recommended_s[picked], objective)
        low, high = np.quantile(drawn, (0.025, 0.975))
        return Gain(ratio, float(low), float(high), wins)
    found = gains(baseline_s, recommended_s[np.newaxis], deterministic=deterministic).rows()[0]
    return Gain(found["mean"], found["low"], found["high"], wins)

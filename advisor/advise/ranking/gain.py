"""Gain: how many times longer one configuration takes than another that was simulated on the same draws."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, statistic
from simulator import intervals, randomness

DRAWS = 1_000
"""Of the bootstrap."""


@dataclass(frozen=True)
class Gain:
    """How many times longer a baseline takes than the recommended configuration."""

    mean: float
    """Ratio of the objectives: of the mean makespans, if nothing else is asked for."""
    low: float | None
    high: float | None
    """Its stated interval; None where replications are too few to have one."""
    probability: float | None
    """Share of replications in which the recommended one is faster; ties count half. None of one that was drawn."""

    @property
    def change(self) -> tuple[float, float | None, float | None]:
        """How much longer the baseline takes, as a share, with its interval."""
        low, high = (None if end is None else end - 1 for end in (self.low, self.high))
        return self.mean - 1, low, high

    def reaching(self, ratio: float) -> "Gain":
        """With an interval so wide that it holds a ratio, too."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=min(self.low, ratio), high=max(self.high, ratio))


def gain(
    baseline_s: NDArray[np.float64],
    recommended_s: NDArray[np.float64],
    objective: Objective = "mean",
    *,
    truths: NDArray[np.int64] | None = None,
    level: float = intervals.LEVEL,
    seed: int = 0,
    deterministic: bool = False,
) -> Gain:
    """Compare makespans of paired replications, both (R,).

    The interval of a ratio of means is over truths, see `simulator.intervals.of_ratio`. That of the other objectives is
    of a bootstrap of truths (of replications where nothing is doubted), whose draws the seed decides; those need a few
    (`intervals.FEWEST_EQUAL`).
    """
    size = recommended_s.size
    wins: float | None = float(np.mean((recommended_s < baseline_s) + 0.5 * (recommended_s == baseline_s)))
    wins = wins if size > 1 or deterministic else None
    if objective != "mean":
        both = np.stack((baseline_s, recommended_s))
        of_base, own = statistic(both, objective, truths)
        ratio = float(of_base / own)
        if deterministic:
            return Gain(ratio, ratio, ratio, wins)
        if clusters(truths, size) < intervals.FEWEST_EQUAL:
            return Gain(ratio, None, None, wins)
        of_base, own = bootstrapped(both, objective, truths, randomness.stream(seed, "gain"), draws=DRAWS)
        low, high = np.quantile(of_base / own, ((1 - level) / 2, (1 + level) / 2))
        return Gain(ratio, float(low), float(high), wins)
    ends = intervals.of_ratio(baseline_s, recommended_s[np.newaxis], truths, level=level, deterministic=deterministic)
    low, high = float(ends.low[0]), float(ends.high[0])
    ratio = float(np.mean(baseline_s) / np.mean(recommended_s))
    return Gain(ratio, None, None, wins) if np.isnan(low) else Gain(ratio, low, high, wins)


def clusters(truths: NDArray[np.int64] | None, replications: int) -> int:
    """How many independent parts replications have: truths, or each by itself where nothing is doubted."""
    return replications if truths is None else int(np.unique(truths).size)


def bootstrapped(
    samples: NDArray[np.float64],
    objective: Objective,
    truths: NDArray[np.int64] | None,
    generator: np.random.Generator,
    *,
    draws: int,
) -> NDArray[np.float64]:
    """The objective of rows in draws of whole truths, or of replications where nothing is doubted; (row, draw).

    `samples`: (row, replication), paired.
    """
    size = samples.shape[1]
    if truths is None:
        return statistic(samples[:, generator.integers(0, size, (draws, size))], objective)
    _, places, runs = np.unique(truths, return_inverse=True, return_counts=True)
    each = int(runs.min())  # so that draws are equally long; a truth has one replication more at most
    table = np.argsort(places, kind="stable")[(np.cumsum(runs) - runs)[:, np.newaxis] + np.arange(each)]
    picked = samples[:, table[generator.integers(0, runs.size, (draws, runs.size))]]
    if objective == "worst":
        return np.asarray(picked.mean(axis=-1).max(axis=-1))
    return statistic(picked.reshape(samples.shape[0], draws, -1), objective)

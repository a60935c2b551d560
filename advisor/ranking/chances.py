"""Chances: how likely each candidate is the best, or within a margin of it, after unequal numbers of paired runs."""

import numpy as np
from numpy.typing import NDArray

from advisor.objectives import Objective, statistic
from advisor.ranking.halving import Samples

Floats = NDArray[np.float64]
SWEEPS = 50
"""Of the least-squares fit; it converges geometrically, and much faster than this."""


def plausible(samples: Samples, objective: Objective, generator: np.random.Generator, *, draws: int) -> Floats:
    """What the objective of each candidate may truly be, given the runs seen; (draw, candidate).

    For the mean, a parametric bootstrap of the two-way model `makespan[i, r] = mean[i] + replication[r] + rest[i, r]`:
    what a replication does to all candidates is taken off, and the rest has one variance, so that a candidate of two
    runs borrows it from all others. Candidates that went out early count as what they are: uncertain.

    For the others, a bootstrap of whole replications among the finalists; the rest cannot be best (infinite), as a
    quantile of few runs says nothing.

    Parameters
    ----------
    samples
        Of `halve`.
    """
    if objective == "mean":
        return _means(samples, generator, draws)
    finalists = samples.order[: samples.finalists]
    seen = samples.makespans_s[finalists][:, : int(samples.runs[finalists].min())]
    picked = generator.integers(0, seen.shape[1], (draws, seen.shape[1]))
    found = np.full((draws, samples.runs.size), np.inf)
    found[:, finalists] = statistic(seen[:, picked], objective).T
    return found


def _means(samples: Samples, generator: np.random.Generator, draws: int) -> Floats:
    known = ~np.isnan(samples.makespans_s)
    seen = np.where(known, samples.makespans_s, 0.0)
    per_replication = known.sum(axis=0)
    means = seen.sum(axis=1) / samples.runs
    common = np.zeros(per_replication.size)
    for _ in range(SWEEPS):
        common = ((seen - means[:, np.newaxis]) * known).sum(axis=0) / per_replication
        means = ((seen - common) * known).sum(axis=1) / samples.runs
    rest = (seen - means[:, np.newaxis] - common) * known
    freedom = int(known.sum()) - means.size - common.size + 1
    if freedom < 1:  # one run each: nothing is known about the noise, and every candidate may be the best
        return generator.random((draws, means.size))
    spread = np.sqrt(np.sum(rest**2) / generator.chisquare(freedom, draws))
    errors = generator.standard_normal((draws, means.size)) / np.sqrt(samples.runs)
    return np.asarray(means + spread[:, np.newaxis] * errors)

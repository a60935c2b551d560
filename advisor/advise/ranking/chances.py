"""Chances: how likely each candidate is the best, or within a margin of it, after unequal numbers of paired runs."""

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, statistic
from advisor.advise.ranking.halving import Samples
from simulator import ties

Floats = NDArray[np.float64]
SWEEPS = 30
"""Of the weighted least-squares fit; it converges geometrically, and faster than this."""
FAR = 8.0
"""Standard errors from the best beyond which a candidate is not drawn: it cannot be best (infinite)."""
PRIOR_RUNS = 8
"""What all candidates show of the noise counts as so many runs of each one's own."""


def plausible(samples: Samples, objective: Objective, generator: np.random.Generator, *, draws: int) -> Floats:
    """What the objective of each candidate may truly be, given the runs seen; (draw, candidate).

    For the mean, a parametric bootstrap of the two-way model `log makespan[i, r] = mean[i] + common[r] + rest[i, r]`:
    what a replication does to all candidates is taken off. The variance of the rest is each candidate's own, drawn
    towards the median of all, so that one of two runs borrows from the others and a noisy one does not spoil the quiet.
    Candidates that went out early count as what they are: uncertain.

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
    known, runs = ~np.isnan(samples.makespans_s), samples.runs
    if not np.any(runs > 1):  # nothing is known about the noise, and every candidate may be the best
        return generator.random((draws, runs.size))
    logs = np.log(np.where(known, samples.makespans_s, 1.0))
    geometric = logs.sum(axis=1) / runs
    scale = np.where(known, samples.makespans_s, 0.0).sum(axis=1) / runs / np.exp(geometric)
    means, variances, freedom = _fitted(logs, known, runs)
    best = ties.first_least(means, floor=ties.SAME)  # of logarithms
    apart = (means - means[best]) / np.sqrt(variances / runs + variances[best] / runs[best])
    near = np.flatnonzero(apart <= FAR)
    freedom, shape = freedom[near], (draws, near.size)
    spread = np.sqrt(variances[near] * freedom / generator.chisquare(freedom, shape) / runs[near])
    drawn = np.full((draws, runs.size), np.inf)
    drawn[:, near] = scale[near] * np.exp(means[near] + spread * generator.standard_normal(shape))
    return drawn


def _fitted(logs: Floats, known: NDArray[np.bool_], runs: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Mean, variance of the rest, and its degrees of freedom, of each candidate."""
    means, weights = logs.sum(axis=1) / runs, np.ones(runs.size)
    replications = np.maximum(known.sum(axis=0), 1)
    # Each replication's effect takes its share of the freedom.
    lost = (known / replications).sum(axis=1)
    freedom = np.maximum(runs - 1 - lost + lost / runs, 0.0)
    variances = weights
    for _ in range(SWEEPS):
        share = known * weights[:, np.newaxis]
        common = np.sum((logs - means[:, np.newaxis]) * share, axis=0) / np.maximum(share.sum(axis=0), 1e-300)
        means = np.sum((logs - common) * known, axis=1) / runs
        squares = np.sum(((logs - means[:, np.newaxis] - common) * known) ** 2, axis=1)
        usual = _usual(squares, freedom)
        variances = np.maximum((PRIOR_RUNS * usual + squares) / (PRIOR_RUNS + freedom), 1e-24)
        weights = 1 / variances
    return means, variances, PRIOR_RUNS + freedom


def _usual(squares: Floats, freedom: Floats) -> float:
    """The variance that a typical candidate has: the mean of those up to twice the weighted median."""
    some = freedom > 0.4  # below, a variance is hardly one
    if not np.any(some):
        return float(squares.sum() / max(freedom.sum(), 1e-9))
    own, weight = squares[some] / freedom[some], freedom[some]
    order = np.argsort(own, kind="stable")
    median = own[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]
    near = own <= 4 * median
    return float(np.sum(own[near] * weight[near]) / np.sum(weight[near]))

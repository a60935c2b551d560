"""Successive halving: a budget of simulated runs is spent on those candidates that are still in question.

After Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013 (sequential halving),
with two changes: runs are paired (replication r has the same draws for every candidate, so that what all have in common
cancels), and what earlier rounds saw is kept.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, statistic
from simulator import ScenarioError, ties

Indices = NDArray[np.int64]
Makespans = Callable[[Indices, Indices], NDArray[np.float64]]
"""Makespans in seconds of candidates (n,) in replications (r,), both by index; (n, r). Replication r always has the
same draws: common random numbers. A simulator, a fitted model and a table all are such."""

KEEP = 0.4
"""Share of the candidates that a round keeps: 0.4 chose better than 0.5 on all tables tried, see the decisions."""


@dataclass(frozen=True)
class Samples:
    """What each candidate was seen to take; one with n runs has them in the replications 0 to n - 1."""

    makespans_s: NDArray[np.float64]
    """(candidate, replication); NaN where a candidate was not run."""
    runs: Indices
    """Runs of each candidate; (candidate,)."""
    order: Indices
    """Candidates, best first: those of the last round by all their runs, then those that went out last."""
    finalists: int
    """How many of them were in the last round."""

    @property
    def evaluations(self) -> int:
        """Simulated runs in all."""
        return int(self.runs.sum())


def halve(
    makespans: Makespans,
    candidates: int,
    *,
    runs: int,
    objective: Objective = "mean",
    finalists: int = 2,
    truths: Indices | None = None,
) -> Samples:
    """Spend a budget of simulated runs by successive halving.

    Every candidate is run once; each round then keeps the better ones and gives them an equal share of what is left,
    so that a candidate has the more runs the longer it is in question.

    Parameters
    ----------
    makespans
        See `Makespans`.
    candidates
        How many there are.
    runs
        The budget, at least one for each candidate.
    finalists
        So many, or all candidates if they are fewer, reach the last round.
    truths
        Number of the truth of each replication, of as many as the budget may reach; None where nothing is doubted.

    Raises
    ------
    ScenarioError
        If the budget is below one run for each candidate.
    """
    if runs < candidates:
        raise ScenarioError(f"runs: {runs} are too few for {candidates} candidates; give at least {candidates}")

    def best_first(alive: Indices) -> Indices:
        known = None if truths is None else truths[: seen.shape[1]]
        return np.asarray(alive[ties.in_order(statistic(seen[alive], objective, known))])

    seen = np.full((candidates, 0), np.nan)
    alive, out, done = np.arange(candidates), np.arange(0), 0
    sizes = round_sizes(candidates, finalists)
    for place, size in enumerate(sizes):
        ranked = best_first(alive) if place else alive
        alive, out = ranked[:size], np.concatenate((ranked[size:], out))
        left = runs - int(np.sum(~np.isnan(seen)))
        rounds = len(sizes) - place
        each = 1 if place == 0 and rounds > 1 else min(left // size, max(1, left // (rounds * size)))
        new = np.full((candidates, each), np.nan)
        if each:
            new[alive] = makespans(alive, np.arange(done, done + each))
        seen, done = np.concatenate((seen, new), axis=1), done + each
    alive = best_first(alive)
    counts = np.sum(~np.isnan(seen), axis=1)
    return Samples(seen[:, : int(counts.max())], counts, np.concatenate((alive, out)), alive.size)


def round_sizes(candidates: int, finalists: int) -> list[int]:
    """How many candidates each round has."""
    sizes, last = [candidates], min(candidates, max(1, finalists))
    while sizes[-1] > last:
        sizes.append(max(last, math.ceil(sizes[-1] * KEEP)))
    return sizes

"""The ranking of candidates by simulated runs: the best, how sure that is, what it may miss, and what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, check_objective, statistic
from advisor.advise.ranking.gain import bootstrapped, clusters
from advisor.advise.ranking.halving import Makespans, Samples, halve
from simulator import ScenarioError, intervals, randomness, ties

# Chances: how likely each candidate is the best, or within a margin of it, after unequal numbers of paired runs.


Floats = NDArray[np.float64]
Truths = NDArray[np.int64] | None
SWEEPS = 30
"""Of the weighted least-squares fit; it converges geometrically, and faster than this."""
FAR = 8.0
"""Standard errors from the best beyond which a candidate is not drawn: it cannot be best (infinite)."""
PRIOR_RUNS = 8
"""What all candidates show of the noise counts as so many runs of each one's own."""


def plausible(
    samples: Samples, objective: Objective, generator: np.random.Generator, *, draws: int, truths: Truths = None
) -> Floats:
    """What the objective of each candidate may truly be, given the runs seen; (draw, candidate).

    For the mean, a parametric bootstrap of the two-way model `log makespan[i, r] = mean[i] + common[r] + rest[i, r]`:
    what a replication does to all candidates is taken off. The variance of the rest is each candidate's own, drawn
    towards the median of all, so that one of two runs borrows from the others and a noisy one does not spoil the quiet.
    Candidates that went out early count as what they are: uncertain.

    For the others, a bootstrap of whole truths (replications, where nothing is doubted) among the finalists; the rest
    cannot be best (infinite), as a quantile of few runs says nothing.

    Parameters
    ----------
    samples
        Of `halve`.
    truths
        Number of the truth of each replication; None where nothing is doubted.
    """
    if objective == "mean":
        return _means(samples, generator, draws)
    finalists = samples.order[: samples.finalists]
    seen = samples.makespans_s[finalists][:, : int(samples.runs[finalists].min())]
    found = np.full((draws, samples.runs.size), np.inf)
    theirs = None if truths is None else truths[: seen.shape[1]]
    found[:, finalists] = bootstrapped(seen, objective, theirs, generator, draws=draws).T
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


DRAWS = 2_000
"""Of the bootstrap: a stated chance has a standard error of at most 0.011."""
MARGIN = 0.01
"""A candidate so near to the best is as good as it."""


@dataclass(frozen=True)
class Ranked:
    """One candidate in a ranking."""

    candidate: int
    value_s: float
    """Its objective over all its runs."""
    low_s: float | None
    high_s: float | None
    """Its stated interval: of the true mean, or of a bootstrap for other objectives; None for those that are no
    finalists, and where replications are too few to have one."""
    runs: int
    p_best: float | None
    """Chance that no other candidate is better; None where each had one run only, which was drawn."""
    p_near: float | None
    """Chance that it is within 1 % of the best; as `p_best`."""
    expected_loss: float | None = None
    """How much more it is expected to have than the one that is truly best, as a share; as `p_best`."""


@dataclass(frozen=True)
class Ranking:
    """Candidates, best first, with what a budget of runs tells of them."""

    ranked: tuple[Ranked, ...]
    finalists: int
    """How many at the head were in the last round; the others had fewer runs, and their values are not comparable."""
    objective: Objective
    bound_s: float | None
    """What no candidate can be below, if known."""
    evaluations: int
    """Simulated runs."""
    seed: int
    samples: Samples

    @property
    def best(self) -> Ranked:
        """The candidate to choose."""
        return self.ranked[0]

    @property
    def regret(self) -> float | None:
        """At most so much worse than the best there can be, as a share: value over bound, minus 1."""
        return None if self.bound_s is None else self.best.value_s / self.bound_s - 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the finalists only."""
        head = self.ranked[: self.finalists]
        return {
            "objective": self.objective,
            "finalists": [vars(entry) for entry in head],
            "lower_bound_s": self.bound_s,
            "regret": self.regret,
            "evaluations": self.evaluations,
            "seed": self.seed,
        }


def rank(  # noqa: PLR0913 - all by name
    makespans: Makespans,
    candidates: int,
    *,
    runs: int,
    objective: Objective = "mean",
    bound_s: float | None = None,
    finalists: int = 2,
    seed: int = 0,
    deterministic: bool = False,
    truths: Truths = None,
    level: float = intervals.LEVEL,
) -> Ranking:
    """Find the best of some candidates within a budget of simulated runs, all paired.

    Parameters
    ----------
    makespans
        The runs: a simulator, a model or a table; see `Makespans`.
    candidates
        How many there are.
    runs
        The budget, at least one for each candidate; nothing is run twice.
    bound_s
        A lower bound of the objective, for the regret.
    finalists
        How many reach the last round and are reported.
    seed
        Of the bootstrap; the runs have what draws the caller gives them.
    deterministic
        Whether it is known that nothing is drawn: one run then tells all of a candidate.
    truths
        Number of the truth of each replication, of as many as the budget may reach; None where nothing is doubted.
    level
        How often stated intervals hold.

    Raises
    ------
    ScenarioError
        If there is no candidate, no such objective, or too small a budget.
    """
    check_objective(objective)
    if candidates < 1:
        raise ScenarioError("there are no candidates; give at least one")
    samples = halve(makespans, candidates, runs=runs, objective=objective, finalists=finalists, truths=truths)
    how: dict[str, Any] = {"seed": seed, "deterministic": deterministic, "truths": truths, "level": level}
    return ranking_of(samples, objective=objective, bound_s=bound_s, **how)


def ranking_of(
    samples: Samples,
    *,
    objective: Objective,
    bound_s: float | None,
    seed: int,
    deterministic: bool = False,
    truths: Truths = None,
    level: float = intervals.LEVEL,
) -> Ranking:
    """The ranking that some samples allow; see `rank`."""
    values = [
        float(statistic(seen[:runs], objective, None if truths is None else truths[:runs]))
        for seen, runs in zip(samples.makespans_s, samples.runs.tolist(), strict=True)
    ]
    paired = objective == "mean" and bool(np.all(samples.runs == samples.runs[0]))
    drawn = None
    if deterministic or paired:
        seen = samples.makespans_s[:, :1] if deterministic else samples.makespans_s
        likely = intervals.chances(seen, truths, seed=seed, margin=MARGIN, deterministic=deterministic)
        first = intervals.alike(seen)
        likely = replace(likely, best=likely.best / np.bincount(first)[first])
    else:
        drawn = plausible(samples, objective, randomness.stream(seed, "ranking"), draws=DRAWS, truths=truths)
        likely = _chances(drawn, values, truths, int(samples.runs.max()))
    ranked = []
    for place, candidate in enumerate(samples.order.tolist()):
        ends: tuple[float | None, float | None] = (None, None)
        if place < samples.finalists:
            runs = int(samples.runs[candidate])
            ends = _interval(
                samples.makespans_s[candidate, :runs],
                None if truths is None else truths[:runs],
                None if drawn is None else drawn[:, candidate],
                objective,
                level=level,
                deterministic=deterministic,
            )
        chances = [_known(column[candidate]) for column in (likely.best, likely.near, likely.loss)]
        ranked.append(Ranked(candidate, values[candidate], *ends, int(samples.runs[candidate]), *chances))
    return Ranking(tuple(ranked), samples.finalists, objective, bound_s, samples.evaluations, seed, samples)


def _chances(drawn: Floats, values: Sequence[float], truths: Truths, runs: int) -> intervals.Chances:
    """What draws of objectives, (draw, candidate), say; the loss of one that was not drawn is what was seen of it."""
    count = len(values)
    independent = clusters(truths, runs)
    surest = intervals.surest(independent, doubted=truths is not None)
    if independent < 2 and count > 1:
        nothing = np.full(count, np.nan)
        return intervals.Chances(nothing, nothing, nothing)
    least = drawn.min(axis=1, keepdims=True)
    best = (drawn == least) / np.sum(drawn == least, axis=1, keepdims=True)
    shares, near = best.mean(axis=0), np.mean(drawn <= least * (1 + MARGIN), axis=0)
    if count > 1:
        shares, near = intervals.no_surer(shares, surest), np.minimum(near, surest)
    known = np.all(np.isfinite(drawn), axis=0)
    seen = np.array(values) / min(values) - 1
    loss = np.where(known, np.mean(np.where(known, drawn, least) / least, axis=0) - 1, seen)
    return intervals.Chances(shares, near, loss)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _interval(
    seen: Floats, truths: Truths, drawn: Floats | None, objective: Objective, *, level: float, deterministic: bool
) -> tuple[float | None, float | None]:
    if objective == "mean" or deterministic or drawn is None:
        found = intervals.of_mean(seen[np.newaxis], truths, level=level, deterministic=deterministic)
        return _known(found.low[0]), _known(found.high[0])
    if clusters(truths, seen.size) < intervals.FEWEST_EQUAL:
        return None, None
    low_s, high_s = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return float(low_s), float(high_s)

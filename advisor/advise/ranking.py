"""Ranking under noise: how many times longer one configuration takes than another, which is best, how sure that is."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, check_objective, statistic
from simulator import ScenarioError, intervals, randomness, ties

Floats = NDArray[np.float64]
Truths = NDArray[np.int64] | None
DRAWS = 1_000, 2_000
"""Of the bootstrap of a gain, and of chances: these have a standard error of at most 0.011."""
MARGIN = 0.01
"""A candidate so near to the best is as good as it."""


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
    baseline_s: Floats,
    recommended_s: Floats,
    objective: Objective = "mean",
    *,
    truths: Truths = None,
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
        of_base, own = bootstrapped(both, objective, truths, randomness.stream(seed, "gain"), draws=DRAWS[0])
        low, high = np.quantile(of_base / own, ((1 - level) / 2, (1 + level) / 2))
        return Gain(ratio, float(low), float(high), wins)
    ends = intervals.of_ratio(baseline_s, recommended_s[np.newaxis], truths, level=level, deterministic=deterministic)
    low, high = float(ends.low[0]), float(ends.high[0])
    ratio = float(np.mean(baseline_s) / np.mean(recommended_s))
    return Gain(ratio, None, None, wins) if np.isnan(low) else Gain(ratio, low, high, wins)


def clusters(truths: Truths, replications: int) -> int:
    """How many independent parts replications have: truths, or each by itself where nothing is doubted."""
    return replications if truths is None else int(np.unique(truths).size)


def bootstrapped(
    samples: Floats,
    objective: Objective,
    truths: Truths,
    generator: np.random.Generator,
    *,
    draws: int,
) -> Floats:
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


@dataclass(frozen=True)
class Ranked:
    """One candidate in a ranking."""

    candidate: int
    value_s: float
    """Its objective over all its runs."""
    low_s: float | None
    high_s: float | None
    """Its stated interval: of the true mean, or of a bootstrap for other objectives; None where replications are too
    few to have one."""
    runs: int
    p_best: float | None
    """Chance that none of the others is better; None where each had one run only, which was drawn."""
    p_near: float | None
    """Chance that it is within 1 % of the best; as `p_best`."""
    expected_loss: float | None = None
    """How much more it is expected to have than the one that is truly best, as a share; as `p_best`."""


@dataclass(frozen=True)
class Ranking:
    """Candidates, best first."""

    ranked: tuple[Ranked, ...]
    objective: Objective
    bound_s: float | None
    """What no candidate can be below, if known."""

    @property
    def best(self) -> Ranked:
        """The candidate to choose."""
        return self.ranked[0]

    @property
    def regret(self) -> float | None:
        """At most so much worse than the best there can be, as a share: value over bound, minus 1."""
        return None if self.bound_s is None else self.best.value_s / self.bound_s - 1


def rank(
    makespans_s: Floats,
    *,
    objective: Objective = "mean",
    bound_s: float | None = None,
    seed: int = 0,
    deterministic: bool = False,
    truths: Truths = None,
    level: float = intervals.LEVEL,
    reach: Floats | None = None,
) -> Ranking:
    """Rank candidates by paired runs, and say how likely each is the best of them.

    Raises ScenarioError if there is no candidate or no such objective.

    `makespans_s`: (candidate, replication), paired: a replication has the same draws for all.
    `bound_s`: A lower bound of the objective, for the regret.
    `seed`: of the bootstrap.
    `deterministic`: whether it is known that nothing is drawn: one run then tells all of a candidate.
    `truths`: number of the truth of each replication; None where nothing is doubted.
    `level`: how often stated intervals hold.
    `reach`: see `RunSet.reach_s`; (candidate,).
    """
    check_objective(objective)
    if not makespans_s.size:
        raise ScenarioError("there are no candidates; give at least one")
    values = statistic(makespans_s, objective, truths)
    drawn = None
    if deterministic or objective == "mean":
        seen = makespans_s[:, :1] if deterministic else makespans_s
        likely = intervals.chances(seen, truths, seed=seed, margin=MARGIN, deterministic=deterministic)
        first = intervals.alike(seen)
        likely = replace(likely, best=likely.best / np.bincount(first)[first])
    else:
        stream = randomness.stream(seed, "ranking")
        drawn = bootstrapped(makespans_s, objective, truths, stream, draws=DRAWS[1]).T
        likely = _chances(drawn, truths, makespans_s.shape[1])
    ranked = []
    for place in ties.in_order(values).tolist():
        mine = None if drawn is None else drawn[:, place]
        wide = None if reach is None else reach[[place]]
        ends = _interval(makespans_s[place], truths, mine, wide, objective, level=level, deterministic=deterministic)
        chances = [_known(column[place]) for column in (likely.best, likely.near, likely.loss)]
        ranked.append(Ranked(place, float(values[place]), *ends, makespans_s.shape[1], *chances))
    return Ranking(tuple(ranked), objective, bound_s)


def _chances(drawn: Floats, truths: Truths, runs: int) -> intervals.Chances:
    """What draws of objectives, (draw, candidate), say."""
    count = drawn.shape[1]
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
    return intervals.Chances(shares, near, np.mean(drawn / least, axis=0) - 1)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _interval(
    seen: Floats,
    truths: Truths,
    drawn: Floats | None,
    reach: Floats | None,
    objective: Objective,
    *,
    level: float,
    deterministic: bool,
) -> tuple[float | None, float | None]:
    if objective == "mean" or deterministic or drawn is None:
        found = intervals.of_mean(seen[np.newaxis], truths, level=level, deterministic=deterministic)
        found = found if reach is None else found.reaching(reach)
        return _known(found.low[0]), _known(found.high[0])
    if clusters(truths, seen.size) < intervals.FEWEST_EQUAL:
        return None, None
    low_s, high_s = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return float(low_s), float(high_s)

"""The ranking of candidates by simulated runs: the best of them, how sure that is, and what it may miss."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, check_objective, statistic
from advisor.advise.ranking.gain import bootstrapped, clusters
from simulator import ScenarioError, intervals, randomness, ties

Floats = NDArray[np.float64]
Truths = NDArray[np.int64] | None
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
        drawn = bootstrapped(makespans_s, objective, truths, stream, draws=DRAWS).T
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

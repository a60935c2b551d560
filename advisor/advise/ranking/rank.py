"""The ranking of candidates by simulated runs: the best, how sure that is, what it may miss, and what it cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.advise.objectives import Objective, check_objective, statistic
from advisor.advise.ranking.chances import Floats, plausible
from advisor.advise.ranking.halving import Makespans, Samples, halve
from advisor.advise.ranking.paired import no_surer
from simulator import FEWEST_EQUAL, ScenarioError, describe, randomness

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
    """95 % interval: Student's t for the mean, of the bootstrap otherwise; None for those that are no finalists, and
    where replications are too few to have one."""
    runs: int
    p_best: float | None
    """Chance that no other candidate is better; None where each had one run only, which was drawn."""
    p_near: float | None
    """Chance that it is within 1 % of the best; as `p_best`."""


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


def rank(
    makespans: Makespans,
    candidates: int,
    *,
    runs: int,
    objective: Objective = "mean",
    bound_s: float | None = None,
    finalists: int = 2,
    seed: int = 0,
    deterministic: bool = False,
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

    Raises
    ------
    ScenarioError
        If there is no candidate, no such objective, or too small a budget.
    """
    check_objective(objective)
    if candidates < 1:
        raise ScenarioError("candidates: none found, at least one allowed")
    samples = halve(makespans, candidates, runs=runs, objective=objective, finalists=finalists)
    return ranking_of(samples, objective=objective, bound_s=bound_s, seed=seed, deterministic=deterministic)


def ranking_of(
    samples: Samples, *, objective: Objective, bound_s: float | None, seed: int, deterministic: bool = False
) -> Ranking:
    """The ranking that some samples allow; see `rank`."""
    if deterministic:
        drawn = samples.makespans_s[:, 0][np.newaxis]
    else:
        drawn = plausible(samples, objective, randomness.stream(seed, "ranking"), draws=DRAWS)
    least = drawn.min(axis=1, keepdims=True)
    best = (drawn == least) / np.sum(drawn == least, axis=1, keepdims=True)
    p_best, p_near = best.mean(axis=0), np.mean(drawn <= least * (1 + MARGIN), axis=0)
    most = int(samples.runs.max())
    if not deterministic and p_best.size > 1:
        p_best, p_near = no_surer(p_best, most), np.minimum(p_near, 1 - 0.5**most)
    known = deterministic or most > 1 or p_best.size == 1
    ranked = []
    for place, candidate in enumerate(samples.order.tolist()):
        seen = samples.makespans_s[candidate, : samples.runs[candidate]]
        value_s = float(statistic(seen, objective))
        low_s, high_s = None, None
        if place < samples.finalists:
            low_s, high_s = _interval(seen, drawn[:, candidate], objective, deterministic=deterministic)
        chances = (float(p_best[candidate]), float(p_near[candidate])) if known else (None, None)
        ranked.append(Ranked(candidate, value_s, low_s, high_s, seen.size, *chances))
    return Ranking(tuple(ranked), samples.finalists, objective, bound_s, samples.evaluations, seed, samples)


def _interval(
    seen: Floats, drawn: Floats, objective: Objective, *, deterministic: bool
) -> tuple[float | None, float | None]:
    if objective == "mean" or deterministic:
        described = describe(seen, deterministic=deterministic)
        return described["low"], described["high"]
    if seen.size < FEWEST_EQUAL:
        return None, None
    low_s, high_s = np.quantile(drawn, (0.025, 0.975))
    return float(low_s), float(high_s)

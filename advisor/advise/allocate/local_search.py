"""Search with few simulated runs, from seeded candidates, by moves, all on common random numbers.

1. Seeds: the model's best allocation for each order of magnitude of P, and the best of the plain strategies.
2. The model is corrected by what was seen: log(seen / predicted) is fitted as a quadratic in log P, where runs near the
   best weigh most. What the corrected model finds best among all threshold candidates and the moves from the best
   allocation is run next, a few at a time.
3. Moves from the best allocation, in the order of the corrected model, on two replications; steps shrink.
4. Those that did best are ranked by successive halving with what is left; earlier runs count.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from advisor.advise.candidates import distinct, neighbours, plain_candidates, predicted_s, threshold_candidates
from advisor.advise.objectives import statistic
from advisor.advise.problem import Allocations, Floats, Found, Problem, processes_of
from advisor.advise.ranking import rank
from simulator import ScenarioError, ties

SEEDS, GUIDED, MOVED = 0.15, 0.45, 0.75
"""Shares of the budget that are spent when each of the first three parts ends."""
BATCH = 4
"""Allocations that are run before the model is corrected again."""
STEPS = (0.2, 0.1, 0.05, 0.02)
PAIRED = 2
"""Replications that a move is judged by."""
FINALISTS = 8
"""Allocations that are ranked at the end."""


class _Seen(NamedTuple):
    """An allocation and its makespans in replications 0, 1 ..."""

    allocation: NDArray[np.int64]
    makespans_s: list[float]


def local_search(problem: Problem, *, seeds: Allocations | None = None) -> Found:
    """The best allocation found within the budget of runs; the bound, if the model is one, is not of what is simulated.

    Parameters
    ----------
    seeds
        Allocations that are tried first, baselines for example.
    """
    search = _Search(problem)
    if seeds is not None:
        search.try_all(seeds, 1, until=1.0)
    pool = distinct(np.concatenate((threshold_candidates(problem), plain_candidates(problem))))
    pool = pool[np.isfinite(predicted_s(problem, pool))]
    search.try_all(_spread(problem, pool, max(4, int(SEEDS * problem.budget))), 1, until=GUIDED)
    while search.may_spend(GUIDED):
        wider = distinct(np.concatenate((pool, neighbours(problem, search.best(1), STEPS[0]))))
        unseen = search.unseen(wider)
        if not unseen.size:
            break
        search.try_all(unseen[ties.in_order(search.corrected_s(unseen))[:BATCH]], 1, until=GUIDED)
    _move(search)
    return search.found()


def _move(search: "_Search") -> None:
    """Take moves that better the best allocation, on paired replications, until none does at the smallest step."""
    for step in STEPS:
        moved = True
        while moved and search.may_spend(MOVED):
            here = search.best(PAIRED)
            unseen = search.unseen(neighbours(search.problem, here, step))
            order = ties.in_order(search.corrected_s(unseen))
            search.try_all(unseen[order[: 2 * BATCH]], 1, until=MOVED)
            moved = not np.array_equal(search.best(PAIRED), here)


def _spread(problem: Problem, pool: Allocations, count: int) -> Allocations:
    """The best by the model in each of `count` ranges of P, best first."""
    processes, times_s = processes_of(pool), predicted_s(problem, pool)
    ranges = np.floor(np.log(processes) / np.log(processes.max() + 1) * count + ties.SAME)
    best = [np.flatnonzero(ranges == place)[ties.first_least(times_s[ranges == place])] for place in np.unique(ranges)]
    return np.asarray(pool[np.array(best)[ties.in_order(times_s[best])]])


class _Search:
    """What was seen so far, and what is left of the budget."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._seen: dict[bytes, _Seen] = {}
        self._runs = 0

    def may_spend(self, until: float) -> bool:
        """Whether one more run stays within that share of the budget."""
        return self._runs + 1 <= until * self.problem.budget

    def try_all(self, allocations: Allocations, replications: int, *, until: float) -> None:
        """Run allocations in the first replications, as far as not done yet and the share of the budget allows."""
        for allocation in allocations:
            seen = self._seen.setdefault(allocation.tobytes(), _Seen(allocation, []))
            missing = np.arange(len(seen.makespans_s), replications)
            if missing.size and (self._runs + missing.size <= until * self.problem.budget or not self._runs):
                seen.makespans_s.extend(self.problem.runs(allocation[np.newaxis], missing)[0].tolist())
                self._runs += missing.size
        self._seen = {key: seen for key, seen in self._seen.items() if seen.makespans_s}

    def unseen(self, allocations: Allocations) -> Allocations:
        """Those that were never run."""
        return allocations[[allocation.tobytes() not in self._seen for allocation in allocations]]

    def best(self, replications: int) -> NDArray[np.int64]:
        """The best of all seen, judged by the first replications; those near the top get theirs if they are missing."""
        while True:
            every = list(self._seen.values())
            means_s = [float(np.mean(seen.makespans_s[:replications])) for seen in every]
            ordered = [every[place] for place in ties.in_order(means_s)[:2]]
            missing = [seen for seen in ordered if len(seen.makespans_s) < replications]
            if not missing or self._runs + replications > self.problem.budget:
                best: NDArray[np.int64] = ordered[0].allocation
                return best
            self.try_all(np.stack([seen.allocation for seen in missing]), replications, until=1.0)

    def corrected_s(self, allocations: Allocations) -> Floats:
        """The model's times, corrected by what was seen."""
        predicted = predicted_s(self.problem, allocations)
        if self.problem.model is None:
            return predicted
        known = np.stack([seen.allocation for seen in self._seen.values()])
        seen_s = np.array([seen.makespans_s[0] for seen in self._seen.values()])
        usable = np.isfinite(predicted_s(self.problem, known)) & np.isfinite(seen_s)
        known, seen_s = known[usable], seen_s[usable]
        if not seen_s.size:
            return predicted
        weights = np.sqrt(np.minimum(1, (seen_s.min() / seen_s) ** 4))
        off = np.log(seen_s / predicted_s(self.problem, known))
        features = _features(known)
        ridge = np.diag([0.0, *np.full(features.shape[1] - 1, 0.1)])
        left = features.T @ (features * weights[:, np.newaxis] ** 2) + ridge
        right = features.T @ (off * weights**2)
        return np.asarray(predicted * np.exp(_features(allocations) @ np.linalg.solve(left, right)))

    def found(self) -> Found:
        """Rank the best of all seen with what is left."""
        problem = self.problem
        self.best(PAIRED)
        possible = [seen for seen in self._seen.values() if np.all(np.isfinite(seen.makespans_s))]
        if not possible:
            raise ScenarioError("allocation: no run has a finite makespan")
        means_s = [float(np.mean(seen.makespans_s)) for seen in possible]
        runs = [-len(seen.makespans_s) for seen in possible]
        ordered = [possible[place] for place in ties.in_order(means_s, runs)]
        left = problem.budget - self._runs
        finalists = ordered[: min(FINALISTS, max(1, left // 2), len(ordered))]
        known = np.array([len(seen.makespans_s) for seen in finalists])

        def makespans(candidates: NDArray[np.int64], replications: NDArray[np.int64]) -> Floats:
            for place in candidates.tolist():
                seen = finalists[place]
                missing = replications[replications >= len(seen.makespans_s)]
                if missing.size:
                    self._runs += missing.size
                    seen.makespans_s.extend(problem.runs(seen.allocation[np.newaxis], missing)[0].tolist())
            return np.array([[finalists[c].makespans_s[r] for r in replications.tolist()] for c in candidates.tolist()])

        # At least the first run of each was made before; what all have already is not paid for again.
        budget = left + int(known.min()) * len(finalists)
        ranking = rank(makespans, len(finalists), runs=budget, objective=problem.objective, seed=problem.seed)
        best = finalists[ranking.best.candidate]
        value_s = float(statistic(np.array(best.makespans_s), problem.objective))
        return Found(best.allocation, value_s, None, self._runs)


def _features(allocations: Allocations) -> Floats:
    """1, log P and its square, and log of processes per PE; (allocation, 4)."""
    processes, pes = processes_of(allocations), allocations[:, :, 0].sum(axis=1)
    scale = np.log(processes) - 4.0
    return np.stack((np.ones(scale.size), scale, scale**2, np.log(processes / pes)), axis=1)

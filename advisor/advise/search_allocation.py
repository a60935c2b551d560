"""The search for an allocation: candidates, fast screening, paired ranking with the baselines, and confirmation.

1. The model of the scenario is optimised exactly; its optimum is a bound (of the model) and a candidate.
2. Local search spends a part of the budget on simulated runs (compiled engine, common random numbers).
3. What both found and all baselines are run in the same fresh replications, numbered from 0 as in `simulator.run`; the
   best of them is proposed. What the search looked at does not flatter it.
4. The reference engine runs the best ones again: the same draws must give the same makespans.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from advisor.advise.allocate import branch_and_bound, local_search, structured
from advisor.advise.baselines import allocation_baselines
from advisor.advise.objectives import Objective, check_objective, over_runs
from advisor.advise.problem import EqualWork, Found, Problem
from advisor.advise.ranking import Gain, Ranking, gain, rank
from advisor.advise.search import SEARCH_FIRST
from advisor.advise.simulated import configuration_of, problem_of, simulate
from simulator import Configuration, RunSet, Scenario, ScenarioError, describe
from simulator.experiments.sweep import run_or_recall

SEARCHED = 0.5
"""Share of the budget that the search spends; the rest goes to the comparison with the baselines."""
MOST_RUNS = 1_000_000
"""Largest budget: candidates are compared in a table with a place for each run."""
SOUGHT = ("search", "model-optimum")
"""Names of the candidates that are no baselines."""


@dataclass(frozen=True)
class Confirmation:
    """A configuration's makespans by the reference engine and by the one that screened, on the same draws."""

    configuration: str
    reference_s: tuple[float, ...]
    screened_s: tuple[float, ...]

    @property
    def agrees(self) -> bool:
        """Whether they are the same but for the length of a tick."""
        return bool(np.allclose(self.reference_s, self.screened_s, rtol=1e-9, atol=0))


@dataclass(frozen=True)
class AllocationAdvice:
    """Which PEs to use and how many processes on each, and what else one would do."""

    candidates: tuple[Configuration, ...]
    """The search's and all baselines."""
    ranking: Ranking
    """All of them in the same replications; entries name candidates by their place."""
    model_bound_s: float | None
    """No allocation is faster in the model, if it could be bounded; what is simulated may be."""
    searched: Found
    evaluations: int
    """Simulated runs in all, without those of the reference engine."""
    seed: int
    confirmations: tuple[Confirmation, ...]
    deterministic: bool = False
    """Whether nothing is drawn: one replication then tells all."""

    @property
    def configuration(self) -> Configuration:
        """The one to use."""
        return self.candidates[self.ranking.best.candidate]

    @property
    def predicted(self) -> dict[str, float | None]:
        """Its mean makespan with interval, median and quantiles; see `simulator.describe`."""
        return describe(self._makespans(self.ranking.best.candidate), deterministic=self.deterministic)

    @property
    def gap(self) -> float | None:
        """So much above the model's bound, as a share; below 0 where the model is pessimistic."""
        return None if self.model_bound_s is None else self.ranking.best.value_s / self.model_bound_s - 1

    @property
    def baselines(self) -> dict[str, Gain]:
        """By name, how many times longer each baseline takes in the mean."""
        best = self._makespans(self.ranking.best.candidate)
        return {
            candidate.name: gain(self._makespans(place), best, deterministic=self.deterministic)
            for place, candidate in enumerate(self.candidates)
            if candidate.name not in SOUGHT
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        rows = []
        for entry in self.ranking.ranked:
            row = {"name": self.candidates[entry.candidate].name, **vars(entry)}
            del row["candidate"]
            rows.append(row)
        return {
            "recommended": self.configuration.name,
            "partition": list(self.configuration.partition),
            "placement": list(self.configuration.placement),
            "objective": self.ranking.objective,
            "candidates": rows,
            "predicted_makespan_s": self.predicted,
            "gain_over": {name: vars(found) for name, found in self.baselines.items()},
            "model_bound_s": self.model_bound_s,
            "gap": self.gap,
            "evaluations": self.evaluations,
            "seed": self.seed,
            "confirmed": [{**vars(entry), "agrees": entry.agrees} for entry in self.confirmations],
        }

    def _makespans(self, candidate: int) -> np.ndarray:
        samples = self.ranking.samples
        return np.asarray(samples.makespans_s[candidate, : samples.runs[candidate]])


def search_allocation(
    scenario: Scenario,
    *,
    most: int | None = None,
    objective: Objective = "mean",
    budget: int = 300,
    confirm: int = 1,
    run: Callable[..., RunSet] = run_or_recall,
) -> AllocationAdvice:
    """Find which PEs should take part and how many processes each should run, with equal shares of the work.

    Parameters
    ----------
    scenario
        Its own configurations are not looked at; its seed decides all draws.
    most
        Most processes on one PE; by default its cores.
    budget
        Simulated runs in all.
    confirm
        Replications that the reference engine runs of the advice and the runner-up, 0 for none.
    run
        The simulator, or what counts its runs.

    Raises
    ------
    ScenarioError
        If the budget does not give every candidate a run, there is no such objective, or the application does not fit.
    """
    check_objective(objective)
    if not 1 <= budget <= MOST_RUNS:
        raise ScenarioError(f"runs: {budget} simulated runs cannot be compared; give 1 to {MOST_RUNS}")
    planned = max(1, int(SEARCHED * budget))
    scenario = replace(scenario, strata=scenario.strata or scenario.replications)  # whatever a round asks for at once
    problem = problem_of(scenario, most=most, objective=objective, budget=planned, first=SEARCH_FIRST, run=run)
    bound = model_optimum(problem)
    plain = allocation_baselines(scenario, problem)
    found = local_search(problem, seeds=None if bound is None else bound.allocation[np.newaxis])
    both = zip(SOUGHT, (found, bound), strict=True)
    sought = [configuration_of(scenario, problem.kinds, one.allocation, name) for name, one in both if one is not None]
    candidates = tuple(_without_repeats(sought, plain))
    spent = planned - problem.budget + found.evaluations
    if budget - spent < len(candidates):
        few = f"runs: {budget} are too few for a search and {len(candidates)} candidates"
        raise ScenarioError(f"{few}; give at least {math.ceil(len(candidates) / (1 - SEARCHED))}")
    how: dict[str, Any] = {"objective": objective, "run": run}
    ranking = rank(
        lambda places, numbers: simulate(scenario, tuple(candidates[place] for place in places), numbers, **how),
        len(candidates),
        runs=budget - spent,
        objective=over_runs(objective),
        finalists=len(candidates),
        seed=scenario.seed,
        deterministic=scenario.deterministic,
    )
    evaluations = spent + ranking.evaluations
    bound_s, seed = None if bound is None else bound.lower_bound_s, scenario.seed
    advice = AllocationAdvice(candidates, ranking, bound_s, found, evaluations, seed, (), scenario.deterministic)
    return replace(advice, confirmations=_confirmed(scenario, advice, confirm)) if confirm else advice


def model_optimum(problem: Problem) -> Found | None:
    """The optimal allocation of the problem's model, None where there is no model or it is too large to bound."""
    if problem.model is None:
        return None
    if isinstance(problem.model, EqualWork):
        return structured(problem)
    try:
        return branch_and_bound(problem)
    except ScenarioError:
        return None


def _without_repeats(sought: list[Configuration], plain: list[Configuration]) -> list[Configuration]:
    """All baselines, and before them what else was found."""
    kept: list[Configuration] = []
    for one in sought:
        if not any((one.partition, one.placement) == (other.partition, other.placement) for other in [*kept, *plain]):
            kept.append(one)
    return [*kept, *plain]


def _confirmed(scenario: Scenario, advice: AllocationAdvice, replications: int) -> tuple[Confirmation, ...]:
    """The reference engine's makespans of the two best in the first replications."""
    first = [entry for entry in advice.ranking.ranked[:2] if entry.runs]
    chosen = tuple(advice.candidates[entry.candidate] for entry in first)
    reference = run_or_recall(
        scenario.with_configurations(chosen),
        replications=min(replications, *(entry.runs for entry in first)),
        engine="process",
    ).makespan_s
    seen = advice.ranking.samples.makespans_s
    return tuple(
        Confirmation(one.name, tuple(row.tolist()), tuple(seen[entry.candidate, : row.size].tolist()))
        for one, entry, row in zip(chosen, first, reference, strict=True)
    )

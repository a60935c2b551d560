"""Pareto fronts: which configurations are not beaten in both makespan and cost (or energy) by any other one."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.kinds import kinds_of
from advisor.advise.objectives import UNITS, rate_of, rates, statistic
from advisor.advise.problem import Kind
from advisor.advise.recommendation import Recommendation
from simulator import Configuration, Scenario, ScenarioError, partitions, ties
from simulator.experiments.sweep import run_or_recall

MOST_SETS = 128
"""Up to so many sets of PEs all are looked at."""


@dataclass(frozen=True)
class Point:
    """One configuration on a front."""

    configuration: Configuration
    objective_s: float
    cost: float
    """What it costs in the mean."""


@dataclass(frozen=True)
class Front:
    """The configurations that none of those considered beats in objective and cost, fastest first."""

    of: str
    """`cost` or `energy`."""
    points: tuple[Point, ...]
    considered: int
    scope: str
    """What was considered, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        points = [
            {
                "name": point.configuration.name,
                "partition": list(point.configuration.partition),
                "placement": list(point.configuration.placement),
                "objective_s": point.objective_s,
                self.of: point.cost,
            }
            for point in self.points
        ]
        return {
            "of": self.of,
            "unit": UNITS[self.of],
            "points": points,
            "considered": self.considered,
            "scope": self.scope,
        }


def pareto_fronts(scenario: Scenario, recommendation: Recommendation) -> tuple[Front, ...]:
    """The front of objective and cost, and of objective and energy, as far as the PEs say what they cost or draw.

    A PE that takes part costs for the whole makespan, whether it computes or waits. Besides the candidates of the
    advice, all sets of PEs are considered where they are few: any number of each kind with the functional partition,
    or all kinds with all of their PEs or none. Fronts are exact over what is considered.

    Raises
    ------
    ScenarioError
        If no PE says a cost or a power, or some do and others do not.
    """
    known = check_rates(scenario)
    objective, runs = recommendation.objective, recommendation.runs
    sets, scope = _sets(scenario, recommendation)
    configurations = [*recommendation.candidates, *sets]
    tables = [runs.makespan_s]
    if sets:
        again = runs.drawn(scenario.with_configurations(tuple(sets)))
        tables.append(run_or_recall(again, replications=runs.makespan_ticks.shape[1]).makespan_s)
    makespans_s = np.concatenate(tables)
    values = statistic(makespans_s, objective)
    fronts = []
    for of, rate in known.items():
        costs = np.array([rate_of(scenario, one, rate) for one in configurations]) * makespans_s.mean(axis=1)
        points = tuple(
            Point(configurations[place], float(values[place]), float(costs[place])) for place in front(values, costs)
        )
        fronts.append(Front(of, points, len(configurations), scope))
    return tuple(fronts)


def check_rates(scenario: Scenario) -> dict[str, NDArray[np.float64]]:
    """What `rates` says, if there is anything to have a front of; errors as of `pareto_fronts`."""
    if known := rates(scenario):
        return known
    said_where = "`price: 2.50` (per hour) with the nodes, `cost: 0.02` (per second) or `power: 150W` with the PEs"
    raise ScenarioError(f"pareto: no cost and no power of any PE is known; say {said_where}")


def front(values: NDArray[np.float64], costs: NDArray[np.float64]) -> list[int]:
    """Places of the pairs that no other one is at most equal to in both and below in one; lowest value first.

    Of equal pairs the first stands for all.
    """
    kept: list[int] = []
    least = math.inf
    for place in np.lexsort((np.arange(values.size), ties.levels(costs), ties.levels(values))).tolist():
        if ties.is_less(float(costs[place]), least):
            kept.append(place)
            least = float(costs[place])
    return kept


def _sets(scenario: Scenario, recommendation: Recommendation) -> tuple[list[Configuration], str]:
    """The functional partition on sets of PEs, and in words which sets."""
    kinds, searched = kinds_of(scenario), "what the search looked at in the end and the baselines"
    if "partition" not in recommendation.varied:
        return [], searched
    if math.prod(kind.count + 1 for kind in kinds) - 1 <= MOST_SETS:
        ranges: Sequence[Sequence[int]] = [range(kind.count + 1) for kind in kinds]
        words = "every number of PEs of each kind"
    elif 2 ** len(kinds) - 1 <= MOST_SETS:
        ranges = [(0, kind.count) for kind in kinds]
        words = "every set of whole kinds of PEs"
    else:
        return [], searched
    found = []
    for counts in itertools.product(*ranges):
        pes = sorted(pe for kind, count in zip(kinds, counts, strict=True) for pe in kind.pes[:count])
        one = _on(scenario, kinds, counts, pes) if pes else None
        if one is not None and scenario.lacking_bytes(one) == 0:
            found.append(one)
    return found, f"{words}, each with its functional partition, one process on each, and the candidates of the advice"


def _on(scenario: Scenario, kinds: Sequence[Kind], counts: Sequence[int], pes: list[int]) -> Configuration | None:
    """The functional partition on some PEs; None if the application has none for so many."""
    name = " + ".join(f"{count} x {kind.name}" for kind, count in zip(kinds, counts, strict=True) if count)
    work = scenario.application.work
    try:
        part, _ = partitions.functional_over(scenario, pes)
        one = Configuration(f"on {name}", work.fitting(part), tuple(pes))
        work.program(one)
    except ScenarioError:
        return None
    return one

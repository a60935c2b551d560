"""Pareto fronts: which configurations are not beaten in both makespan and cost (or energy) by any other one."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.judge import Tried
from advisor.advise.objectives import rate_of, rates, statistic
from advisor.advise.recommendation import Recommendation, record_of
from advisor.results import NO_TIMES
from simulator import Configuration, Scenario, ScenarioError, documents, ties
from simulator.experiments.sweep import run_or_recall


@dataclass(frozen=True)
class Point:
    """One configuration on a front."""

    name: str
    partition: tuple[int, ...]
    placement: tuple[int, ...]
    objective_s: float
    cost: float | None = field(default=None, metadata=documents.SPARE)
    """What it costs in the mean, where the front is of cost."""
    energy: float | None = field(default=None, metadata=documents.SPARE)
    """What it takes in the mean, where the front is of energy."""
    grid: tuple[int, int] | None = field(default=None, metadata=documents.SPARE)
    """Rows and columns of its processes, where the application has such a grid."""


@dataclass(frozen=True)
class Front:
    """The configurations that none of those considered beats in objective and cost, fastest first."""

    of: str
    """`cost` or `energy`."""
    unit: str
    points: tuple[Point, ...]
    considered: int
    scope: str
    """What was considered, in words."""


def pareto_fronts(scenario: Scenario, recommendation: Recommendation) -> tuple[Front, ...]:
    """The front of objective and cost, and of objective and energy, as far as the PEs say what they cost or draw.

    A PE that takes part costs for the whole makespan, whether it computes or waits. Fronts are views of the records of
    two searches, that of the advice and one for the least cost; their best are simulated on the draws of the advice.

    Raises ScenarioError if no PE says a cost or a power, or some do and others do not.
    """
    runs, fronts = recommendation.runs, list[Front]()
    for of, rate in check_rates(scenario).items():
        records = [recommendation.record, record_of(scenario, recommendation, "cost" if of == "cost" else "energy")]
        sought = {_what(one): one for record in records for one in _unbeaten(scenario, record, rate)}
        known = {_what(one) for one in recommendation.candidates}
        more = [replace(one, name=f"tried-{n}") for n, (what, one) in enumerate(sought.items()) if what not in known]
        tables = [runs.makespan_s]
        if more:
            again = runs.drawn(scenario.with_configurations(tuple(more)))
            tables.append(run_or_recall(again, replications=runs.makespan_ticks.shape[1]).makespan_s)
        configurations, makespans_s = [*recommendation.candidates, *more], np.concatenate(tables)
        values = statistic(makespans_s, recommendation.objective, runs.truths)
        costs = np.array([rate_of(scenario, one, rate) for one in configurations]) * makespans_s.mean(axis=1)
        points = tuple(
            Point(
                one.name, one.partition, one.placement, float(values[place]), grid=one.grid, **{of: float(costs[place])}
            )
            for place, one in ((place, configurations[place]) for place in front(values, costs))
        )
        scope = f"what the searches for the advice and the least {of} tried"
        fronts.append(Front(of, NO_TIMES[of], points, sum(map(len, records)), scope))
    return tuple(fronts)


def _what(one: Configuration) -> Hashable:
    return one.partition, one.placement, one.grid


def _unbeaten(scenario: Scenario, record: Sequence[Tried], rate: NDArray[np.float64]) -> list[Configuration]:
    """The front of what a search tried, by the seconds that it saw."""
    seconds = np.array([one.seconds for one in record])
    costs = seconds * np.array([rate_of(scenario, one.configuration, rate) for one in record])
    return [record[place].configuration for place in front(seconds, costs)]


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

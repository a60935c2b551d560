"""A block of integer costs as the SimPy engine reads it: lists, made once for all runs that share them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from simulator.engines.costs import Costs, Ticks
from simulator.engines.resources import FarmTerms, Movements, Service, deciding
from simulator.programs.columns import Columns, Kind
from simulator.programs.program import ANY
from simulator.scenario_file.scenario import Scenario


@dataclass(frozen=True)
class Listing:
    """The columns of a program as lists, which Python reads faster than arrays."""

    first: list[int]
    kind: list[int]
    partner: list[int]
    source: list[int]
    tag: list[int]

    @classmethod
    def of(cls, columns: Columns) -> "Listing":
        """Of all rows."""
        return cls(*(getattr(columns, name).tolist() for name in cls.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Setup:
    """What the runs of a block of costs share."""

    scenario: Scenario
    costs: Costs
    service: Callable[[int, int], Service]
    """For a PE and a number of processes."""
    operations: Mapping[str, Callable[..., Any]]
    """The user's own, by name."""
    tick_s: float

    @cached_property
    def listing(self) -> Listing:
        """The program's operations."""
        return Listing.of(self.costs.columns)

    @cached_property
    def eager(self) -> list[bool]:
        """By row."""
        found: list[bool] = self.costs.eager.tolist()
        return found

    @cached_property
    def from_anyone(self) -> set[tuple[int, int]]:
        """Receiver and tag of the receives from anyone."""
        columns = self.costs.columns
        rows = np.flatnonzero((columns.kind == Kind.RECV) & (columns.partner == ANY))
        return set(zip(columns.process[rows].tolist(), columns.tag[rows].tolist(), strict=True))

    @cached_property
    def farms(self) -> list[FarmTerms]:
        """By farm."""
        columns = self.costs.columns
        tables = [
            FarmTerms(table.volumes.size, table.chunk, pull)
            for table, pull in zip(columns.farm_tables, self.costs.pull_ticks, strict=True)
        ]
        return [tables[table] for table in columns.farms.tolist()]

    @cached_property
    def routes(self) -> list[tuple[int, ...]]:
        """Directed links of each route."""
        links = self.costs.route_links.tolist()
        return [tuple(links[a:b]) for a, b in pairwise(self.costs.route_first.tolist())]

    @cached_property
    def deciding(self) -> list[tuple[int, ...]]:
        """Those of them that can hold flows back."""
        return deciding(self.routes, self.costs.capacities.tolist())

    @lru_cache(maxsize=1)  # noqa: B019 - runs of one configuration follow each other
    def movements(self, configuration: int) -> Movements:
        """What is sent in a configuration of the block."""
        costs = self.costs
        ticks, units, route = (
            _at(values, configuration).tolist() for values in (costs.ticks, costs.units, costs.route)
        )
        return Movements(ticks, units, route, self.routes)

    def ticks(self, configuration: int, replication: int) -> list[int]:
        """What each operation takes where it meets nobody, computations included; by row."""
        costs = self.costs
        ticks = _at(costs.ticks, configuration).copy()
        nominal = _at(_at(costs.nominal_ticks, configuration), costs.replications.index(replication))
        computes = costs.computation >= 0
        ticks[computes] = nominal[costs.computation[computes]]
        found: list[int] = ticks.tolist()
        return found

    def farm_ticks(self, configuration: int, replication: int) -> list[list[list[int]]]:
        """Per farm table and process of it: nominal ticks of all units before one."""
        place = self.costs.replications.index(replication)
        return [_at(_at(ticks, configuration), place).tolist() for ticks in self.costs.farm_ticks]


def _at(values: Ticks, place: int) -> Ticks:
    """An entry of a first axis that has length 1 where all are alike."""
    return np.asarray(values[min(place, values.shape[0] - 1)])

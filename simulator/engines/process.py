"""The reference engine: every process a SimPy generator, readable and extensible."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Protocol

import numpy as np

from simulator.engines import faults
from simulator.engines.actor import CustomOperation, Simulation
from simulator.engines.costs import Costs, ServiceTable, lower, service_table, start_ticks
from simulator.engines.resources import Service
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.engines.setup import Setup
from simulator.platform.nodes import PE
from simulator.scenario_file.draws import Draws
from simulator.scenario_file.scenario import Scenario

__all__ = ["CustomOperation", "Progress", "Sharing", "run"]

Progress = Callable[[int, int], None]
"""Told how many runs are done, of how many."""


class Sharing(Protocol):
    """A rule by which a PE is shared: what one of `processes` runnable processes attains on it, as integers."""

    def __call__(self, pe: PE, processes: int, *, tick_s: float) -> ServiceTable:
        """The service of one of `processes`; knots in ticks from the start of the PE's load trace."""


def run(
    scenario: Scenario,
    draws: Draws,
    *,
    tick_s: float,
    log_replications: int = 0,
    operations: Mapping[str, CustomOperation] | None = None,
    sharing: Sharing = service_table,
    progress: Progress | None = None,
) -> RunSet:
    """Simulate every configuration and replication of a scenario.

    Parameters
    ----------
    scenario
        Its configurations are run on the same draws (paired).
    draws
        Axes (replication, PE).
    tick_s
        Seconds per tick.
    log_replications
        Keep the operation log of this many first replications of each configuration.
    operations
        What the program's `Custom` operations do, by name; see `Context`.
    sharing
        How processes share a PE, in place of equal shares of what its load leaves.
    progress
        Called after each run.

    Raises
    ------
    SimulationError
        For a deadlock, a message that nobody receives, a stalled PE or a link with too many flows, with names.
    TraceError
        If a trace that ends does so before the run.
    """
    starts = start_ticks(draws, tick_s=tick_s).tolist()
    services, of_services = _services(scenario, sharing, tick_s), scenario
    results = _Results(scenario)
    done, runs = 0, len(scenario.configurations) * scenario.replications
    for costs in lower(scenario, draws, tick_s=tick_s):
        faults.check_customs(costs, operations or {})
        if costs.scenario is not of_services:  # of another truth
            services, of_services = _services(costs.scenario, sharing, tick_s), costs.scenario
        setup = Setup(costs.scenario, costs, services, dict(operations or {}), tick_s)
        for configuration, replication in _runs(costs):
            place = costs.configurations[configuration]
            logged = replication < log_replications
            simulation = Simulation(setup, configuration, replication, starts=starts[replication], logged=logged)
            simulation.run()
            results.add(place, replication, simulation)
            done += 1
            if progress is not None:
                progress(done, runs)
    return results.run_set(scenario, tick_s)


def _runs(costs: Costs) -> Iterator[tuple[int, int]]:
    """Place of a configuration in the block, and replication, in the order in which they are run."""
    return ((place, replication) for place in range(len(costs.configurations)) for replication in costs.replications)


def _services(scenario: Scenario, sharing: Sharing, tick_s: float) -> Callable[[int, int], Service]:
    """The service for a PE and a number of our processes, made once for all runs."""
    pes = scenario.platform.pes
    # Tables of ours depend on nothing but a PE's load and cores, a user's may depend on anything.
    alike = {(id(pe.load), pe.cores): place for place, pe in reversed(list(enumerate(pes)))}
    same = [alike[id(pe.load), pe.cores] if sharing is service_table else place for place, pe in enumerate(pes)]
    made = cache(lambda place, processes: Service(sharing(pes[place], processes, tick_s=tick_s)))
    return lambda place, processes: made(same[place], processes)


class _Results:
    """The arrays of a `RunSet` while runs come in."""

    def __init__(self, scenario: Scenario) -> None:
        count = scenario.replications
        self._makespans = np.zeros((len(scenario.configurations), count), dtype=np.int64)
        shapes = [(count, len(configuration.placement)) for configuration in scenario.configurations]
        self._computed, self._busy, self._finish = (
            tuple(np.zeros(shape, dtype=np.int64) for shape in shapes) for _ in range(3)
        )
        self._logs: dict[tuple[int, int], tuple[LoggedOperation, ...]] = {}

    def add(self, place: int, replication: int, simulation: Simulation) -> None:
        """Note a run that has ended."""
        self._makespans[place, replication] = max(simulation.finish)
        self._computed[place][replication] = simulation.usage.computed
        self._busy[place][replication] = simulation.usage.busy
        self._finish[place][replication] = simulation.finish
        if simulation.log is not None:
            self._logs[place, replication] = tuple(sorted(simulation.log, key=lambda one: (one.process, one.index)))

    def run_set(self, scenario: Scenario, tick_s: float) -> RunSet:
        """All runs."""
        names = tuple(configuration.name for configuration in scenario.configurations)
        arrays = self._makespans, self._computed, self._busy, self._finish
        return RunSet(names, tick_s, *arrays, "process", scenario.seed, self._logs)

"""The reference engine: every process a SimPy generator, readable and extensible."""

from collections.abc import Callable
from functools import cache

import numpy as np
import simpy
from simpy.events import ProcessGenerator

from simulator.costs import ComputeCost, Costs, MessageCost, lower, service_table, start_ticks
from simulator.engines.resources import Instant, Messages, Service, SharedPE, now
from simulator.errors import SimulationError
from simulator.results import LoggedOperation, RunSet
from simulator.scenario import Draws, Scenario


def run(scenario: Scenario, draws: Draws, *, tick_s: float, log_replications: int = 0) -> RunSet:
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

    Raises
    ------
    SimulationError
        For a deadlock or a stalled PE, with names.
    """
    services = _service_makers(scenario, tick_s)
    starts = start_ticks(draws, tick_s=tick_s).tolist()
    names = tuple(configuration.name for configuration in scenario.configurations)
    makespans = np.zeros((len(names), scenario.replications), dtype=np.int64)
    computed = []
    logs = {}
    for row, configuration in enumerate(scenario.configurations):
        costs = lower(scenario, configuration, draws, tick_s=tick_s)
        computed.append(np.zeros((scenario.replications, len(configuration.partition)), dtype=np.int64))
        for replication in range(scenario.replications):
            log = _run_once(scenario, costs, replication, services, starts[replication])
            makespans[row, replication] = max((entry.end_ticks for entry in log), default=0)
            for entry in log:
                if entry.operation == "compute":
                    computed[row][replication, entry.process] = entry.end_ticks
            if replication < log_replications:
                logs[row, replication] = tuple(log)
    return RunSet(names, tick_s, makespans, tuple(computed), "process", scenario.seed, logs)


def _service_makers(scenario: Scenario, tick_s: float) -> list[Callable[[int], Service]]:
    """Per PE, the service for a number of our processes, made once for all runs."""

    def maker(index: int) -> Callable[[int], Service]:
        return cache(lambda processes: Service(service_table(scenario.platform.pes[index], processes, tick_s=tick_s)))

    return [maker(index) for index in range(len(scenario.platform.pes))]


def _run_once(
    scenario: Scenario, costs: Costs, replication: int, services: list[Callable[[int], Service]], starts: list[int]
) -> list[LoggedOperation]:
    env = simpy.Environment(initial_time=0)
    instant, messages = Instant(env), Messages(env)
    pes = [
        SharedPE(env, instant, pe.name, services[index], starts[index])
        for index, pe in enumerate(scenario.platform.pes)
    ]
    placement = costs.configuration.placement
    log: list[LoggedOperation] = []
    waiting: dict[int, str] = {}

    def process(number: int) -> ProcessGenerator:
        pe = pes[placement[number]]
        name = scenario.platform.pes[placement[number]].name
        for cost in costs.operations[number]:
            kind, start = _kind(cost), now(env)
            waiting[number] = f"process {number} waits in operation {cost.index} ({_describe(cost)})"
            if isinstance(cost, ComputeCost):
                yield pe.compute(int(cost.nominal_ticks[replication]), number)
            elif cost.sends:
                yield messages.send((number, cost.partner, cost.tag), cost.ticks)
            else:
                yield messages.recv((cost.partner, number, cost.tag))
            log.append(LoggedOperation(number, name, kind, cost.index, start, now(env)))
        waiting.pop(number, None)

    for number in range(len(placement)):
        env.process(process(number))
    env.run()
    if waiting:
        held = [waiting[number] for number in sorted(waiting)]
        raise SimulationError([f"configuration {costs.configuration.name}: deadlock: {text}" for text in held])
    return log


def _kind(cost: ComputeCost | MessageCost) -> str:
    return "compute" if isinstance(cost, ComputeCost) else "send" if cost.sends else "recv"


def _describe(cost: ComputeCost | MessageCost) -> str:
    if isinstance(cost, ComputeCost):
        return "compute"
    direction = "send to" if cost.sends else "receive from"
    return f"{direction} process {cost.partner}, tag {cost.tag}"

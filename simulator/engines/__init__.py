"""Engines: interpreters of one program with one meaning; `run` picks one and records which."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from simulator.costs import TICKS_S, TickOverflowError, service_table
from simulator.engines import process
from simulator.engines.process import CustomOperation, Sharing
from simulator.errors import ScenarioError
from simulator.results import RunSet
from simulator.scenario import Scenario, draw

__all__ = ["CustomOperation", "Engine", "Sharing", "run"]

Engine = Literal["auto", "process"]


def run(
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    engine: Engine = "auto",
    log_replications: int = 0,
    operations: Mapping[str, CustomOperation] | None = None,
    sharing: Sharing = service_table,
) -> RunSet:
    """Simulate every configuration of a scenario on the same draws.

    Parameters
    ----------
    scenario
        What to simulate.
    replications, seed
        In place of the scenario's own.
    engine
        `process` (SimPy), or `auto`.
    log_replications
        Keep the operation log of this many first replications of each configuration.
    operations
        What `Custom` operations of the program do, by name: functions of a `Context` and the arguments that yield the
        events they wait for. Only the engine `process` runs them.
    sharing
        How our processes share a PE, in place of equal shares of what its load leaves. Only the engine `process`.

    Raises
    ------
    ScenarioError
        If the scenario or the engine's name cannot be used.
    SimulationError
        For a deadlock or a stalled PE, with names.
    """
    if engine not in get_args(Engine):
        raise ScenarioError(f"engine: {engine!r} found, one of {', '.join(get_args(Engine))} allowed")
    if not scenario.configurations:
        raise ScenarioError("configurations: none found, at least one allowed")
    scenario = replace(
        scenario,
        replications=scenario.replications if replications is None else replications,
        seed=scenario.seed if seed is None else seed,
    )
    draws = draw(scenario)
    for tick_s in TICKS_S:
        try:
            return process.run(
                scenario,
                draws,
                tick_s=tick_s,
                log_replications=log_replications,
                operations=operations,
                sharing=sharing,
            )
        except TickOverflowError:
            continue
    raise ScenarioError("application: a run of more than 146 years found, shorter ones allowed")

"""Engines: interpreters of one program with one meaning; `run` picks one and records which."""

from dataclasses import replace
from typing import Literal, get_args

from simulator.costs import TICKS_S, TickOverflowError
from simulator.errors import ScenarioError
from simulator.results import RunSet
from simulator.scenario import Scenario, draw

__all__ = ["Engine", "run"]

Engine = Literal["auto", "process"]


def run(
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    engine: Engine = "auto",
    log_replications: int = 0,
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
    from simulator.engines import process

    draws = draw(scenario)
    for tick_s in TICKS_S:
        try:
            return process.run(scenario, draws, tick_s=tick_s, log_replications=log_replications)
        except TickOverflowError:
            continue
    raise ScenarioError("application: a run of more than 146 years found, shorter ones allowed")

"""Engines: interpreters of one program with one meaning; `run` picks one and records which."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from simulator.base.errors import ScenarioError, UnsupportedProgram
from simulator.engines import process
from simulator.engines.choice import worth_compiling
from simulator.engines.costs import TICKS_S, TickOverflowError, service_table
from simulator.engines.process import CustomOperation, Progress, Sharing
from simulator.engines.run_set import RunSet
from simulator.scenario_file.scenario import Scenario, draw

__all__ = ["CustomOperation", "Engine", "Progress", "Sharing", "run"]

Engine = Literal["auto", "process", "compiled"]
_OWN = "operations or sharing of your own"


def run(  # noqa: PLR0913 - all by name
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    first_replication: int = 0,
    engine: Engine = "auto",
    log_replications: int = 0,
    threads: int | None = None,
    operations: Mapping[str, CustomOperation] | None = None,
    sharing: Sharing = service_table,
    progress: Progress | None = None,
) -> RunSet:
    """Simulate every configuration of a scenario on the same draws.

    Parameters
    ----------
    replications, seed, first_replication
        In place of the scenario's own; and the number of the first: number r has the same draws in whichever call.
    engine
        `process` (SimPy), `compiled` (Numba), or `auto`: `compiled` where it can, once there is enough to do that
        loading it pays. Results are the same; they name the engine.
    log_replications, threads
        Keep the operation log of so many first replications; how many threads `compiled` may use, all by default.
    operations
        What `Custom` operations do, by name: functions of a `Context` and the arguments that yield the events they
        wait for. Only the engine `process` runs them.
    sharing
        How our processes share a PE, in place of equal shares of what its load leaves. Only the engine `process`.
    progress
        Told now and then how many runs are done, of how many.

    Raises
    ------
    ScenarioError
        If the scenario or the engine's name cannot be used.
    SimulationError
        For a deadlock or a stalled PE, with names.
    UnsupportedProgram
        If `compiled` is asked for what it does not interpret, with the reason.
    """
    _check(engine, scenario)
    replications = scenario.replications if replications is None else replications
    scenario = replace(scenario, replications=replications, seed=scenario.seed if seed is None else seed)
    scenario.check_memory_needed()
    own = operations is not None or sharing is not service_table
    if own and engine == "compiled":
        raise UnsupportedProgram(f"engine compiled: {_OWN} found, the engine process does them")
    draws, kept = draw(scenario, first=first_replication, placed_only=True), {"log_replications": log_replications}
    if engine == "compiled" or (engine == "auto" and not own and worth_compiling(scenario)):
        from simulator.engines.compiled.run import run as run_compiled

        with nullcontext() if engine == "compiled" else suppress(UnsupportedProgram):
            found = _at_some_tick(partial(run_compiled, scenario, draws, **kept, threads=threads, progress=progress))
            return replace(found, deterministic=scenario.deterministic)
    run_here = partial(process.run, operations=operations, sharing=sharing, progress=progress)
    found = _at_some_tick(partial(run_here, scenario, draws, **kept))
    return replace(found, deterministic=scenario.deterministic and not own)  # what is the user's own may draw


def _check(engine: str, scenario: Scenario) -> None:
    if engine not in get_args(Engine):
        raise ScenarioError(f"engine: {engine!r} found, one of {', '.join(get_args(Engine))} allowed")
    if not scenario.configurations:
        raise ScenarioError("configurations: none found, at least one allowed")


def _at_some_tick(simulate: Callable[..., RunSet]) -> RunSet:
    """Simulate with the finest tick at which no run passes the last one."""
    for tick_s in TICKS_S:
        with suppress(TickOverflowError):
            return simulate(tick_s=tick_s)
    raise ScenarioError("application: a run of more than 146 years found, shorter ones allowed")

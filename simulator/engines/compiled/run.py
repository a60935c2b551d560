"""Does all runs of a scenario block by block, each on the fastest path that can, and names what no path can."""

import os
from dataclasses import replace

import numpy as np

from simulator.columns import Kind
from simulator.costs import Costs, lower, start_ticks
from simulator.engines.compiled import direct, general
from simulator.engines.compiled.block import Block, Loads, Outcome
from simulator.errors import UnsupportedProgram
from simulator.results import LoggedOperation, RunSet
from simulator.scenario import Draws, Scenario


def run(
    scenario: Scenario, draws: Draws, *, tick_s: float, log_replications: int = 0, threads: int | None = None
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
        Keep the operation log of this many first replications of each configuration: process after process, each in
        program order.
    threads
        To work with at most; those that this process may use by default. They decide no result.

    Raises
    ------
    UnsupportedProgram
        For a program that this engine does not interpret, with the reason.
    SimulationError, TraceError
        As the `process` engine does.
    TickOverflowError
        If a run would pass the last tick.
    """
    names = tuple(configuration.name for configuration in scenario.configurations)
    makespans = np.zeros((len(names), scenario.replications), dtype=np.int64)
    parts: list[list[Outcome]] = [[] for _ in names]
    places: list[list[int]] = [[] for _ in names]
    logs: dict[tuple[int, int], tuple[LoggedOperation, ...]] = {}
    loads, starts = Loads(scenario, tick_s), start_ticks(draws, tick_s=tick_s)
    workers = len(os.sched_getaffinity(0)) if threads is None else threads
    for costs in lower(scenario, draws, tick_s=tick_s):
        replications = costs.replications
        mine = np.ascontiguousarray(starts[replications.start : replications.stop])
        block = Block(scenario, costs, mine, loads, log_replications, workers)
        outcome = _done(block, draws)
        for place, configuration in enumerate(costs.configurations):
            makespans[configuration, replications.start : replications.stop] = outcome.makespan[place]
            parts[configuration].append(outcome)
            places[configuration].append(place)
        for (place, replication), log in outcome.logs.items():
            logs[costs.configurations[place], replications.start + replication] = log
    times = ([_joined(parts[c], places[c], name) for c in range(len(names))] for name in ("computed", "busy", "finish"))
    return RunSet(names, tick_s, makespans, *(tuple(time) for time in times), "compiled", scenario.seed, logs)


def _joined(parts: list[Outcome], places: list[int], name: str) -> np.ndarray:
    """One configuration's times, its blocks of replications after one another; (replication, process)."""
    found = [getattr(part, name)[place] for part, place in zip(parts, places, strict=True)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _done(block: Block, draws: Draws) -> Outcome:
    reason = why_not(block.costs)
    if reason is not None:
        raise UnsupportedProgram(f"engine compiled: {reason} found, the engine process does it")
    shares = direct.why_not(block.scenario, block.costs)
    outcome = general.do_block(block) if shares else direct.do_block(block)
    for place, replication in np.argwhere(outcome.fault).tolist():
        _again(block, outcome, place, replication, draws)
    return outcome


def why_not(costs: Costs) -> str | None:
    """Why no path of this engine does a block; None if one does."""
    if np.any(costs.columns.kind == Kind.CUSTOM):
        return "an operation of the user's own"
    return None


def _again(block: Block, outcome: Outcome, place: int, replication: int, draws: Draws) -> None:
    """Do a faulty run in the reference engine, which names the fault."""
    from simulator.engines import process

    row = block.costs.replications.start + replication
    only = slice(row, row + 1)
    configuration = block.scenario.configurations[block.costs.configurations[place]]
    alone = replace(block.scenario, configurations=(configuration,), replications=1)
    one = Draws(draws.load_starts_s[only], draws.band_positions[only])
    found = process.run(alone, one, tick_s=block.loads.tick_s)
    outcome.makespan[place, replication] = found.makespan_ticks[0, 0]
    for mine, theirs in (
        (outcome.computed, found.computed_ticks),
        (outcome.busy, found.busy_ticks),
        (outcome.finish, found.finish_ticks),
    ):
        mine[place, replication] = theirs[0][0]

"""Does all runs of a scenario block by block, each on the fastest path that can, and names what no path can."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from simulator.base.arrays import Ints
from simulator.base.errors import UnsupportedProgram
from simulator.engines import process
from simulator.engines.compiled import alike, direct, general, plan, service, workspace
from simulator.engines.compiled.block import Block, Loads, Outcome
from simulator.engines.compiled.cache import compiled
from simulator.engines.costs import lower, start_ticks
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.programs.columns import Kind
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import Draws

TIMES = ("computed", "busy", "finish")
"""Of an outcome, by process."""
LARGE = 20_000_000
"""Operations of all runs of a block from which on threads share it, some tenths of a second for one of them."""


def compile_all() -> None:
    """Compile all that programs need, so that a later one does not wait again."""
    for kernel in (workspace.find_loops, service.build_all, general.simulate, plan.follow, direct.execute):
        compiled(kernel)


def run(
    scenario: Scenario,
    draws: Draws,
    *,
    tick_s: float,
    log_replications: int = 0,
    threads: int | None = None,
    progress: process.Progress | None = None,
) -> RunSet:
    """Simulate every configuration and replication of a scenario.

    Raises UnsupportedProgram for a program that this engine does not interpret, with the reason; SimulationError,
    TraceError as the `process` engine does; TickOverflowError if a run would pass the last tick.

    `scenario`: its configurations are run on the same draws (paired).
    `draws`: axes (replication, PE).
    `tick_s`: seconds per tick.
    `log_replications`: keep the operation log of this many first replications of each configuration: process after
    process, each in program order.
    `threads`: to work with at most; those that this process may use by default. They decide no result.
    `progress`: called after each block of runs.
    """
    names = tuple(configuration.name for configuration in scenario.configurations)
    makespans = np.zeros((len(names), scenario.replications), dtype=np.int64)
    parts: list[list[tuple[Outcome, int, slice]]] = [[] for _ in names]
    logs: dict[tuple[int, int], tuple[LoggedOperation, ...]] = {}
    workers = _processors() if threads is None else threads
    done = 0
    for block, outcome in _outcomes(_blocks(scenario, draws, tick_s, log_replications, workers), draws, workers):
        costs = block.costs
        for place, configuration in enumerate(costs.configurations):
            makespans[configuration, costs.rows] = outcome.makespan[place]
            parts[configuration].append((outcome, place, costs.rows))
        for (place, replication), log in outcome.logs.items():
            logs[costs.configurations[place], costs.replications[replication]] = log
        done += len(costs.configurations) * len(costs.replications)
        if progress is not None:
            progress(done, makespans.size)
    computed, busy, finish = (tuple(_joined(mine, name, makespans.shape[1]) for mine in parts) for name in TIMES)
    return RunSet(names, tick_s, makespans, computed, busy, finish, "compiled", scenario.seed, logs)


def _blocks(scenario: Scenario, draws: Draws, tick_s: float, log_replications: int, workers: int) -> Iterator[Block]:
    """Runs that are done together, as they are lowered."""
    loads, starts = Loads(scenario, tick_s), start_ticks(draws, tick_s=tick_s)
    for costs in lower(scenario, draws, tick_s=tick_s, once=not log_replications):
        if costs.scenario is not loads.scenario:  # of another truth
            loads = Loads(costs.scenario, tick_s)
        mine = np.ascontiguousarray(starts[costs.rows])
        yield Block(costs.scenario, costs, mine, loads, log_replications, workers)


def _outcomes(blocks: Iterator[Block], draws: Draws, threads: int) -> Iterator[tuple[Block, Outcome]]:
    """Blocks and what came out, in their order: small ones side by side, one to a thread; a large one has them all.

    Those of a search are small, and each has a program of its own: the next is lowered while others run.
    """
    first = list(islice(blocks, 2))
    if threads == 1 or len(first) < 2:
        yield from ((block, _done(block, draws)) for block in chain(first, blocks))
        return
    begun: deque[tuple[Block, Future[Outcome]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for block in chain(first, blocks):
            large = block.operations > LARGE
            while begun and (large or len(begun) > threads):
                before, outcome = begun.popleft()
                yield before, outcome.result()
            if large:
                yield block, _done(block, draws)
            else:
                begun.append((block, pool.submit(_done, replace(block, threads=1), draws)))
        yield from ((block, outcome.result()) for block, outcome in begun)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _joined(parts: list[tuple[Outcome, int, slice]], name: str, replications: int) -> Ints:
    """One configuration's times, from blocks of some replications each; (replication, process)."""
    found: list[Ints] = [getattr(outcome, name)[place] for outcome, place, _ in parts]
    if len(found) == 1:
        return found[0]
    whole = np.empty((replications, found[0].shape[1]), dtype=np.int64)
    for times, (_, _, rows) in zip(found, parts, strict=True):
        whole[rows] = times
    return whole


def _done(block: Block, draws: Draws) -> Outcome:
    if block.kinds[Kind.CUSTOM]:
        found = f"the operation {block.costs.columns.customs[0][0]!r} of your own found"
        raise UnsupportedProgram(f"engine compiled: {found}, the engine process does it")
    outcome = alike.do_block(block, lambda part: (direct if direct.takes(part) else general).do_block(part))
    for place, replication in np.argwhere(outcome.fault).tolist():
        _again(block, outcome, place, replication, draws)
    return outcome


def _again(block: Block, outcome: Outcome, place: int, replication: int, draws: Draws) -> None:
    """Do a faulty run in the reference engine, which names the fault.

    In sharing domains it may find none: each process is predicted alone here, on a PE there only who ends first.
    """
    row = block.costs.replications[replication]
    only = slice(row, row + 1)
    configuration = block.scenario.configurations[block.costs.configurations[place]]
    alone = replace(block.scenario, configurations=(configuration,), replications=1)
    one = draws.of(only)
    logged = int((place, replication) in outcome.logs)
    found = process.run(alone, one, tick_s=block.loads.tick_s, log_replications=logged)
    if logged:
        outcome.logs[place, replication] = found.logs[0, 0]
    outcome.makespan[place, replication] = found.makespan_ticks[0, 0]
    for mine, theirs in (
        (outcome.computed, found.computed_ticks),
        (outcome.busy, found.busy_ticks),
        (outcome.finish, found.finish_ticks),
    ):
        mine[place, replication] = theirs[0][0]

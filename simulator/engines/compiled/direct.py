"""The path for programs in which nothing is shared: a plan once, then its steps for every run."""

import numpy as np

from simulator.engines import faults
from simulator.engines.compiled.block import Block, Ints, Outcome, in_parts, operations, step, whole
from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.plan import WIDTH, Plan, plan_of
from simulator.engines.compiled.static import Job, Times, clocks, execute
from simulator.engines.costs import Costs
from simulator.programs.columns import Kind
from simulator.programs.program import ANY
from simulator.scenario_file.scenario import Scenario

ALONE = 200_000
"""Steps below which a second thread costs more than it saves."""


def takes(block: Block) -> bool:
    """Whether a block can take this path."""
    kinds, costs = block.kinds, block.costs
    if kinds[Kind.FARM] or costs.sharing is not None:
        return False
    if kinds[Kind.RECV] + kinds[Kind.EXCHANGE] > 0 and ANY in (costs.columns.partner.min(), costs.columns.source.min()):
        return False
    if costs.contention != "none" and np.any(costs.route >= 0):
        return False
    return not _shares(block.scenario, costs, calm=block.loads.of is not None)


def _shares(scenario: Scenario, costs: Costs, *, calm: bool) -> bool:
    """Whether processes meet on a PE that has load, or fewer cores than processes."""
    columns, pes = costs.columns, scenario.platform.pes
    counted = np.diff(columns.first) > 0
    if not columns.polls:  # then only those that compute take part
        counted = np.zeros(columns.processes, dtype=np.bool_)
        counted[columns.process[columns.kind == Kind.COMPUTE]] = True
    placement = costs.placement[:, counted]
    ordered = np.sort(placement, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if not np.any(twice):
        return False
    most = max(np.bincount(row).max() for row in ordered[np.any(twice, axis=1)])
    shared = np.unique(ordered[:, 1:][twice]).tolist()
    return any((pes[pe].load is not None and not calm) or pes[pe].cores < most for pe in shared)


def do_block(block: Block) -> Outcome:
    """Do all runs of a block.

    Raises
    ------
    SimulationError
        For a deadlock, or messages that nobody receives.
    """
    made = plan_of(block.rows)
    configurations, replications, _ = block.shape
    outcome = _empty(block)
    times = _times(outcome)
    job, tables = _job(block), block.loads.alone
    kernel = compiled(execute)

    def some(first: int, end: int) -> None:
        kernel(job, tables, made.steps, clocks(job, made.slots), times, np.array([first, end]))

    small = configurations * replications * made.steps.size < ALONE * WIDTH
    in_parts(some, configurations * replications, 1 if small else block.threads)
    if not outcome.fault[0, 0]:
        _check(block, made)
    for configuration, replication in block.logged:
        run, rows = configuration * replications + replication, block.costs.columns.kind.size
        begin, end = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        times = _times(_empty(block), begin, end)
        kernel(job, tables, made.steps, clocks(job, made.slots), times, np.array([run, run + 1]))
        outcome.logs[configuration, replication] = operations(block, configuration, begin, end)
    return outcome


def _check(block: Block, made: Plan) -> None:
    """The program's own faults, which every run has that gets so far."""
    costs = block.costs
    name = block.scenario.configurations[costs.configurations[0]].name
    waiting = made.rows[made.rows < costs.columns.first[1:]]
    if waiting.size:
        raise faults.stuck(costs, name, waiting.tolist())
    if made.unreceived.size:
        raise faults.unreceived(costs, name, made.unreceived.tolist())


def _job(block: Block) -> Job:
    costs = block.costs
    nominal = costs.nominal_ticks
    return Job(
        costs.columns.processes,
        costs.columns.barriers.size,
        len(costs.replications),
        whole(nominal),
        np.array([step(nominal, 0), step(nominal, 1)]),
        whole(costs.ticks),
        step(costs.ticks, 0),
        whole(costs.placement),
        whole(block.starts),
        block.starts.shape[1],
    )


def _empty(block: Block) -> Outcome:
    configurations, replications, processes = block.shape
    runs = (configurations, replications)
    computed, busy, finish = (np.zeros((*runs, processes), dtype=np.int64) for _ in range(3))
    return Outcome(np.zeros(runs, dtype=np.int64), computed, busy, finish, np.zeros(runs, dtype=np.bool_))


def _times(outcome: Outcome, begin: Ints | None = None, end: Ints | None = None) -> Times:
    empty = np.zeros(0, dtype=np.int64)
    return Times(
        outcome.makespan.reshape(-1),
        outcome.computed.reshape(-1),
        outcome.busy.reshape(-1),
        outcome.finish.reshape(-1),
        outcome.fault.reshape(-1),
        empty if begin is None else begin,
        empty if end is None else end,
    )

"""The path for programs in which nothing is shared: a plan once, then its steps for every run.

Each step moves the clocks of one or two processes, for many configurations and replications. Every PE runs
one process at most, or has no load and a core for each, and no transfer passes a link that others could want. There is
no heap of events and there are no instants.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Ints
from simulator.base.errors import SimulationError
from simulator.engines import faults
from simulator.engines.compiled.block import Block, Outcome, in_parts, operations, step, whole
from simulator.engines.compiled.cache import callee, compiled
from simulator.engines.compiled.plan import (
    ARRIVE,
    COMPUTE,
    END,
    JOIN,
    LEAVE,
    MEET,
    MOVE,
    NOTE,
    PART,
    POST,
    SLEEP,
    TAKE,
    UNTIL,
    WIDTH,
    Plan,
    plan_of,
)
from simulator.engines.compiled.service import EXACT, ServiceTables, finish
from simulator.engines.costs import LAST_TICK, Costs
from simulator.programs.columns import Kind
from simulator.programs.program import ANY
from simulator.scenario_file.scenario import Scenario

Short = NDArray[np.int32]

LANES = 8
"""Runs that go through the steps together: reading and telling apart a step costs more than doing it."""


class Job(NamedTuple):
    """The costs of some configurations and replications; arrays flat, an axis that is not there has step 0."""

    processes: int
    barriers: int
    replications: int
    nominal: Ints
    nominal_steps: Ints
    """From one configuration and from one replication to the next in `nominal`; (2,)."""
    ticks: Ints
    ticks_steps: Ints
    """As `nominal_steps`."""
    placement: Ints
    """(configuration, process)."""
    starts: Ints
    """Tick of each PE's trace at tick 0; (replication, PE)."""
    pes: int


class Times(NamedTuple):
    """What comes out; one entry per run in `makespan` and `fault`, per run and process in the others, all flat."""

    makespan: Ints
    computed: Ints
    busy: Ints
    finish: Ints
    fault: Flags
    """Whether the run could not be done: too long, a trace that ends, or a PE that stands still."""
    begin: Ints
    """When each row began, where one run is logged; else empty."""
    end: Ints


class Clocks(NamedTuple):
    """The state of up to `LANES` runs at a time; the last axis of every array is the run."""

    now: Ints
    """(process, run)."""
    parts: Ints
    """The latest end so far of a part of an exchange of each process; (process, run)."""
    computed: Ints
    """As in `Times`; (process, run)."""
    busy: Ints
    table: Ints
    """Of each process's PE, less than 0 where a process just takes its nominal ticks; (process, run)."""
    start: Ints
    """Tick of the trace at tick 0 for each process; (process, run)."""
    arrival: Ints
    """(slot, run)."""
    barrier: Ints
    """Tick of the last arrival so far; (barrier, run)."""
    nominal: Ints
    """Where each run's nominal ticks begin; (run,)."""
    ticks: Ints
    failed: Ints
    """1 for a run that cannot be done; its further ticks mean nothing; (run,)."""


def clocks(job: Job, slots: int) -> Clocks:
    """Room for the state of some runs at a time."""
    sizes = *(6 * [job.processes]), slots, job.barriers, 1, 1, 1
    return Clocks(*(np.empty(size * LANES, dtype=np.int64) for size in sizes))


def execute(job: Job, tables: ServiceTables, steps: Short, clocks: Clocks, times: Times, runs: Ints) -> None:
    """Kernel: do runs `runs[0]` up to `runs[1]`, counted by configuration, then replication."""
    for first in range(runs[0], runs[1], LANES):
        lanes = min(LANES, runs[1] - first)
        _begin(job, tables, clocks, first, lanes)
        if times.begin.size > 0:
            _follow_logged(job, tables, steps, clocks, times)
        else:
            for at in range(0, steps.size, WIDTH):
                _do_step(job, tables, steps, clocks, at, lanes)
        _note(job, clocks, times, first, lanes)


@callee
def _begin(job: Job, tables: ServiceTables, clocks: Clocks, first: int, lanes: int) -> None:
    for array in (clocks.now, clocks.parts, clocks.computed, clocks.busy, clocks.barrier, clocks.failed):
        array[:] = 0
    for lane in range(lanes):
        configuration, replication = (first + lane) // job.replications, (first + lane) % job.replications
        clocks.nominal[lane] = configuration * job.nominal_steps[0] + replication * job.nominal_steps[1]
        clocks.ticks[lane] = configuration * job.ticks_steps[0] + replication * job.ticks_steps[1]
        for process in range(job.processes):
            pe = job.placement[configuration * job.processes + process]
            table = tables.of_pe[pe]
            plain = tables.pieces[table] == 0 and tables.last_rate[table] == 1.0
            clocks.table[process * LANES + lane] = -1 - table if plain else table
            clocks.start[process * LANES + lane] = job.starts[replication * job.pes + pe]


@callee
def _note(job: Job, clocks: Clocks, times: Times, first: int, lanes: int) -> None:
    """Hand out what came out."""
    for lane in range(lanes):
        latest, of_run = np.int64(0), (first + lane) * job.processes
        for process in range(job.processes):
            place = process * LANES + lane
            times.computed[of_run + process] = clocks.computed[place]
            times.busy[of_run + process] = clocks.busy[place]
            times.finish[of_run + process] = clocks.now[place]
            latest = max(latest, clocks.now[place])
        times.makespan[first + lane] = latest
        times.fault[first + lane] = clocks.failed[lane] != 0


@callee
def _do_step(job: Job, tables: ServiceTables, steps: Short, clocks: Clocks, at: int, lanes: int) -> None:
    """One step of some runs."""
    code, what, row = steps[at], np.int64(steps[at + 2]), np.int64(steps[at + 3])
    now, there, first = clocks.now, what * LANES, np.int64(steps[at + 1]) * LANES
    for lane in range(lanes):
        mine, other = first + lane, there + lane
        if code == COMPUTE:
            end = _computed(tables, clocks, mine, lane, job.nominal[clocks.nominal[lane] + what])
            clocks.computed[mine] = end
            clocks.busy[mine] += end - now[mine]
            now[mine] = end
        elif code == MEET:
            end = _later(job, clocks, lane, max(now[mine], now[other]), row)
            now[mine], now[other] = end, end
        elif code == TAKE:
            now[mine] = max(now[mine], clocks.arrival[other])
        elif code == ARRIVE:
            clocks.barrier[other] = max(clocks.barrier[other], now[mine])
        elif code == LEAVE:
            now[mine] = clocks.barrier[other]
        elif code in (POST, NOTE, JOIN):
            begin = max(now[mine], clocks.arrival[other]) if code == JOIN else now[mine]
            clocks.arrival[other] = begin if code == NOTE else _later(job, clocks, lane, begin, row)
        elif code == SLEEP:
            now[mine] = _slept(job, clocks, lane, now[mine], row, what)
        elif code == UNTIL:
            now[mine] = max(now[mine], job.ticks[clocks.ticks[lane] + row])
        elif code == END:
            now[mine] = max(now[mine], clocks.parts[mine])
        elif code == PART:
            clocks.parts[mine] = max(clocks.parts[mine], clocks.arrival[other])
        else:
            end = _later(job, clocks, lane, max(now[mine], now[other]), row)
            clocks.parts[mine] = max(clocks.parts[mine], end)
            clocks.parts[other] = max(clocks.parts[other], end)


@callee
def _follow_logged(job: Job, tables: ServiceTables, steps: Short, clocks: Clocks, times: Times) -> None:
    """One run, noting when each operation began and ended."""
    for at in range(0, steps.size, WIDTH):
        code, mine, other = steps[at], np.int64(steps[at + 1]) * LANES, np.int64(steps[at + 2]) * LANES
        row, far = steps[at + 3], steps[at + 4]
        begin, far_begin = clocks.now[mine], clocks.now[other] if code == MEET else 0
        _do_step(job, tables, steps, clocks, at, 1)
        if code == MEET:
            times.begin[far], times.end[far] = far_begin, clocks.now[other]
        if code not in (ARRIVE, PART, MOVE, NOTE, JOIN) and not (code == POST and far == 0):
            times.begin[row], times.end[row] = begin, clocks.now[mine]


@callee
def _later(job: Job, clocks: Clocks, lane: int, tick: int, row: int) -> int:
    """The clock after a row's ticks; past its end the run fails."""
    return int(_after(clocks, lane, tick, job.ticks[clocks.ticks[lane] + row]))


@callee
def _slept(job: Job, clocks: Clocks, lane: int, tick: int, row: int, computation: int) -> int:
    """The clock after a delay, which may differ between replications as computations do."""
    if computation < 0:
        return _later(job, clocks, lane, tick, row)
    return int(_after(clocks, lane, tick, job.nominal[clocks.nominal[lane] + computation]))


@callee
def _after(clocks: Clocks, lane: int, tick: int, ticks: int) -> int:
    """The clock after some ticks; past its end the run fails."""
    if ticks <= LAST_TICK - tick:
        return tick + ticks
    clocks.failed[lane] = 1
    return tick


@callee
def _computed(tables: ServiceTables, clocks: Clocks, mine: int, lane: int, nominal: int) -> int:
    """When a computation ends; if it does not, the run fails."""
    table, now = clocks.table[mine], clocks.now[mine]
    if table < 0:
        if nominal <= EXACT - now:
            return now + nominal
        table = -1 - table
    end = finish(tables, table, clocks.start[mine], now, nominal)
    if end < 0:
        clocks.failed[lane] = 1
        return now
    return end


ALONE = 200_000
"""Steps below which a second thread costs more than it saves."""


def takes(block: Block) -> bool:
    """Whether a block can take this path."""
    kinds, costs = block.kinds, block.costs
    partner, source = costs.columns.partner, costs.columns.source
    if kinds[Kind.FARM] or costs.sharing is not None or costs.quotas is not None:
        return False
    if kinds[Kind.RECV] + kinds[Kind.EXCHANGE] > 0 and ANY in (partner.min(), source.min()) and _from_anyone(costs):
        return False
    if costs.contention != "none" and np.any(costs.route >= 0):
        return False
    return not _shares(block.scenario, costs, calm=block.loads.of is not None)


def _from_anyone(costs: Costs) -> bool:
    """Whether somebody receives from anyone; requests of collectives look alike at first sight."""
    return bool(np.any(costs.columns.receives & (costs.columns.senders == ANY)))


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

    Raises SimulationError for a deadlock, or messages that nobody receives.
    """
    looped = block.costs.loops is not None
    block, shared = replace(block, costs=block.costs.written_out), block.costs.shared
    made = shared["plan"] = shared.get("plan") or plan_of(block.rows)
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
        try:
            _check(block, made)
        except SimulationError:  # of loops, the reference engine knows the place of each turn's operations
            outcome.fault[0, 0] = looped
            if not looped:
                raise
    for configuration, replication in block.logged:
        run, rows = configuration * replications + replication, block.costs.columns.kind.size
        begin, end = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        times = _times(_empty(block), begin, end)
        kernel(job, tables, made.steps, clocks(job, made.slots), times, np.array([run, run + 1]))
        _fill(block.costs.columns.first, begin, end)
        outcome.logs[configuration, replication] = operations(block, configuration, begin, end)
    return outcome


def _fill(first: Ints, begin: Ints, end: Ints) -> None:
    """Times of what needs no step, posts and waits for what was over: no time, right after the operation before."""
    left_out = begin < 0
    if left_out.any():
        for one, last in pairwise(first.tolist()):
            np.maximum.accumulate(end[one:last], out=end[one:last])
        begin[left_out] = end[left_out]


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
        np.array([step(costs.ticks, 0), step(costs.ticks, 1)]),
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

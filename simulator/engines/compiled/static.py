"""Runs a plan for many configurations and replications: each step moves the clocks of one or two processes.

For programs in which nothing is shared: every PE runs one process at most, or has no load and a core for each, and no
transfer passes a link that others could want. There is no heap of events and there are no instants.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.costs import LAST_TICK
from simulator.engines.compiled.cache import callee
from simulator.engines.compiled.plan import (
    ARRIVE,
    COMPUTE,
    END,
    LEAVE,
    MEET,
    MOVE,
    PART,
    POST,
    SLEEP,
    TAKE,
    UNTIL,
    WIDTH,
)
from simulator.engines.compiled.service import EXACT, ServiceTables, finish

Ints = NDArray[np.int64]
Short = NDArray[np.int32]


class Job(NamedTuple):
    """The costs of some configurations and replications; arrays flat, an axis that is not there has step 0."""

    processes: int
    barriers: int
    replications: int
    nominal: Ints
    """Nominal ticks of computations."""
    nominal_steps: Ints
    """From one configuration and from one replication to the next in `nominal`; (2,)."""
    ticks: Ints
    """Of all rows."""
    ticks_step: int
    """From one configuration to the next in `ticks`."""
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
    fault: NDArray[np.bool_]
    """Whether the run could not be done: too long, a trace that ends, or a PE that stands still."""
    begin: Ints
    """When each row began, where one run is logged; else empty."""
    end: Ints


class Clocks(NamedTuple):
    """The state of one run."""

    now: Ints
    """Per process."""
    parts: Ints
    """The latest end of a part of the exchange that each process is in."""
    arrival: Ints
    """Per slot."""
    barrier: Ints
    """Tick of the last arrival so far, per barrier."""
    table: Ints
    """Of each process's PE; -1 where a process just takes its nominal ticks."""
    start: Ints
    """Tick of the trace at tick 0 for each process."""


def execute(job: Job, tables: ServiceTables, steps: Short, clocks: Clocks, times: Times, runs: Ints) -> None:
    """Kernel: do runs `runs[0]` up to `runs[1]`, counted by configuration, then replication."""
    for run in range(runs[0], runs[1]):
        clocks.now[:] = 0
        clocks.parts[:] = 0
        clocks.barrier[:] = 0
        _place(job, tables, clocks, run)
        times.fault[run] = not _follow(job, tables, steps, clocks, run, times)
        latest = np.int64(0)
        for process in range(job.processes):
            times.finish[run * job.processes + process] = clocks.now[process]
            latest = max(latest, clocks.now[process])
        times.makespan[run] = latest


def clocks(job: Job, slots: int) -> Clocks:
    """Room for the state of one run at a time."""
    sizes = job.processes, job.processes, slots, job.barriers, job.processes, job.processes
    return Clocks(*(np.empty(size, dtype=np.int64) for size in sizes))


@callee
def _place(job: Job, tables: ServiceTables, clocks: Clocks, run: int) -> None:
    configuration, replication = run // job.replications, run % job.replications
    for process in range(job.processes):
        pe = job.placement[configuration * job.processes + process]
        table = tables.of_pe[pe]
        plain = tables.pieces[table] == 0 and tables.last_rate[table] == 1.0
        clocks.table[process] = -1 - table if plain else table
        clocks.start[process] = job.starts[replication * job.pes + pe]


@callee
def _follow(job: Job, tables: ServiceTables, steps: Short, clocks: Clocks, run: int, times: Times) -> bool:  # noqa: C901, PLR0912, PLR0915 - a branch per step
    """Do the steps of one run; whether all could be done."""
    configuration, replication = run // job.replications, run % job.replications
    nominal = configuration * job.nominal_steps[0] + replication * job.nominal_steps[1]
    ticks, of_run = configuration * job.ticks_step, run * job.processes
    now, parts, logged = clocks.now, clocks.parts, times.begin.size > 0
    for at in range(0, steps.size, WIDTH):
        code, process = steps[at], np.int64(steps[at + 1])
        what, row = np.int64(steps[at + 2]), np.int64(steps[at + 3])
        begin = now[process]
        if code == COMPUTE:
            end = _computed(tables, clocks, process, job.nominal[nominal + what])
            if end < 0:
                return False
            times.computed[of_run + process] = end
            times.busy[of_run + process] += end - begin
        elif code == MEET:
            other = now[what]
            end = _after(max(begin, other), job.ticks[ticks + row])
            now[what] = end
            if logged:
                far = steps[at + 4]
                times.begin[far], times.end[far] = other, end
        elif code == TAKE:
            end = max(begin, clocks.arrival[what])
        elif code == ARRIVE:
            clocks.barrier[what] = max(clocks.barrier[what], begin)
            continue
        elif code == LEAVE:
            end = clocks.barrier[what]
        elif code == POST:
            arrival = _after(begin, job.ticks[ticks + row])
            if arrival < 0:
                return False
            clocks.arrival[what] = arrival
            end = begin
            if steps[at + 4] == 0:
                continue
        elif code == SLEEP:
            end = _after(begin, job.ticks[ticks + row])
        elif code == UNTIL:
            end = max(begin, job.ticks[ticks + row])
        elif code == END:
            end = max(begin, parts[process])
            parts[process] = 0
        else:
            moved = clocks.arrival[what] if code == PART else _after(max(begin, now[what]), job.ticks[ticks + row])
            if moved < 0:
                return False
            parts[process] = max(parts[process], moved)
            if code == MOVE:
                parts[what] = max(parts[what], moved)
            continue
        if end < 0:
            return False
        now[process] = end
        if logged:
            times.begin[row], times.end[row] = begin, end
    return True


@callee
def _after(tick: int, ticks: int) -> int:
    """A sum on the clock; negative past its end."""
    return tick + ticks if ticks <= LAST_TICK - tick else -1


@callee
def _computed(tables: ServiceTables, clocks: Clocks, process: int, nominal: int) -> int:
    """When a computation ends; negative if it does not."""
    table, now = clocks.table[process], clocks.now[process]
    if table < 0:
        if nominal <= EXACT - now:
            return now + nominal
        table = -1 - table
    return finish(tables, table, clocks.start[process], now, nominal)

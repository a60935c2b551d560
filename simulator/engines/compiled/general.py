"""The path for everything else: run by run, event by event."""

import numpy as np

from simulator.engines.compiled.block import Block, Outcome, in_parts, operations
from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.events import simulate
from simulator.engines.compiled.queues import DONE
from simulator.engines.compiled.workspace import Layout, Workspace

ALONE = 20_000
"""Operations of all runs below which a second thread costs more than it saves."""


def do_block(block: Block) -> Outcome:
    """Do all runs of a block.

    A run with a fault is marked, for the reference engine to say what it is.
    """
    cores = np.array([pe.cores for pe in block.scenario.platform.pes], dtype=np.int64)
    layout = Layout.of(block.costs, block.loads.shared, cores)
    configurations, replications, processes = block.shape
    runs, rows = configurations * replications, int(block.costs.times.sum())
    times = [np.zeros((configurations, replications, processes), dtype=np.int64) for _ in range(3)]
    makespan, fault = np.zeros((configurations, replications), np.int64), np.zeros((configurations, replications), bool)
    logged, logs = set(block.logged), {}
    compiled(simulate)  # before threads ask for it

    def some(first: int, end: int) -> None:
        workspace = Workspace(layout)
        for run in range(first, end):
            at = divmod(run, replications)
            log = (np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)) if at in logged else None
            status = workspace.run(*at, block.starts[at[1]], log)
            fault[at], makespan[at] = status != DONE, workspace.makespan
            for values, name in zip(times, ("computed", "busy", "finish"), strict=True):
                values[at] = workspace.processes[name]
            if log is not None:
                logs[at] = operations(block, at[0], *log)

    in_parts(some, runs, 1 if runs * rows < ALONE else block.threads)
    computed, busy, finish = times
    return Outcome(makespan, computed, busy, finish, fault, logs)

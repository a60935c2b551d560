"""A logged run as arrays: which operation ran when and where, who sent what to whom, and who waited for whom."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.engines.costs.messages import UNITS_PER_BYTE, MessageCosts, message_costs
from simulator.engines.log import Causes, explain
from simulator.engines.run_set import RunSet
from simulator.platform.nodes import Platform
from simulator.programs.columns import Columns
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

Ticks = NDArray[np.int64]


@dataclass(frozen=True)
class Happened:
    """One run, operation after operation as in its program's columns; (operation,) unless said otherwise."""

    configuration: Configuration
    columns: Columns
    tick_s: float
    begin: Ticks
    end: Ticks
    process: Ticks
    pe: Ticks
    """PE of each process; (process,)."""
    ready: Ticks
    """When the last process that it waited for was ready; its own begin where it waited for nobody."""
    waited_for: Ticks
    """That process."""
    critical: Ticks
    """Ticks of it that are on the critical path."""
    sends: Ticks
    """Operation that sent each message; (message,)."""
    receives: Ticks
    """Operation that received it; (message,)."""
    eager: NDArray[np.bool_]
    """Whether it was sent without waiting for its receiver; (message,)."""
    alone: Ticks
    """What it takes where it meets no other; (message,)."""
    costs: MessageCosts
    """Routes of what is sent."""


def happened(scenario: Scenario, runs: RunSet, configuration: int, replication: int) -> Happened:
    """What happened in a logged run.

    Raises
    ------
    ScenarioError
        If this replication was not logged.
    """
    log, causes = explain(scenario, runs, configuration, replication)
    columns, chosen = causes.columns, scenario.configurations[configuration]
    begin = np.fromiter((entry.start_ticks for entry in log), np.int64, len(log))
    end = np.fromiter((entry.end_ticks for entry in log), np.int64, len(log))
    placement = np.array(chosen.placement, dtype=np.int64)
    ready, waited_for = _waits(causes, begin, columns)
    critical = np.zeros(len(log), dtype=np.int64)
    for row, part in causes.path():
        critical[row] = end[row] - part
    sends = np.array(sorted(causes.receiver_of), dtype=np.int64)
    receives = np.array([causes.receiver_of[row] for row in sends.tolist()], dtype=np.int64)
    costs = message_costs(scenario.platform, columns, placement[np.newaxis], tick_s=runs.tick_s)
    return Happened(
        chosen,
        columns,
        runs.tick_s,
        begin,
        end,
        columns.process.astype(np.int64),
        placement,
        ready,
        waited_for,
        critical,
        sends,
        receives,
        causes.eager[sends],
        _alone(scenario.platform, costs, sends, runs.tick_s),
        costs,
    )


def _alone(platform: Platform, costs: MessageCosts, sends: Ticks, tick_s: float) -> Ticks:
    """Ticks of messages that meet no other: of flows the latency, and the bytes over the narrowest link."""
    found: Ticks = costs.ticks[0][sends].copy()
    flows = np.flatnonzero((costs.units[0][sends] > 0) & (costs.route[0][sends] >= 0))
    speeds = np.array([link.bandwidth_bytes_per_s for link in platform.network.links])
    for row in flows.tolist():
        route = costs.route[0, sends[row]]
        passed = costs.route_links[costs.route_first[route] : costs.route_first[route + 1]]
        seconds = costs.units[0, sends[row]] / UNITS_PER_BYTE / speeds[passed // 2].min()
        found[row] += round(seconds / tick_s)
    return found


def _waits(causes: Causes, begin: Ticks, columns: Columns) -> tuple[Ticks, Ticks]:
    """When what each operation waited for was ready, and whose that was."""
    process = columns.process.astype(np.int64)
    ready, waited_for = begin.copy(), process.copy()
    for row in range(begin.size):
        ticks, cause = causes.of(row)
        if ticks > begin[row]:
            ready[row], waited_for[row] = ticks, process[cause]
    return ready, waited_for


def grouped(keys: Ticks) -> Iterator[tuple[int, Ticks]]:
    """Each key and the places where it stands, ascending."""
    order = np.argsort(keys, kind="stable")
    used, starts = np.unique(keys[order], return_index=True)
    for key, first, end in zip(used.tolist(), starts.tolist(), [*starts[1:].tolist(), keys.size], strict=False):
        yield key, order[first:end]

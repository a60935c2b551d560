"""A logged run as arrays (which operation ran when and where, who waited for whom), and the words that show it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from simulator.base.arrays import Flags, Ints
from simulator.engines.costs.messages import UNITS_PER_BYTE, MessageCosts, message_costs
from simulator.engines.faults import link_name
from simulator.engines.log import Causes, explain
from simulator.engines.run_set import RunSet
from simulator.platform.nodes import Platform
from simulator.programs.columns import COLLECTIVE_TAG, KIND_NAMES, Columns, Kind
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

Ticks = Ints
NAMES = {int(kind): name for kind, name in KIND_NAMES.items()}
CATEGORIES = {
    Kind.COMPUTE: "working",
    Kind.FARM: "working",
    Kind.CUSTOM: "working",
    Kind.READ_WRITE: "disk",
    Kind.SEND: "message",
    Kind.RECV: "message",
    Kind.EXCHANGE: "message",
    Kind.POST_SEND: "message",
    Kind.POST_RECV: "message",
    Kind.WAIT: "message",
    Kind.BARRIER: "waiting",
    Kind.WAIT_UNTIL: "waiting",
    Kind.DELAY: "waiting",
}
OF_KIND = {int(kind): category for kind, category in CATEGORIES.items()}


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
    critical: Ticks
    """Ticks of it that are on the critical path."""
    sends: Ticks
    """Operation that sent each message; (message,)."""
    receives: Ticks
    """Operation that received it; (message,)."""
    left: Ticks
    """Operation with whose end it had left: that which sent it, or the wait for that; (message,)."""
    arrived: Ticks
    """Operation with whose end it had arrived, alike; (message,)."""
    eager: Flags
    """Whether it was sent without waiting for its receiver; (message,)."""
    alone: Ticks
    """What it takes where it meets no other; (message,)."""
    costs: MessageCosts


def happened(scenario: Scenario, runs: RunSet, configuration: int, replication: int) -> Happened:
    """What happened in a logged run.

    Raises ScenarioError if this replication was not logged.
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
        _ended_by(causes, sends),
        _ended_by(causes, receives),
        causes.eager[sends],
        _alone(scenario.platform, costs, sends, runs.tick_s),
        costs,
    )


def _ended_by(causes: Causes, rows: Ticks) -> Ticks:
    """The operations themselves, or the waits for what they post."""
    return np.array([causes.wait_of.get(row, row) for row in rows.tolist()], dtype=np.int64)


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


@dataclass(frozen=True)
class View:
    """A run and where it goes in the file."""

    run: Happened
    platform: Platform
    load_starts_s: Sequence[float]
    """Where in its trace the load of each PE starts; (PE,)."""
    first_pid: int
    first_tid: int
    first_flow: int
    prefix: str
    """Of the names of its nodes: the configuration, where a file has several."""

    @cached_property
    def pid(self) -> list[int]:
        """Of each PE."""
        found: list[int] = (self.first_pid + self.platform.node_of).tolist()
        return found

    def track(self, process: int) -> str:
        """Members of an event that lies on the thread of a process."""
        return f'"pid":{self.pid[int(self.run.pe[process])]},"tid":{self.first_tid + process}'

    @property
    def network_pid(self) -> int:
        """Of the links."""
        return self.first_pid + len(self.platform.node_names)

    def route(self, row: int) -> str:
        """Links that an operation's bytes pass, in order; empty where nothing is said of links."""
        route = int(self.run.costs.route[0, row])
        return "" if route < 0 else self._routes[route]

    @cached_property
    def _routes(self) -> list[str]:
        names = [self.link(directed) for directed in self.run.costs.route_links.tolist()]
        return [" ".join(names[a:b]) for a, b in pairwise(self.run.costs.route_first.tolist())]

    def link(self, directed: int) -> str:
        """Name of a link or disk, with the direction where it has two."""
        links = self.platform.network.links
        name = link_name(self.platform, directed)
        if directed >= 2 * len(links):
            return name
        if self._named[name] > 1:
            name += f" {directed // 2}"
        return name if links[directed // 2].shared else f"{name} {('up', 'down')[directed % 2]}"

    @cached_property
    def _named(self) -> Counter[str]:
        """How many links have a name: programs in Python may name several alike."""
        return Counter(link.name for link in self.platform.network.links)

    @cached_property
    def customs(self) -> list[str]:
        """Names of the user's own operations."""
        return [name for name, _ in self.run.columns.customs]

    @cached_property
    def received(self) -> dict[int, int]:
        """Message of each operation with whose end one had arrived."""
        return {row: message for message, row in enumerate(self.run.arrived.tolist())}

    @property
    def end_s(self) -> float:
        """When the last operation ends."""
        return float(self.run.end.max(initial=0)) * self.run.tick_s


def details(view: View, row: int, kind: int) -> dict[str, Any]:
    """What an operation computes, sends or receives, by name."""
    columns = view.run.columns
    if kind == Kind.COMPUTE:
        return {"volume": columns.amount[row], "size": columns.size[row]}
    if kind == Kind.READ_WRITE:
        return {"bytes": columns.amount[row], "disk": view.route(row)}
    if kind == Kind.BARRIER:
        return {"processes": columns.barriers[columns.partner[row]]}
    found: dict[str, Any] = {}
    if kind in (Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND):
        found |= {"to": columns.partner[row], "bytes": columns.amount[row], "route": view.route(row)}
    if row in view.received:
        sender = view.run.sends[view.received[row]]
        found |= {"from": view.run.process[sender], "received_bytes": columns.amount[sender]}
    if kind in (Kind.POST_SEND, Kind.POST_RECV, Kind.WAIT):
        found["request"] = columns.source[row]
    if columns.tag[row] == COLLECTIVE_TAG and kind in (Kind.SEND, Kind.RECV, Kind.EXCHANGE):
        found["collective"] = True
    return found

"""What the makespan of a logged run waits for: its critical path summed up by PE and by link, and its messages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.engines.costs import lower
from simulator.engines.costs.messages import MessageCosts, capacities, message_costs
from simulator.engines.faults import link_name
from simulator.engines.log import Causes, Step, explain
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.programs.columns import Kind
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import draw, of_replication

__all__ = ["Message", "Part", "WaitedFor", "waited_for"]

WHAT = {
    Kind.COMPUTE: "computing",
    Kind.FARM: "farm",
    Kind.BARRIER: "barrier",
    Kind.WAIT_UNTIL: "asleep",
    Kind.DELAY: "asleep",
    Kind.READ_WRITE: "disk",
}
"""Names of parts; those of messages are `message`, those of the user's own operations their names."""


@dataclass(frozen=True)
class Part:
    """What one PE, link or disk contributes to the critical path."""

    what: str
    """`computing`, `message`, `farm`, `disk`, `move` (to or from a GPU), `asleep`, `barrier`, or the name of an
    operation of the user's own."""
    where: str
    seconds: float
    held_up_s: float
    """Of these, how much longer it took than with the links, the disk or the PE to itself and without its load."""
    steps: int


@dataclass(frozen=True)
class Message:
    """One message of a logged run."""

    sender: int
    receiver: int
    start_ticks: int
    """When it could begin: both were ready, or the sender of one that waits for nobody."""
    end_ticks: int
    size_bytes: float


@dataclass(frozen=True)
class WaitedFor:
    """What the makespan of one run waits for."""

    path: tuple[Step, ...]
    """The critical path, as `critical_path` gives it."""
    parts: tuple[Part, ...]
    """What it consists of, largest first; they add up to the makespan."""
    messages: tuple[Message, ...]
    """All messages of the run, in the order of their receives, process after process."""


def waited_for(
    scenario: Scenario, runs: RunSet, configuration: int, replication: int, *, first_replication: int = 0
) -> WaitedFor:
    """Follow a logged run back from its end, and sum up by PE and by link.

    A message counts for one link of its route: the one with most to carry for its bandwidth while this step lasted,
    or the slowest one where messages do not share links. Without links it counts for `the network`, within a node for
    that node.

    Raises ScenarioError if this replication was not logged.

    `replication`, `first_replication`: which of the runs, and the number of the first one, as given to `run`.
    """
    scenario = of_replication(runs.drawn(scenario), first_replication + replication)
    log, causes = explain(scenario, runs, configuration, replication)
    path = causes.path()
    one = replace(scenario, configurations=(scenario.configurations[configuration],), replications=1)
    if (configuration, replication) in runs.programs:
        program = runs.programs[configuration, replication]
        one = replace(one, application=replace(one.application, written=program))
    nominal = _nominal_ticks(one, first_replication + replication, tick_s=runs.tick_s)
    return WaitedFor(
        tuple(Step(log[row], begin, log[row].end_ticks) for row, begin in path),
        tuple(_parts(scenario, runs, configuration, log, causes, path, nominal)),
        tuple(_messages(log, causes)),
    )


def _messages(log: tuple[LoggedOperation, ...], causes: Causes) -> Iterator[Message]:
    for received, sent in causes.sender_of.items():
        start, end = _span(log, causes, sent, received)
        size_bytes = float(causes.columns.amount[sent])
        yield Message(log[sent].process, log[received].process, start, end, size_bytes)


def _parts(
    scenario: Scenario,
    runs: RunSet,
    configuration: int,
    log: tuple[LoggedOperation, ...],
    causes: Causes,
    path: Sequence[tuple[int, int]],
    nominal: Mapping[int, int],
) -> list[Part]:
    placement = np.array([scenario.configurations[configuration].placement], dtype=np.int64)
    costs = message_costs(scenario.platform, causes.columns, placement, tick_s=runs.tick_s)
    links = _Links(scenario, log, causes, costs, tick_s=runs.tick_s)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for row, begin in path:
        end, kind = log[row].end_ticks, Kind(causes.columns.kind[row])
        if end <= begin:
            continue
        held_up = 0.0
        if kind in (Kind.SEND, Kind.RECV, Kind.EXCHANGE, Kind.WAIT, Kind.READ_WRITE):
            sent = causes.sent_by(row)
            to_gpu = kind == Kind.READ_WRITE and causes.columns.source[row] >= 0
            what = "move" if to_gpu else WHAT.get(kind, "message")
            where = links.limiting(sent, begin, end)
            held_up = max(0.0, end - begin - links.alone_ticks(sent))
        else:
            what, where = WHAT.get(kind, log[row].operation), log[row].pe
            held_up = min(end - begin, max(0.0, end - begin - nominal.get(row, end - begin)))
        for place, value in enumerate((end - begin, held_up, 1)):
            sums[what, where][place] += value
    parts = [
        Part(what, where, ticks * runs.tick_s, held_up * runs.tick_s, int(steps))
        for (what, where), (ticks, held_up, steps) in sums.items()
    ]
    return sorted(parts, key=lambda part: (-part.seconds, part.what, part.where))


def _nominal_ticks(one: Scenario, replication: int, *, tick_s: float) -> Mapping[int, int]:
    """What each computation of the only configuration takes alone and without load."""
    (costs,) = lower(one, draw(one, first=replication), tick_s=tick_s)
    rows = np.flatnonzero(costs.columns.kind == Kind.COMPUTE)
    return dict(zip(rows.tolist(), costs.nominal_ticks[0, 0, : rows.size].tolist(), strict=True))


def _span(log: tuple[LoggedOperation, ...], causes: Causes, sent: int, received: int) -> tuple[int, int]:
    ready = log[sent].start_ticks
    if not causes.eager[sent]:
        ready = max(ready, log[received].start_ticks)
    end = causes.end_ticks(received)
    if received in causes.wait_of and not causes.eager[sent]:  # who waits late sees the end late
        end = min(end, causes.end_ticks(sent))
    return ready, max(ready, end)


class _Links:
    """Which link of its route a message waits for."""

    def __init__(
        self,
        scenario: Scenario,
        log: tuple[LoggedOperation, ...],
        causes: Causes,
        costs: MessageCosts,
        *,
        tick_s: float,
    ) -> None:
        self._scenario, self._costs, self._log, self._causes = scenario, costs, log, causes
        platform = scenario.platform
        self._bytes_per_s = platform.speeds_of_links
        self._per_tick = capacities(platform, tick_s=tick_s) / 2.0**50
        self._traffic: Mapping[int, tuple[Floats, Floats]] | None = None

    def limiting(self, row: int, begin: int, end: int) -> str:
        """Name of the link or disk that a transfer counts for."""
        route = self._route(row)
        platform = self._scenario.platform
        if not route.size:
            return self._without_links(row)
        if route.size > 1 and platform.network.contention != "none":
            self._traffic = self._all_traffic() if self._traffic is None else self._traffic
            carried = [_between(self._traffic.get(link), begin, end) for link in route.tolist()]
        else:
            carried = [1.0] * route.size
        place = int(np.argmax(np.array(carried) / self._bytes_per_s[route]))
        directed = int(route[place])
        name, links = link_name(platform, directed), platform.network.links
        one_way = directed < 2 * len(links) and not links[directed // 2].shared
        return f"{name} ({('up', 'down')[directed % 2]})" if one_way else name

    def alone_ticks(self, row: int) -> float:
        """What a transfer takes with all links to itself."""
        ticks, route = float(self._costs.ticks[0, row]), self._route(row)
        units = self._costs.units[0]
        if route.size and units.size > row and units[row]:
            ticks += 1.0 + float(self._causes.columns.amount[row]) / float(self._per_tick[route].min())
        return ticks

    def _route(self, row: int) -> Ints:
        routes = self._costs.route[0]
        route = int(routes[row]) if routes.size > row else -1
        if route < 0:
            return np.zeros(0, dtype=np.int64)
        return self._costs.route_links[self._costs.route_first[route] : self._costs.route_first[route + 1]]

    def _without_links(self, row: int) -> str:
        platform, partner = self._scenario.platform, self._causes.receiver_of.get(row)
        pes = {pe.name: pe.node for pe in platform.pes}
        node = pes.get(self._log[row].pe)
        if partner is not None and node is not None and node == pes.get(self._log[partner].pe):
            return f"within {node}"
        return "the network"

    def _all_traffic(self) -> Mapping[int, tuple[Floats, Floats]]:
        """Of each directed link when how many bytes had passed it, every message spread evenly over its time."""
        found: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
        for received, sent in self._causes.sender_of.items():
            start, end = _span(self._log, self._causes, sent, received)
            for link in self._route(sent).tolist():
                found[link].append((start, max(end, start + 1), float(self._causes.columns.amount[sent])))
        return {link: _passed(spans) for link, spans in found.items()}


def _passed(spans: Iterable[tuple[int, int, float]]) -> tuple[Floats, Floats]:
    """Times and bytes passed by then."""
    rows = np.array(list(spans), dtype=np.float64)
    rates = rows[:, 2] / (rows[:, 1] - rows[:, 0])
    times = np.concatenate([rows[:, 0], rows[:, 1]])
    order = np.argsort(times, kind="stable")
    times, rate = times[order], np.cumsum(np.concatenate([rates, -rates])[order])
    passed: Any = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(times))])
    return times, passed


def _between(passed: tuple[Floats, Floats] | None, begin: int, end: int) -> float:
    if passed is None:
        return 0.0
    low, high = np.interp([begin, end], *passed)
    return float(high - low)

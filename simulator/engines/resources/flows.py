"""Flows that share links max-min fairly, in exact integers."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

import simpy

from simulator.costs import LAST_TICK, TickOverflowError
from simulator.engines import faults
from simulator.engines.resources.filling import fill
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.engines.resources.links import Movements
from simulator.platform import Platform

RATE_BITS = 40
"""A flow of rate `r` has delivered `floor(r * t / 2**RATE_BITS)` units by tick `t`, but for a constant."""


class _Flow:
    __slots__ = ("clock", "done", "left", "links", "order", "target")

    def __init__(self, order: int, links: "tuple[_Link, ...]", units: int, done: Occurrence) -> None:
        self.order, self.links, self.left, self.done = order, links, units, done
        self.clock: _Link | None = None
        """The link that holds it back; until it has one, `left` counts, then `target`."""
        self.target = 0


class _Link:
    """A directed link, and the clock of the flows that it holds back, which all have the same rate.

    So what one of them has delivered since a moment holds for all (virtual time), and each only keeps the mark at which
    it has delivered everything.
    """

    __slots__ = ("_env", "_held", "_planned", "_since", "_wake", "capacity", "delivered", "flows", "number", "rate")

    def __init__(self, env: Clock, number: int, capacity: int) -> None:
        self._env, self.number, self.capacity = env, number, capacity
        self.flows: dict[_Flow, None] = {}
        """All that pass it."""
        self.rate = 0
        self.delivered = 0
        self._since = 0
        self._held: list[tuple[int, int, _Flow]] = []
        """Heap of those that it holds back: mark, order, flow; those that have left it are dropped late."""
        self._planned = (-1, 0)
        self._wake: simpy.Event | None = None

    def advance(self) -> None:
        """Bring `delivered` up to now."""
        now = self._env.now
        self.delivered += (self.rate * now >> RATE_BITS) - (self.rate * self._since >> RATE_BITS)
        self._since = now

    def set_rate(self, rate: int) -> None:
        """From now on."""
        if rate != self.rate:
            self.advance()
            self.rate = rate

    def hold(self, flow: _Flow) -> None:
        """From now on the flow has this link's rate."""
        if flow.clock is not None:
            flow.clock.advance()
            flow.left = flow.target - flow.clock.delivered
        self.advance()
        flow.clock, flow.target = self, self.delivered + flow.left
        heapq.heappush(self._held, (flow.target, flow.order, flow))

    def first(self) -> tuple[int, int, _Flow] | None:
        """Of the flows held back, the one that ends first."""
        held = self._held
        while held and (held[0][2].clock is not self or held[0][2].target != held[0][0]):
            heapq.heappop(held)
        return held[0] if held else None

    def plan(self, wake: Callable[[simpy.Event], None]) -> None:
        """Have `wake` called when the first flow ends."""
        first = self.first()
        if first is None or (first[0], self.rate) == self._planned:
            return
        self._planned = first[0], self.rate
        needed = first[0] - self.delivered + (self.rate * self._since >> RATE_BITS)
        end = -(-(needed << RATE_BITS) // self.rate)
        if end > LAST_TICK:
            raise TickOverflowError
        self._wake = simpy.Timeout(self._env, end - self._env.now, self)
        self._wake.callbacks.append(wake)

    def ended(self, wake: simpy.Event) -> list[_Flow]:
        """The flows that end now, no longer held back; none if the wake-up is not the last one planned."""
        if wake is not self._wake:
            return []
        self.advance()
        flows = []
        while (first := self.first()) is not None and first[0] <= self.delivered:
            first[2].clock = None
            flows.append(first[2])
        return flows


class FairLinks:
    """All that moves over a link shares it max-min fairly; rates are found anew once per instant with a change."""

    def __init__(
        self,
        env: Clock,
        instant: Instant,
        movements: Movements,
        *,
        capacities: list[int],
        platform: Platform,
    ) -> None:
        self._env, self._instant, self._movements = env, instant, movements
        self._capacities, self._platform = capacities, platform
        self._links: dict[int, _Link] = {}
        self._order = count()
        self._begun: list[_Flow] = []
        self._touched: dict[_Link, None] = {}
        """Links on which flows have begun or ended in this instant."""

    def start(self, row: int, done: Occurrence) -> None:
        """See `Transfers`."""
        latency, units, route = (
            column[row] for column in (self._movements.ticks, self._movements.units, self._movements.route)
        )
        if route < 0 or not units:
            done.after(latency)
        elif latency:
            Occurrence(self._env).after(latency).callbacks.append(lambda _event: self._begin(route, units, done))
        else:
            self._begin(route, units, done)

    def _begin(self, route: int, units: int, done: Occurrence) -> None:
        links = tuple(self._link(number) for number in self._movements.routes[route])
        flow = _Flow(next(self._order), links, units, done)
        self._touch(flow)
        for link in links:
            link.flows[flow] = None

    def _link(self, number: int) -> _Link:
        if number not in self._links:
            self._links[number] = _Link(self._env, number, self._capacities[number])
        return self._links[number]

    def _touch(self, flow: _Flow) -> None:
        self._touched.update(dict.fromkeys(flow.links))
        self._instant.ask(Phase.FLOWS, self._settle)

    def _end(self, wake: simpy.Event) -> None:
        link: Any = wake.value
        for flow in link.ended(wake):
            self._touch(flow)
            for passed in flow.links:
                del passed.flows[flow]
            flow.done.succeed()

    def _settle(self) -> None:
        """Find the rates of all flows that the changes of this instant may have an effect on."""
        changed, self._touched = self._touched, {}
        crowded = [link.number for link in changed if len(link.flows) > link.capacity]
        if crowded:
            raise faults.no_rate(faults.link_name(self._platform, min(crowded)))
        flows = _joined_to(changed)
        links = {link.number: link for flow in flows for link in flow.links}
        capacities = {number: link.capacity for number, link in links.items()}
        rates = fill(capacities, [[link.number for link in flow.links] for flow in flows])
        for flow, (rate, number) in zip(flows, rates, strict=True):
            link = links[number]
            link.set_rate(rate)
            if flow.clock is not link:
                link.hold(flow)
        for link in (*changed, *links.values()):
            link.plan(self._end)


def _joined_to(changed: dict[_Link, None]) -> list[_Flow]:
    """The flows on links that have changed, those that share a link with them, and so on."""
    links, flows = dict(changed), dict[_Flow, None]()
    waiting = list(changed)
    while waiting:
        for flow in waiting.pop().flows:
            if flow not in flows:
                flows[flow] = None
                for link in flow.links:
                    if link not in links:
                        links[link] = None
                        waiting.append(link)
    return list(flows)

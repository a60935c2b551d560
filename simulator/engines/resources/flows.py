"""Flows that share links max-min fairly, in exact integers; rates are found again only where something has changed."""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Any

import simpy

from simulator.base.errors import SimulationError
from simulator.engines import faults
from simulator.engines.costs import LAST_TICK, TickOverflowError
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.engines.resources.links import Movements

RATE_BITS = 40
"""A flow of rate `r` has delivered `floor(r * t / 2**RATE_BITS)` units by tick `t`, but for a constant."""
UNLIMITED = 2**63


def fill(capacities: Mapping[int, int], routes: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The rate of each flow, and a link that it cannot pass faster: of one link all have the same rate.

    `capacities`: of the links that the flows pass, each at least the number of flows on it.
    `routes`: links of each flow.
    """
    free, waiting = dict(capacities), dict.fromkeys(capacities, 0)
    flows_on: dict[int, list[int]] = {link: [] for link in capacities}
    for flow, route in enumerate(routes):
        for link in route:
            waiting[link] += 1
            flows_on[link].append(flow)
    # The share of a link only grows while flows are fixed: entries of the heap may be too small, never too large.
    shares = [(free[link] // waiting[link], link) for link in capacities if waiting[link]]
    heapify(shares)
    found: list[tuple[int, int] | None] = [None] * len(routes)
    while shares:
        least = shares[0][0]
        tight = []
        while shares and shares[0][0] == least:
            link = heappop(shares)[1]
            if not waiting[link]:
                continue
            share = free[link] // waiting[link]
            if share == least:
                tight.append(link)
            else:
                heappush(shares, (share, link))
        for link in tight:
            for flow in flows_on[link]:
                if found[flow] is None:
                    found[flow] = least, link
                    for passed in routes[flow]:
                        free[passed] -= least
                        waiting[passed] -= 1
    return [one for one in found if one is not None]


def deciding(routes: Sequence[tuple[int, ...]], capacities: Sequence[int]) -> list[tuple[int, ...]]:
    """The routes without links that cannot hold anything back: those whose flows all pass one that is no faster, too.

    Of such two the share `free // flows` of the slower is never more, whatever of these routes is in use: it has no
    more free, and no fewer flows.
    """
    slower: dict[int, set[int]] = {}
    for route in routes:
        passed = set(route)
        for link in route:
            if link in slower:
                slower[link] &= passed
            else:
                order = capacities[link], link
                slower[link] = {other for other in passed if (capacities[other], other) < order}
    return [tuple(link for link in route if not slower[link]) for route in routes]


# Directed links under max-min sharing, and the flows on them: who passes what, and when the first one ends.


class Flow:
    """Something that moves over links."""

    __slots__ = ("clock", "done", "left", "links", "order", "route", "shared", "target")

    def __init__(
        self, order: int, links: "tuple[FlowLink, ...]", route: tuple[int, ...], units: int, done: Occurrence
    ) -> None:
        self.order, self.route, self.left, self.done = order, route, units, done
        self.links = links
        """Those of its route that can hold it back."""
        self.clock: FlowLink | None = None
        """The link that holds it back; until it has one, `left` counts, then `target`."""
        self.target = 0
        self.shared: set[FlowLink] = set()
        """Those of its links that others pass too."""

    def join(self) -> None:
        """Begin to pass its links."""
        for link in self.links:
            link.flows[self] = None
            if len(link.flows) == 2:
                for flow in link.flows:
                    flow._meet(link, others=True)  # noqa: SLF001
            elif len(link.flows) > 2:
                self._meet(link, others=True)
        for link in self.links:
            if link.by_limit is not None:
                insort(link.by_limit, self.limit(link))
                link.capped, link.free = 0, link.capacity

    def leave(self) -> None:
        """No longer pass its links."""
        for link in self.links:
            if link.by_limit is not None:
                entry = self.limit(link)
                place = bisect_left(link.by_limit, entry)
                del link.by_limit[place]
                if place < link.capped:
                    link.capped -= 1
                    link.free += entry[0]
        for link in self.links:
            if len(link.flows) > 1:
                self._meet(link, others=False)
            del link.flows[self]
            if len(link.flows) == 1:
                link.by_limit = None  # the last one may be held back elsewhere before others come
                next(iter(link.flows))._meet(link, others=False)  # noqa: SLF001

    def limit(self, hub: "FlowLink") -> "tuple[int, int, Flow]":
        """The least capacity of its other links, as an entry of the hub's list."""
        return min((link.capacity for link in self.links if link is not hub), default=UNLIMITED), self.order, self

    def tightest(self, hub: "FlowLink") -> "FlowLink":
        """The link of that capacity."""
        return min((link for link in self.links if link is not hub), key=lambda link: (link.capacity, link.number))

    def _meet(self, link: "FlowLink", *, others: bool) -> None:
        """Note whether others pass one of its links; what its other links knew of who holds it back is void then."""
        for other in self.links:
            if other is not link:
                other.by_limit = None
        if len(self.shared) > 1:
            for other in self.shared:
                other.crossing -= 1
        if others:
            self.shared.add(link)
        else:
            self.shared.discard(link)
        if len(self.shared) > 1:
            for other in self.shared:
                other.crossing += 1
                other.by_limit = None


class FlowLink:
    """A directed link, and the clock of the flows that it holds back, which all have the same rate.

    So what one of them has delivered since a moment holds for all (virtual time), and each only keeps the mark at which
    it has delivered everything.
    """

    __slots__ = (
        "_env",
        "_held",
        "_planned",
        "_since",
        "_wake",
        "by_limit",
        "capacity",
        "capped",
        "crossing",
        "delivered",
        "flows",
        "free",
        "number",
        "rate",
    )

    def __init__(self, env: Clock, number: int, capacity: int) -> None:
        self._env, self.number, self.capacity = env, number, capacity
        self.flows: dict[Flow, None] = {}
        """All that pass it."""
        self.crossing = 0
        """How many of them meet others on another link too."""
        self.by_limit: list[tuple[int, int, Flow]] | None = None
        """If none does and it has been asked for: all flows, by the least capacity of their other links."""
        self.capped, self.free = 0, capacity
        """How many of those, the first ones, are known to be held back by that capacity, and what they leave free.
        Flows that end leave more to each of the others, so that the first ones stay so until a flow begins."""
        self.rate = 0
        self.delivered = 0
        self._since = 0
        self._held: list[tuple[int, int, Flow]] = []
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

    def hold(self, flow: Flow) -> None:
        """From now on the flow has this link's rate."""
        if flow.clock is self:
            return
        if flow.clock is not None:
            flow.clock.advance()
            flow.left = flow.target - flow.clock.delivered
        self.advance()
        flow.clock, flow.target = self, self.delivered + flow.left
        heapq.heappush(self._held, (flow.target, flow.order, flow))

    def plan(self, wake: Callable[[simpy.Event], None]) -> None:
        """Have `wake` called when the first flow that it holds back ends.

        Raises TickOverflowError if that is past the last tick.
        """
        target = self._first()
        if target is None or (target, self.rate) == self._planned:
            return
        self._planned = target, self.rate
        needed = target - self.delivered + (self.rate * self._since >> RATE_BITS)
        end = -(-(needed << RATE_BITS) // self.rate)
        if end > LAST_TICK:
            raise TickOverflowError
        self._wake = simpy.Timeout(self._env, end - self._env.now, self)
        self._wake.callbacks.append(wake)

    def ended(self, wake: simpy.Event) -> list[Flow]:
        """The flows that end now, no longer held back; none if the wake-up is not the last one planned."""
        if wake is not self._wake:
            return []
        self.advance()
        flows = []
        while (target := self._first()) is not None and target <= self.delivered:
            flow = heapq.heappop(self._held)[2]
            flow.clock = None
            flows.append(flow)
        return flows

    def _first(self) -> int | None:
        """The least mark of those held back."""
        held = self._held
        while held and (held[0][2].clock is not self or held[0][2].target != held[0][0]):
            heapq.heappop(held)
        return held[0][0] if held else None


class FairLinks:
    """All that moves over a link shares it max-min fairly."""

    def __init__(
        self,
        env: Clock,
        instant: Instant,
        movements: Movements,
        deciding: Sequence[tuple[int, ...]],
        *,
        capacities: Sequence[int],
        name_of: Callable[[int], str],
    ) -> None:
        self._env, self._instant, self._movements, self._deciding = env, instant, movements, deciding
        self._capacities, self._name_of = capacities, name_of
        self._links: dict[int, FlowLink] = {}
        self._order = count()
        self._begun: list[Flow] = []
        self._changed: dict[FlowLink, None] = {}
        """Links on which flows have begun or ended in this instant."""

    def start(self, row: int, done: Occurrence) -> None:
        """See `Transfers`."""
        moves = self._movements
        latency, units, route = moves.ticks[row], moves.units[row], moves.route[row]
        if route < 0 or not units:
            done.after(latency)
        elif latency:
            Occurrence(self._env).after(latency).callbacks.append(partial(self._begin, route, units, done))
        else:
            self._begin(route, units, done)

    def _begin(self, route: int, units: int, done: Occurrence, _event: simpy.Event | None = None) -> None:
        links = tuple(self._link(number) for number in self._deciding[route])
        flow = Flow(next(self._order), links, self._movements.routes[route], units, done)
        flow.join()
        self._begun.append(flow)
        self._change(flow)

    def _link(self, number: int) -> FlowLink:
        if number not in self._links:
            self._links[number] = FlowLink(self._env, number, self._capacities[number])
        return self._links[number]

    def _change(self, flow: Flow) -> None:
        for link in flow.links:
            self._changed[link] = None
        self._instant.ask(Phase.FLOWS, self._settle)

    def _end(self, wake: simpy.Event) -> None:
        link: Any = wake.value
        for flow in link.ended(wake):
            flow.leave()
            self._change(flow)
            flow.done.succeed()
        self._changed[link] = None  # to plan for the next one

    def _settle(self) -> None:
        """Find the rates of all flows that the changes of this instant may have an effect on."""
        changed, self._changed = self._changed, {}
        begun, self._begun = self._begun, []
        crowded = [link for link in changed if len(link.flows) > link.capacity]
        if crowded:
            raise self._no_rate(crowded)
        hubs, others = _sorted_out(changed)
        touched = dict(changed)
        for hub in hubs:
            touched.update(dict.fromkeys(_fill_hub(hub, begun)))
        if others:
            touched.update(dict.fromkeys(_fill(others)))
        for link in touched:
            link.plan(self._end)

    def _no_rate(self, crowded: Iterable[FlowLink]) -> SimulationError:
        """Names the first link with too many flows, those included that never decide."""
        flows = {flow for link in crowded for flow in link.flows}
        counts = Counter(number for flow in flows for number in flow.route)
        first = min(number for number, flows_on in counts.items() if flows_on > self._capacities[number])
        return faults.no_rate(self._name_of(first))


def _sorted_out(changed: Iterable[FlowLink]) -> tuple[dict[FlowLink, None], list[FlowLink]]:
    """Hubs, which are the only place where their flows meet, as with one backbone, and links that belong to none."""
    hubs: dict[FlowLink, None] = {}
    others = []
    for link in changed:
        if link.flows:
            flow = next(iter(link.flows))
            hub = link if len(link.flows) > 1 else next(iter(flow.shared), flow.links[0])
            if hub.crossing or len(flow.shared) > 1:
                others.append(link)
            else:
                hubs[hub] = None
    return hubs, others


def _fill_hub(hub: FlowLink, begun: Iterable[Flow]) -> list[FlowLink]:
    """What `fill` finds, where flows meet on one link only: each is held back by a link of its own, or by the hub.

    Returns the links whose flows or rates may have changed.
    """
    known = hub.by_limit is not None
    if hub.by_limit is None:
        hub.by_limit = sorted(flow.limit(hub) for flow in hub.flows)
        hub.capped, hub.free = 0, hub.capacity
    touched = [hub]
    for limit, _, flow in islice(hub.by_limit, hub.capped, None):
        if limit >= hub.free // (len(hub.by_limit) - hub.capped):
            break
        link = flow.tightest(hub)
        link.set_rate(limit)
        link.hold(flow)
        touched.append(link)
        hub.free -= limit
        hub.capped += 1
    sharing = len(hub.by_limit) - hub.capped
    if sharing:
        hub.set_rate(hub.free // sharing)
        for _, _, flow in islice(hub.by_limit, hub.capped, None):
            if known and flow.clock is hub:
                break  # so are all behind it, but for those that have just begun
            hub.hold(flow)
        for flow in begun:
            if flow.clock is None and hub in flow.links:
                hub.hold(flow)
    return touched


def _fill(changed: Iterable[FlowLink]) -> list[FlowLink]:
    """Rates of the flows on links that have changed, of those that meet these, and so on; returns their links."""
    flows = _joined_to(changed)
    links = {link.number: link for flow in flows for link in flow.links}
    capacities = {number: link.capacity for number, link in links.items()}
    rates = fill(capacities, [[link.number for link in flow.links] for flow in flows])
    for flow, (rate, number) in zip(flows, rates, strict=True):
        links[number].set_rate(rate)
        links[number].hold(flow)
    return list(links.values())


def _joined_to(changed: Iterable[FlowLink]) -> list[Flow]:
    links = dict.fromkeys(changed)
    flows = dict[Flow, None]()
    waiting = list(links)
    while waiting:
        for flow in waiting.pop().flows:
            if flow not in flows:
                flows[flow] = None
                for link in flow.links:
                    if link not in links:
                        links[link] = None
                        waiting.append(link)
    return list(flows)

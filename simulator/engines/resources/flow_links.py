"""Directed links under max-min sharing, and the flows on them: who passes what, and when the first one ends."""

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable

import simpy

from simulator.engines.costs import LAST_TICK, TickOverflowError
from simulator.engines.resources.instant import Clock, Occurrence

RATE_BITS = 40
"""A flow of rate `r` has delivered `floor(r * t / 2**RATE_BITS)` units by tick `t`, but for a constant."""
UNLIMITED = 2**63


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
        for one in self.links:
            if one is not link:
                one.by_limit = None
        if len(self.shared) > 1:
            for one in self.shared:
                one.crossing -= 1
        if others:
            self.shared.add(link)
        else:
            self.shared.discard(link)
        if len(self.shared) > 1:
            for one in self.shared:
                one.crossing += 1
                one.by_limit = None


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

        Raises
        ------
        TickOverflowError
            If that is past the last tick.
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

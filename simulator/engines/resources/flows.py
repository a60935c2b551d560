"""Flows that share links max-min fairly, in exact integers; rates are found anew only where something has changed."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count, islice
from typing import Any

import simpy

from simulator.base.errors import SimulationError
from simulator.engines import faults
from simulator.engines.resources.filling import fill
from simulator.engines.resources.flow_links import Flow, FlowLink
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.engines.resources.links import Movements


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

"""Flows at their own limit, and groups of flows that a shared link keeps at its level; when either end."""

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.memory import NONE, W, Words, links, nodes, slots
from simulator.engines.compiled.queues import cancel, later, schedule
from simulator.engines.compiled.wide import delivered, ticks_until
from simulator.engines.costs import LAST_TICK

UNBOUNDED = LAST_TICK
"""The limit of a flow all of whose links are shared."""


@subroutine
def bounded(w: Words, slot: int, rate: int) -> None:
    """A flow on its own gets a rate."""
    flow = slots(w)[slot]
    if flow.group == NONE and flow.rate == rate:
        return
    without_group(w, slot)
    flow.rate = rate
    schedule(w, w[W.PROCESS_COUNT] + slot, _end(w, flow.left, rate))


@subroutine
def without_group(w: Words, slot: int) -> None:
    """Bring what a flow has left up to now, and take it out of its group if it has one."""
    flow, now = slots(w)[slot], w[W.NOW]
    if flow.group == NONE:
        flow.left -= delivered(flow.rate, flow.since, now)
    else:
        group = links(w)[flow.group]
        advance(w, flow.group)
        flow.left = flow.target - group.served
        group.members -= 1
        if group.members == 0:
            cancel(w, group_event(w, flow.group))
        flow.group = NONE
    flow.rate, flow.since = 0, now


@subroutine
def join(w: Words, slot: int, link: int) -> None:
    """Put a flow into a link's group."""
    flow, group = slots(w)[slot], links(w)[link]
    if flow.group == link:
        return
    without_group(w, slot)
    cancel(w, w[W.PROCESS_COUNT] + slot)
    if group.members == 0:
        group.served, group.rate, group.since = 0, 0, w[W.NOW]
    advance(w, link)
    group.members += 1
    flow.group, flow.target = link, group.served + flow.left


@subroutine
def advance(w: Words, link: int) -> None:
    """Bring up to now what a group has delivered to each of its flows."""
    group, now = links(w)[link], w[W.NOW]
    if group.since < now:
        group.served += delivered(group.rate, group.since, now)
        group.since = now


@subroutine
def regroup(w: Words, link: int, rate: int) -> None:
    """A link's group, all of whose flows have joined, gets a rate."""
    group, every, flows = links(w)[link], nodes(w), slots(w)
    if group.members == 0:
        return
    advance(w, link)
    least, most, node = LAST_TICK, 0, group.tail  # limits rise towards the tail, where the group is
    left = group.members
    while left > 0:
        flow = flows[every[node].slot]
        if flow.group == link:
            units = flow.target - group.served
            least, most = min(least, units), max(most, units)
            left -= 1
        node = every[node].previous
    group.rate = rate
    schedule(w, group_event(w, link), _end(w, least, rate))
    if most > least:  # whose end may be past the last tick
        _end(w, most, rate)


@subroutine
def due(w: Words, link: int) -> int:
    """The first of the flows of a group that end now, chained by `fixed_next`; ending one may reorder lists."""
    advance(w, link)
    group, every, flows = links(w)[link], nodes(w), slots(w)
    node, left, found = group.tail, group.members, NONE
    while left > 0:
        slot = every[node].slot
        if flows[slot].group == link:
            left -= 1
            if flows[slot].target - group.served <= 0:
                flows[slot].fixed_next = found
                found = slot
        node = every[node].previous
    return found


@subroutine
def group_event(w: Words, link: int) -> int:
    """The id of a group's next end."""
    return w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + w[W.PE_COUNT] + link


@subroutine
def _end(w: Words, units: int, rate: int) -> int:
    """When so many units have been delivered from now on."""
    return later(w, ticks_until(units, rate, w[W.NOW]))

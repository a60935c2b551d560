"""Flows at their own limit, and groups that a shared link keeps at its level, counted to the unit in 128 bits."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.memory import NONE, W, Words, links, nodes, slots
from simulator.engines.compiled.queues import cancel, later, schedule
from simulator.engines.costs import LAST_TICK

SHIFT = np.uint64(40)
"""Rates count 2**-40 units per tick."""
FRACTION = np.uint64(2**40 - 1)
OTHER = np.uint64(24)
ONE = np.uint64(1)
HIGHER = 2.0**64


@intrinsic
def _upper(typing_context: Any, one: Any, other: Any) -> Any:  # noqa: ARG001 - Numba's signature
    """Upper half of a product of two uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


_high: Any = _upper


@subroutine
def delivered(rate: int, since: int, now: int) -> int:
    """`floor(rate * now / 2**40) - floor(rate * since / 2**40)`, modulo 2**64."""
    r, d = np.uint64(rate), np.uint64(now - since)
    high, product = _high(r, d), r * d
    low = product + ((r * np.uint64(since)) & FRACTION)  # of `rate * since` only the fraction decides
    if low < product:
        high += ONE
    return np.int64((high << OTHER) | (low >> SHIFT))


@subroutine
def ticks_until(units: int, rate: int, since: int) -> int:
    """The least number of ticks after `since` in which `units` (at least 1) are delivered; at most LAST_TICK."""
    r, u = np.uint64(rate), np.uint64(units)
    fraction = (r * np.uint64(since)) & FRACTION
    high, low = u >> OTHER, u << SHIFT
    if low < fraction:
        high -= ONE
    low -= fraction  # high, low: 2**40 units less the fraction; the answer is that over the rate, rounded up
    estimate = (np.float64(high) * HIGHER + np.float64(low)) / np.float64(r)
    if estimate > 1.01 * LAST_TICK:
        return LAST_TICK
    steps = np.int64(estimate)
    while True:
        product_high, product_low = _high(r, np.uint64(steps)), r * np.uint64(steps)
        missing_low = low - product_low
        missing_high = np.int64(high - product_high) - (1 if low < product_low else 0)
        # missing: a signed number of 128 bits; 0 or less and more than -rate when `steps` is the answer
        if missing_high > 0 or (missing_high == 0 and missing_low > np.uint64(0)):
            missing = np.float64(missing_high) * HIGHER + np.float64(missing_low)
            steps += max(np.int64(1), np.int64(missing / np.float64(r)))
        elif missing_high < -1 or (missing_high == -1 and np.uint64(0) - missing_low - ONE >= r - ONE):
            surplus = -(np.float64(missing_high) * HIGHER + np.float64(missing_low))
            steps -= max(np.int64(1), np.int64(surplus / np.float64(r)))
        else:
            return min(steps, np.int64(LAST_TICK))


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

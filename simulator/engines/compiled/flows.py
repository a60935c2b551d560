"""Max-min fair flows: rates by progressive filling in integers, and when flows end.

Only what a change can reach is filled again. A link is *shared* while it has two flows or more; the others bound their
one flow by their capacity, the flow's *limit*. A link's flows lie in a list by limit. Where no flow of a shared link
passes another shared one, filling goes up that list; otherwise all links and flows that hang together are filled as the
rule says (`filling.py`).

Flows that a shared link keeps at its level get the same rate as long as they stay: they form the link's group, which
delivers to each of them alike, so that a flow ends when the group has delivered its `target`. A change of the group's
rate then costs the same for two flows and for a thousand. Flows at their own limit are on their own.
"""

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.groups import UNBOUNDED, bounded, join, regroup, without_group
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    W,
    Words,
    filling,
    links,
    nodes,
    route,
    route_first,
    route_links,
    slots,
    units,
)
from simulator.engines.compiled.queues import NO_RATE, pop, push

# Progressive filling of links that hang together, word by word.


OPEN, OWN = -2, -1
"""A flow's `fixed_by`, unless it is a link: not fixed yet; its own limit."""
FLOW, LINK = 0, 1


@subroutine
def fill(w: Words, link: int) -> None:
    """Rates of all flows that hang together with a shared link."""
    first_flow, size = _gather(w, link)
    while w[W.UNFIXED] > 0:
        size = _round(w, size)
    slot = first_flow
    while slot != NONE:  # groups keep their old rates until every flow is where it belongs
        flow = slots(w)[slot]
        if flow.fixed_by == OWN:
            bounded(w, slot, flow.filled)
        else:
            join(w, slot, flow.fixed_by)
        slot = flow.following
    while link != NONE:
        regroup(w, link, links(w)[link].level)
        link = links(w)[link].following


@subroutine
def _gather(w: Words, link: int) -> tuple[int, int]:
    """Chain what hangs together with a link: the first flow, and the size of the heap of levels to look at."""
    all_links, flows, epoch, size = links(w), slots(w), w[W.EPOCH], 0
    last_link, first_flow = link, NONE
    all_links[link].mark, all_links[link].following = epoch, NONE
    w[W.UNFIXED] = 0
    while link != NONE:
        one = all_links[link]
        one.free, one.unfixed = one.capacity, one.count
        push(filling(w), 0, size, one.capacity // one.count, LINK, link)
        size += 1
        node = one.head
        while node != NONE:
            slot = nodes(w)[node].slot
            flow = flows[slot]
            node = nodes(w)[node].next
            if flow.mark == epoch:
                continue
            flow.mark, flow.fixed_by, flow.following = epoch, OPEN, first_flow
            first_flow = slot
            w[W.UNFIXED] += 1
            if flow.limit < UNBOUNDED:
                push(filling(w), 0, size, flow.limit, FLOW, slot)
                size += 1
            way = route(w)[flow.row]
            for hop in range(route_first(w)[way], route_first(w)[way + 1]):
                other = route_links(w)[hop]
                if all_links[other].count > 1 and all_links[other].mark != epoch:
                    all_links[other].mark, all_links[other].following = epoch, NONE
                    all_links[last_link].following = other
                    last_link = other
        link = one.following
    return first_flow, size


@subroutine
def _round(w: Words, size: int) -> int:
    """Fix all flows at the least level; the size of the heap that is left.

    A link's level never falls, so that an entry of the heap is at most what it stands for.
    """
    heap, flows, all_links = filling(w), slots(w), links(w)
    level, fixed, link = NONE, NONE, NONE
    while size > 0 and (level == NONE or heap[0].key <= level):
        key, kind, number = heap[0].key, heap[0].second, heap[0].value
        pop(heap, 0, size)
        size -= 1
        if kind == FLOW:
            if flows[number].fixed_by == OPEN:
                level = key
                flows[number].fixed_by, flows[number].fixed_next = OWN, fixed
                fixed = number
        elif all_links[number].unfixed:
            actual = all_links[number].free // all_links[number].unfixed
            if actual > key:
                push(heap, 0, size, actual, LINK, number)
                size += 1
            else:
                level = key
                all_links[number].level, all_links[number].fixed_next = level, link
                link = number
    while link != NONE:  # found before any flow was subtracted, so that ties are fixed together
        node = all_links[link].head
        while node != NONE:
            slot = nodes(w)[node].slot
            if flows[slot].fixed_by == OPEN:
                flows[slot].fixed_by, flows[slot].fixed_next = link, fixed
                fixed = slot
            node = nodes(w)[node].next
        link = all_links[link].fixed_next
    _subtract(w, fixed, level)
    return size


@subroutine
def _subtract(w: Words, slot: int, level: int) -> None:
    """Give a chain of flows their rate."""
    flows, all_links = slots(w), links(w)
    while slot != NONE:
        flow = flows[slot]
        flow.filled = level
        w[W.UNFIXED] -= 1
        way = route(w)[flow.row]
        for hop in range(route_first(w)[way], route_first(w)[way + 1]):
            one = all_links[route_links(w)[hop]]
            if one.count > 1:
                one.free -= level
                one.unfixed -= 1
        slot = flow.fixed_next


@subroutine
def start_flow(w: Words, slot: int) -> None:
    """A message begins to flow now; `refill` has to follow."""
    first, last = _hops(w, slot)
    flow, path, all_links = slots(w)[slot], route_links(w), links(w)
    flow.left, flow.rate, flow.since, flow.group = units(w)[flow.row], 0, w[W.NOW], NONE
    flow.limit, flow.shared = UNBOUNDED, 0
    for hop in range(first, last):
        link = path[hop]
        all_links[link].count += 1
        mark_dirty(w, link)
    for hop in range(first, last):
        link = path[hop]
        if all_links[link].count == 2:
            _bound(w, nodes(w)[all_links[link].head].slot)
    _bound(w, slot)
    for hop in range(first, last):
        node = slot * w[W.HOPS] + hop - first
        nodes(w)[node].slot = slot
        _insert(w, path[hop], node)


@subroutine
def end_flow(w: Words, slot: int) -> None:
    """A flow has ended; `refill` has to follow."""
    first, last = _hops(w, slot)
    flow, path, all_links = slots(w)[slot], route_links(w), links(w)
    without_group(w, slot)
    for hop in range(first, last):
        link = path[hop]
        _remove(w, link, slot * w[W.HOPS] + hop - first)
        all_links[link].count -= 1
        if flow.shared > 1:
            all_links[link].crossing -= 1
        mark_dirty(w, link)
    for hop in range(first, last):
        link = path[hop]
        if all_links[link].count == 1:
            _bound(w, nodes(w)[all_links[link].head].slot)


@subroutine
def mark_dirty(w: Words, link: int) -> None:
    """Something changed on a link."""
    one = links(w)[link]
    if one.next_dirty == OUTSIDE:
        one.next_dirty = w[W.DIRTY_LINK]
        w[W.DIRTY_LINK] = link


@subroutine
def refill(w: Words) -> None:
    """New rates and ends wherever flows began or ended."""
    w[W.EPOCH] += 1
    if _overfull(w):
        return
    link, all_links = w[W.DIRTY_LINK], links(w)
    w[W.DIRTY_LINK] = NONE
    while link != NONE:
        one = all_links[link]
        following = one.next_dirty
        one.next_dirty = OUTSIDE
        if one.count == 1:
            slot = nodes(w)[one.head].slot
            if slots(w)[slot].shared == 0:
                bounded(w, slot, slots(w)[slot].limit)
            else:
                _solve(w, _shared_link(w, slot))
        elif one.count > 1:
            _solve(w, link)
        link = following


@subroutine
def _overfull(w: Words) -> bool:
    """Whether a link has more flows than units of capacity; the first one is the fault."""
    link, found = w[W.DIRTY_LINK], NONE
    while link != NONE:
        one = links(w)[link]
        if one.count > one.capacity and (found == NONE or link < found):
            found = link
        link = one.next_dirty
    if found != NONE:
        w[W.STATUS], w[W.FAULT] = NO_RATE, found
    return found != NONE


@subroutine
def _solve(w: Words, link: int) -> None:
    """Rates of all flows that hang together with a shared link, once per epoch."""
    one = links(w)[link]
    if one.mark == w[W.EPOCH]:
        return
    if one.crossing:
        fill(w, link)
        return
    one.mark = w[W.EPOCH]
    free, left, node = one.capacity, one.count, one.head
    while left > 0:
        slot = nodes(w)[node].slot
        limit = slots(w)[slot].limit
        if limit >= free // left:
            break
        bounded(w, slot, limit)
        free -= limit
        left -= 1
        node = nodes(w)[node].next
    if left == 0:
        return
    rate = free // left
    while node != NONE:
        slot = nodes(w)[node].slot
        if slots(w)[slot].group != link:
            join(w, slot, link)
        node = nodes(w)[node].next
    regroup(w, link, rate)


@subroutine
def _hops(w: Words, slot: int) -> tuple[int, int]:
    """Where a message's links begin in `route_links`, and where they end."""
    way = route(w)[slots(w)[slot].row]
    return route_first(w)[way], route_first(w)[way + 1]


@subroutine
def _shared_link(w: Words, slot: int) -> int:
    first, last = _hops(w, slot)
    for hop in range(first, last):
        link = route_links(w)[hop]
        if links(w)[link].count > 1:
            return link
    return NONE


@subroutine
def _bound(w: Words, slot: int) -> None:
    """A flow's limit and the number of its shared links, after one of its links became shared or ceased to be."""
    first, last = _hops(w, slot)
    flow, path, all_links = slots(w)[slot], route_links(w), links(w)
    limit, shared = UNBOUNDED, 0
    for hop in range(first, last):
        one = all_links[path[hop]]
        if one.count > 1:
            shared += 1
        else:
            limit = min(limit, one.capacity)
    if (shared > 1) != (flow.shared > 1):
        change = 1 if shared > 1 else -1
        for hop in range(first, last):
            all_links[path[hop]].crossing += change
    flow.shared = shared
    if limit == flow.limit:
        return
    flow.limit = limit
    for hop in range(first, last):
        node = slot * w[W.HOPS] + hop - first
        if all_links[path[hop]].head == node or nodes(w)[node].previous != NONE:  # already in the list
            _remove(w, path[hop], node)
            _insert(w, path[hop], node)


@subroutine
def _insert(w: Words, link: int, node: int) -> None:
    """Into a link's list, by limit."""
    one, every, flows = links(w)[link], nodes(w), slots(w)
    limit = flows[every[node].slot].limit
    before, after = one.tail, NONE
    if one.head != NONE and flows[every[one.head].slot].limit >= limit:
        before, after = NONE, one.head
    while before != NONE and flows[every[before].slot].limit > limit:
        before, after = every[before].previous, before
    every[node].previous, every[node].next = before, after
    if before == NONE:
        one.head = node
    else:
        every[before].next = node
    if after == NONE:
        one.tail = node
    else:
        every[after].previous = node


@subroutine
def _remove(w: Words, link: int, node: int) -> None:
    one, every = links(w)[link], nodes(w)
    before, after = every[node].previous, every[node].next
    if before == NONE:
        one.head = after
    else:
        every[before].next = after
    if after == NONE:
        one.tail = before
    else:
        every[after].previous = before
    every[node].previous = NONE

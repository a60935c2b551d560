"""Progressive filling of links that hang together, word by word."""

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.groups import UNBOUNDED, bounded, join, regroup
from simulator.engines.compiled.memory import (
    NONE,
    W,
    Words,
    filling,
    links,
    nodes,
    route,
    route_first,
    route_links,
    slots,
)
from simulator.engines.compiled.queues import pop, push

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

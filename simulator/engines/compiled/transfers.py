"""Transfers of messages and to disks: without contention, link by link in turn, or as flows."""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.flows import end_flow, mark_dirty, start_flow
from simulator.engines.compiled.groups import due
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    W,
    Words,
    handles,
    links,
    nodes,
    processes,
    requests,
    route,
    route_first,
    route_links,
    slots,
    ticks,
    units,
)
from simulator.engines.compiled.queues import later, pop, push, schedule

FREELY, IN_TURN, FAIRLY = 0, 1, 2
"""`w[CONTENTION]`: none, fifo, fair."""
IDLE, AHEAD, PENDING, MOVING, LATENCY, FLOWING, OVER = range(7)
"""Where a slot's transfer is: not requested, to be requested later, waiting for links, under way, before it flows,
flowing, ended or of a known end."""


@callee
def routed(w: Words, row: int) -> bool:
    """Whether what an operation transfers passes links that others may want; else its end is known beforehand."""
    return bool(w[W.CONTENTION] != FREELY and route(w)[row] != NONE)


@subroutine
def request_at(w: Words, slot: int, tick: int) -> None:
    """Ask at a tick, now or later, for the transfer of what a slot holds, which is routed."""
    if tick <= w[W.NOW]:
        request(w, slot)
        return
    slots(w)[slot].moving = AHEAD
    schedule(w, w[W.PROCESS_COUNT] + slot, tick)


@subroutine
def request(w: Words, slot: int) -> None:
    """Ask now for the transfer of what a slot holds, which is routed."""
    one = slots(w)[slot]
    row = one.row
    if w[W.CONTENTION] == IN_TURN:
        one.moving = PENDING
        push(requests(w), 0, w[W.REQUESTED], one.number, 0, slot)
        w[W.REQUESTED] += 1
        return
    if ticks(w)[row] == 0 and units(w)[row] > 0:
        _await_start(w, slot)
        return
    one.moving = LATENCY
    schedule(w, w[W.PROCESS_COUNT] + slot, later(w, max(1, ticks(w)[row])))


@subroutine
def transfer_due(w: Words, slot: int) -> None:
    """The event of a slot: its request, the end of its latency or of its transfer."""
    one = slots(w)[slot]
    if one.moving == AHEAD:
        request(w, slot)
        return
    if one.moving == LATENCY and units(w)[one.row] > 0:
        _await_start(w, slot)
        return
    if one.moving == FLOWING:
        end_flow(w, slot)
    elif one.moving == MOVING:
        way = route(w)[one.row]
        for hop in range(route_first(w)[way], route_first(w)[way + 1]):
            links(w)[route_links(w)[hop]].busy = 0
            mark_dirty(w, route_links(w)[hop])
    transferred(w, slot)


@subroutine
def transferred(w: Words, slot: int) -> None:
    """A transfer has ended: for the receiver, and unless it is eager for the sender."""
    one = slots(w)[slot]
    one.moving, one.over = OVER, w[W.NOW]
    if one.receiver != NONE:
        part_done(w, one.receiver, one.over)
    if not one.eager:
        part_done(w, one.sender, one.over)
    elif one.receiver != NONE:
        release(w, slot)


@subroutine
def part_done(w: Words, who: int, tick: int) -> None:
    """A request ends at a tick, now or later, or one of the things that a process waits for."""
    process = who
    if who >= w[W.PROCESS_COUNT]:
        handle = handles(w)[who - w[W.PROCESS_COUNT]]
        handle.over = tick
        if not handle.waited:
            return
        process = handle.process
    one = processes(w)[process]
    one.parts -= 1
    one.latest = max(one.latest, tick)
    if one.parts == 0 and goes_on(w, process, one.latest):
        make_ready(w, process)


@callee
def goes_on(w: Words, process: int, tick: int) -> bool:
    """An operation ends at a tick, now or later; whether its process goes on at once, be it ahead of now."""
    one = processes(w)[process]
    one.clock = tick
    if one.keeps_time and tick > w[W.NOW]:
        schedule(w, process, tick)
        return False
    return True


@callee
def make_ready(w: Words, process: int) -> None:
    """A process goes on from its clock."""
    processes(w)[process].next = w[W.READY]
    w[W.READY] = process


@callee
def release(w: Words, slot: int) -> None:
    """An eager message's slot is free for another."""
    slots(w)[slot].next = w[W.FREE_SLOT]
    w[W.FREE_SLOT] = slot
    w[W.SPARE_SLOTS] += 1


@subroutine
def start_flows(w: Words) -> None:
    """All flows that begin at this instant."""
    slot = w[W.STARTING]
    w[W.STARTING] = NONE
    while slot != NONE:
        start_flow(w, slot)
        slots(w)[slot].moving = FLOWING
        slot = slots(w)[slot].following


@subroutine
def _await_start(w: Words, slot: int) -> None:
    slots(w)[slot].following = w[W.STARTING]
    w[W.STARTING] = slot


@subroutine
def flows_due(w: Words, link: int) -> None:
    """The event of a link's group: the flows that end now."""
    slot = due(w, link)
    while slot != NONE:
        following = slots(w)[slot].fixed_next
        end_flow(w, slot)
        transferred(w, slot)
        slot = following


@subroutine
def grant_links(w: Words) -> None:
    """Under contention `fifo`: new requests line up, and one that is first on all its links, all free, holds them.

    A transfer can become so only when it is requested or when a link before which it stands first becomes free; one
    that is granted lets nobody else in.
    """
    heap, line = requests(w), NONE
    while w[W.REQUESTED] > 0:
        slot = heap[0].value
        pop(heap, 0, w[W.REQUESTED])
        w[W.REQUESTED] -= 1
        _line_up(w, slot)
        slots(w)[slot].following = line
        line = slot
    link = w[W.DIRTY_LINK]
    w[W.DIRTY_LINK] = NONE
    while link != NONE:
        one = links(w)[link]
        if one.head != NONE:
            _try_grant(w, nodes(w)[one.head].slot)
        link = one.next_dirty
        one.next_dirty = OUTSIDE
    while line != NONE:
        if slots(w)[line].moving == PENDING:
            _try_grant(w, line)
        line = slots(w)[line].following


@subroutine
def _line_up(w: Words, slot: int) -> None:
    every, way = nodes(w), route(w)[slots(w)[slot].row]
    first = route_first(w)[way]
    for hop in range(first, route_first(w)[way + 1]):
        one, node = links(w)[route_links(w)[hop]], slot * w[W.HOPS] + hop - first
        every[node].slot, every[node].next = slot, NONE
        if one.head == NONE:
            one.head = node
        else:
            every[one.tail].next = node
        one.tail = node


@subroutine
def _try_grant(w: Words, slot: int) -> None:
    one, every = slots(w)[slot], nodes(w)
    way = route(w)[one.row]
    first, last = route_first(w)[way], route_first(w)[way + 1]
    for hop in range(first, last):
        link = links(w)[route_links(w)[hop]]
        if link.busy or every[link.head].slot != slot:
            return
    for hop in range(first, last):
        link = links(w)[route_links(w)[hop]]
        link.busy = 1
        link.head = every[link.head].next
    one.moving = MOVING
    schedule(w, w[W.PROCESS_COUNT] + slot, later(w, ticks(w)[one.row]))

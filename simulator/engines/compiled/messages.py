"""Messages: posted, matched in program order, received from one process or from anyone."""

from typing import Any

import numpy as np

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.memory import (
    NONE,
    W,
    Words,
    asking,
    channels,
    inboxes,
    messages,
    operations,
    processes,
    slots,
    ticks,
)
from simulator.engines.compiled.queues import MORE_SLOTS, after, pop, push
from simulator.engines.compiled.transfers import IDLE, OVER, part_done, release, request_at, routed


@callee
def may_post_ahead(w: Words, row: int) -> bool:
    """Whether what is sent can be posted ahead of now: to nobody who receives from anyone, and where there is room.

    Half of the slots are kept for those that are not ahead, so that a sender without a receiver near asks for no more.
    """
    operation = operations(w)[row]
    room = not operation.eager or 2 * w[W.SPARE_SLOTS] > w[W.SLOT_COUNT] - w[W.PROCESS_COUNT]
    return bool(room and channels(w)[operation.out].inbox == NONE)


@callee
def post(w: Words, process: int, row: int) -> None:
    """What SEND or EXCHANGE sends at its process's clock; to a process that waits for it, or into its channel."""
    operation, tick = operations(w)[row], processes(w)[process].clock
    channel = channels(w)[operation.out]
    slot = process
    if operation.eager:
        if channel.waiting != NONE and not routed(w, row):
            receiver: Any = np.int64(channel.waiting)
            channel.waiting = NONE
            part_done(w, receiver, after(w, tick, max(1, ticks(w)[row])))
            return
        slot = w[W.FREE_SLOT]
        if slot == NONE:
            w[W.STATUS] = MORE_SLOTS
            return
        w[W.FREE_SLOT] = slots(w)[slot].next
        w[W.SPARE_SLOTS] -= 1
    fill_slot(w, slot, process, row)
    message = slots(w)[slot]
    if operation.eager and routed(w, row):
        request_at(w, slot, tick)
    elif operation.eager:
        message.moving, message.over = OVER, after(w, tick, max(1, ticks(w)[row]))
    if channel.waiting != NONE:
        message.receiver, channel.waiting = channel.waiting, NONE
        if not operation.eager:
            _meet(w, slot, max(tick, processes(w)[message.receiver].clock))
        return
    message.queued, message.next = 1, NONE
    w[W.EAGER_LEFT] += operation.eager
    if channel.head == NONE:
        channel.head = slot
    else:
        slots(w)[channel.tail].next = slot
    channel.tail = slot
    if channel.inbox != NONE:
        box = inboxes(w)[channel.inbox]
        push(messages(w), box.first, box.size, w[W.NOW], message.number, slot)
        box.size += 1
        if processes(w)[channel.receiver].inbox == channel.inbox:
            ask(w, channel.receiver)


@subroutine
def fill_slot(w: Words, slot: int, process: int, row: int) -> None:
    """Something to transfer that nobody receives yet."""
    message = slots(w)[slot]
    one = processes(w)[process]
    message.row, message.sender, message.receiver, message.posted = row, process, NONE, one.clock
    message.number = row + one.passed
    message.queued, message.moving, message.eager = 0, IDLE, operations(w)[row].eager


@subroutine
def _meet(w: Words, slot: int, tick: int) -> None:
    """Sender and receiver of a rendezvous are both there from a tick on."""
    message = slots(w)[slot]
    if routed(w, message.row):
        request_at(w, slot, tick)
        return
    end = after(w, tick, max(1, ticks(w)[message.row]))
    part_done(w, message.receiver, end)
    part_done(w, message.sender, end)


@callee
def receive(w: Words, process: int, number: int) -> None:
    """Take a channel's first message at the process's clock, or wait for it."""
    channel = channels(w)[number]
    if channel.head == NONE:
        channel.waiting = process
    else:
        _take(w, process, number, processes(w)[process].clock, 0)


@subroutine
def _take(w: Words, process: int, number: int, tick: int, least: int) -> None:
    """A process receives a channel's first message at a tick; of one that has arrived it lasts so many ticks."""
    channel = channels(w)[number]
    slot = channel.head
    message = slots(w)[slot]
    channel.head = message.next
    message.queued = 0
    w[W.EAGER_LEFT] -= message.eager
    if message.moving == OVER:
        release(w, slot)
        part_done(w, process, max(message.over, tick + least))
        return
    message.receiver = process
    if not message.eager:
        _meet(w, slot, max(tick, message.posted))


@subroutine
def ask(w: Words, process: int) -> None:
    """A process that receives from anyone is looked at when grants are made."""
    if not processes(w)[process].asking:
        processes(w)[process].asking = 1
        asking(w)[w[W.ASKED]] = process
        w[W.ASKED] += 1


@subroutine
def grant_receives(w: Words) -> None:
    """Receives from anyone: each process has an inbox of its own, so that their order decides nothing."""
    for place in range(w[W.ASKED]):
        process = asking(w)[place]
        one = processes(w)[process]
        one.asking = 0
        box = inboxes(w)[one.inbox]
        while box.size > 0:
            first = messages(w)[box.first]
            number, slot = first.second, first.value
            pop(messages(w), box.first, box.size)
            box.size -= 1
            if slots(w)[slot].queued and slots(w)[slot].number == number:  # else a named receive took it
                one.inbox = NONE
                channel: Any = np.int64(operations(w)[slots(w)[slot].row].out)
                _take(w, process, channel, w[W.NOW], 1)
                break
    w[W.ASKED] = 0

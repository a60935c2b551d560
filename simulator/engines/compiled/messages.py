"""Messages: posted, matched in program order, received from one process or from anyone."""

from typing import Any

import numpy as np

from simulator.engines.compiled.cache import subroutine
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
)
from simulator.engines.compiled.queues import MORE_SLOTS, later, pop, push, schedule
from simulator.engines.compiled.transfers import IDLE, OVER, release, request


@subroutine
def post(w: Words, process: int, row: int) -> None:
    """What SEND or EXCHANGE sends; to a process that waits for it, or into its channel."""
    operation = operations(w)[row]
    slot = process
    if operation.eager:
        slot = w[W.FREE_SLOT]
        if slot == NONE:
            w[W.STATUS] = MORE_SLOTS
            return
        w[W.FREE_SLOT] = slots(w)[slot].next
    fill_slot(w, slot, process, row)
    message, channel = slots(w)[slot], channels(w)[operation.out]
    if operation.eager:
        request(w, slot)
    if channel.waiting != NONE:
        message.receiver, channel.waiting = channel.waiting, NONE
        if not operation.eager:
            request(w, slot)
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
        push(messages(w), box.first, box.size, w[W.NOW], row, slot)
        box.size += 1
        if processes(w)[channel.receiver].inbox == channel.inbox:
            ask(w, channel.receiver)


@subroutine
def fill_slot(w: Words, slot: int, process: int, row: int) -> None:
    """Something to transfer that nobody receives yet."""
    message = slots(w)[slot]
    message.row, message.sender, message.receiver = row, process, NONE
    message.queued, message.moving, message.eager = 0, IDLE, operations(w)[row].eager


@subroutine
def receive(w: Words, process: int, number: int) -> bool:
    """Take a channel's first message or wait for it; whether it has arrived already."""
    channel = channels(w)[number]
    if channel.head == NONE:
        channel.waiting = process
        return False
    return _take(w, process, number)


@subroutine
def _take(w: Words, process: int, number: int) -> bool:
    """A process receives a channel's first message; whether it has arrived already."""
    channel = channels(w)[number]
    slot = channel.head
    message = slots(w)[slot]
    channel.head = message.next
    message.queued = 0
    w[W.EAGER_LEFT] -= message.eager
    if message.moving == OVER:
        release(w, slot)
        return True
    message.receiver = process
    if not message.eager:
        request(w, slot)
    return False


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
            row, slot = first.second, first.value
            pop(messages(w), box.first, box.size)
            box.size -= 1
            if slots(w)[slot].queued and slots(w)[slot].row == row:  # else a named receive took it
                one.inbox = NONE
                channel: Any = np.int64(operations(w)[row].out)
                if _take(w, process, channel):
                    schedule(w, process, later(w, 1))
                break
    w[W.ASKED] = 0

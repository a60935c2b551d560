"""The event engine's memory as it is at tick 0."""

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    STATE,
    W,
    Words,
    barriers,
    channels,
    farms,
    inboxes,
    links,
    nodes,
    pes,
    processes,
    queue,
    slots,
)
from simulator.engines.compiled.neighbours import reset_sharing
from simulator.engines.compiled.queues import RUNNING
from simulator.engines.compiled.transfers import IDLE

FIRST, LAST = STATE.start, STATE.stop


@subroutine
def reset(w: Words) -> None:
    """Forget an earlier run."""
    for place in range(FIRST, LAST):
        w[place] = 0
    w[W.STATUS], w[W.FAULT], w[W.LIVE] = RUNNING, NONE, w[W.PROCESS_COUNT]
    w[W.READY], w[W.DIRTY_PE], w[W.DIRTY_LINK], w[W.STARTING], w[W.PE_FAULT] = NONE, NONE, NONE, NONE, NONE
    events = w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + w[W.PE_COUNT] + w[W.LINK_COUNT] + w[W.GROUP_COUNT]
    for event in range(events):
        queue(w)[event].place = 0
    _reset_processes(w)
    _reset_messages(w)
    reset_sharing(w)
    for number in range(w[W.PE_COUNT]):
        pe = pes(w)[number]
        pe.served, pe.settled, pe.base, pe.running, pe.polling, pe.m = 0, 0, 0, 0, 0, 0
        pe.begin, pe.end = 0, -1
        pe.next_dirty, pe.load_now = OUTSIDE, 0
    for number in range(w[W.LINK_COUNT]):
        link = links(w)[number]
        link.rate, link.since, link.served, link.mark, link.crossing, link.count = 0, 0, 0, 0, 0, 0
        link.head, link.tail, link.members, link.busy, link.next_dirty = NONE, NONE, 0, 0, OUTSIDE
    for node in range(w[W.SLOT_COUNT] * w[W.HOPS]):
        nodes(w)[node].previous, nodes(w)[node].next = NONE, NONE


@subroutine
def _reset_processes(w: Words) -> None:
    for number in range(w[W.PROCESS_COUNT]):
        process = processes(w)[number]
        process.row, process.inbox, process.clock, process.calling = process.first, NONE, 0, 0
        process.turns, process.passed = process.all_turns, process.all_first - process.first
        process.busy, process.computed, process.finish, process.parts = 0, 0, 0, 0
        process.asking, process.polling, process.pulling = 0, 0, 0
    for number in range(w[W.BARRIER_COUNT]):
        barrier = barriers(w)[number]
        barrier.missing, barrier.waiting, barrier.latest = barrier.expected, NONE, 0
    for number in range(w[W.FARM_COUNT]):
        farms(w)[number].next_unit = 0


@subroutine
def _reset_messages(w: Words) -> None:
    for number in range(w[W.CHANNEL_COUNT]):
        channels(w)[number].head, channels(w)[number].waiting = NONE, NONE
    for number in range(w[W.INBOX_COUNT]):
        inboxes(w)[number].size = 0
    count = w[W.SLOT_COUNT]
    w[W.SPARE_SLOTS] = count - w[W.PROCESS_COUNT]
    w[W.FREE_SLOT] = w[W.PROCESS_COUNT] if count > w[W.PROCESS_COUNT] else NONE
    for number in range(count):
        slot = slots(w)[number]
        slot.moving, slot.queued, slot.mark, slot.shared, slot.group = IDLE, 0, 0, 0, NONE
        slot.next = number + 1 if number + 1 < count else NONE

"""Matches a program's messages and barriers once for all runs: a list of steps in an order that holds for any costs.

Where no process receives from anyone and nothing is shared, who meets whom does not depend on time. So the program
becomes a straight list of steps, each of which moves the clocks of one or two processes; `static` does them for every
configuration and replication. A process is followed until it waits for another one; then the other goes on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Ints
from simulator.base.errors import UnsupportedProgram
from simulator.engines.compiled.cache import callee, compiled
from simulator.programs.columns import Kind

Short = NDArray[np.int32]

_COMPUTE, _SEND, _RECV, _EXCHANGE = int(Kind.COMPUTE), int(Kind.SEND), int(Kind.RECV), int(Kind.EXCHANGE)
_BARRIER, _WAIT_UNTIL = int(Kind.BARRIER), int(Kind.WAIT_UNTIL)

WIDTH = 5
"""Numbers per step: code, process, what the code says, row of its operation, row of the partner's operation."""
COMPUTE, SLEEP, UNTIL, MEET, MOVE, END, POST, TAKE, PART, ARRIVE, LEAVE = range(11)
"""Steps: a computation; a delay; a time to wait for; a rendezvous, sender first; one that is a part of an exchange;
the end of what has such parts; an eager message, into a slot; its receive; that in an exchange; a barrier."""
_STEPS, _READY, _FREE, _SLOTS, _CHANNELS = range(5)


class Rows(NamedTuple):
    """A program's columns, as `Columns` and `Costs` have them."""

    first: Ints
    kind: NDArray[np.int8]
    partner: Short
    source: Short
    tag: Short
    eager: Flags
    computation: Ints
    barriers: Short


class Plan(NamedTuple):
    """The steps, and where they leave the program."""

    steps: Short
    """`WIDTH` numbers each."""
    slots: int
    rows: Ints
    """Row at which each process stays; that after its last one if it ended; (P,)."""
    unreceived: Short
    """Rows of eager messages that nobody receives."""


class State(NamedTuple):
    """What is known while the program is followed."""

    steps: Short
    counts: Ints
    """Steps, processes ready, slots free, slots in use at most, channels."""
    rows: Ints
    sending: Flags
    """Whether each process waits with a message; (P,)."""
    receiving: Flags
    ready: Short
    """A stack of processes that no longer wait."""
    inbox: Short
    """Eager messages that wait for each process; (P,)."""
    there: Short
    """Processes that are at each barrier; the last one to come, and who came before each process."""
    newest: Short
    earlier: Short
    free: Short
    slot_row: Short
    slot_next: Short
    bucket: Short
    """First channel by hash of sender, receiver and tag; what follows is per channel."""
    channel: Short
    """Four numbers per channel: sender, receiver, tag, the next in the bucket."""
    head: Short
    tail: Short


def plan_of(rows: Rows) -> Plan:
    """Follow the program until every process has ended or waits for ever."""
    state = _begin(rows)
    compiled(follow)(rows, state)
    slots, channels = int(state.counts[_SLOTS]), int(state.counts[_CHANNELS])
    left: list[Short] = []
    slots_left = state.head[:channels]
    while np.any(slots_left >= 0):  # one message of a channel leads to the next
        slots_left = slots_left[slots_left >= 0]
        left.append(state.slot_row[slots_left])
        slots_left = state.slot_next[slots_left]
    unreceived = np.concatenate(left) if left else np.zeros(0, dtype=np.int32)
    return Plan(state.steps[: WIDTH * state.counts[_STEPS]], slots, state.rows, unreceived)


def follow(rows: Rows, state: State) -> None:
    """Kernel: each process until it waits, and those that need no longer wait."""
    for process in range(rows.first.size - 1):
        _advance(rows, state, process)
        while state.counts[_READY] > 0:
            state.counts[_READY] -= 1
            _advance(rows, state, state.ready[state.counts[_READY]])


def _begin(rows: Rows) -> State:
    """Room for all steps that there can be; memory that is not used is never touched."""
    processes, barriers, eager = rows.first.size - 1, rows.barriers.size, int(np.count_nonzero(rows.eager))
    of_kind = np.bincount(rows.kind, minlength=len(Kind))
    room = rows.kind.size + of_kind[_SEND] + of_kind[_BARRIER] + 2 * of_kind[_EXCHANGE]
    if rows.kind.size + WIDTH >= 2**31:
        raise UnsupportedProgram("engine compiled: the program has more than 2^31 operations; simulate a smaller one")

    def short(count: int) -> Short:
        return np.empty(count, dtype=np.int32)

    return State(
        steps=short(WIDTH * int(room)),
        counts=np.zeros(5, dtype=np.int64),
        rows=rows.first[:-1].copy(),
        sending=np.zeros(processes, dtype=np.bool_),
        receiving=np.zeros(processes, dtype=np.bool_),
        ready=short(processes),
        inbox=np.zeros(processes, dtype=np.int32),
        there=np.zeros(barriers, dtype=np.int32),
        newest=np.full(barriers, -1, dtype=np.int32),
        earlier=short(processes),
        free=short(eager),
        slot_row=short(eager),
        slot_next=short(eager),
        bucket=np.full(2 ** min(eager.bit_length(), 22), -1, dtype=np.int32),
        channel=short(4 * eager),
        head=short(eager),
        tail=short(eager),
    )


@callee
def _step(state: State, code: int, process: int, what: int, row: int, partner_row: int) -> None:
    at = WIDTH * state.counts[_STEPS]
    state.steps[at] = code
    state.steps[at + 1] = process
    state.steps[at + 2] = what
    state.steps[at + 3] = row
    state.steps[at + 4] = partner_row
    state.counts[_STEPS] += 1


@callee
def _advance(rows: Rows, state: State, process: int) -> None:
    """Follow a process until it waits or ends."""
    row, end = state.rows[process], rows.first[process + 1]
    while row < end:
        kind = rows.kind[row]
        if kind == _COMPUTE:
            _step(state, COMPUTE, process, rows.computation[row], row, 0)
        elif kind in (_SEND, _RECV, _EXCHANGE):
            state.rows[process] = row
            if not _message(rows, state, process):
                return
        elif kind == _BARRIER:
            state.rows[process] = row
            if not _arrive(rows, state, process):
                return
        else:
            _step(state, UNTIL if kind == _WAIT_UNTIL else SLEEP, process, rows.computation[row], row, 0)
        row += 1
    state.rows[process] = row


@callee
def _release(state: State, process: int) -> None:
    """A process that waited goes on."""
    state.rows[process] += 1
    state.ready[state.counts[_READY]] = process
    state.counts[_READY] += 1


@callee
def _arrive(rows: Rows, state: State, process: int) -> bool:
    """At a barrier; whether it is the last one, who lets all others go."""
    barrier = rows.partner[state.rows[process]]
    _step(state, ARRIVE, process, barrier, 0, 0)
    state.there[barrier] += 1
    if state.there[barrier] < rows.barriers[barrier]:
        state.earlier[process] = state.newest[barrier]
        state.newest[barrier] = process
        return False
    _step(state, LEAVE, process, barrier, state.rows[process], 0)
    other = state.newest[barrier]
    while other >= 0:
        _step(state, LEAVE, other, barrier, state.rows[other], 0)
        _release(state, other)
        other = state.earlier[other]
    return True


@callee
def _message(rows: Rows, state: State, process: int) -> bool:
    """Post what a process sends and receives; whether it need not wait."""
    row = state.rows[process]
    kind, tag = rows.kind[row], rows.tag[row]
    state.sending[process], state.receiving[process] = kind != _RECV, kind != _SEND
    if kind != _RECV:
        to = rows.partner[row]
        # An exchange with itself takes what it sent before first: its own receive comes after its message.
        waits = state.receiving[to] and to != process
        expected = waits and _sender(rows, state, to) == process and rows.tag[state.rows[to]] == tag
        if rows.eager[row]:
            state.sending[process] = False
            slot = _new_slot(state, row)
            _step(state, POST, process, slot, row, kind == _SEND)
            if expected:
                _take(rows, state, to, slot, process)
            else:
                _leave_message(state, process, to, tag, slot)
        elif expected:
            _meet(rows, state, process, to, process)
    if state.receiving[process]:
        source = _sender(rows, state, process)
        slot = _found_message(state, source, process, tag) if state.inbox[process] else -1
        if slot >= 0:
            _take(rows, state, process, slot, process)
        elif state.sending[source]:
            offered = state.rows[source]
            if rows.partner[offered] == process and rows.tag[offered] == tag:
                _meet(rows, state, source, process, process)
    return not (state.sending[process] or state.receiving[process])


@callee
def _sender(rows: Rows, state: State, process: int) -> int:
    """Whom a process that receives waits for."""
    row = state.rows[process]
    return rows.source[row] if rows.kind[row] == _EXCHANGE else rows.partner[row]


@callee
def _meet(rows: Rows, state: State, sender: int, receiver: int, current: int) -> None:
    """A rendezvous, found by the process `current`."""
    row, far = state.rows[sender], state.rows[receiver]
    state.sending[sender], state.receiving[receiver] = False, False
    whole = rows.kind[row] == _SEND and rows.kind[far] == _RECV
    _step(state, MEET if whole else MOVE, sender, receiver, row, far)
    _close(state, sender, current, not whole)
    if receiver != sender:
        _close(state, receiver, current, not whole)


@callee
def _take(rows: Rows, state: State, process: int, slot: int, current: int) -> None:
    """Receive an eager message."""
    row = state.rows[process]
    exchange = rows.kind[row] == _EXCHANGE
    state.receiving[process] = False
    _step(state, PART if exchange else TAKE, process, slot, row, 0)
    state.free[state.counts[_FREE]] = slot
    state.counts[_FREE] += 1
    _close(state, process, current, exchange)


@callee
def _close(state: State, process: int, current: int, parts: bool) -> None:  # noqa: FBT001 - compiled
    """What follows when a message of a process has been matched: maybe the end of its operation."""
    if state.sending[process] or state.receiving[process]:
        return
    if parts:
        _step(state, END, process, 0, state.rows[process], 0)
    if process != current:
        _release(state, process)


@callee
def _new_slot(state: State, row: int) -> int:
    if state.counts[_FREE] > 0:
        state.counts[_FREE] -= 1
        slot = np.int64(state.free[state.counts[_FREE]])
    else:
        slot = state.counts[_SLOTS]
        state.counts[_SLOTS] += 1
    state.slot_row[slot] = row
    state.slot_next[slot] = -1
    return slot


@callee
def _bucket(state: State, sender: int, receiver: int, tag: int) -> int:
    mixed = np.int64(sender) * 2654435761 + np.int64(receiver) * 2246822519 + np.int64(tag) * 3266489917
    mixed ^= mixed >> 17
    return (mixed * 668265263 >> 11) & (state.bucket.size - 1)


@callee
def _channel(state: State, sender: int, receiver: int, tag: int) -> int:
    """The channel of a sender, a receiver and a tag, -1 if it is not known."""
    found = np.int64(state.bucket[_bucket(state, sender, receiver, tag)])
    while found >= 0:
        at = 4 * found
        if state.channel[at] == sender and state.channel[at + 1] == receiver and state.channel[at + 2] == tag:
            break
        found = np.int64(state.channel[at + 3])
    return found


@callee
def _leave_message(state: State, sender: int, receiver: int, tag: int, slot: int) -> None:
    """Keep an eager message until its receiver asks for it."""
    state.inbox[receiver] += 1
    channel = _channel(state, sender, receiver, tag)
    if channel < 0:
        channel = state.counts[_CHANNELS]
        state.counts[_CHANNELS] += 1
        bucket, at = _bucket(state, sender, receiver, tag), 4 * channel
        state.channel[at], state.channel[at + 1], state.channel[at + 2] = sender, receiver, tag
        state.channel[at + 3] = state.bucket[bucket]
        state.bucket[bucket] = channel
        state.head[channel] = -1
    if state.head[channel] < 0:
        state.head[channel] = slot
    else:
        state.slot_next[state.tail[channel]] = slot
    state.tail[channel] = slot


@callee
def _found_message(state: State, sender: int, receiver: int, tag: int) -> int:
    """The slot of the earliest eager message of a channel, which leaves it; -1 if there is none."""
    channel = _channel(state, sender, receiver, tag)
    if channel < 0 or state.head[channel] < 0:
        return -1
    slot = np.int64(state.head[channel])
    state.head[channel] = state.slot_next[slot]
    state.inbox[receiver] -= 1
    return slot

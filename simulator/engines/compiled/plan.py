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
_POST_SEND, _POST_RECV, _WAIT = int(Kind.POST_SEND), int(Kind.POST_RECV), int(Kind.WAIT)

WIDTH = 5
"""Numbers per step: code, process, what the code says, row of its operation, row of the partner's operation."""
COMPUTE, SLEEP, UNTIL, MEET, MOVE, END, POST, TAKE, PART, ARRIVE, LEAVE, NOTE, JOIN = range(13)
"""Steps: a computation; a delay; a time to wait for; a rendezvous, sender first; one that is a part of an exchange;
the end of what has such parts; an eager message, into a slot; its receive; that in an exchange; a barrier; into a slot
when one side of a rendezvous was there; what the other side makes of it, the end."""
_STEPS, _READY, _FREE, _SLOTS, _CHANNELS = range(5)


class Rows(NamedTuple):
    """A program's columns, as `Columns` and `Costs` have them, but requests numbered over all processes."""

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
    """Messages, eager or posted, that wait for each process; (P,)."""
    expecting: Short
    """Posted receives of each process that wait for a message; (P,)."""
    handle: Short
    """Slot of each request, -1 where it was over when posted."""
    met: Flags
    """Whether it holds the end of the request."""
    waiter: Short
    """The process that waits for each request, -1 for none."""
    there: Short
    """Processes that are at each barrier; the last one to come, and who came before each process."""
    newest: Short
    earlier: Short
    free: Short
    slot_row: Short
    slot_next: Short
    uses: Short
    """How many have yet to look at each slot."""
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
    unreceived = unreceived[rows.eager[unreceived]]
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
    processes, barriers = rows.first.size - 1, rows.barriers.size
    of_kind = np.bincount(rows.kind, minlength=len(Kind))
    room = rows.kind.size + of_kind[_SEND] + of_kind[_BARRIER] + 2 * of_kind[_EXCHANGE]
    posted = int(of_kind[_POST_SEND] + of_kind[_POST_RECV])
    kept, handles = int(np.count_nonzero(rows.eager)) + posted, 0
    if posted:  # each may be a side of a message of five steps
        room += 5 * posted
        handles = int(rows.source[rows.kind == _WAIT].max(initial=-1)) + 1
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
        expecting=np.zeros(processes, dtype=np.int32),
        handle=short(handles),
        met=np.zeros(handles, dtype=np.bool_),
        waiter=np.full(handles, -1, dtype=np.int32),
        there=np.zeros(barriers, dtype=np.int32),
        newest=np.full(barriers, -1, dtype=np.int32),
        earlier=short(processes),
        free=short(kept),
        slot_row=short(kept),
        slot_next=short(kept),
        uses=short(kept),
        bucket=np.full(2 ** min(kept.bit_length(), 22), -1, dtype=np.int32),
        channel=short(4 * kept),
        head=short(kept),
        tail=short(kept),
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
        elif kind == _POST_SEND:
            _post_send(rows, state, process, row)
        elif kind == _POST_RECV:
            _post_recv(rows, state, process, row)
        elif kind == _WAIT:
            state.rows[process] = row
            if not _wait(rows, state, process):
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
        to = np.int64(rows.partner[row])
        if rows.eager[row]:
            state.sending[process] = False
            slot = _new_slot(state, row)
            _step(state, POST, process, slot, row, kind == _SEND)
            _deliver(rows, state, process, to, slot)
        else:
            slot = _first(rows, state, state.expecting, process, to, tag, True)  # noqa: FBT003 - compiled
            if slot >= 0:
                state.sending[process] = False
                _join(rows, state, process, slot, row, state.slot_row[slot])
                _part(rows, state, process, slot, process)
            elif _expects(rows, state, to, process, tag):
                _meet(rows, state, process, to, process)
    if state.receiving[process]:
        source = np.int64(_sender(rows, state, process))
        slot = _first(rows, state, state.inbox, source, process, tag, False)  # noqa: FBT003 - compiled
        if slot >= 0:
            if not rows.eager[state.slot_row[slot]]:
                _join(rows, state, process, slot, state.slot_row[slot], state.slot_row[slot])
            state.receiving[process] = False
            _part(rows, state, process, slot, process)
        elif _offers(rows, state, source, process, tag):
            _meet(rows, state, source, process, process)
    return not (state.sending[process] or state.receiving[process])


@callee
def _expects(rows: Rows, state: State, receiver: int, sender: int, tag: int) -> bool:
    """Whether a process waits in a receive of its own for a message of another one.

    An exchange with itself takes what it sent before first: its own receive comes after its message.
    """
    if not state.receiving[receiver] or receiver == sender:
        return False
    return _sender(rows, state, receiver) == sender and rows.tag[state.rows[receiver]] == tag


@callee
def _offers(rows: Rows, state: State, sender: int, receiver: int, tag: int) -> bool:
    """Whether a process waits with a message for another one."""
    row = state.rows[sender]
    return state.sending[sender] and rows.partner[row] == receiver and rows.tag[row] == tag


@callee
def _deliver(rows: Rows, state: State, process: int, to: int, slot: int) -> None:
    """An eager message to who waits for it, or into its channel."""
    tag = rows.tag[state.slot_row[slot]]
    receive = _first(rows, state, state.expecting, process, to, tag, True)  # noqa: FBT003 - compiled
    if receive >= 0:
        handle = np.int64(rows.source[state.slot_row[receive]])
        _look(state, receive)
        state.handle[handle] = slot
        _over(state, handle)
    elif _expects(rows, state, to, process, tag):
        state.receiving[to] = False
        _part(rows, state, to, slot, process)
    else:
        _leave(state, state.inbox, process, to, tag, slot)


@callee
def _post_send(rows: Rows, state: State, process: int, row: int) -> None:
    """Post a message."""
    to, tag, handle = np.int64(rows.partner[row]), rows.tag[row], np.int64(rows.source[row])
    state.met[handle] = True
    if rows.eager[row]:
        slot = _new_slot(state, row)
        state.handle[handle] = -1
        _step(state, POST, process, slot, row, 0)
        _deliver(rows, state, process, to, slot)
        return
    slot = _first(rows, state, state.expecting, process, to, tag, True)  # noqa: FBT003 - compiled
    if slot >= 0:
        state.handle[handle] = slot
        _join(rows, state, process, slot, row, state.slot_row[slot])
        return
    slot = _new_slot(state, row)
    state.handle[handle] = slot
    if _expects(rows, state, to, process, tag):
        state.receiving[to] = False
        _step(state, NOTE, to, slot, row, 0)
        _join(rows, state, process, slot, row, -1)
        _part(rows, state, to, slot, process)
        return
    state.met[handle] = False
    _step(state, NOTE, process, slot, row, 0)
    _leave(state, state.inbox, process, to, tag, slot)


@callee
def _post_recv(rows: Rows, state: State, process: int, row: int) -> None:
    """Post a receive."""
    source, tag, handle = np.int64(rows.partner[row]), rows.tag[row], np.int64(rows.source[row])
    slot = _first(rows, state, state.inbox, source, process, tag, False)  # noqa: FBT003 - compiled
    state.met[handle] = True
    if slot >= 0:
        state.handle[handle] = slot
        if not rows.eager[state.slot_row[slot]]:
            _join(rows, state, process, slot, state.slot_row[slot], state.slot_row[slot])
        return
    slot = _new_slot(state, row)
    state.handle[handle] = slot
    if _offers(rows, state, source, process, tag):
        state.sending[source] = False
        _step(state, NOTE, source, slot, row, 0)
        _join(rows, state, process, slot, state.rows[source], -1)
        _part(rows, state, source, slot, process)
        return
    state.met[handle] = False
    _step(state, NOTE, process, slot, row, 0)
    _leave(state, state.expecting, source, process, tag, slot)


@callee
def _wait(rows: Rows, state: State, process: int) -> bool:
    """Wait for a request; whether its end is known."""
    row = state.rows[process]
    handle = np.int64(rows.source[row])
    if not state.met[handle]:
        state.waiter[handle] = process
        return False
    slot = np.int64(state.handle[handle])
    if slot >= 0:
        _step(state, TAKE, process, slot, row, 0)
        _look(state, slot)
    return True


@callee
def _join(rows: Rows, state: State, process: int, slot: int, row: int, posted: int) -> None:
    """A rendezvous of a process with who is noted in a slot, which then holds its end for both; `posted`: his row."""
    _step(state, JOIN, process, slot, row, 0)
    state.uses[slot] = 2
    if posted >= 0:
        _over(state, np.int64(rows.source[posted]))


@callee
def _over(state: State, handle: int) -> None:
    """A request's slot holds its end; who waits for it goes on."""
    state.met[handle] = True
    process, slot = np.int64(state.waiter[handle]), np.int64(state.handle[handle])
    if process >= 0:
        state.waiter[handle] = -1
        _step(state, TAKE, process, slot, state.rows[process], 0)
        _look(state, slot)
        _release(state, process)


@callee
def _part(rows: Rows, state: State, process: int, slot: int, current: int) -> None:
    """A message that a process sends or receives, or one of two, ends as a slot says; found by `current`."""
    row = state.rows[process]
    exchange = rows.kind[row] == _EXCHANGE
    _step(state, PART if exchange else TAKE, process, slot, row, 0)
    _look(state, slot)
    _close(state, process, current, exchange)


@callee
def _look(state: State, slot: int) -> None:
    """One of those that use a slot does not any more."""
    state.uses[slot] -= 1
    if state.uses[slot] == 0:
        state.free[state.counts[_FREE]] = slot
        state.counts[_FREE] += 1


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
    state.slot_row[slot], state.slot_next[slot], state.uses[slot] = row, -1, 1
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
def _leave(state: State, waiting: Short, sender: int, receiver: int, tag: int, slot: int) -> None:
    """Keep a message until its receiver asks for it, or a receive until there is one; `waiting` counts its kind."""
    waiting[receiver] += 1
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
def _first(rows: Rows, state: State, waiting: Short, sender: int, receiver: int, tag: int, receives: bool) -> int:  # noqa: FBT001 - compiled
    """The slot of the earliest message of a channel, or posted receive, which leaves it; -1 if there is none."""
    if waiting[receiver] == 0:
        return -1
    channel = _channel(state, sender, receiver, tag)
    if channel < 0 or state.head[channel] < 0:
        return -1
    slot = np.int64(state.head[channel])
    if (rows.kind[state.slot_row[slot]] == _POST_RECV) != receives:
        return -1
    state.head[channel] = state.slot_next[slot]
    waiting[receiver] -= 1
    return slot

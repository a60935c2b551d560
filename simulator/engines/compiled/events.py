"""The general path of the compiled engine: one run, event by event, for every kind of operation but CUSTOM.

`simulate(w)` does one run in the memory that `workspace.Workspace` has laid out and described in `w`, and
returns `w[STATUS]` (see `queues`). What each process did: the fields `computed`, `busy` and `finish` of `PROCESSES`.
Begin and end of every operation where `w[BEGAN]` and `w[ENDED]` are addresses of (N,) arrays. After MORE_SLOTS the same
run has to be done again with more slots for eager messages.

An instant goes as the rules say: all that is due ends (`_end`), processes advance (`_go_on`), grants are made, and
shared PEs and flows are re-evaluated once. Nothing looks through all processes, PEs or links: what changed is in lists.

Each process has a clock of its own, at or ahead of `w[NOW]`: what nobody else can change (a computation on a PE that
nobody shares, a message without links in common) moves the clock and is no event. Only where order in time decides, at
shared PEs, links, farms and receives from anyone, does a process wait until now has reached its clock (`_is_now`).
A process that goes on was let on by what happened now or later, so nothing ever happens before now.
"""

from typing import Any

import numpy as np

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.flows import refill
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    STATE,
    W,
    Words,
    asking,
    barriers,
    began,
    channels,
    computation,
    ended,
    farms,
    floats_at,
    handles,
    inboxes,
    links,
    messages,
    nodes,
    nominal,
    numbers_at,
    operations,
    pes,
    processes,
    pulls,
    queue,
    quotas,
    slots,
    tables,
    ticks,
)
from simulator.engines.compiled.neighbours import next_done_of, reset_sharing, settle_group
from simulator.engines.compiled.queues import (
    BAD_CHUNK,
    DEADLOCK,
    DONE,
    MORE_SLOTS,
    PAST_LAST_TICK,
    RUNNING,
    UNRECEIVED,
    after,
    later,
    pop,
    push,
    schedule,
    take_first,
)
from simulator.engines.compiled.quotas import touch, touch_quota
from simulator.engines.compiled.shares import compute, evaluate, next_done, raise_faults, settle, wait_busily
from simulator.engines.compiled.transfers import (
    FAIRLY,
    IDLE,
    IN_TURN,
    OVER,
    flows_due,
    goes_on,
    grant_links,
    make_ready,
    part_done,
    release,
    request_at,
    routed,
    start_flows,
    transfer_due,
)
from simulator.engines.costs import LAST_TICK
from simulator.programs.columns import Kind
from simulator.scheduling import chunks

FIRST, LAST = STATE.start, STATE.stop
_ANSWER, _ASKS, _ITS_TURN = 1, 2, 3
"""What a process in a farm waits for (`pulling`): the end of its pull, to be looked at in this instant, to be served.
At 0 it computes."""
_STATIC, _SS, _GSS, _TSS = chunks.STATIC, chunks.SS, chunks.GSS, chunks.TSS
_FAC, _FAC2, _AWF_B, _AF = chunks.FAC, chunks.FAC2, chunks.AWF_B, chunks.AF
_static, _ss, _gss, _tss = subroutine(chunks.static), callee(chunks.ss), callee(chunks.gss), subroutine(chunks.tss)
_fac, _fac2, _awf_b, _af = map(subroutine, (chunks.fac, chunks.fac2, chunks.awf_b, chunks.af))
_finished_awf, _finished_af = subroutine(chunks.finished_awf), subroutine(chunks.finished_af)
HEAD, WIDTH = chunks.HEAD, chunks.WIDTH


@subroutine
def reset(w: Words) -> None:
    """Forget an earlier run."""
    for place in range(FIRST, LAST):
        w[place] = 0
    w[W.STATUS], w[W.FAULT], w[W.LIVE] = RUNNING, NONE, w[W.PROCESS_COUNT]
    w[W.READY], w[W.DIRTY_PE], w[W.DIRTY_LINK], w[W.STARTING], w[W.PE_FAULT] = NONE, NONE, NONE, NONE, NONE
    events = w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + w[W.PE_COUNT] + w[W.LINK_COUNT] + w[W.GROUP_COUNT]
    events += w[W.QUOTA_COUNT]
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
        pe.stands, pe.runnable = 0, 0
    w[W.DIRTY_QUOTA] = NONE
    for number in range(w[W.QUOTA_COUNT]):
        quota = quotas(w)[number]
        quota.used, quota.settled, quota.stands, quota.next_dirty = 0, 0, 0, OUTSIDE
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
        farm = farms(w)[number]
        farm.next_unit, farm.free = 0, 0
        table = tables(w)[farm.table]
        now, first = floats_at(farm.notes), floats_at(table.notes)
        for place in range(table.notes_size):
            now[place] = first[place]


@subroutine
def _reset_messages(w: Words) -> None:
    for number in range(w[W.CHANNEL_COUNT]):
        channels(w)[number].head, channels(w)[number].waiting = NONE, NONE
    for number in range(w[W.HANDLE_COUNT]):
        handles(w)[number].waited, handles(w)[number].next = 0, NONE
    for number in range(w[W.INBOX_COUNT]):
        inboxes(w)[number].size = 0
    count = w[W.SLOT_COUNT]
    own = w[W.PROCESS_COUNT] + w[W.HANDLE_COUNT]
    w[W.SPARE_SLOTS] = count - own
    w[W.FREE_SLOT] = own if count > own else NONE
    for number in range(count):
        slot = slots(w)[number]
        slot.moving, slot.queued, slot.mark, slot.shared, slot.group = IDLE, 0, 0, 0, NONE
        slot.next = number + 1 if number + 1 < count else NONE


@callee
def may_post_ahead(w: Words, row: int) -> bool:
    """Whether what is sent can be posted ahead of now: to nobody who receives from anyone, and where there is room.

    Half of the slots are kept for those that are not ahead, so that a sender without a receiver near asks for no more.
    """
    operation = operations(w)[row]
    room = not operation.eager or 2 * w[W.SPARE_SLOTS] > w[W.SLOT_COUNT] - w[W.PROCESS_COUNT] - w[W.HANDLE_COUNT]
    return bool(room and channels(w)[operation.out].inbox == NONE)


@callee
def post(w: Words, process: int, who: int, row: int) -> None:
    """What an operation sends at its process's clock; to who waits for it, or into its channel.

    `who`: goes on when it ends, the process or a request of it.
    """
    operation, tick = operations(w)[row], processes(w)[process].clock
    number: Any = np.int64(operation.out)
    channel = channels(w)[number]
    slot = who
    if operation.eager:
        if channel.waiting != NONE and not routed(w, row):
            part_done(w, _next_receiver(w, number), after(w, tick, max(1, ticks(w)[row])))
            return
        slot = w[W.FREE_SLOT]
        if slot == NONE:
            w[W.STATUS] = MORE_SLOTS
            return
        w[W.FREE_SLOT] = slots(w)[slot].next
        w[W.SPARE_SLOTS] -= 1
    fill_slot(w, slot, process, row)
    message = slots(w)[slot]
    message.sender = who
    if operation.eager and routed(w, row):
        request_at(w, slot, tick)
    elif operation.eager:
        message.moving, message.over = OVER, after(w, tick, max(1, ticks(w)[row]))
    if channel.waiting != NONE:
        message.receiver = _next_receiver(w, number)
        if not operation.eager:
            _meet(w, slot, max(tick, _posted_at(w, message.receiver)))
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
def _next_receiver(w: Words, number: int) -> int:
    """Who waits first for a message of a channel, and now has one; behind a process, which waits, nobody stands."""
    channel = channels(w)[number]
    who: Any = np.int64(channel.waiting)
    channel.waiting = handles(w)[who - w[W.PROCESS_COUNT]].next if who >= w[W.PROCESS_COUNT] else NONE
    return who


@subroutine
def _posted_at(w: Words, who: int) -> int:
    """When who waits for a message posted that."""
    if who >= w[W.PROCESS_COUNT]:
        return handles(w)[who - w[W.PROCESS_COUNT]].posted
    return processes(w)[who].clock


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
def receive(w: Words, process: int, who: int, number: int) -> None:
    """Take a channel's first message at the process's clock, or let it wait, or a request of it, for one."""
    channel = channels(w)[number]
    if channel.head != NONE:
        _take(w, who, number, processes(w)[process].clock, 0)
        return
    if channel.waiting == NONE:
        channel.waiting = who
    else:
        handles(w)[channel.last - w[W.PROCESS_COUNT]].next = who
    channel.last = who


@subroutine
def _take(w: Words, who: int, number: int, tick: int, least: int) -> None:
    """A process or a request gets a channel's first message at a tick; of one that is there it lasts so many ticks."""
    channel = channels(w)[number]
    slot = channel.head
    message = slots(w)[slot]
    channel.head = message.next
    message.queued = 0
    w[W.EAGER_LEFT] -= message.eager
    if message.moving == OVER:
        release(w, slot)
        part_done(w, who, max(message.over, tick + least))
        return
    message.receiver = who
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


_COMPUTE, _SEND, _RECV, _EXCHANGE = int(Kind.COMPUTE), int(Kind.SEND), int(Kind.RECV), int(Kind.EXCHANGE)
_BARRIER, _FARM, _WAIT_UNTIL = int(Kind.BARRIER), int(Kind.FARM), int(Kind.WAIT_UNTIL)
_DELAY = int(Kind.DELAY)
_READ_WRITE = int(Kind.READ_WRITE)
_POST_SEND, _POST_RECV, _WAIT = int(Kind.POST_SEND), int(Kind.POST_RECV), int(Kind.WAIT)


def simulate(w: Words) -> int:
    """Kernel: do one run; its status."""
    reset(w)
    for process in range(w[W.PROCESS_COUNT] - 1, -1, -1):
        processes(w)[process].calling = 1
        make_ready(w, process)
    _finish_instant(w)
    while w[W.STATUS] == RUNNING:
        if w[W.LIVE] == 0:
            w[W.STATUS] = DONE if w[W.EAGER_LEFT] == 0 else UNRECEIVED
        elif w[W.QUEUED] == 0:
            w[W.STATUS] = DEADLOCK
        elif queue(w)[1].tick > LAST_TICK:
            w[W.STATUS] = PAST_LAST_TICK
        else:
            w[W.NOW] = queue(w)[1].tick
            while w[W.QUEUED] > 0 and queue(w)[1].tick == w[W.NOW]:
                _end(w, take_first(w))
            _finish_instant(w)
    return w[W.STATUS]


@subroutine
def _finish_instant(w: Words) -> None:
    """What follows when all that is due has ended."""
    _advance(w)
    if w[W.STATUS] != RUNNING:
        return
    if w[W.ASKED] > 0:
        grant_receives(w)
        _advance(w)  # ahead of now: nothing granted ends now
    if w[W.PULLED] > 0:
        _grant_pulls(w)
    if w[W.CONTENTION] == IN_TURN:
        grant_links(w)
    if w[W.DIRTY_PE] != NONE or w[W.DIRTY_GROUP] != NONE or w[W.DIRTY_DOMAIN] != NONE or w[W.DIRTY_QUOTA] != NONE:
        evaluate(w)
    raise_faults(w)
    if w[W.CONTENTION] == FAIRLY and w[W.STATUS] == RUNNING:
        start_flows(w)
        if w[W.DIRTY_LINK] != NONE:
            refill(w)


@subroutine
def _advance(w: Words) -> None:
    """Processes go on until each one waits."""
    while w[W.READY] != NONE and w[W.STATUS] == RUNNING:
        process = w[W.READY]
        one = processes(w)[process]
        w[W.READY] = one.next
        if one.calling:
            one.calling = 0
        else:
            _operation_ended(w, process)
        _go_on(w, process)


@subroutine
def _end(w: Words, number: int) -> None:
    """What is due: of a process, a transfer, a PE, a group of flows or a control group, in the order of their ids."""
    if number < w[W.PROCESS_COUNT]:
        _process_due(w, number)
        return
    number -= w[W.PROCESS_COUNT]
    if number < w[W.SLOT_COUNT]:
        transfer_due(w, number)
        return
    number -= w[W.SLOT_COUNT]
    if number >= w[W.PE_COUNT]:
        number -= w[W.PE_COUNT]
        if number < w[W.LINK_COUNT]:
            flows_due(w, number)
        elif number < w[W.LINK_COUNT] + w[W.GROUP_COUNT]:
            _group_due(w, number - w[W.LINK_COUNT])
        else:
            touch_quota(w, number - w[W.LINK_COUNT] - w[W.GROUP_COUNT])
        return
    if pes(w)[number].domains:
        touch(w, number)  # its load changes
        return
    settle(w, number)
    process = next_done(w, number)
    while process != NONE:
        _computed(w, process)
        process = next_done(w, number)


@subroutine
def _group_due(w: Words, number: int) -> None:
    """The end of some computation of a group in sharing domains."""
    settle_group(w, number)
    process = next_done_of(w, number)
    while process != NONE:
        _computed(w, process)
        process = next_done_of(w, number)


@subroutine
def _process_due(w: Words, process: int) -> None:
    """The event of a process itself: a pull, the end of a chunk on a PE of its own, or its clock."""
    one = processes(w)[process]
    one.clock = w[W.NOW]
    if operations(w)[one.row].kind != _FARM or one.calling:
        make_ready(w, process)
    elif one.pulling == _ITS_TURN:
        push(pulls(w), 0, w[W.PULLED], process, 0, process)
        w[W.PULLED] += 1
    elif one.pulling:
        one.pulling = 0
        one.latest = one.clock
        if one.unit == one.unit_end:
            make_ready(w, process)
            return
        if w[W.POLLS]:
            one.polling = 0
            wait_busily(w, process, -1)
        farm = farms(w)[operations(w)[one.row].partner]
        table = tables(w)[farm.table]
        before = numbers_at(table.before)
        place = operations(w)[one.row].out * (table.units + 1)
        if compute(w, process, max(1, before[place + one.unit_end] - before[place + one.unit])):
            schedule(w, process, one.clock)
    else:
        _pull_again(w, process)


@subroutine
def _computed(w: Words, process: int) -> None:
    """A process has ended a computation on a shared PE."""
    one = processes(w)[process]
    one.busy += w[W.NOW] - one.joined
    one.computed = one.clock = w[W.NOW]
    if operations(w)[one.row].kind == _FARM:
        _pull_again(w, process)
    else:
        make_ready(w, process)


@subroutine
def _pull_again(w: Words, process: int) -> None:
    """A process has computed a chunk of its farm."""
    one = processes(w)[process]
    operation = operations(w)[one.row]
    farm = farms(w)[operation.partner]
    rule, place = tables(w)[farm.table].rule, np.int64(operation.into)
    if rule == _STATIC:
        make_ready(w, process)
        return
    if rule == _AWF_B:
        _finished_awf(place, one.unit_end - one.unit, one.clock - one.latest, floats_at(farm.notes))
    elif rule == _AF:
        _finished_af(place, one.unit_end - one.unit, one.clock - one.latest, floats_at(farm.notes))
    _pull(w, process)
    if w[W.POLLS]:
        one.polling = 1
        wait_busily(w, process, 1)


@subroutine
def _pull(w: Words, process: int) -> None:
    processes(w)[process].pulling = _ASKS
    push(pulls(w), 0, w[W.PULLED], process, 0, process)
    w[W.PULLED] += 1


@subroutine
def _grant_pulls(w: Words) -> None:
    """All pulls that were asked for in this instant, and those whose turn it is, by process."""
    while w[W.PULLED] > 0:
        process = pulls(w)[0].value
        pop(pulls(w), 0, w[W.PULLED])
        w[W.PULLED] -= 1
        one = processes(w)[process]
        farm = farms(w)[operations(w)[one.row].partner]
        if one.pulling == _ASKS:
            begin = max(w[W.NOW], farm.free)
            farm.free = begin + tables(w)[farm.table].serve
            if begin > w[W.NOW]:
                one.pulling = _ITS_TURN
                schedule(w, process, later(w, begin - w[W.NOW]))
                continue
        _hand_out(w, process)


@subroutine
def _hand_out(w: Words, process: int) -> None:
    """A process is served: its chunk, and when it has it."""
    one = processes(w)[process]
    operation = operations(w)[one.row]
    farm = farms(w)[operation.partner]
    table, place = tables(w)[farm.table], np.int64(operation.into)
    left, count = table.units - farm.next_unit, 0
    if left > 0:
        count = _decide(table.rule, left, table.processes, place, floats_at(farm.notes))
        if count > left or count < (table.rule != _STATIC):
            w[W.STATUS] = BAD_CHUNK
            return
    one.unit, one.pulling = farm.next_unit, _ANSWER
    if table.rule == _STATIC:
        one.unit = np.int64(floats_at(farm.notes)[HEAD + WIDTH * place])
    one.unit_end = one.unit + count
    farm.next_unit += count
    ticks = table.pull
    if table.data != 0:
        ticks += numbers_at(table.data)[numbers_at(table.data_rows)[place] * table.chunks + count]
    schedule(w, process, later(w, ticks))


@subroutine
def _decide(rule: int, left: int, processes: int, place: int, notes: Any) -> int:  # noqa: PLR0911 - one for each rule
    """Units for a process that asks; see `chunks`."""
    if rule == _SS:
        return _ss(left, processes, place, notes)
    if rule == _GSS:
        return _gss(left, processes, place, notes)
    if rule == _TSS:
        return _tss(left, processes, place, notes)
    if rule == _FAC:
        return _fac(left, processes, place, notes)
    if rule == _FAC2:
        return _fac2(left, processes, place, notes)
    if rule == _AWF_B:
        return _awf_b(left, processes, place, notes)
    if rule == _AF:
        return _af(left, processes, place, notes)
    return _static(left, processes, place, notes)


@callee
def _operation_ended(w: Words, process: int) -> None:
    one = processes(w)[process]
    if one.polling:
        one.polling = 0
        wait_busily(w, process, -1)
    if w[W.ENDED] != 0:
        ended(w)[one.row + one.passed] = one.clock
    _to_next(w, process)


@callee
def _to_next(w: Words, process: int) -> None:
    """To a process's next operation, which after the last one of a turn is the first one of its loop."""
    one = processes(w)[process]
    one.row += 1
    if one.row == one.loop_end and one.turns > 0:
        one.turns -= 1
        one.row -= one.loop_size
        one.passed += one.loop_size


@callee
def _go_on(w: Words, process: int) -> None:
    """A process begins its next operations, until it waits or ends."""
    one = processes(w)[process]
    while w[W.STATUS] == RUNNING:
        row = one.row
        if row == one.end:
            w[W.LIVE] -= 1
            one.finish = one.clock
            return
        if w[W.BEGAN] != 0:
            began(w)[row + one.passed] = one.clock
        if not _begin(w, process, row):
            break
        if w[W.ENDED] != 0:
            ended(w)[row + one.passed] = one.clock
        _to_next(w, process)
    if w[W.STATUS] != RUNNING or not w[W.POLLS] or one.calling:
        return
    kind = operations(w)[one.row].kind
    if kind in (_SEND, _RECV, _EXCHANGE, _WAIT, _BARRIER, _FARM):
        one.polling = 1
        wait_busily(w, process, 1)


@subroutine
def _is_now(w: Words, process: int) -> bool:
    """Whether now has reached a process's clock; if not, the process begins its operation again when it has."""
    one = processes(w)[process]
    if one.clock <= w[W.NOW]:
        return True
    one.calling = 1
    schedule(w, process, one.clock)
    return False


@callee
def _begin(w: Words, process: int, row: int) -> bool:  # noqa: PLR0911 - one for each kind
    """Begin an operation; whether its process goes on at once, from its clock."""
    operation, one = operations(w)[row], processes(w)[process]
    kind = operation.kind
    if kind == _COMPUTE:
        return bool(
            (pes(w)[one.pe].alone or _is_now(w, process)) and compute(w, process, nominal(w)[computation(w)[row]])
        )
    if kind in (_SEND, _RECV, _EXCHANGE):
        return _begin_message(w, process, row)
    if kind in (_POST_SEND, _POST_RECV, _WAIT):
        return _begin_posted(w, process, row)
    if kind == _BARRIER:
        number: Any = np.int64(operation.partner)
        return _arrive(w, process, number)
    if kind == _FARM:
        if _is_now(w, process):
            _pull(w, process)
        return False
    if kind == _READ_WRITE and routed(w, row):
        one.parts, one.latest = 1, one.clock
        fill_slot(w, process, process, row)
        request_at(w, process, one.clock)
        return False
    if kind == _WAIT_UNTIL:
        return goes_on(w, process, max(one.clock, ticks(w)[row]))
    if kind == _DELAY and computation(w)[row] >= 0:
        return goes_on(w, process, after(w, one.clock, max(1, nominal(w)[computation(w)[row]])))
    return goes_on(w, process, after(w, one.clock, max(1, ticks(w)[row])))


@callee
def _begin_message(w: Words, process: int, row: int) -> bool:
    """Begin to send, to receive, or both; whether the end is known and the process goes on at once."""
    operation, one = operations(w)[row], processes(w)[process]
    sends, into = operation.kind != _RECV, np.int64(operation.into)
    ahead = (not sends or may_post_ahead(w, row)) and (operation.kind == _SEND or into >= NONE)
    if not ahead and not _is_now(w, process):
        return False
    one.parts, one.latest = 1, one.clock  # one more than there are: what ends at once shall not let it go on yet
    if sends:
        one.parts += not operation.eager
        post(w, process, process, row)
    if operation.kind != _SEND:
        one.parts += 1
        if into < NONE:
            one.inbox = -2 - into
            ask(w, process)
        else:
            receive(w, process, process, into)
    one.parts -= 1
    return bool(one.parts == 0 and goes_on(w, process, one.latest))


@callee
def _begin_posted(w: Words, process: int, row: int) -> bool:
    """Post a send or a receive, or wait for what was posted; whether the process goes on at once."""
    operation, one = operations(w)[row], processes(w)[process]
    who, into = np.int64(operation.partner), np.int64(operation.into)
    handle = handles(w)[who - w[W.PROCESS_COUNT]]
    if operation.kind == _WAIT:
        if handle.over != NONE:
            return goes_on(w, process, max(one.clock, handle.over))
        one.parts, one.latest, handle.waited = 1, one.clock, 1
        return False
    if operation.kind == _POST_SEND and not may_post_ahead(w, row) and not _is_now(w, process):
        return False
    handle.posted, handle.over, handle.waited, handle.next = one.clock, NONE, 0, NONE
    if operation.kind == _POST_RECV:
        receive(w, process, who, into)
        return True
    post(w, process, who, row)
    if operation.eager:
        handle.over = one.clock
    return True


@subroutine
def _arrive(w: Words, process: int, number: int) -> bool:
    """A process comes to a barrier; whether it was the last one to be followed there, which lets all others go."""
    barrier, one = barriers(w)[number], processes(w)[process]
    barrier.missing -= 1
    barrier.latest = max(barrier.latest, one.clock)
    if barrier.missing > 0:
        one.next = barrier.waiting
        barrier.waiting = process
        return False
    waiting = barrier.waiting
    barrier.missing, barrier.waiting = barrier.expected, NONE  # loops come again
    while waiting != NONE:
        following = processes(w)[waiting].next
        if goes_on(w, waiting, barrier.latest):
            make_ready(w, waiting)
        waiting = following
    return goes_on(w, process, barrier.latest)

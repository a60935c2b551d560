"""The general path of the compiled engine: one run, event by event, for every kind of operation but CUSTOM.

`simulate(w)` does one run in the memory that `workspace.Workspace` has laid out and described in `w`, and
returns `w[STATUS]` (see `queues`). Makespan: `w[NOW]` at the end. What each process did: the fields `computed`, `busy`
and `finish` of `PROCESSES`, of a deadlock `row`, where it stands. Begin and end of every operation where `w[BEGAN]` and
`w[ENDED]` are addresses of (N,) arrays. After MORE_SLOTS the same run has to be done again with more slots for eager
messages.

An instant goes as the rules say: all that is due ends (`_end`), processes advance (`_advance`), grants are made, and
shared PEs and flows are re-evaluated once. Nothing looks through all processes, PEs or links: what changed is in lists.
"""

from typing import Any

import numpy as np

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.flows import refill
from simulator.engines.compiled.memory import (
    NONE,
    W,
    Words,
    barriers,
    began,
    computation,
    ended,
    farms,
    nominal,
    numbers_at,
    operations,
    processes,
    pulls,
    queue,
    tables,
    ticks,
)
from simulator.engines.compiled.messages import ask, fill_slot, grant_receives, post, receive
from simulator.engines.compiled.queues import (
    DEADLOCK,
    DONE,
    PAST_LAST_TICK,
    RUNNING,
    UNRECEIVED,
    later,
    pop,
    push,
    schedule,
    take_first,
)
from simulator.engines.compiled.reset import reset
from simulator.engines.compiled.shares import compute, evaluate, next_done, raise_faults, settle, wait_busily
from simulator.engines.compiled.transfers import (
    FAIRLY,
    IN_TURN,
    flows_due,
    grant_links,
    make_ready,
    part_done,
    request,
    start_flows,
    transfer_due,
)
from simulator.engines.costs import LAST_TICK
from simulator.programs.columns import Kind

_COMPUTE, _SEND, _RECV, _EXCHANGE = int(Kind.COMPUTE), int(Kind.SEND), int(Kind.RECV), int(Kind.EXCHANGE)
_BARRIER, _FARM, _WAIT_UNTIL = int(Kind.BARRIER), int(Kind.FARM), int(Kind.WAIT_UNTIL)
_DELAY, _READ_WRITE = int(Kind.DELAY), int(Kind.READ_WRITE)


def simulate(w: Words) -> int:
    """Kernel: do one run; its status."""
    reset(w)
    for process in range(w[W.PROCESS_COUNT]):
        _go_on(w, process)
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
    while w[W.READY] != NONE and w[W.STATUS] == RUNNING:
        process = w[W.READY]
        w[W.READY] = processes(w)[process].next
        _operation_ended(w, process)
        _go_on(w, process)
    if w[W.STATUS] != RUNNING:
        return
    if w[W.ASKED] > 0:
        grant_receives(w)
    if w[W.PULLED] > 0:
        _grant_pulls(w)
    if w[W.CONTENTION] == IN_TURN:
        grant_links(w)
    if w[W.DIRTY_PE] != NONE:
        evaluate(w)
    raise_faults(w)
    if w[W.CONTENTION] == FAIRLY and w[W.STATUS] == RUNNING:
        start_flows(w)
        if w[W.DIRTY_LINK] != NONE:
            refill(w)


@subroutine
def _end(w: Words, number: int) -> None:
    """What is due: of a process, a transfer, a PE or a group of flows, in the order of their ids."""
    if number < w[W.PROCESS_COUNT]:
        _process_due(w, number)
        return
    number -= w[W.PROCESS_COUNT]
    if number < w[W.SLOT_COUNT]:
        transfer_due(w, number)
        return
    number -= w[W.SLOT_COUNT]
    if number >= w[W.PE_COUNT]:
        flows_due(w, number - w[W.PE_COUNT])
        return
    settle(w, number)
    process = next_done(w, number)
    while process != NONE:
        _computed(w, process)
        process = next_done(w, number)


@subroutine
def _process_due(w: Words, process: int) -> None:
    """The event of a process itself: a computation on a PE of its own, a pull, or a time."""
    one = processes(w)[process]
    kind = operations(w)[one.row].kind
    if kind == _FARM and one.pulling:
        one.pulling = 0
        if one.unit == one.unit_end:
            make_ready(w, process)
            return
        if w[W.POLLS]:
            one.polling = 0
            wait_busily(w, process, -1)
        farm = farms(w)[operations(w)[one.row].partner]
        table = tables(w)[farm.table]
        before = numbers_at(table.before)
        place = operations(w)[one.row].into * (table.units + 1)
        compute(w, process, max(1, before[place + one.unit_end] - before[place + one.unit]))
    elif kind in (_FARM, _COMPUTE):
        _computed(w, process)
    elif kind in (_RECV, _EXCHANGE):
        part_done(w, process)
    else:
        make_ready(w, process)


@subroutine
def _computed(w: Words, process: int) -> None:
    """A process has ended a computation."""
    one = processes(w)[process]
    one.busy += w[W.NOW] - one.joined
    one.computed = w[W.NOW]
    if operations(w)[one.row].kind == _FARM:
        _pull(w, process)
        if w[W.POLLS]:
            one.polling = 1
            wait_busily(w, process, 1)
    else:
        make_ready(w, process)


@subroutine
def _pull(w: Words, process: int) -> None:
    push(pulls(w), 0, w[W.PULLED], process, 0, process)
    w[W.PULLED] += 1


@subroutine
def _grant_pulls(w: Words) -> None:
    """All pulls that were asked for in this instant, by process."""
    while w[W.PULLED] > 0:
        process = pulls(w)[0].value
        pop(pulls(w), 0, w[W.PULLED])
        w[W.PULLED] -= 1
        one = processes(w)[process]
        farm = farms(w)[operations(w)[one.row].partner]
        table = tables(w)[farm.table]
        one.unit, one.pulling = farm.next_unit, 1
        farm.next_unit = min(table.units, farm.next_unit + table.chunk)
        one.unit_end = farm.next_unit
        schedule(w, process, later(w, table.pull))


@subroutine
def _operation_ended(w: Words, process: int) -> None:
    one = processes(w)[process]
    if one.polling:
        one.polling = 0
        wait_busily(w, process, -1)
    if w[W.ENDED] != 0:
        ended(w)[one.row] = w[W.NOW]
    one.row += 1


@subroutine
def _go_on(w: Words, process: int) -> None:
    """A process begins its next operations, until it waits or ends."""
    one = processes(w)[process]
    while w[W.STATUS] == RUNNING:
        row = one.row
        if row == one.end:
            w[W.LIVE] -= 1
            one.finish = w[W.NOW]
            return
        if w[W.BEGAN] != 0:
            began(w)[row] = w[W.NOW]
        if not _begin(w, process, row):
            break
        if w[W.ENDED] != 0:
            ended(w)[row] = w[W.NOW]
        one.row = row + 1
    if w[W.STATUS] != RUNNING:
        return
    kind = operations(w)[one.row].kind
    if w[W.POLLS] and kind in (_SEND, _RECV, _EXCHANGE, _BARRIER, _FARM):
        one.polling = 1
        wait_busily(w, process, 1)


@subroutine
def _begin(w: Words, process: int, row: int) -> bool:  # noqa: PLR0911 - one for each kind
    """Begin an operation; whether it has ended at once."""
    operation, one = operations(w)[row], processes(w)[process]
    kind = operation.kind
    if kind == _COMPUTE:
        compute(w, process, nominal(w)[computation(w)[row]])
        return False
    if kind == _SEND:
        one.parts = 1
        post(w, process, row)
        return bool(operation.eager)
    if kind in (_RECV, _EXCHANGE):
        one.parts = 1
        if kind == _EXCHANGE:
            one.parts = 1 if operation.eager else 2
            post(w, process, row)
        into: Any = np.int64(operation.into)
        if into < NONE:
            one.inbox = -2 - into
            ask(w, process)
        elif receive(w, process, into):
            one.parts -= 1
        return bool(one.parts == 0)
    if kind == _BARRIER:
        number: Any = np.int64(operation.partner)
        return _arrive(w, process, number)
    if kind == _FARM:
        _pull(w, process)
        return False
    if kind == _READ_WRITE:
        one.parts = 1
        fill_slot(w, process, process, row)
        request(w, process)
        return False
    if kind == _WAIT_UNTIL and ticks(w)[row] <= w[W.NOW]:
        return True
    schedule(w, process, ticks(w)[row] if kind == _WAIT_UNTIL else later(w, ticks(w)[row]))
    return False


@subroutine
def _arrive(w: Words, process: int, number: int) -> bool:
    """A process is at a barrier; whether it is the last one, which lets all others go."""
    barrier = barriers(w)[number]
    barrier.missing -= 1
    if barrier.missing > 0:
        processes(w)[process].next = barrier.waiting
        barrier.waiting = process
        return False
    waiting = barrier.waiting
    while waiting != NONE:
        following = processes(w)[waiting].next
        make_ready(w, waiting)
        waiting = following
    return True

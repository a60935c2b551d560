"""PEs that several processes share: service attained by each, and who reaches its target when.

A PE keeps what each of its computing processes has attained since it was last idle (`served`), and a heap of targets.
It is brought up to now before anything on it changes, and its next end is found again once per instant.
"""

from simulator.engines.compiled.cache import subroutine
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    W,
    Words,
    pes,
    processes,
    quota_members,
    quotas,
    services,
    targets,
)
from simulator.engines.compiled.neighbours import evaluate_groups, evaluate_pe, join, poll
from simulator.engines.compiled.queues import ENDED_TRACE, PAST_LAST_TICK, RUNNING, STALLED, cancel, pop, push, schedule
from simulator.engines.compiled.quotas import attained_by, settle_quota, touch
from simulator.engines.compiled.service import (
    EXACT,
    NEVER,
    OVERFLOW,
    grown,
    piece_at,
    rate_in,
    steps_in,
    tick_when,
)
from simulator.engines.costs import LAST_TICK


@subroutine
def compute(w: Words, process: int, nominal: int) -> bool:
    """A process starts to compute so many nominal ticks; whether the end is known, which is then its clock."""
    one = processes(w)[process]
    number = one.pe
    pe, now = pes(w)[number], w[W.NOW]
    if pe.alone:
        end = _end_alone(w, number, one.clock, nominal)
        if end < 0:
            _fault(w, number, end)
            return False
        one.busy += end - one.clock
        one.computed = one.clock = end
        return True
    if pe.domains:
        if not join(w, process, nominal):
            _fault(w, number, OVERFLOW)
        return False
    one.joined = now
    settle(w, number)
    if pe.running == 0:
        pe.served, pe.settled, pe.base = 0, now, NONE
    if nominal > 2 * LAST_TICK - 1 - pe.served:
        _fault(w, number, OVERFLOW)
        return False
    push(targets(w), pe.first, pe.running, pe.served + nominal, process, process)
    pe.running += 1
    touch(w, number)
    return False


@subroutine
def _end_alone(w: Words, number: int, now: int, nominal: int) -> int:
    """When a computation ends that begins at a tick on a PE that nobody shares, or why it does not."""
    pe = pes(w)[number]
    if pe.start > LAST_TICK - now:
        return OVERFLOW
    tick = pe.start + now
    if tick >= pe.end or tick < pe.begin:
        _find_piece(w, number, pe.table, tick)
    left = pe.end - tick
    if left > 0 and nominal <= left:
        if pe.rate == 1.0:
            return now + nominal
        steps = steps_in(pe.rate, grown(pe.rate, tick - pe.begin) + nominal, pe.end - pe.begin)
        if steps >= 0:
            return pe.begin + steps - pe.start
    attained = attained_by(w, pe.table, tick)
    if attained < 0:
        return attained
    if nominal > 2 * LAST_TICK - 1 - attained:
        return OVERFLOW
    found = _when(w, pe.table, attained + nominal, tick)
    return found - pe.start if found >= 0 else found


@subroutine
def _find_piece(w: Words, number: int, table: int, tick: int) -> None:
    """Note the piece of its trace that a PE is in."""
    pe, tables = pes(w)[number], services(w)
    pe.begin, pe.end, pe.load = piece_at(tables, table, tick)
    pe.rate = rate_in(tables, table, pe.load)


@subroutine
def _when(w: Words, table: int, attained: int, near: int) -> int:
    """See `tick_when`."""
    return tick_when(services(w), table, attained, near)


@subroutine
def wait_busily(w: Words, process: int, change: int) -> None:
    """A process that polls begins (1) or ceases (-1) to wait for others."""
    number = processes(w)[process].pe
    pe = pes(w)[number]
    if pe.domains:
        poll(w, number, change)
        return
    if pe.alone:
        return
    settle(w, number)
    pe.polling += change
    touch(w, number)


@subroutine
def settle(w: Words, number: int) -> None:
    """Bring up to now what each process on a PE has attained, at the number of processes that has held so far."""
    pe, now = pes(w)[number], w[W.NOW]
    if pe.settled == now or pe.running == 0:
        return
    if pe.stands:
        pe.settled = now
        return
    tick = pe.start + now
    if tick <= pe.end:
        reached = grown(pe.rate, tick - pe.begin)
        pe.served += reached - pe.base
        pe.base = reached
    else:
        table = pe.table + pe.m - 1
        base = pe.base if pe.end < 0 else attained_by(w, table, pe.start + pe.settled)
        pe.served += attained_by(w, table, tick) - base
        pe.base = NONE
    pe.settled = now


@subroutine
def evaluate(w: Words) -> None:
    """The number of runnable processes of every PE on which something changed, and its next end."""
    if w[W.DIRTY_QUOTA] != NONE:
        _settle_quotas(w)
    number = w[W.DIRTY_PE]
    w[W.DIRTY_PE] = NONE
    while number != NONE:
        pe = pes(w)[number]
        following = pe.next_dirty
        pe.next_dirty = OUTSIDE
        if pe.domains:
            evaluate_pe(w, number)
        else:
            _evaluate(w, number)
        number = following
    if w[W.DIRTY_GROUP] != NONE or w[W.DIRTY_DOMAIN] != NONE:
        number = evaluate_groups(w)
        if number != NONE:
            _fault(w, number, w[W.GROUP_FAULT])


@subroutine
def _settle_quotas(w: Words) -> None:
    """Have the PEs of control groups stand that used up their quotas, and go on in a new period."""
    number = w[W.DIRTY_QUOTA]
    w[W.DIRTY_QUOTA] = NONE
    while number != NONE:
        quota = quotas(w)[number]
        if settle_quota(w, number):
            for place in range(quota.first, quota.end):
                member = quota_members(w)[place]
                pe = pes(w)[member]
                if not pe.domains:
                    settle(w, member)
                    pe.base = NONE
                pe.stands = quota.stands
                touch(w, member)
        following = quota.next_dirty
        quota.next_dirty = OUTSIDE
        number = following


@subroutine
def _evaluate(w: Words, number: int) -> None:
    pe, now = pes(w)[number], w[W.NOW]
    event = w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + number
    if pe.running == 0 or pe.stands:
        cancel(w, event)
        return
    m = pe.running + pe.polling
    if pe.start > LAST_TICK - now:
        _fault(w, number, OVERFLOW)
        return
    tick, table, missing = pe.start + now, pe.table + m - 1, targets(w)[pe.first].key - pe.served
    if tick >= pe.end or tick < pe.begin:
        _find_piece(w, number, table, tick)
        pe.base = NONE
    if pe.end >= 0:
        if m != pe.m:
            pe.m, pe.rate, pe.base = m, rate_in(services(w), table, pe.load), NONE
        if pe.base == NONE:
            pe.base = grown(pe.rate, tick - pe.begin)
        steps = steps_in(pe.rate, pe.base + missing, pe.end - pe.begin) if missing < EXACT else -1
        if steps >= 0:
            schedule(w, event, pe.begin + steps - pe.start)
            return
    pe.m, pe.end = m, -1
    pe.base = attained_by(w, table, tick)
    if pe.base < 0:
        _fault(w, number, pe.base)
        return
    end = _when(w, table, pe.base + missing, tick) if pe.base <= 2 * LAST_TICK - 1 - missing else OVERFLOW
    if end < 0:
        _fault(w, number, end)
    else:
        schedule(w, event, end - pe.start)


@subroutine
def next_done(w: Words, number: int) -> int:
    """A process whose computation on a PE ends now, taken off it, or NONE; the PE is settled."""
    pe = pes(w)[number]
    if pe.running == 0 or targets(w)[pe.first].key > pe.served:
        return NONE
    process = targets(w)[pe.first].value
    pop(targets(w), pe.first, pe.running)
    pe.running -= 1
    touch(w, number)
    return process


@subroutine
def _fault(w: Words, number: int, reason: int) -> None:
    """Note why a PE's next end cannot be told; the first PE's reason stays."""
    if w[W.PE_FAULT] == NONE or number < w[W.PE_FAULT]:
        w[W.PE_FAULT] = number
        w[W.PE_STATUS] = PAST_LAST_TICK if reason == OVERFLOW else STALLED if reason == NEVER else ENDED_TRACE


@subroutine
def raise_faults(w: Words) -> None:
    """The fault of the first PE that has one becomes the run's."""
    if w[W.STATUS] == RUNNING and w[W.PE_FAULT] != NONE:
        w[W.STATUS], w[W.FAULT] = w[W.PE_STATUS], w[W.PE_FAULT]

"""Quotas of control groups: what their PEs used in the period under way, and whether they stand until it ends.

A group is settled when who is runnable on its PEs changes, and while any of them computes when its quota is used up and
when a period ends. Its PEs are evaluated after it.
"""

import numpy as np

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.memory import NONE, OUTSIDE, W, Words, pes, quota_members, quotas, services
from simulator.engines.compiled.queues import PAST_LAST_TICK, cancel, schedule
from simulator.engines.compiled.service import OVERFLOW, TRACE_ENDED, attained_at
from simulator.engines.costs import LAST_TICK


@subroutine
def attained_by(w: Words, table: int, tick: int) -> int:
    """See `attained_at`."""
    return attained_at(services(w), table, tick)


@callee
def touch(w: Words, number: int) -> None:
    """A PE is re-evaluated at the end of this instant, its control group before."""
    pe = pes(w)[number]
    if pe.next_dirty == OUTSIDE:
        pe.next_dirty = w[W.DIRTY_PE]
        w[W.DIRTY_PE] = number
    if pe.quota != NONE:
        touch_quota(w, pe.quota)


@subroutine
def touch_quota(w: Words, number: int) -> None:
    """A control group is settled at the end of this instant."""
    quota = quotas(w)[number]
    if quota.next_dirty == OUTSIDE:
        quota.next_dirty = w[W.DIRTY_QUOTA]
        w[W.DIRTY_QUOTA] = number


@subroutine
def settle_quota(w: Words, number: int) -> bool:
    """Bring up to now what a control group has used, and plan its event; whether it begins or ceases to stand."""
    quota, now = quotas(w)[number], w[W.NOW]
    begin = now - (now + quota.phase) % quota.period
    if quota.settled < begin:
        quota.used, quota.settled = 0, begin
    if quota.used < quota.budget:
        quota.used += _total(w, number, now) - _total(w, number, quota.settled)
    quota.settled, computes = now, False
    for place in range(quota.first, quota.end):
        pe = pes(w)[quota_members(w)[place]]
        pe.runnable = pe.running + pe.polling
        computes |= pe.running > 0
    stands = computes and quota.used >= quota.budget
    changes, quota.stands = stands != bool(quota.stands), stands
    event = w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + w[W.PE_COUNT] + w[W.LINK_COUNT] + w[W.GROUP_COUNT] + number
    end = begin + quota.period
    if not computes:
        cancel(w, event)
    elif stands:
        schedule(w, event, end)
    else:
        schedule(w, event, _used_up(w, number, end))
    return changes


@subroutine
def _total(w: Words, number: int, tick: int) -> int:
    """What the runnable processes of a group would have used by a tick; only differences are of use."""
    quota, total = quotas(w)[number], np.int64(0)
    for place in range(quota.first, quota.end):
        pe = pes(w)[quota_members(w)[place]]
        if pe.runnable > 0:
            table = pe.table + pe.runnable - 1
            found = OVERFLOW if pe.start > LAST_TICK - tick else attained_by(w, table, pe.start + tick)
            if found == TRACE_ENDED:
                tables = services(w)
                found = tables.attained[tables.first[table + 1] - 1]
            if found < 0:
                w[W.STATUS] = PAST_LAST_TICK
            total += pe.runnable * found
    return total


@subroutine
def _used_up(w: Words, number: int, end: int) -> int:
    """The tick at which a quota is used up, `end` if that comes first: about where it were at an even rate."""
    low, high, before = w[W.NOW], end, _total(w, number, w[W.NOW])
    missing, below = quotas(w)[number].budget - quotas(w)[number].used, 0
    above, even = _total(w, number, end) - before, 0
    if above < missing:
        return end
    while high - low > 1:
        middle, even = (low + high) >> 1, (even + 1) % 4
        if even > 0:
            part = np.float64(missing - below) / np.float64(above - below)
            middle = min(high - 1, max(low + 1, low + np.int64(part * np.float64(high - low))))
        used = _total(w, number, middle) - before
        if used >= missing:
            high, above = middle, used
        else:
            low, below = middle, used
    return high

"""Sharing domains: groups of processes that keep the same share of their speed, and what changes it.

Processes whose PEs give them a whole core, with the same demands, tables and domains, are one group: they share one
attained service (in 2^-30 ticks, as ticks `high` and a fraction `low`), a heap of targets and an event. Any other
process is a group of its own. Once per instant, groups are looked at that are in a domain whose pressure changed.
"""

from typing import Any

import numpy as np

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.memory import (
    NONE,
    OUTSIDE,
    W,
    Words,
    demands,
    domains,
    group_targets,
    groups,
    load_demands,
    load_knots,
    load_values,
    loaded,
    members,
    pes,
    present,
    pressed,
    processes,
    services,
    shares,
    sharing_slots,
    table_first,
    table_of,
)
from simulator.engines.compiled.queues import cancel, pop, push, schedule
from simulator.engines.compiled.quotas import attained_by, touch
from simulator.engines.compiled.service import EXACT, OVERFLOW, tick_when
from simulator.engines.costs import LAST_TICK
from simulator.engines.costs.sharing import CACHE, FULL, MEMORY, ONE, PARTS

FRACTION, BITS = FULL - 1, 30
FAR = 2**31
"""Ticks of a whole share, in 2^30, from which on the other engine is asked whether the last tick is passed."""


@subroutine
def join(w: Words, process: int, nominal: int) -> bool:
    """A process starts to compute in sharing domains; whether its target can be told."""
    one, now = processes(w)[process], w[W.NOW]
    one.joined = now
    group = groups(w)[one.group]
    if group.running == 0:
        group.high, group.low, group.share, group.most, group.settled = 0, 0, 0, 0, now
        group.planned = NONE
    else:
        settle_group(w, one.group)
    if nominal > 2 * LAST_TICK - 1 - group.high:
        return False
    push(group_targets(w), group.first, group.running, group.high + nominal, group.low, process)
    group.running += 1
    group.most = max(group.most, group.high + nominal)
    pes(w)[one.pe].running += 1
    _appear(w, process, 1)
    return True


@subroutine
def next_done_of(w: Words, number: int) -> int:
    """A process of a group whose computation ends now, taken off it, or NONE; the group is settled."""
    group = groups(w)[number]
    if group.running == 0:
        return NONE
    top = group_targets(w)[group.first]
    if top.key > group.high or (top.key == group.high and top.second > group.low):
        return NONE
    process = top.value
    pop(group_targets(w), group.first, group.running)
    group.running -= 1
    pes(w)[processes(w)[process].pe].running -= 1
    _appear(w, process, -1)
    return process


@subroutine
def _appear(w: Words, process: int, change: int) -> None:
    """A computation presses (1) or ceases to (-1)."""
    one, count = processes(w)[process], w[W.SHARING_SLOTS]
    pe = pes(w)[one.pe]
    for slot in range(count):
        at = one.pe * count + slot
        number = sharing_slots(w)[at]
        if number < 0:
            continue
        amount, domain = change * demands(w)[process * count + slot], domains(w)[number]
        present(w)[at] += amount
        if change > 0 and domain.running == 0:
            for place in range(domain.loaded_first, domain.loaded_end):
                touch(w, loaded(w)[place])
        domain.running += change
        if pe.free and amount != 0:
            domain.total += amount
            _touch_domain(w, number)
    if not pe.free:
        touch(w, one.pe)
    _touch_group(w, one.group)


@subroutine
def poll(w: Words, number: int, change: int) -> None:
    """A process on a PE in domains begins (1) or ceases (-1) to wait busily."""
    pe, count = pes(w)[number], w[W.SHARING_SLOTS]
    pe.polling += change
    for slot in range(count):
        at = number * count + slot
        domain = sharing_slots(w)[at]
        if domain >= 0 and domains(w)[domain].kind != CACHE and domains(w)[domain].kind != MEMORY:
            present(w)[at] += ONE * change
            if pe.free:
                domains(w)[domain].total += ONE * change
                _touch_domain(w, domain)
    if not pe.free:
        touch(w, number)


@callee
def _touch_domain(w: Words, number: int) -> None:
    domain = domains(w)[number]
    if domain.next_dirty == OUTSIDE:
        domain.next_dirty = w[W.DIRTY_DOMAIN]
        w[W.DIRTY_DOMAIN] = number


@callee
def _touch_group(w: Words, number: int) -> None:
    group = groups(w)[number]
    if group.next_dirty == OUTSIDE:
        group.next_dirty = w[W.DIRTY_GROUP]
        w[W.DIRTY_GROUP] = number


@subroutine
def _load_at(w: Words, number: int) -> tuple[int, int]:
    """The load of a PE in 1/PARTS, and the tick of its next change (NONE for no other)."""
    pe = pes(w)[number]
    first, end, knots = pe.load_first, pe.load_after, load_knots(w)
    if first == end:
        return 0, NONE
    tick, passed = pe.start + w[W.NOW], 0
    if pe.load_cycles:
        passed = tick // pe.load_end * pe.load_end
    low, high = first, end
    while high - low > 1:
        middle = (low + high) >> 1
        if knots[middle] <= tick - passed:
            low = middle
        else:
            high = middle
    change = NONE
    if high < end:
        change = passed + knots[high] - pe.start
    elif pe.load_cycles and end - first > 1:
        change = passed + pe.load_end - pe.start
    return load_values(w)[low], change


@subroutine
def evaluate_pe(w: Words, number: int) -> None:
    """What presses on a PE that is not free, and when its load changes."""
    pe, count = pes(w)[number], w[W.SHARING_SLOTS]
    load, change = _load_at(w, number)
    pe.m, pe.load_now, awaited = 0 if pe.stands else pe.running + pe.polling, load, False
    over = PARTS * pe.m + load > PARTS * pe.cores
    for slot in range(count):
        at = number * count + slot
        domain = sharing_slots(w)[at]
        if domain < 0:
            continue
        units = (0 if pe.stands else present(w)[at]) + load * load_demands(w)[at] // PARTS
        if over and domains(w)[domain].kind != CACHE:
            units = units * PARTS * pe.cores // (PARTS * pe.m + load)
        awaited |= domains(w)[domain].running > 0
        if units != pressed(w)[at]:
            domains(w)[domain].total += units - pressed(w)[at]
            pressed(w)[at] = units
            _touch_domain(w, domain)
    for group in range(pe.group_first, pe.group_end):
        _touch_group(w, group)
    if awaited and change != NONE and change <= LAST_TICK:
        schedule(w, w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + number, change)


@subroutine
def evaluate_groups(w: Words) -> int:
    """Shares after what changed; a PE whose next end cannot be told and why in `w[GROUP_FAULT]`, or NONE."""
    fault = NONE
    number = w[W.DIRTY_DOMAIN]
    w[W.DIRTY_DOMAIN] = NONE
    while number != NONE:
        domain = domains(w)[number]
        for place in range(domain.first, domain.end):
            if groups(w)[members(w)[place]].running > 0:
                _touch_group(w, members(w)[place])
        following = domain.next_dirty
        domain.next_dirty = OUTSIDE
        number = following
    number = w[W.DIRTY_GROUP]
    w[W.DIRTY_GROUP] = NONE
    while number != NONE:
        group = groups(w)[number]
        following = group.next_dirty
        group.next_dirty = OUTSIDE
        reason = _evaluate_group(w, number)
        if reason != 0:
            fault = group.pe
            w[W.GROUP_FAULT] = reason
        number = following
    return fault


@callee
def _share_of(w: Words, number: int) -> int:
    group, count = groups(w)[number], w[W.SHARING_SLOTS]
    share: Any = FULL
    pe = pes(w)[group.pe]
    over = PARTS * pe.m + pe.load_now > PARTS * pe.cores
    for slot in range(count):
        table, at = table_of(w)[group.process * count + slot], group.pe * count + slot
        if table < 0:
            continue
        domain, others = domains(w)[sharing_slots(w)[at]], -demands(w)[group.process * count + slot]
        if not pe.free:
            others += present(w)[at] + pe.load_now * load_demands(w)[at] // PARTS
            if over and domain.kind != CACHE:
                others = others * PARTS * (pe.cores - 1) // (PARTS * (pe.m - 1) + pe.load_now)
            others -= pressed(w)[at]
        first = table_first(w)[table]
        place = min(first + others + domain.total, table_first(w)[table + 1] - 1)
        share = max(1, (share * np.int64(shares(w)[place])) >> BITS)
    return share


@subroutine
def _evaluate_group(w: Words, number: int) -> int:
    """A group's share and its next end; 0, or why that cannot be told."""
    group, now = groups(w)[number], w[W.NOW]
    event = w[W.PROCESS_COUNT] + w[W.SLOT_COUNT] + w[W.PE_COUNT] + w[W.LINK_COUNT] + number
    if group.running == 0 or pes(w)[group.pe].stands:
        if group.running > 0:
            settle_group(w, number)
            group.share, group.planned = 0, NONE
        cancel(w, event)
        return 0
    share: int = _share_of(w, number)
    top, pe = group_targets(w)[group.first], pes(w)[group.pe]
    m = 1 if pe.free else pe.m
    same = share == group.share and m == group.m
    if same and top.key == group.planned and top.second == group.planned_low:
        return 0
    if not same:
        if group.share > 0:
            settle_group(w, number)
        group.share, group.m = share, m
        if pe.start > LAST_TICK - now:
            return OVERFLOW
        group.settled, group.mark = now, _reached(w, number, now)
        if group.mark < 0:
            return group.mark
    if group.most - group.high >= share * FAR:
        return OVERFLOW
    group.planned, group.planned_low = top.key, top.second
    return _predict(w, number, event)


@callee
def _predict(w: Words, number: int, event: int) -> int:
    """Plan the event of a group's least target; 0, or why there is none."""
    group = groups(w)[number]
    share, top, pe = group.share, group_targets(w)[group.first], pes(w)[group.pe]
    whole = (top.key - group.high) // share
    rest = ((top.key - group.high - whole * share) << BITS) + top.second - group.low
    target = group.mark + (whole << BITS) - (-rest // share)
    if pe.free and target <= EXACT:
        schedule(w, event, target)
        return 0
    end = _when(w, pe.table + group.m - 1, target, pe.start + w[W.NOW])
    if end < 0:
        return end
    schedule(w, event, end - pe.start)
    return 0


@subroutine
def _when(w: Words, table: int, attained: int, near: int) -> int:
    return tick_when(services(w), table, attained, near)


@callee
def _reached(w: Words, number: int, now: int) -> int:
    """What one of `m` attains of a group's PE by now."""
    group = groups(w)[number]
    pe = pes(w)[group.pe]
    if pe.free and now <= EXACT:
        return now
    return attained_by(w, pe.table + group.m - 1, pe.start + now)


@subroutine
def settle_group(w: Words, number: int) -> None:
    """Bring what a group has attained up to now, at the share that has held so far."""
    group, now = groups(w)[number], w[W.NOW]
    if group.settled == now or group.share == 0:  # it stood
        group.settled = now
        return
    reached = _reached(w, number, now)
    grown = reached - group.mark
    low = group.share * (grown & FRACTION) + group.low
    group.high += group.share * (grown >> BITS) + (low >> BITS)
    group.low = low & FRACTION
    group.mark, group.settled = reached, now


@subroutine
def reset_sharing(w: Words) -> None:
    """Forget an earlier run."""
    w[W.DIRTY_DOMAIN], w[W.DIRTY_GROUP] = NONE, NONE
    for number in range(w[W.GROUP_COUNT]):
        groups(w)[number].running, groups(w)[number].next_dirty = 0, OUTSIDE
    for number in range(w[W.DOMAIN_COUNT]):
        domain = domains(w)[number]
        domain.total, domain.running, domain.next_dirty = 0, 0, OUTSIDE
    for place in range(w[W.PE_COUNT] * w[W.SHARING_SLOTS]):
        present(w)[place], pressed(w)[place] = 0, 0

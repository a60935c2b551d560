"""Compiled max-min flows alone against the rule in plain Python: rates and ends, to the unit and the tick."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.engines.compiled import memory
from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.flows import end_flow, refill, start_flow
from simulator.engines.compiled.groups import delivered, due, ticks_until
from simulator.engines.compiled.memory import NONE, OUTSIDE, W, Words, links, queue, slots
from simulator.engines.compiled.queues import NO_RATE, RUNNING, take_first

pytestmark = pytest.mark.slow
"""Their kernels take seconds to compile; the agreement of the engines covers them by default."""

LAST = 2**62


def filled(capacities, routes):
    """Progressive filling, in the words of the rule; routes by flow."""
    free = dict(enumerate(capacities))
    rates = {}
    while len(rates) < len(routes):
        unfixed = {flow: route for flow, route in routes.items() if flow not in rates}
        flows = {link: sum(link in route for route in unfixed.values()) for link in free}
        share = {link: free[link] // flows[link] for link in free if flows[link]}
        q = min(share.values())
        tight = {link for link in share if share[link] == q}
        for flow, route in unfixed.items():
            if tight & set(route):
                rates[flow] = q
                for link in route:
                    free[link] -= q
    return rates


def by_the_rule(capacities, routes, units, begins):
    """Every instant with its rates: (tick, {flow: rate}), and when each flow ended."""
    left, rates, ends, instants, now = {}, {}, {}, [], 0
    waiting = sorted(range(len(routes)), key=lambda flow: begins[flow])
    while waiting or left:
        due = [begins[waiting[0]]] if waiting else []
        for flow, rate in rates.items():
            whole = (left[flow] + (rate * now >> 40)) << 40
            due.append(-(-whole // rate))
        tick = min(due)
        for flow in left:
            left[flow] -= (rates[flow] * tick >> 40) - (rates[flow] * now >> 40)
        now = tick
        ends |= {flow: now for flow in left if left[flow] <= 0}
        left = {flow: units for flow, units in left.items() if units > 0}
        while waiting and begins[waiting[0]] == now:
            left[waiting[0]] = units[waiting[0]]
            waiting.pop(0)
        rates = filled(capacities, {flow: routes[flow] for flow in sorted(left)})
        instants.append((now, rates))
    return instants, [ends[flow] for flow in range(len(routes))]


def play(w: Words, order: Words, begins: Words, ends: Words, seen: Words) -> int:
    """Kernel: start flows at their ticks, let them end, and note all rates at every instant."""
    count, begun, instants = order.size, 0, 0
    while w[W.STATUS] == RUNNING and (begun < count or w[W.QUEUED] > 0):
        now = begins[order[begun]] if begun < count else LAST
        if w[W.QUEUED] > 0:
            now = min(now, queue(w)[1].tick)
        w[W.NOW] = now
        while w[W.QUEUED] > 0 and queue(w)[1].tick == now:
            number = take_first(w)
            if number < count:
                ends[number] = now
                end_flow(w, number)
                continue
            slot = due(w, number - count)
            while slot != NONE:
                following = slots(w)[slot].fixed_next
                ends[slot] = now
                end_flow(w, slot)
                slot = following
        while begun < count and begins[order[begun]] == now:
            start_flow(w, order[begun])
            begun += 1
        refill(w)
        at = instants * (count + 1)
        seen[at] = now
        for slot in range(count):
            group = slots(w)[slot].group
            rate = slots(w)[slot].rate if group == NONE else links(w)[group].rate
            seen[at + 1 + slot] = rate if ends[slot] < 0 and begins[slot] <= now else 0
        instants += 1
    return instants


def compiled_flows(capacities, routes, units, begins):
    """As `by_the_rule`, and the status of the engine."""
    count, hops = len(routes), max(len(route) for route in routes)
    w = np.zeros(W.END, dtype=np.int64)
    made = {
        W.SLOTS: np.zeros(count, memory.SLOT),
        W.LINKS: np.zeros(len(capacities), memory.LINK),
        W.NODES: np.zeros(count * hops, memory.NODE),
        W.QUEUE: np.zeros(count + len(capacities) + 1, memory.QUEUE),
        W.FILLING: np.zeros(count + len(capacities), memory.ENTRY),
        W.UNITS: np.array(units),
        W.ROUTE: np.arange(count),
        W.ROUTE_FIRST: np.cumsum([0, *(len(route) for route in routes)]),
        W.ROUTE_LINKS: np.concatenate(routes),
    }
    for place, values in made.items():
        w[place] = values.ctypes.data
    made[W.SLOTS]["row"], made[W.SLOTS]["group"] = np.arange(count), NONE
    made[W.LINKS]["capacity"], made[W.LINKS]["next_dirty"] = capacities, OUTSIDE
    made[W.LINKS]["head"] = made[W.LINKS]["tail"] = made[W.NODES]["previous"] = NONE
    w[[W.SLOT_COUNT, W.LINK_COUNT, W.HOPS, W.DIRTY_LINK]] = count, len(capacities), hops, NONE
    order, ends = np.argsort(begins, kind="stable"), np.full(count, -1)
    seen = np.zeros((2 * count, count + 1), dtype=np.int64)
    steps = compiled(play)(w, order, np.array(begins), ends, seen.reshape(-1))
    instants = [
        (int(line[0]), {flow: int(rate) for flow, rate in enumerate(line[1:]) if rate}) for line in seen[:steps]
    ]
    return instants, ends.tolist(), int(w[W.STATUS]), int(w[W.FAULT])


def agree(capacities, routes, units, begins):
    instants, ends, status, _ = compiled_flows(capacities, routes, units, begins)
    assert status == RUNNING
    assert (instants, ends) == by_the_rule(capacities, routes, units, begins)


@st.composite
def networks(draw, capacity, most_units):
    """Capacities, routes, units and begins of some flows; few different numbers, so that there are ties."""
    count = draw(st.integers(1, 6))
    capacities = draw(st.lists(capacity, min_size=count, max_size=count))
    route = st.lists(st.integers(0, count - 1), min_size=1, max_size=4, unique=True)
    routes = draw(st.lists(route, min_size=1, max_size=9))
    units = draw(st.lists(st.integers(1, 40) | st.integers(1, most_units), min_size=len(routes), max_size=len(routes)))
    begins = draw(st.lists(st.integers(0, 3) | st.integers(0, 2**30), min_size=len(routes), max_size=len(routes)))
    return capacities, routes, units, begins


SMALL = st.sampled_from([10, 11, 12, 13, 20, 21, 60])
LARGE = st.sampled_from([2**40, 2**40, 2**40 // 3, 2**41 + 1]) | st.integers(2**30, 2**61)


@given(networks(SMALL, 2**15) | networks(SMALL | LARGE, 2**15) | networks(LARGE, 2**40))
@settings(max_examples=100, deadline=None, derandomize=True)
@example(([2 * 2**40] * 2, [[1, 0], [1], [0, 1]], [31, 35, 36], [3, 3, 1]))  # ending one reorders the list of another
@example(([5 * 2**40, 2 * 2**40], [[0], [0, 1]], [10, 10], [0, 0]))
@example(([13, 6], [[0, 1], [0], [0]], [10, 20, 30], [0, 0, 5]))
def test_flows_follow_the_rule_on_any_links(network):
    agree(*network)


@given(st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_flows_with_links_of_their_own_and_one_in_common_follow_the_rule(data):
    """The case that goes up a sorted list: limits below, at and above the common link's level."""
    count = data.draw(st.integers(2, 12))
    own = data.draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
    common = data.draw(st.integers(count, 80))
    scale = data.draw(st.sampled_from([1, 2**38, 2**40]))
    capacities = [scale * rate for rate in own] + [scale * common + data.draw(st.integers(0, 3))]
    units = data.draw(st.lists(st.integers(1, 200), min_size=count, max_size=count))
    begins = data.draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    agree(capacities, [[flow, count] for flow in range(count)], units, begins)


def test_a_tie_between_a_link_of_its_own_and_a_common_one_fixes_both_flows_at_once():
    """Capacity 5 for two flows, one of which may have 2: q = 2 for both, one unit of capacity stays unused."""
    instants, *_ = compiled_flows([5, 2], [[0], [0, 1]], [10, 10], [0, 0])
    assert instants[0] == (0, {0: 2, 1: 2})


def test_the_textbook_line():
    """Three links in a row, one flow over all and one on each (Bertsekas and Gallager 1992, section 6.5)."""
    one = 2**40
    instants, *_ = compiled_flows([one, 2 * one, 4 * one], [[0, 1, 2], [0], [1], [2]], [10**9] * 4, [0] * 4)
    assert instants[0] == (0, {0: one // 2, 1: one // 2, 2: 3 * one // 2, 3: 7 * one // 2})


def test_more_flows_than_units_of_capacity_are_an_error_of_the_first_such_link():
    *_, status, fault = compiled_flows([9, 1, 1], [[0], [0, 2], [2], [1], [1]], [1] * 5, [0] * 5)
    assert (status, fault) == (NO_RATE, 1)


def wide(rate: int, since: int, ticks: int) -> int:
    """Kernel: what is delivered in so many ticks."""
    return delivered(rate, since, since + ticks)


def inverse(units: int, rate: int, since: int) -> int:
    """Kernel: the least number of ticks for so many units."""
    return ticks_until(units, rate, since)


@given(st.integers(1, 2**61), st.integers(0, 2**61), st.integers(0, 2**61))
@example(2**61, 2**61, 2**61)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_products_of_128_bits(rate, since, ticks):
    exact = (rate * (since + ticks) >> 40) - (rate * since >> 40)
    assert compiled(wide)(rate, since, ticks) % 2**64 == exact % 2**64


@given(st.integers(1, 2**60), st.integers(1, 2**61), st.integers(0, 2**62))
@example(2**60, 1, 0)
@example(1, 2**61, 2**62)
@example(2**24, 2**40, 1)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_least_tick_that_delivers_is_exact(units, rate, since):
    exact = -(-((units + (rate * since >> 40)) * 2**40) // rate) - since
    assert compiled(inverse)(units, rate, since) == min(exact, LAST)

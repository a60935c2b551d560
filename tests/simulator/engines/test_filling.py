"""Max-min rates: the rule word by word, and what leaves links or flows out without changing any rate."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engines.resources import Clock, FairLinks, Instant, Movements, Occurrence, deciding
from simulator.engines.resources import flows as flows_module
from simulator.engines.resources.flows import fill


def by_the_rule(capacities, routes):
    free, rates = list(capacities), [None] * len(routes)
    while None in rates:
        unfixed = [f for f, rate in enumerate(rates) if rate is None]
        on = {link: sum(link in routes[f] for f in unfixed) for link in range(len(free))}
        shares = {link: free[link] // count for link, count in on.items() if count}
        least = min(shares.values())
        for f in [f for f in unfixed if any(shares[link] == least for link in routes[f])]:
            rates[f] = least
            for link in routes[f]:
                free[link] -= least
    return rates


SMALL = st.integers(8, 40)


@st.composite
def networks(draw, capacity=SMALL):
    capacities = draw(st.lists(capacity, min_size=1, max_size=6))
    route = st.lists(st.integers(0, len(capacities) - 1), min_size=1, max_size=4, unique=True).map(tuple)
    return capacities, draw(st.lists(route, min_size=1, max_size=8))


@given(networks())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_filling_follows_the_rule(case):
    capacities, routes = case
    used = {link: capacities[link] for route in routes for link in route}
    found = fill(used, routes)
    assert [rate for rate, _ in found] == by_the_rule(capacities, routes)
    assert all(link in route for (_, link), route in zip(found, routes, strict=True))
    by_link = {}
    assert all(by_link.setdefault(link, rate) == rate for rate, link in found)


@given(networks(), st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
@pytest.mark.slow
def test_links_that_never_decide_change_no_rate(case, data):
    """Whatever part of the routes is in use."""
    capacities, routes = case
    kept = deciding(routes, capacities)
    in_use = data.draw(st.sets(st.integers(0, len(routes) - 1), min_size=1))
    assert all(kept)
    full, short = [routes[i] for i in in_use], [kept[i] for i in in_use]
    assert by_the_rule(capacities, full) == by_the_rule(capacities, short)


UNIT = 2**40
"""Capacity that delivers one unit per tick."""


@pytest.mark.slow
@given(
    networks(st.integers(8, 40).map(lambda c: c * UNIT // 8 + 3) | st.sampled_from([UNIT, 2 * UNIT, 2 * UNIT + 1])),
    st.data(),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_hubs_and_clocks_end_flows_as_ticks_one_by_one_do(case, data):
    """A star's backbone makes hubs; random routes make everything else."""
    capacities, routes = case
    if data.draw(st.booleans()):
        routes = [(len(capacities) - 1, i) for i in range(len(capacities) - 1)] or routes
    begins = [data.draw(st.integers(0, 12)) for _ in routes]
    units = [data.draw(st.integers(1, 30)) for _ in routes]
    assert engine_ends(capacities, routes, begins, units) == ends_tick_by_tick(capacities, routes, begins, units)


def engine_ends(capacities, routes, begins, units):
    env = Clock()
    count = range(len(routes))
    movements = Movements(begins, units, list(count), routes)
    links = FairLinks(env, Instant(env), movements, deciding(routes, capacities), capacities=capacities, name_of=str)
    found = [0 for _ in count]
    for row in count:
        done = Occurrence(env)
        done.callbacks.append(lambda _event, row=row: found.__setitem__(row, env.now))
        links.start(row, done)
    env.run()
    return found


def ends_tick_by_tick(capacities, routes, begins, units):
    left, found, rates, now = list(units), [0] * len(routes), {}, 0
    while 0 in found:
        for f, rate in rates.items():
            left[f] -= (rate * now >> 40) - (rate * (now - 1) >> 40)
            if left[f] <= 0:
                found[f] = now
        present = [f for f in range(len(routes)) if begins[f] <= now and not found[f]]
        rates = dict(zip(present, by_the_rule(capacities, [routes[f] for f in present]), strict=True))
        now += 1
    return found


def test_hubs_are_found():
    """So that the test above looks at them."""
    seen = []
    fill_hub = flows_module._fill_hub
    try:
        flows_module._fill_hub = lambda hub, begun: seen.append(hub.number) or fill_hub(hub, begun)
        engine_ends([UNIT, UNIT, UNIT], [(2, 0), (2, 1)], [0, 0], [5, 9])
    finally:
        flows_module._fill_hub = fill_hub
    assert seen == [2, 2]

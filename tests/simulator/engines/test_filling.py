"""Max-min fair flows over any links: when each ends in both engines is when it ends by the rule, tick by tick."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Listed, Network
from simulator.platform.nodes import PE, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Delay, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw as drawn
from tests.support.platforms import flat


def by_the_rule(capacities, routes):
    """Rates: those of the link that leaves the least share are fixed, and so on with what is left."""
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


def ends_tick_by_tick(bandwidths, routes, begins, sizes):
    """A byte is 2^10 units, of which a link of 1 byte per tick delivers 2^50 in 2^40 ticks."""
    capacities, left = [round(one * 2**50) for one in bandwidths], [size << 10 for size in sizes]
    ends, rates, now = [0] * len(routes), {}, 0
    while 0 in ends:
        for f, rate in rates.items():
            left[f] -= (rate * now >> 40) - (rate * (now - 1) >> 40)
            if left[f] <= 0:
                ends[f] = now
        present = [f for f in range(len(routes)) if begins[f] <= now and not ends[f]]
        rates = dict(zip(present, by_the_rule(capacities, [routes[f] for f in present]), strict=True))
        now += 1
    return ends


def scenario(bandwidths, routes, begins, sizes):
    """Each flow from a node of its own to another one."""
    count = len(routes)
    names = tuple(f"n{place}" for place in range(2 * count))
    links = tuple(Link(f"link{place}", 0.0, one, shared=True) for place, one in enumerate(bandwidths))
    ways = {(f, count + f): tuple(2 * link for link in route) for f, route in enumerate(routes)}
    network = Network(Listed(names, links, ways), loopback=LinkModel.from_latency(1.0, 1.0), contention="fair")
    platform = Platform(tuple(PE(name, name, {"k": flat(1)}) for name in names), network)
    senders = [(Delay(begin), Send(count + f, size)) for f, (begin, size) in enumerate(zip(begins, sizes, strict=True))]
    program = Program((*senders, *((Recv(f),) for f in range(count))), (0,) * 2 * count)
    placed = Configuration("c", (1,) * 2 * count, tuple(range(2 * count)))
    return Scenario(platform, Application.of_program(program, kernel="k"), (placed,), 1)


@st.composite
def cases(draw):
    """Several flows at once; few different bandwidths, so that there are ties."""
    slow = st.sampled_from([0.7, 1.0, 1.0, 2.0, 3.0])
    if draw(st.booleans()):  # a link of its own for each flow, and a common one
        own = draw(st.lists(slow, min_size=2, max_size=7))
        bandwidths = [*own, draw(st.sampled_from([2.0, 4.0, 7.0]))]
        routes = [(len(own), place) for place in range(len(own))]
    else:
        bandwidths = draw(st.lists(slow, min_size=3, max_size=6))
        route = st.lists(st.integers(0, len(bandwidths) - 1), min_size=2, max_size=3, unique=True).map(tuple)
        routes = draw(st.lists(route, min_size=3, max_size=8))
    begins = [draw(st.integers(0, 5)) for _ in routes]
    return bandwidths, routes, begins, [draw(st.integers(5, 30)) for _ in routes]


def check(case):
    made = scenario(*case)
    for engine in (process, compiled):
        found = engine.run(made, drawn(made), tick_s=1.0).finish_ticks[0][0]
        assert found[: len(case[1])].tolist() == ends_tick_by_tick(*case)


@given(cases())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_flows_end_as_the_rule_says(case):
    check(case)


@pytest.mark.slow
@given(cases())
@settings(max_examples=500, deadline=None)
def test_hundreds_of_flows_end_as_the_rule_says(case):
    check(case)

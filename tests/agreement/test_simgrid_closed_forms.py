"""SimGrid's own answers on cases that can be done by hand: what its semantics are, and that our bridge to it is right.

The README beside the interpreter states these semantics in words. Not collected where SimGrid is not installed.
"""

import numpy as np
import pytest

from tests.agreement.simgrid import (
    EQUAL_WEIGHTS,
    SimGridError,
    bandwidth,
    compute,
    host,
    link,
    process,
    recv,
    route,
    run_simgrid,
    send,
    sleep,
    speed,
    star,
)

pytestmark = pytest.mark.slow  # the oracle has to be compiled first

EXACT = 1e-12


def two_hosts(*links):
    """Hosts a and b and one way from a to b over these links."""
    return [host("a", 1e9), host("b", 1e9), *links, route("a", "b", [line.split()[1] for line in links])]


def message(number, size_bytes, before=()):
    """Processes s<number> on a and r<number> on b: one message."""
    sender = process(f"s{number}", "a", [*before, send(f"r{number}", size_bytes)])
    return [*sender, *process(f"r{number}", "b", [recv(f"s{number}")])]


# CPU


def test_one_host_with_a_stepped_profile():
    """A half from 1 s on, a tenth from 2 s on. 120 flop from 0.5 s on: 50 until 1 s, 50 until 2 s, 20 at 10 flop/s."""
    lines = [host("a", 100.0), speed("a", [1.0, 2.0], [0.5, 0.1])]
    run = run_simgrid([*lines, *process("p", "a", [compute(50.0), compute(120.0)])])
    assert run.ends_s["p"] == pytest.approx([0.5, 4.0], rel=EXACT)


def test_a_repeating_profile():
    """Period 4: full for 1 s, a half for 3 s; 2.5 s of work each. The second period's first second makes 1.0."""
    lines = [host("a", 100.0), speed("a", [0.0, 1.0], [1.0, 0.5], period_s=4.0)]
    run = run_simgrid([*lines, *process("p", "a", [compute(250.0), compute(250.0), compute(100.0)])])
    assert run.ends_s["p"] == pytest.approx([4.0, 8.0, 9.0], rel=EXACT)


def test_a_profile_that_starts_late_repeats_with_its_gap():
    """0.5 from 1 s to 3 s: with period 3 the second round changes at 4 s, and nothing resets the speed at 3 s."""
    lines = [host("a", 100.0), speed("a", [1.0, 2.0], [0.5, 1.0], period_s=3.0)]
    run = run_simgrid([*lines, *process("p", "a", [compute(350.0)])])
    assert run.makespan_s == pytest.approx(4.0, rel=EXACT)


def test_three_executions_on_two_cores_get_two_thirds_each():
    lines = [host("a", 100.0, cores=2)]
    for p, flops in enumerate([100.0, 200.0, 300.0]):
        lines += process(f"p{p}", "a", [compute(flops)])
    assert run_simgrid(lines).finish_s == pytest.approx({"p0": 1.5, "p1": 2.5, "p2": 3.5}, rel=EXACT)


def test_cores_and_profile_together():
    """Half speed from 1 s on: 2 cores x 100 shared by 3 (66.7 each) until then, 33.3 each afterwards."""
    lines = [host("a", 100.0, cores=2), speed("a", [1.0], [0.5])]
    for p in range(3):
        lines += process(f"p{p}", "a", [compute(100.0)])
    assert run_simgrid(lines).makespan_s == pytest.approx(2.0, rel=EXACT)


def test_sleeping_uses_no_core():
    lines = [host("a", 100.0), *process("p", "a", [compute(100.0)]), *process("q", "a", [sleep(0.5), compute(50.0)])]
    assert run_simgrid(lines).finish_s == pytest.approx({"p": 1.5, "q": 1.5}, rel=EXACT)


# Messages


def test_one_message_takes_latency_and_bytes_over_the_narrowest_bandwidth():
    lines = two_hosts(link("l", 1e6, 0.25), link("m", 4e5, 0.5))
    assert run_simgrid([*lines, *message(0, 1_000_000)]).makespan_s == pytest.approx(0.75 + 2.5, rel=EXACT)


def test_a_message_starts_when_both_are_there_and_both_leave_when_it_ends():
    lines = two_hosts(link("l", 1e6, 0.25))
    late_receiver = [*process("s", "a", [send("r", 10**6)]), *process("r", "b", [sleep(2.0), recv("s")])]
    late_sender = [*process("s", "a", [sleep(3.0), send("r", 10**6)]), *process("r", "b", [recv("s")])]
    assert run_simgrid([*lines, *late_receiver]).finish_s == pytest.approx({"s": 3.25, "r": 3.25}, rel=EXACT)
    assert run_simgrid([*lines, *late_sender]).finish_s == pytest.approx({"s": 4.25, "r": 4.25}, rel=EXACT)


def test_two_flows_share_a_link_equally_once_their_latency_is_over():
    """Alone from 0.25 s; together from 1.25 s, 1 MB left of the first and 0.5 MB of the second at 0.5 MB/s each."""
    lines = two_hosts(link("l", 1e6, 0.25))
    run = run_simgrid([*lines, *message(0, 2_000_000), *message(1, 500_000, [sleep(1.0)])])
    assert run.finish_s == pytest.approx({"s0": 2.75, "r0": 2.75, "s1": 2.25, "r1": 2.25}, rel=EXACT)


def test_a_link_of_its_own_each_way_and_one_for_both_ways():
    ways = [host("a", 1e9), host("b", 1e9), link("up", 1e6), link("down", 1e6)]
    there = message(0, 10**6)
    back = [*process("s1", "b", [send("r1", 10**6)]), *process("r1", "a", [recv("s1")])]
    duplex = [*ways, route("a", "b", ["up"]), route("b", "a", ["down"])]
    shared = [*ways, route("a", "b", ["up"]), route("b", "a", ["up"])]
    assert run_simgrid([*duplex, *there, *back]).makespan_s == pytest.approx(1.0, rel=EXACT)
    assert run_simgrid([*shared, *there, *back]).makespan_s == pytest.approx(2.0, rel=EXACT)


def test_a_fatpipe_gives_each_flow_all_of_it():
    lines = two_hosts(link("l", 1e6, 0.25, shared=False))
    assert run_simgrid([*lines, *message(0, 10**6), *message(1, 10**6)]).makespan_s == pytest.approx(1.25, rel=EXACT)


def test_max_min_over_two_bottlenecks():
    """Flow 1 is held to 1 MB/s by its own link; the others share the remaining 5 MB/s of the backbone."""
    lines = [host("b", 1e9), link("backbone", 6e6, 0.5)]
    for h, capacity in enumerate([1e6, 9e6, 9e6]):
        lines += [host(f"h{h}", 1e9), link(f"l{h}", capacity), route(f"h{h}", "b", [f"l{h}", "backbone"])]
        lines += process(f"s{h}", f"h{h}", [send(f"r{h}", 2_500_000)])
        lines += process(f"r{h}", "b", [recv(f"s{h}")])
    run = run_simgrid(lines)
    assert [run.finish_s[f"s{h}"] for h in range(3)] == pytest.approx([3.0, 1.5, 1.5], rel=EXACT)


def test_shares_go_by_the_inverse_of_latency_unless_weights_are_made_equal():
    """1 MB each over 1 MB/s, latencies 0.1 and 0.3 s: by itself SimGrid gives them three quarters and a quarter."""
    lines = [host("a", 1e9), host("b", 1e9), host("c", 1e9), link("l", 1e6)]
    lines += [link("near", 1e9, 0.1), link("far", 1e9, 0.3)]
    lines += [route("a", "b", ["l", "near"]), route("a", "c", ["l", "far"])]
    lines += process("s0", "a", [send("r0", 10**6)]) + process("r0", "b", [recv("s0")])
    lines += process("s1", "a", [send("r1", 10**6)]) + process("r1", "c", [recv("s1")])
    weighted, equal = run_simgrid(lines).finish_s, run_simgrid([EQUAL_WEIGHTS, *lines]).finish_s
    near_end = 0.3 + (1.0 - 0.2) / 0.75
    assert weighted["s0"] == pytest.approx(near_end, rel=EXACT)
    assert weighted["s1"] == pytest.approx(0.3 + 1.8, rel=EXACT)
    assert equal["s0"] == pytest.approx(0.3 + 0.8 / 0.5, rel=EXACT)
    assert equal["s1"] == pytest.approx(2.1, rel=EXACT)


def test_equal_weights_change_nothing_where_latencies_are_equal_or_none():
    for latency_s in (0.0, 0.25):
        lines = two_hosts(link("l", 1e6, latency_s))
        lines += message(0, 2_000_000) + message(1, 500_000, [sleep(1.0)])
        assert run_simgrid([EQUAL_WEIGHTS, *lines]).ends_s == run_simgrid(lines).ends_s


def test_a_bandwidth_profile_acts_on_a_message_under_way():
    lines = [*two_hosts(link("l", 1e6, 0.5)), bandwidth("l", [1.0], [2.5e5])]
    assert run_simgrid([*lines, *message(0, 10**6)]).makespan_s == pytest.approx(3.0, rel=EXACT)


def test_messages_of_one_pair_and_tag_match_in_order_and_tags_do_not_mix():
    lines = two_hosts(link("l", 1e6))
    lines += process("s", "a", [send("r", 10**6, 7)]) + process("t", "a", [send("r", 2 * 10**6, 8)])
    lines += process("r", "b", [recv("t", 8), recv("s", 7)])
    assert run_simgrid(lines).ends_s["r"] == pytest.approx([2.0, 3.0], rel=EXACT)


def test_a_star_with_a_backbone():
    """Three senders to three receivers, 10 MB/s each privately, 6 MB/s together."""
    names = [f"h{h}" for h in range(6)]
    lines = [host(name, 1e9) for name in names] + star(names, [1e7] * 6, 0.5, backbone=6e6)
    for h in range(3):
        lines += process(f"p{h}", f"h{h}", [send(f"p{h + 3}", 10**6)])
        lines += process(f"p{h + 3}", f"h{h + 3}", [recv(f"p{h}")])
    assert run_simgrid(lines).makespan_s == pytest.approx(1.0, rel=EXACT)


def test_processes_on_one_host_use_a_loopback_of_ten_gigabytes_per_second_without_latency():
    lines = [host("a", 1e9), *process("s", "a", [send("r", 10**9)]), *process("r", "a", [recv("s")])]
    assert run_simgrid(lines).makespan_s == pytest.approx(0.1, rel=EXACT)
    own = [host("a", 1e9), link("l", 1e9, 0.5), route("a", "a", ["l"]), *lines[1:]]
    assert run_simgrid(own).makespan_s == pytest.approx(1.5, rel=EXACT)


def test_flows_that_begin_with_one_link_at_one_instant_keep_to_their_other_links():
    """SimGrid 3.32's default (network/optim:Lazy) forgets the narrow link of the second; the interpreter must not."""
    names = ["h0", "h1", "h2", "h3"]
    lines = [host(name, 1e9) for name in names] + star(names, [8e8, 5e7, 6e8, 5e8], 0.01, backbone=1e9)
    lines += process("p0", "h2", [recv("p1")]) + process("p1", "h3", [send("p0", 45 * 10**6)])
    lines += process("p3", "h1", [recv("p5")]) + process("p5", "h3", [send("p3", 10**7)])
    run = run_simgrid(lines)
    assert run.finish_s["p5"] == pytest.approx(0.01 + 1e7 / 5e7, rel=EXACT)
    assert run.finish_s["p1"] == pytest.approx(0.01 + 4.5e7 / 4.5e8, rel=EXACT)


def water_filling(capacities, routes):
    """Max-min fair rates by the textbook: all rates rise together until a link is full."""
    rates, left = np.zeros(len(routes)), np.array(capacities)
    active = set(range(len(routes)))
    while active:
        counts = np.array([sum(k in routes[f] for f in active) for k in range(len(left))])
        rise = min(left[k] / counts[k] for k in range(len(left)) if counts[k])
        left = left - rise * counts
        full = {k for k in range(len(left)) if counts[k] and left[k] <= 1e-9 * capacities[k]}
        for f in list(active):
            rates[f] += rise
            if full & set(routes[f]):
                active.discard(f)
    return rates


@pytest.mark.parametrize("seed", range(20))
def test_random_flows_share_by_water_filling(seed):
    """The flow that ends first tells its rate; sizes in proportion to the textbook's rates end all at once."""
    rng = np.random.default_rng(seed)
    links, flows = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    capacities = rng.uniform(1e5, 1e8, links)
    routes = [list(rng.permutation(links)[: rng.integers(1, links + 1)]) for _ in range(flows)]
    rates = water_filling(capacities, routes)
    lines = [EQUAL_WEIGHTS] + [link(f"l{k}", c.item()) for k, c in enumerate(capacities)]
    for f, crossed in enumerate(routes):
        lines += [host(f"a{f}", 1e9), host(f"b{f}", 1e9), route(f"a{f}", f"b{f}", [f"l{k}" for k in crossed])]
        lines += process(f"s{f}", f"a{f}", [send(f"r{f}", round(1000 * rates[f]))])
        lines += process(f"r{f}", f"b{f}", [recv(f"s{f}")])
    assert list(run_simgrid(lines).finish_s.values()) == pytest.approx([1000.0] * 2 * flows, rel=1e-6)


# What goes wrong


def test_a_deadlock_and_a_bad_line_are_errors():
    with pytest.raises(SimGridError, match="p waits for ever in operation 0"):
        run_simgrid([host("a", 1.0), *process("p", "a", [recv("q")])])
    with pytest.raises(SimGridError, match="line 2: speed missing or not understood"):
        run_simgrid("# one\nhost a x 1")
    with pytest.raises(SimGridError, match="line 3: host: no b"):
        run_simgrid([host("a", 1.0), link("l", 1.0), route("a", "b", ["l"])])

"""What a makespan waits for, by hand and as a sum that must come out."""

import pytest
from hypothesis import assume, given, settings

from simulator.base.errors import ApportionError
from simulator.engines import process
from simulator.engines.waited_for import Part, waited_for
from simulator.platform.networks import Link
from simulator.platform.nodes import Node
from simulator.programs.program import Barrier, Compute, Delay, ReadWrite, Recv, Send
from tests.support.programs import scenarios
from tests.support.rules import EAGER, TICK, build, simulate, star


def parts(rows, **options):
    return list(waited_for(build(rows, **options), simulate(rows, **options), 0, 0).parts)


def test_computing_counts_for_its_pe_and_messages_for_the_network():
    rows = [[Compute(5, 1), Send(1, 4)], [Compute(2, 1), Recv(0), Compute(3, 1)]]
    assert parts(rows) == [
        Part("computing", "pe0", 5.0, 0.0, 1),
        Part("message", "the network", 5.0, 0.0, 1),
        Part("computing", "pe1", 3.0, 0.0, 1),
    ]


def test_barriers_take_no_time_and_sleep_is_no_computing():
    rows = [[Compute(5, 1), Barrier(), Compute(1, 1)], [Delay(8), Barrier(), Compute(2, 1)]]
    assert parts(rows) == [Part("asleep", "pe1", 8.0, 0.0, 1), Part("computing", "pe1", 2.0, 0.0, 1)]


def test_a_message_alone_counts_for_the_slowest_link_of_its_route():
    rows = [[Send(1, 12)], [Recv(0)]]
    for contention in ("none", "fifo"):
        assert parts(rows, network=star([4, 3], contention=contention)) == [
            Part("message", "link1 (down)", 4.0, 0.0, 1)
        ]


def test_messages_that_share_a_link_count_for_it_and_were_held_up():
    backbone = star([9, 9, 9, 9], contention="fair", backbone=6)
    crossing = [[Send(1, 36)], [Recv(0)], [Send(3, 36)], [Recv(2)]]
    assert parts(crossing, network=backbone) == [Part("message", "backbone", 12.0, 5.0, 1)]


def test_a_disk_is_told_by_its_name():
    nodes = (Node("n0", disk=Link("scratch", 0.0, 2.0)),)
    assert parts([[ReadWrite(8)]], network=star([1], contention="fifo"), nodes=nodes) == [
        Part("disk", "scratch", 4.0, 0.0, 1)
    ]


def test_messages_begin_when_both_are_ready_or_at_once():
    rows = [[Compute(2, 1), Send(1, 5)], [Compute(4, 1), Recv(0)]]
    for network, start in ((None, 4), (EAGER, 2)):
        options = {} if network is None else {"network": network}
        (message,) = waited_for(build(rows, **options), simulate(rows, **options), 0, 0).messages
        assert (message.sender, message.receiver, message.size_bytes) == (0, 1, 5.0)
        assert (message.start_ticks, message.end_ticks) == (start, start + 6)


@given(scenarios())
@settings(max_examples=25, deadline=None, derandomize=True)
@pytest.mark.slow
def test_the_parts_add_up_to_the_makespan(case):
    made, draws = case
    try:
        runs = process.run(made, draws, tick_s=TICK, log_replications=1)
    except ApportionError:
        assume(False)
    for place in range(len(made.configurations)):
        found = waited_for(made, runs, place, 0).parts
        assert sum(part.seconds for part in found) == int(runs.makespan_ticks[place, 0])
        assert all(0 <= part.held_up_s <= part.seconds for part in found)

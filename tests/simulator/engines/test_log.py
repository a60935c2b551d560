"""What logs tell, by hand and as sums that must come out."""

import pytest
from hypothesis import assume, given, settings

from simulator.base.errors import ApportionError
from simulator.engines import process
from simulator.engines.log import critical_path, waits_by_pe
from simulator.programs.program import ANY, Barrier, Compute, Delay, Recv, Send
from tests.support.programs import scenarios
from tests.support.rules import EAGER, TICK, build, simulate


def path(rows, **options):
    """Process, operation and its part of the critical path."""
    runs = simulate(rows, **options)
    return [
        (step.operation.process, step.operation.operation, step.from_ticks, step.to_ticks)
        for step in critical_path(build(rows, **options), runs, 0, 0)
    ]


def test_the_critical_path_goes_to_who_came_last():
    rows = [[Compute(5, 1), Send(1, 4)], [Compute(2, 1), Recv(0), Compute(3, 1)]]
    assert path(rows) == [(0, "compute", 0, 5), (1, "recv", 5, 10), (1, "compute", 10, 13)]
    rows = [[Compute(5, 1), Send(1, 4)], [Compute(7, 1), Recv(0), Compute(3, 1)]]
    assert path(rows) == [(1, "compute", 0, 7), (1, "recv", 7, 12), (1, "compute", 12, 15)]


def test_the_critical_path_goes_to_the_last_at_a_barrier():
    rows = [[Compute(5, 1), Barrier(), Compute(1, 1)], [Delay(8), Barrier(), Compute(2, 1)]]
    assert path(rows) == [(1, "delay", 0, 8), (1, "barrier", 8, 8), (1, "compute", 8, 10)]


def test_the_critical_path_goes_along_an_eager_message_under_way():
    rows = [[Compute(2, 1), Send(1, 5)], [Compute(4, 1), Recv(0)]]
    assert path(rows, network=EAGER) == [(0, "compute", 0, 2), (1, "recv", 2, 8)]
    rows = [[Compute(2, 1), Send(1, 5)], [Compute(9, 1), Recv(0)]]
    assert path(rows, network=EAGER) == [(1, "compute", 0, 9)]


def test_the_critical_path_knows_what_anyone_sent():
    rows = [[Recv(ANY), Recv(ANY)], [Delay(9), Send(0, 1)], [Delay(3), Send(0, 1)]]
    assert path(rows) == [(1, "delay", 0, 9), (0, "recv", 9, 11)]


def test_who_waits_for_whom():
    rows = [[Compute(5, 1), Send(1, 4), Barrier()], [Compute(2, 1), Recv(0), Compute(3, 1), Barrier()]]
    assert waits_by_pe(build(rows), simulate(rows), 0, 0) == {("pe1", "pe0"): 3.0, ("pe0", "pe1"): 3.0}
    rows = [[Compute(2, 1), Send(1, 4)], [Compute(7, 1), Recv(0)]]
    assert waits_by_pe(build(rows), simulate(rows), 0, 0) == {("pe0", "pe1"): 5.0}


@given(scenarios())
@settings(max_examples=30, deadline=None, derandomize=True)
@pytest.mark.slow
def test_sums_come_out(case):
    """A critical path covers the run without a gap."""
    made, draws = case
    try:
        runs = process.run(made, draws, tick_s=TICK, log_replications=1)
    except ApportionError:
        assume(False)
    for place in range(len(made.configurations)):
        makespan = int(runs.makespan_ticks[place, 0])
        steps = critical_path(made, runs, place, 0)
        edges = [0, *(step.to_ticks for step in steps)]
        assert [step.from_ticks for step in steps] == edges[:-1]
        assert edges[-1] == makespan

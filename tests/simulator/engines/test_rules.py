"""Each rule of a simulated program by hand, in both engines: ticks of 1 s, speeds of 1 per second, few operations."""

from functools import partial

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ScenarioError, SimulationError, TraceError
from simulator.engines import process
from simulator.engines.compiled import direct, workspace
from simulator.engines.compiled import run as compiled
from simulator.engines.costs import LAST_TICK, ServiceTable
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.platform.networks import Link
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    Barrier,
    Compute,
    Custom,
    Delay,
    Exchange,
    Farm,
    Program,
    ReadWrite,
    Recv,
    Send,
    WaitUntil,
)
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.platforms import flat
from tests.support.rules import EAGER, simulate, star


@pytest.fixture(params=["process", "compiled", "compiled, general path alone"])
def ran(request, monkeypatch):
    """A program's run by either engine, the compiled one also on the path that takes every program."""
    if request.param.endswith("alone"):
        monkeypatch.setattr(direct, "takes", lambda *_: False)
    return partial(simulate, engine=process if request.param == "process" else compiled)


@pytest.fixture
def ends(ran):
    """End of every operation, by process."""
    return lambda rows, **options: ends_of(rows, ran(rows, **options))


def ends_of(rows, runs):
    found = [[] for _ in rows]
    for entry in runs.logs[0, 0]:
        found[entry.process].append(entry.end_ticks)
    return found


@pytest.fixture
def lines(ran):
    def faults(rows, **options):
        with pytest.raises(SimulationError) as caught:
            ran(rows, **options)
        return caught.value.lines

    return faults


def one_pe(**fields):
    return [PE("pe", "n", {"k": flat(1)}, **fields)]


# Matching and the ends of messages


def test_rendezvous_waits_for_both(ends):
    assert ends([[Send(1, 4)], [Delay(3), Recv(0)]]) == [[8], [3, 8]]
    assert ends([[Delay(3), Send(1, 4)], [Recv(0)]]) == [[3, 8], [8]]


def test_an_eager_sender_goes_on_and_its_message_is_under_way(ends):
    rows = [[Send(1, 5), Compute(2, 1)], [Delay(3), Recv(0), Delay(4)]]
    assert ends(rows, network=EAGER) == [[0, 2], [3, 6, 10]]
    assert ends([[Send(1, 5)], [Delay(8), Recv(0)]], network=EAGER) == [[0], [8, 8]]
    assert ends([[Delay(2), Send(1, 5)], [Recv(0)]], network=EAGER) == [[2, 2], [8]]
    assert ends([[Send(1, 6)], [Delay(8), Recv(0)]], network=EAGER) == [[15], [8, 15]]


def test_tags_keep_messages_apart_and_channels_keep_their_order(ends):
    rows = [[Send(1, 1, 7), Send(1, 3, 8), Send(1, 5, 7)], [Recv(0, 8), Recv(0, 7), Recv(0, 7)]]
    assert ends(rows, network=EAGER)[1] == [4, 4, 6]


def test_from_anyone_takes_the_earliest_then_the_least_sender(ends):
    rows = [[Recv(ANY), Recv(ANY), Recv(ANY)], [Delay(2), Send(0, 9)], [Delay(1), Send(0, 19)], [Delay(2), Send(0, 4)]]
    assert ends(rows) == [[21, 31, 36], [2, 31], [1, 21], [2, 36]]


def test_from_anyone_ends_a_tick_after_the_grant_at_the_earliest(ends):
    rows = [[Delay(9), Recv(ANY), Recv(1)], [Send(0, 1), Send(0, 1)]]
    assert ends(rows, network=EAGER)[0] == [9, 10, 10]
    assert ends([[Recv(ANY)], [Delay(9), Send(0, 1)]], network=EAGER)[0] == [11]


def test_an_exchange_ends_when_both_directions_have(ends):
    assert ends([[Exchange(1, 1, 4)], [Delay(2), Exchange(0, 0, 9)]]) == [[12], [2, 12]]
    ring = [[Exchange(1, 2, 1)], [Exchange(2, 0, 5)], [Delay(3), Exchange(0, 1, 2)]]
    assert ends(ring) == [[6], [9], [3, 9]]
    assert ends([[Exchange(1, 1, 4)], [Exchange(0, 0, 9)]], network=EAGER) == [[10], [10]]


def test_more_eager_messages_than_slots_at_first(ends, monkeypatch):
    monkeypatch.setattr(workspace, "FEW_SLOTS", 1)
    assert ends([[Send(1, 5)] * 50, [Delay(9), *[Recv(0)] * 50]], network=EAGER) == [[0] * 50, [9] * 51]


# Links


def test_a_bus_carries_one_message_at_a_time_in_the_order_of_processes(ends):
    rows = [[Send(3, 20)], [Send(4, 30)], [Send(5, 10)], [Recv(0)], [Recv(1)], [Recv(2)]]
    found = ends(rows, network=star([100] * 6, contention="fifo", backbone=1))
    assert found[:3] == [[20], [50], [60]]
    assert ends(rows, network=star([100] * 6, contention="none", backbone=1))[:3] == [[20], [30], [10]]


def test_nobody_overtakes_on_a_link_that_one_before_him_waits_for(ends):
    """0 holds its way out until 10; its second message, to 2, stands before that of 3, whose links are free."""
    network = star([1] * 4, contention="fifo", eager_bytes=99)
    rows = [[Send(1, 10), Send(2, 10)], [Recv(0)], [Recv(0), Recv(3)], [Delay(1), Send(2, 10)]]
    assert ends(rows, network=network) == [[0, 0], [10], [20, 30], [1, 1]]


def test_a_link_is_granted_in_the_instant_in_which_it_is_free(ends):
    network = star([1, 1, 1], contention="fifo")
    rows = [[Send(2, 10)], [Send(2, 10)], [Recv(0), Recv(1)]]
    assert ends(rows, network=network) == [[10], [20], [10, 20]]


def test_two_flows_share_a_link_and_one_gets_the_rest(ends):
    rows = [[Send(2, 10)], [Send(3, 20)], [Recv(0)], [Recv(1)]]
    assert ends(rows, network=star([100] * 4, contention="fair", backbone=1))[:2] == [[20], [30]]
    late = [[Send(2, 10)], [Delay(6), Send(3, 20)], [Recv(0)], [Recv(1)]]
    assert ends(late, network=star([100] * 4, contention="fair", backbone=1))[:2] == [[14], [6, 30]]


def test_what_is_chosen_for_anyone_asks_for_its_links_in_the_same_instant(ends):
    for contention in ("fifo", "fair"):
        assert ends([[Recv(ANY)], [Send(0, 4)]], network=star([1, 1], contention=contention)) == [[4], [4]]


def test_latency_comes_before_the_flow(ends):
    found = ends([[Send(1, 10)], [Recv(0)]], network=star([1, 1], contention="fair", latency_s=2.0))
    assert found == [[14], [14]]
    empty = ends([[Send(1, 0)], [Recv(0)]], network=star([1, 1], contention="fair", latency_s=2.0))
    assert empty == [[4], [4]]


def test_three_flows_on_two_links_are_max_min_fair(ends):
    """Links of 1 and 2: the flow over both and the other one on the first get 1/2, the third one 3/2."""
    network = star([1, 2, 100, 100], contention="fair", eager_bytes=99)
    rows = [[Send(1, 10), Send(2, 10)], [Recv(0), Recv(3)], [Recv(0)], [Send(1, 30)]]
    assert ends(rows, network=network) == [[0, 0], [20, 20], [20], [0]]


def test_processes_of_one_node_pass_the_loopback(ends):
    pes = [PE(name, "n", {"k": flat(1)}) for name in "ab"] + [PE("c", "m", {"k": flat(1)})]
    found = ends([[Send(1, 4)], [Recv(0)], []], pes=pes, network=star([1, 1], contention="fifo"))
    assert found == [[5], [5], []]


def test_a_disk_is_a_link_of_its_node(ends):
    pes = one_pe()
    nodes = [Node("n", disk=Link("disk", 2.0, 1.0))]
    rows = [[ReadWrite(10)], [ReadWrite(10), Compute(1, 1)]]
    options = {"pes": pes, "nodes": nodes, "placement": (0, 0)}
    assert ends(rows, **options, network=star([1], contention="fifo")) == [[12], [24, 25]]
    assert ends(rows, **options, network=star([1], contention="fair")) == [[22], [22, 23]]
    assert ends(rows, **options, network=star([1], contention="none")) == [[12], [12, 13]]


# PEs


def test_cores_run_processes_side_by_side(ends):
    two, three = [[Compute(10, 1)]] * 2, [[Compute(10, 1)]] * 3
    assert ends(two, pes=one_pe()) == [[20], [20]]
    assert ends(two, pes=one_pe(cores=2)) == [[10], [10]]
    assert ends(three, pes=one_pe(cores=2)) == [[15], [15], [15]]


def test_the_load_is_shared_with_by_the_number_of_our_processes(ends):
    """One competitor: alone we get 1/2, two of ours 1/3 each."""
    load = Load(LoadTrace(np.zeros(1), np.ones(1), 600.0), "fair")
    assert ends([[Compute(10, 1)]], pes=one_pe(load=load)) == [[20]]
    assert ends([[Compute(10, 1)], [Compute(15, 1)]], pes=one_pe(load=load)) == [[30], [40]]


@pytest.mark.parametrize("wait", [Recv(2), Exchange(2, 2, 5), Barrier((1, 2)), Send(2, 5)])
def test_who_polls_counts_as_runnable(wait, ends):
    pes = [*one_pe(), PE("other", "m", {"k": flat(1)})]
    answer = {Recv: Send(1, 5), Exchange: Exchange(1, 1, 5), Barrier: wait, Send: Recv(1)}[type(wait)]
    rows = [[Compute(10, 1)], [wait], [Delay(4), answer]]
    options = {"pes": pes, "placement": (0, 0, 1)}
    until = 4 if isinstance(wait, Barrier) else 10
    assert ends(rows, **options)[0] == [10]
    assert ends(rows, **options, polls=True)[0] == [10 + until // 2 if until == 4 else 15]


def test_pulls_poll_but_sleeping_and_disks_do_not(ends):
    nodes = [Node("n", disk=Link("disk", 0.0, 1.0))]
    options = {"pes": one_pe(), "placement": (0, 0), "polls": True, "network": star([1], contention="fifo")}
    assert ends([[Compute(10, 1)], [Farm(np.zeros(0), 1.0, pull_s=4.0, group=(1,))]], **options)[0] == [12]
    assert ends([[Compute(10, 1)], [Delay(4), WaitUntil(8), ReadWrite(4)]], **options, nodes=nodes)[0] == [10]


# Meetings and sleep


def test_a_barrier_ends_with_the_last_arrival(ends):
    rows = [[Delay(3), Barrier(), Compute(1, 1)], [Barrier(), Barrier((1,)), Compute(1, 1)]]
    assert ends(rows) == [[3, 3, 4], [3, 3, 4]]


def test_a_farm_hands_out_chunks_in_order_of_request_and_process(ran):
    """Pulls of 1: units 5, 1 to process 0 and 1, 1 to 1 at 0; 1 is back at 3 and takes the last one, 4."""
    farm = Farm(np.array([5.0, 1.0, 1.0, 1.0, 4.0]), 1.0, 2, 1.0)
    runs = ran([[farm], [farm]])
    assert [(entry.start_ticks, entry.end_ticks) for entry in runs.logs[0, 0]] == [(0, 8), (0, 9)]
    assert runs.busy_ticks[0].tolist() == [[6, 6]]
    assert runs.computed_ticks[0].tolist() == [[7, 8]]


def test_a_farm_without_work_costs_a_pull(ends):
    farm = Farm(np.zeros(0), 1.0, 1, 3.0)
    assert ends([[farm, farm], [farm, farm]]) == [[3, 6], [3, 6]]


def test_a_time_that_is_over_is_not_waited_for(ends):
    assert ends([[WaitUntil(5), WaitUntil(3), Delay(1), WaitUntil(6), WaitUntil(7)]]) == [[5, 5, 6, 6, 7]]


# Errors


def test_whoever_waits_in_a_deadlock_is_named_with_what_for(lines):
    rows = [[Recv(ANY, 3)], [Compute(1, 1), Barrier((1, 4))], [Exchange(0, 1, 4, 2)], [Send(0, 9)], [Compute(1, 1)]]
    waiting = [
        "process 0 waits in operation 0 (receive from any process, tag 3)",
        "process 1 waits in operation 1 (barrier of 2 processes)",
        "process 2 waits in operation 0 (exchange: send to process 0, receive from process 1, tag 2)",
        "process 3 waits in operation 0 (send to process 0, tag 0)",
    ]
    assert lines(rows) == tuple(f"configuration c: deadlock: {text}" for text in waiting)


def test_an_eager_message_that_nobody_receives_is_an_error(lines):
    assert lines([[Send(1, 1), Send(1, 2)], [Recv(0)]], network=EAGER) == (
        "configuration c: process 0, operation 1 (send to process 1, tag 0): received by nobody",
    )


def test_a_pe_that_stands_still_is_named_the_first_one_first(lines):
    load = Load(LoadTrace(np.zeros(1), np.ones(1), 1.0), "idle")
    pes = [PE(name, name, {"k": flat(1)}, load) for name in ("one", "two")]
    line = "PE one: its load leaves nothing for ever; give a load that leaves a share at some time"
    assert lines([[Compute(1, 1)], [Compute(1, 1)]], pes=pes, placement=(1, 0)) == (line,)
    assert lines([[Compute(1, 1)], [Compute(1, 1)], [Compute(1, 1)]], pes=pes, placement=(1, 0, 0)) == (line,)


def test_a_trace_may_end_with_the_run_but_not_before(ends, ran):
    load = Load(LoadTrace(np.zeros(1), np.ones(1), 10.0, "error"), "fair")
    assert ends([[Compute(3, 1), Compute(2, 1)]], pes=one_pe(load=load), placement=(0,)) == [[6, 10]]
    load = Load(LoadTrace(np.zeros(1), np.zeros(1), 10.0, "error"), "fair")
    assert ends([[Compute(5, 1)], [Compute(5, 1)]], pes=one_pe(load=load)) == [[10], [10]]
    load = Load(LoadTrace(np.zeros(1), np.ones(1), 10.0, "error"), "fair")
    with pytest.raises(TraceError, match="ends before the run does"):
        ran([[Compute(6, 1)]], pes=one_pe(load=load))
    with pytest.raises(TraceError, match="ends before the run does"):
        ran([[Compute(5, 1), Compute(1, 1)]], pes=one_pe(load=load))


def test_more_flows_than_units_on_a_link_are_an_error(lines):
    rows = [[Send(2, 1)], [Send(3, 1)], [Recv(0)], [Recv(1)]]
    network = star([1] * 4, contention="fair", backbone=2.0**-50)
    assert lines(rows, network=network) == (
        "link backbone: there are more flows than it can carry at this tick; give it fewer, or a faster link",
    )


# Operations and sharing of the user's own


def test_an_operation_of_the_users_own():
    """A lock that all processes share, and work while it is held."""
    import simpy

    def locked(context, arguments):
        lock = context.shared.setdefault("lock", simpy.Resource(context.environment))
        with lock.request() as request:
            yield request
            yield context.compute(arguments["seconds"])

    runs = simulate([[Custom("locked", {"seconds": 5.0})]] * 2, own={"operations": {"locked": locked}})
    assert [(entry.operation, entry.end_ticks) for entry in runs.logs[0, 0]] == [("custom", 5), ("custom", 10)]
    assert runs.busy_ticks[0].tolist() == [[5, 5]]


def test_operations_that_nobody_defined_are_refused():
    with pytest.raises(
        ScenarioError,
        match=r"program: nothing defines operation 'locked'; define it with `run\(\.\.\., operations=\{\.\.\.\}\)`",
    ):
        simulate([[Custom("locked")]])
    with pytest.raises(ScenarioError, match="program: nothing defines operation 'locked'; give one of free"):
        simulate([[Custom("locked")]], own={"operations": {"free": None}})


def test_a_sharing_rule_of_the_users_own():
    """Switching costs: two processes get 0.4 each of what one alone gets."""

    def switching(_pe, processes, **_tick):
        share = 1.0 if processes == 1 else 0.8 / processes
        return ServiceTable(np.array([0, LAST_TICK]), np.array([share]), np.array([0, int(share * LAST_TICK)]), "hold")

    rows = [[Compute(4, 1)], [Compute(8, 1)]]
    plain, switched = (simulate(rows, pes=one_pe(), own=own) for own in (None, {"sharing": switching}))
    assert (ends_of(rows, plain), ends_of(rows, switched)) == ([[8], [12]], [[10], [14]])


def test_run_hands_operations_on():
    made = Scenario(
        Platform.uniform(tuple(one_pe()), LinkModel.from_latency(1.0, 1.0)),
        Application.of_program(Program(((Custom("nap", {"s": 2.0}),),), (0,)), kernel="k"),
        (Configuration("c", (1,), (0,)),),
        1,
    )

    def nap(context, arguments):
        yield context.delay(arguments["s"])

    assert run(made, operations={"nap": nap}).makespan_s.tolist() == [[2.0]]

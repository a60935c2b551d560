"""The general path of the compiled engine against results worked out by hand, a kind of operation at a time.

PEs do one unit of volume per tick, links carry one byte per tick; all times are ticks.
"""

import numpy as np
import pytest

from simulator.base.errors import SimulationError, TraceError
from simulator.engines.compiled import workspace
from simulator.engines.compiled.run import run
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    Barrier,
    Compute,
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
from simulator.scenario_file.truths import draw
from tests.simulator.engines.compiled.programs import TICK, Routed
from tests.support.platforms import flat


@pytest.fixture(autouse=True)
def only_the_event_path(monkeypatch):
    monkeypatch.setattr("simulator.engines.compiled.direct.takes", lambda *_: False)


def pe(number, load=None, cores=1):
    return PE(f"p{number}", f"n{number}", {"dgemm": flat(1 / TICK)}, load, cores=cores)


def wires(contention, latency=0, eager=0, nodes=4):
    """A link from each node and one to each."""
    links = tuple(Link(f"l{i}", latency * TICK, 1 / TICK) for i in range(nodes))
    between = {(a, b): (2 * a, 2 * b + 1) for a in range(nodes) for b in range(nodes) if a != b}
    return Network(Routed(links, between, nodes), None, LinkModel.from_latency(TICK, 1 / TICK), contention, eager)


def ends(rows, placement=None, *, network=None, polls=False, pes=None, disks=()):
    """Ticks at which each operation ends, by process."""
    count = len(rows)
    pes = pes or ()
    pes = (*pes, *(pe(number) for number in range(len(pes), max(count, 4))))  # `wires` joins four nodes
    platform = Platform(pes, network or wires("none"), disks)
    made = Application.of_program(Program(tuple(map(tuple, rows)), (0,) * count, polls), kernel="dgemm")
    placed = Configuration("c", (1,) * count, tuple(placement or range(count)))
    scenario = Scenario(platform, made, (placed,), replications=1)
    runs = run(scenario, draw(scenario), tick_s=TICK, log_replications=1)
    log = runs.logs[0, 0]
    found = [[one.end_ticks for one in log if one.process == process] for process in range(count)]
    assert runs.finish_ticks[0][0].tolist() == [line[-1] if line else 0 for line in found]
    return found


def work(ticks):
    return Compute(float(ticks), 1.0)


def until(ticks):
    return WaitUntil(ticks * TICK)


def test_two_processes_share_a_pe_in_equal_parts():
    """Alone to 4, both at half speed to 8, alone again to 12."""
    assert ends([[work(10)], [until(4), work(2)]], [0, 0]) == [[12], [4, 8]]


def test_a_pe_with_two_cores_slows_down_the_third_process_only():
    assert ends([[work(10)], [work(10)]], [0, 0], pes=(pe(0, cores=2),)) == [[10], [10]]
    assert ends([[work(10)]] * 3, [0] * 3, pes=(pe(0, cores=2),)) == [[15]] * 3


def test_a_stepped_load_and_our_own_processes_share():
    """Load 1 for 10 ticks, then 2: alone 5 by 10 and 2 more by 16; two of ours get 3 each by 10, 1 more by 14."""
    load = Load(LoadTrace(np.array([0, 10 * TICK]), np.array([1.0, 2.0]), 20 * TICK, "hold"), "fair", drawn=False)
    assert ends([[work(7)]], pes=(pe(0, load),)) == [[16]]
    assert ends([[work(4)], [work(4)]], [0, 0], pes=(pe(0, load),)) == [[14], [14]]


def test_a_process_that_polls_takes_its_share_while_it_waits():
    rows = [[work(10), Send(1, 5)], [Recv(0)], [work(20)]]
    assert ends(rows, [0, 1, 1]) == [[10, 15], [15], [20]]
    assert ends(rows, [0, 1, 1], polls=True) == [[10, 15], [15], [28]]  # 7 of 20 by tick 15, at half speed


def test_a_message_waits_for_both_sides_unless_it_is_eager():
    rows = [[until(3), Send(1, 5)], [until(10), Recv(0)]]
    assert ends(rows) == [[3, 15], [10, 15]]
    assert ends(rows, network=wires("none", eager=5)) == [[3, 3], [10, 10]]


def test_a_receive_from_anyone_takes_the_earliest_message_and_lasts_a_tick():
    rows = [[until(9), Recv(ANY), Recv(ANY)], [until(2), Send(0, 5)], [until(1), Send(0, 5)]]
    assert ends(rows) == [[9, 14, 19], [2, 19], [1, 14]]
    assert ends(rows, network=wires("none", eager=5)) == [[9, 10, 11], [2, 2], [1, 1]]


def test_of_messages_posted_at_once_anyone_takes_the_lowest_sender():
    rows = [[Recv(ANY), Recv(ANY)], [Send(0, 5)], [Send(0, 5)]]
    assert ends(rows) == [[5, 10], [5], [10]]


def test_an_exchange_ends_when_both_of_its_messages_have():
    rows = [[Exchange(1, 2, 5)], [Exchange(2, 0, 7)], [Exchange(0, 1, 9)]]
    assert ends(rows) == [[9], [7], [9]]


def test_a_barrier_lets_all_go_at_the_last_arrival():
    barrier = Barrier((0, 2))
    assert ends([[work(4), barrier], [work(5)], [work(9), barrier, work(1)]]) == [[4, 9], [5], [9, 9, 10]]


def test_a_farm_hands_out_chunks_as_they_are_asked_for():
    """Pulls of 1 tick: at 0 to both (3 and 4 units), process 0 again at 4 (5 units); both then find nothing."""
    farm = Farm(np.array([3.0, 4.0, 5.0]), 1.0, 1, TICK)
    assert ends([[farm], [farm]]) == [[11], [6]]


def test_delays_and_times_leave_the_pe_to_others():
    assert ends([[Delay(5 * TICK), until(3), until(8)], [work(7)]], [0, 0]) == [[5, 5, 8], [7]]


def test_fifo_links_are_held_from_end_to_end_and_block_who_waits_for_one():
    """0 to 1, then 2 to 1 waits for the link to 1; 2 to 3 waits behind it for the link from 2, which is free."""
    rows = [[Send(1, 10)], [Recv(0), Recv(2)], [Send(1, 5), Send(3, 5)], [Recv(2)]]
    assert ends(rows, network=wires("fifo")) == [[10], [10, 15], [15, 20], [20]]
    rows = [[Send(1, 10)], [Recv(0), Recv(2, 1)], [Send(1, 5, 1), Send(3, 5)], [until(1), Recv(2)]]
    eager = wires("fifo", eager=5)
    assert ends(rows, network=eager) == [[10], [10, 15], [0, 0], [1, 20]]


def test_fair_flows_share_a_link_and_speed_up_when_one_ends():
    """Two into node 0, 6 and 10 bytes, after 2 ticks of latency: both at half speed to 14, the rest alone."""
    rows = [[Recv(1)], [Send(0, 6)], [Send(3, 10)], [Recv(2)]]
    pes = (pe(0), pe(1), pe(2), PE("p3", "n0", {"dgemm": flat(1 / TICK)}))
    assert ends(rows, network=wires("fair", latency=1, nodes=3), pes=pes) == [[14], [14], [18], [18]]


def test_a_disk_is_a_link_that_one_transfer_holds_or_all_share():
    disks = (Node("n0", disk=Link("d", TICK, 1 / TICK)),)
    rows = [[ReadWrite(6)], [ReadWrite(6)]]
    assert ends(rows, [0, 0], disks=disks) == [[7], [7]]
    assert ends(rows, [0, 0], disks=disks, network=wires("fifo")) == [[7], [14]]
    assert ends(rows, [0, 0], disks=disks, network=wires("fair")) == [[13], [13]]


def test_more_eager_messages_than_slots_at_first(monkeypatch):
    monkeypatch.setattr(workspace, "FEW_SLOTS", 1)
    rows = [[Send(1, 5)] * 50, [until(9), *[Recv(0)] * 50]]
    assert ends(rows, network=wires("none", eager=5)) == [[0] * 50, [9] * 51]


def test_faults_are_named():
    with pytest.raises(SimulationError, match="process 0 waits in operation 0"):
        ends([[Recv(1)], [Recv(0)]])
    with pytest.raises(SimulationError, match="received by nobody"):
        ends([[Send(1, 5)], [work(3)]], network=wires("none", eager=5))
    still = Load(LoadTrace(np.array([0.0]), np.array([1.0]), 9 * TICK, "hold"), "idle", drawn=False)
    with pytest.raises(SimulationError, match="PE p0: its load leaves nothing for ever"):
        ends([[work(5)], [work(5)]], [0, 0], pes=(pe(0, still),))
    over = Load(LoadTrace(np.array([0.0]), np.array([0.0]), 9 * TICK, "error"), "fair", drawn=False)
    with pytest.raises(TraceError, match="it ends before the run does"):
        ends([[work(5)], [work(5)]], [0, 0], pes=(pe(0, over),))
    assert ends([[work(9)]], pes=(pe(0, over),)) == [[9]]

"""Time slices: how long a process that waited is without its PE, and that messages take so much longer."""

import numpy as np
import pytest

from simulator import ScenarioError, dump_scenario, load_scenario, run
from simulator.engines.costs.messages import turns_s
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program, ReadWrite, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.platforms import trace

UNIFORM = Network.uniform(LinkModel.from_latency(1e-6, 1e9))
TWO = trace([0.0, 1.0], [1.0, 2.5], 3.0)  # a mean of 2


def pe(name, *, slice_s=4e-3, load=None, rule="fair", cores=1):
    speeds = {"k": SpeedBand.constant(1e6)}
    return PE(name, f"of-{name}", speeds, None if load is None else Load(load, rule), cores=cores, slice_s=slice_s)


def waits(pes, placement, *, polls, rows=None):
    program = Program(rows or ((Compute(1, 1),),) * len(placement), (0,) * len(placement), polls)
    found = turns_s(Platform(pes, UNIFORM), assemble(program), np.array([placement]))
    return None if found is None else found[0].tolist()


@pytest.mark.parametrize(
    ("given", "polls", "slices"),
    [
        ({}, False, [0, 0]),
        ({}, True, [1, 1]),
        ({"load": TWO}, False, [2, 2]),
        ({"load": TWO}, True, [3, 3]),
        ({"load": TWO, "cores": 2}, False, [0.5, 0.5]),
        ({"load": TWO, "cores": 4}, True, [0, 0]),
        ({"load": trace([0.0], [0.5], 1.0), "rule": "given"}, True, [1, 1]),
        ({"load": trace([0.0], [0.5], 1.0), "rule": "idle"}, False, [0, 0]),
    ],
)
def test_a_round_of_the_others(given, polls, slices):
    """Two processes of ours on a PE: max(0, l + m - c) / c slices, m = 2 if they poll, else 1."""
    assert waits((pe("a", **given),), (0, 0), polls=polls) == pytest.approx([4e-3 * each for each in slices])


def test_each_pe_has_its_own_and_who_takes_no_part_does_not_count():
    pes = pe("a", load=TWO), pe("b", slice_s=1e-3), pe("c", slice_s=0.0, load=TWO)
    rows = ((Compute(1, 1),), (Compute(1, 1),), (), (Compute(1, 1),), (Compute(1, 1),))
    assert waits(pes, (0, 1, 1, 2, 2), polls=True, rows=rows) == pytest.approx([8e-3, 0, 0, 0, 0])
    assert waits(pes, (1, 1, 1, 0, 2), polls=True, rows=rows) == pytest.approx([1e-3, 1e-3, 1e-3, 8e-3, 0])


def test_nothing_is_looked_at_where_no_pe_has_slices():
    assert waits((pe("a", slice_s=0.0, load=TWO),), (0, 0), polls=True) is None


def scenario(rows, placement, pes, *, network=UNIFORM, polls=False, nodes=()):
    application = Application.of_program(Program(rows, (0,) * len(rows), polls), kernel="k")
    configuration = Configuration("c", (1,) * len(rows), placement)
    return Scenario(Platform(pes, network, nodes), application, (configuration,), 1)


PINGPONG = ((Send(1, 1000), Recv(1)), (Recv(0), Send(0, 1000)))


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_a_ping_pong_on_one_pe_takes_a_slice_per_message_where_ranks_poll(engine):
    """As measured on a two-core machine: microseconds if waiting ranks yield, 4 ms if they poll."""
    alone = {polls: run(scenario(PINGPONG, (0, 0), (pe("a"),), polls=polls), engine=engine) for polls in (False, True)}
    assert alone[False].makespan_s[0, 0] == pytest.approx(2 * 2e-6)
    assert alone[True].makespan_s[0, 0] == pytest.approx(2 * (2e-6 + 4e-3))


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_messages_to_a_loaded_pe_take_longer_those_from_it_do_not(contention):
    star = Network(Star((Link("x", 1e-6, 1e9), Link("y", 1e-6, 1e9))), contention=contention)
    pes = pe("a"), pe("b", load=TWO)
    for rows, turns in [(((Send(1, 1000),), (Recv(0),)), 1), (((Recv(1),), (Send(0, 1000),)), 0)]:
        runs = run(scenario(rows, (0, 1), pes, network=star))
        assert runs.makespan_s[0, 0] == pytest.approx(2e-6 + 1e-6 + turns * 8e-3, rel=1e-6)


def test_disks_and_computations_take_no_turns():
    from simulator.platform.nodes import Node

    node = Node("of-b", disk=Link("disk", 0.0, 1e6))
    rows = ((ReadWrite(1000),),)
    network = Network(Star((Link("y", 1e-6, 1e9),)), loopback=LinkModel.from_latency(1e-6, 1e9))
    made = scenario(rows, (0,), (pe("b", load=TWO),), network=network, nodes=(node,))
    assert run(made).makespan_s[0, 0] == pytest.approx(1e-3)


def test_slices_are_read_and_written(tmp_path):
    text = """
format: 1
platform:
  nodes: [{name: n, pes: [{name: a, speeds: {dgemm: 1 Gflop/s}, slice: SLICE}, {name: b, speeds: {dgemm: 1 Gflop/s}}]}]
  link: {latency: 1us, bandwidth: 1Gbit/s}
application: {name: hpl, kernel: dgemm, parameters: {n: 8, nb: 2}}
configurations: {equal: {partition: [1, 1]}}
"""
    path = tmp_path / "s.yaml"
    path.write_text(text.replace("SLICE", "4ms"))
    read = load_scenario(path)
    assert [one.slice_s for one in read.platform.pes] == [4e-3, 0.0]
    path.write_text(dump_scenario(read))
    assert load_scenario(path).platform.pes == read.platform.pes
    with pytest.raises(ScenarioError, match="slice: it is -1; give at least 0"):
        pe("a", slice_s=-1.0)

"""Costs in ticks, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.costs import TickOverflowError, lower, to_ticks
from simulator.engines.costs import lowering as lowering_module
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Farm, Program, ReadWrite, Recv, Send, WaitUntil
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.platforms import band

TICK = 1e-12
STAR = Star((Link("a", 1e-3, 1e6), Link("b", 2e-3, 2e6), Link("c", 3e-3, 3e6)))


def scenario(rows, network, *, placements=((0, 1, 2),), speeds=(1e9, 2e9, 4e9), nodes=(), **fields):
    pes = tuple(
        PE(f"pe{i}", f"node{i}", {"k": speed if isinstance(speed, SpeedBand) else SpeedBand.constant(speed)})
        for i, speed in enumerate(speeds)
    )
    program = Program(rows, fields.pop("footprints", (0,) * len(rows)))
    configurations = tuple(
        Configuration(f"c{i}", (1,) * len(rows), placed[: len(rows)]) for i, placed in enumerate(placements)
    )
    return Scenario(
        Platform(pes, network, nodes), Application.of_program(program, kernel="k"), configurations, **fields
    )


def only(made):
    (costs,) = lower(made, draw(made), tick_s=TICK)
    return costs


def test_volume_over_speed_for_every_configuration():
    rows = ((Compute(8e9, 1), Delay(1e-12)), (Compute(8e9, 1),))
    costs = only(scenario(rows, Network.uniform(LinkModel.from_latency(1, 1)), placements=((0, 1), (2, 0), (0, 0))))
    assert costs.placement.tolist() == [[0, 1], [2, 0], [0, 0]]
    assert (costs.nominal_ticks[:, 0] * TICK).tolist() == [[8, 4], [2, 8], [8, 8]]
    assert costs.computation.tolist() == [0, -1, 1]


def test_bands_differ_by_replication_and_size():
    sized = SpeedBand(np.array([1.0, 3.0]), *(np.array([1.0, 3.0]) * factor for factor in (1e9, 2e9, 3e9)))
    rows = ((Compute(1e9, 1), Compute(1e9, 2)), (Compute(1e9, 1),))
    made = scenario(rows, Network.uniform(LinkModel.from_latency(1, 1)), speeds=(sized, 1e9), replications=3)
    costs, draws = only(made), draw(made)
    assert costs.nominal_ticks.shape == (1, 3, 3)
    for replication in range(3):
        position = draws.band_positions[replication, 0]
        speeds = [sized.speed(size, position=position) for size in (1, 2)]
        assert costs.nominal_ticks[0, replication].tolist() == [round(1e9 / v / TICK) for v in (*speeds, 1e9)]


def test_messages_over_a_star():
    """a to b: 3 ms and the slower of the two; b to a likewise; within a node the loopback."""
    rows = ((Send(1, 1000), Recv(1)), (Recv(0), Send(0, 500)), (WaitUntil(0.5),))
    loopback = LinkModel.from_latency(1e-6, 1e9)
    made = scenario(rows, Network(STAR, loopback=loopback), placements=((0, 1, 2), (2, 2, 0)))
    costs = only(made)
    assert (costs.ticks[:, 0, [0, 3]] * TICK).tolist() == pytest.approx(
        np.array([[3e-3 + 1e-3, 3e-3 + 0.5e-3], [2e-6, 1.5e-6]])
    )
    assert costs.ticks[:, 0, 4].tolist() == [5 * 10**11] * 2
    routes = [
        costs.route_links[costs.route_first[r] : costs.route_first[r + 1]].tolist() for r in costs.route[0, [0, 3]]
    ]
    assert routes == [[0, 3], [2, 1]]
    assert costs.route[1].tolist() == [-1] * 5


def test_messages_within_a_node_take_the_default_where_a_network_of_links_says_nothing():
    """500 ns and 8 GB/s; without links they take the one model's time."""
    rows, uniform = ((Send(1, 8000),), (Recv(0),)), LinkModel.from_latency(1.0, 1e3)
    for network, expected_s in ((Network(STAR), 1.5e-6), (Network.uniform(uniform), 9.0)):
        made = scenario(rows, network, placements=((0, 0),))
        assert (only(made).ticks[:, 0, 0] * TICK).tolist() == pytest.approx([expected_s])
        assert network.assumes_loopback == (network.topology is not None)


def test_a_uniform_network_with_a_loopback_has_both_times():
    """Between nodes the model, within a node the loopback; it once was the loopback everywhere."""
    rows, uniform = ((Send(1, 1000),), (Recv(0),)), LinkModel.from_latency(1.0, 1e3)
    network = Network(None, uniform, LinkModel.from_latency(1e-6, 1e9))
    made = scenario(rows, network, placements=((0, 1), (0, 0)))
    assert (only(made).ticks[:, 0, 0] * TICK).tolist() == pytest.approx([2.0, 2e-6])
    two = replace(made.platform, pes=(made.platform.pes[0], replace(made.platform.pes[1], node="node0")), nodes=())
    assert two.message_s(0, 1, 1000) == pytest.approx(2e-6)
    assert made.platform.message_s(0, 1, 1000) == pytest.approx(2.0)


def test_blocks_hold_every_run_once(monkeypatch):
    monkeypatch.setattr(lowering_module, "BLOCK", 5)
    rows = ((Compute(1, 1), Compute(2, 1)), (Compute(3, 1),))
    uniform = Network.uniform(LinkModel.from_latency(1, 1))
    made = scenario(
        rows, uniform, placements=((0, 1), (1, 0), (1, 1)), speeds=(band(1, 2, 3), 1e9), replications=5, seed=2
    )
    blocks = list(lower(made, draw(made), tick_s=TICK))
    seen = sorted((c, r) for block in blocks for c in block.configurations for r in block.replications)
    assert seen == [(c, r) for c in range(3) for r in range(5)]
    monkeypatch.setattr(lowering_module, "BLOCK", 2**20)
    whole = only(made).nominal_ticks
    for block in blocks:
        at = np.ix_(block.configurations, list(block.replications))
        assert np.array_equal(whole[at], block.nominal_ticks)


def test_memory_holds_the_footprints_or_refuses():
    nodes = (Node("node0", memory_bytes=100, swap_bytes=20),)
    fits = scenario(((), ()), Network(STAR), placements=((0, 0),), nodes=nodes, footprints=(60, 60))
    only(fits)
    over = scenario(((), ()), Network(STAR), placements=((0, 0),), nodes=nodes, footprints=(60, 61))
    with pytest.raises(ScenarioError, match="node node0: its processes need 121 B, 1 B more than its memory"):
        only(over)


def test_what_cannot_be_lowered_is_refused():
    with pytest.raises(ScenarioError, match=r"program: a message has more than 1\.13e\+15 bytes; send smaller ones"):
        only(scenario(((Send(1, 2**51),), (Recv(0),)), Network(STAR)))
    with pytest.raises(ScenarioError, match="node node0 has no disk, and the application does I/O; give it one"):
        only(scenario(((ReadWrite(8),),), Network(STAR)))
    with pytest.raises(TickOverflowError):
        only(scenario(((Compute(1e20, 1),),), Network(STAR)))


@pytest.mark.parametrize("more", [{"unit_bytes": 1e12}, {"serve_s": 1e6}])
def test_a_pull_and_what_comes_with_it_may_not_pass_the_last_tick_together(more):
    """There are 4.6e6 s of ticks, and either takes 1e6 s: the data at 1 MB/s, or the service."""
    for pull_s, fits in ((3e6, True), (4e6, False)):
        farm = Farm(np.ones(1), 1, pull_s=pull_s, **more)
        made = scenario(((farm,), (farm,)), Network(STAR))
        if fits:
            only(made)
        else:
            with pytest.raises(TickOverflowError):
                only(made)


def test_ticks_round_half_to_even_and_are_at_least_one():
    assert to_ticks(np.array([0.5, 1.5, 2.5, 0.0]), 1.0).tolist() == [1, 2, 2, 1]

"""Networks with other latencies and bandwidths: message times that follow from the old ones."""

import numpy as np
import pytest

from simulator.models.network import LinkModel, PacketModel
from simulator.platform.networks import Bus, Link, Listed, Mesh, Network, Star, Torus, Tree

SIZES = np.array([0.0, 1e3, 1e5, 1e7])
KNOTS = LinkModel(np.array([0.0, 1e4, 1e6]), np.array([1e-5, 2e-5, 1e-3]))
PACKETS = PacketModel(5e-5, 1500, 1e-6)
LINKS = tuple(Link(f"l{place}", 1e-5, 1e9) for place in range(3))
TOPOLOGIES = {
    "star": Star(LINKS, Link("back", 1e-5, 1e9)),
    "bus": Bus(Link("bus", 1e-5, 1e9, shared=True)),
    "tree": Tree(LINKS, (0, 0, 1), (Link("u0", 1e-5, 1e9), Link("u1", 1e-5, 1e9))),
    "torus": Torus((3,), Link("t", 1e-5, 1e9)),
    "mesh": Mesh(3, Link("m", 1e-5, 1e9)),
    "listed": Listed(("a", "b", "c"), LINKS[:1], {(0, 2): (0,)}),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_link_of_a_topology_is_scaled(name):
    network = Network(TOPOLOGIES[name])
    scaled = network.scaled(latency=2, bandwidth=0.5)
    assert [(link.latency_s, link.bandwidth_bytes_per_s) for link in scaled.links] == [(2e-5, 5e8)] * len(network.links)
    ends = np.array([0]), np.array([2])
    times = [one.times_s(one.routes(*ends), np.zeros(1, dtype=np.int64), np.array([1e6])) for one in (network, scaled)]
    assert times[1] == pytest.approx(2 * times[0])


def test_the_one_model_is_scaled_and_a_loopback_stays():
    network = Network(None, KNOTS, PACKETS)
    scaled = network.scaled(latency=3)
    assert scaled.uniform_model.latency_s == pytest.approx(3e-5)
    assert scaled.within.time_s(SIZES) == pytest.approx(network.within.time_s(SIZES))
    assert np.all(network.free.uniform_model.time_s(SIZES) < 1e-11)

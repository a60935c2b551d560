"""Networks with other latencies and bandwidths: message times that follow from the old ones."""

import numpy as np
import pytest

from simulator.models.network import (
    KnotsModel,
    LinkModel,
    PacketisedModel,
    PacketModel,
    PiecewiseModel,
)
from simulator.platform.networks import Bus, Link, Listed, Mesh, Network, Star, Torus, Tree

SIZES = np.array([0.0, 1e3, 1e5, 1e7])
MODELS = {
    "knots": LinkModel(np.array([0.0, 1e4, 1e6]), np.array([1e-5, 2e-5, 1e-3])),
    "packets": PacketModel(5e-5, 1500, 1e-6),
    "lines": PiecewiseModel(*(np.array(a) for a in ([1e4], [1e-5, 3e-5], [1e-9, 2e-9], [1e-6, 2e-6], [0.0, 1e-10]))),
    "packetised": PacketisedModel(1e-5, 1e-6, 2e-6, 1e-9, 1500, 0),
    "smooth": KnotsModel(np.array([1.0]), (np.array([0.0, 1e4, 1e6]),), (np.array([1e-5, 2e-5, 1e-3]),)),
}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_changes_by_a_factor_of_one(name):
    model = MODELS[name]
    assert model.scaled().time_s(SIZES) == pytest.approx(model.time_s(SIZES))


@pytest.mark.parametrize("name", ["knots", "lines"])
def test_least_time_and_the_rest_are_scaled_apart(name):
    model = MODELS[name]
    least, times = model.time_s(0.0), model.time_s(SIZES)
    found = model.scaled(latency=3, bandwidth=2).time_s(SIZES)
    assert found == pytest.approx(3 * least + (times - least) / 2)


@pytest.mark.parametrize("name", MODELS)
def test_large_messages_go_by_the_bandwidth(name):
    model = MODELS[name]
    assert model.scaled(bandwidth=2).time_s(1e9) == pytest.approx(model.time_s(1e9) / 2, rel=1e-3)
    assert model.scaled(latency=3).time_s(1e9) == pytest.approx(model.time_s(1e9), rel=1e-3)
    assert model.scaled(latency=3).time_s(0.0) > 2 * model.time_s(0.0)


def test_a_packet_goes_by_the_bandwidth():
    assert MODELS["packets"].scaled(latency=2, bandwidth=4).time_s(1) == pytest.approx(1e-4 + 2.5e-7)


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
    network = Network(None, MODELS["knots"], MODELS["packets"])
    scaled = network.scaled(latency=3)
    assert scaled.uniform_model.latency_s == pytest.approx(3e-5)
    assert scaled.within.time_s(SIZES) == pytest.approx(network.within.time_s(SIZES))
    assert np.all(network.free.uniform_model.time_s(SIZES) < 1e-11)

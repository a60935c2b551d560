"""Routes by hand, and what holds of every topology: symmetric lengths, a route for every pair, no link twice."""

import numpy as np
import pytest

from simulator import load_scenario
from simulator.base.errors import ScenarioError
from simulator.models.network import LinkModel, PacketModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Bus, Link, Listed, Mesh, Network, Star, Torus, Tree
from simulator.platform.nodes import PE, Platform

UP, DOWN = 0, 1


def both_ways(names, links, forth):
    """Routes whose way back, where none is given, is the same way in the other direction."""
    back = {(end, start): tuple(link ^ 1 for link in reversed(passed)) for (start, end), passed in forth.items()}
    return Listed(names, links, back | forth)


def link(name, *, shared=False, latency_s=1e-5, bandwidth=1e8):
    return Link(name, latency_s, bandwidth, shared)


def some(count, prefix="n", **more):
    return tuple(link(f"{prefix}{number}", **more) for number in range(count))


def route(topology, source, destination):
    """Names of the links passed, and the directions."""
    first, links = topology.routes(np.array([source]), np.array([destination]))
    assert first.tolist() == [0, links.size]
    return [f"{topology.links[one >> 1].name}{'-' if one & 1 else '+'}" for one in links.tolist()]


TOPOLOGIES = {
    "star": Star(some(7)),
    "backbone": Star(some(7), link("backbone", shared=True)),
    "bus": Bus(link("bus", shared=True)),
    "tree": Tree(some(7), (0, 0, 1, 2, 1, 0, 2), some(3, "switch")),
    "ring": Torus((7,), link("t")),
    "ring of two": Torus((2,), link("t")),
    "torus": Torus((4, 5), link("t")),
    "deep torus": Torus((3, 2, 4), link("t")),
    "flat torus": Torus((1, 6, 1), link("t")),
    "mesh": Mesh(7, link("m")),
    "listed": both_ways(("a", "b", "c"), some(3, "l"), {(0, 1): (0, 3), (0, 2): (0, 5), (1, 2): (2, 5)}),
}


def pairs_of(topology):
    count = topology.node_count or 7
    pairs = np.array([(a, b) for a in range(count) for b in range(count) if a != b])
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_pair_has_one_route_as_long_as_its_way_back_without_a_link_twice(name):
    topology = TOPOLOGIES[name]
    sources, destinations = pairs_of(topology)
    routes = Network(topology).routes(sources, destinations)
    back = Network(topology).routes(destinations, sources)
    assert np.all(np.diff(routes.first) >= 1)
    assert np.array_equal(np.diff(routes.first), np.diff(back.first))
    np.testing.assert_allclose(routes.latencies_s, 1e-5 * np.diff(routes.first))
    for pair in range(sources.size):
        passed = routes.links[routes.first[pair] : routes.first[pair + 1]].tolist()
        assert len(set(passed)) == len(passed)
        assert all(0 <= one < 2 * len(topology.links) for one in passed)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_many_pairs_at_once_are_each_alone(name):
    topology = TOPOLOGIES[name]
    sources, destinations = pairs_of(topology)
    first, links = topology.routes(sources, destinations)
    for pair in range(sources.size):
        alone = topology.routes(sources[pair : pair + 1], destinations[pair : pair + 1])[1]
        assert links[first[pair] : first[pair + 1]].tolist() == alone.tolist()


def test_routes_by_hand():
    assert route(TOPOLOGIES["star"], 2, 5) == ["n2+", "n5-"]
    assert route(TOPOLOGIES["backbone"], 2, 5) == ["n2+", "backbone+", "n5-"]
    assert route(TOPOLOGIES["bus"], 2, 5) == ["bus+"]
    assert route(TOPOLOGIES["tree"], 0, 5) == ["n0+", "n5-"]
    assert route(TOPOLOGIES["tree"], 0, 4) == ["n0+", "switch0+", "switch1-", "n4-"]
    assert route(TOPOLOGIES["mesh"], 5, 2) == ["m-2.5-"]
    assert route(TOPOLOGIES["listed"], 0, 2) == ["l0+", "l2-"]
    assert route(TOPOLOGIES["listed"], 2, 0) == ["l2+", "l0-"]


def test_torus_routes_by_hand():
    """Node 4 x + y of 4 x 5: dimension by dimension, the shortest way round, up where both are as long."""
    torus = TOPOLOGIES["torus"]
    assert route(torus, 0, 2 * 5 + 1) == ["t-x-0.0+", "t-x-1.0+", "t-y-2.0+"]
    assert route(torus, 2 * 5 + 1, 0) == ["t-x-2.1+", "t-x-3.1+", "t-y-0.0-"]
    assert route(torus, 0, 4) == ["t-y-0.4-"]
    assert route(torus, 3 * 5 + 4, 0) == ["t-x-3.4+", "t-y-0.4+"]
    assert route(TOPOLOGIES["ring of two"], 0, 1) == ["t-x-0+"]
    assert route(TOPOLOGIES["ring of two"], 1, 0) == ["t-x-0-"]


def test_torus_lengths_are_ring_distances():
    shape = (3, 2, 4)
    topology = TOPOLOGIES["deep torus"]
    sources, destinations = pairs_of(topology)
    first, _ = topology.routes(sources, destinations)
    gaps = np.abs(np.stack(np.unravel_index(sources, shape)) - np.stack(np.unravel_index(destinations, shape)))
    rings = np.minimum(gaps, np.array(shape)[:, np.newaxis] - gaps)
    assert np.diff(first).tolist() == rings.sum(axis=0).tolist()


def test_torus_routes_are_connected_ways():
    """Each link of a route begins where the one before it ended: its name says where it begins."""
    shape, topology = (3, 2, 4), TOPOLOGIES["deep torus"]
    for source in range(24):
        for destination in set(range(24)) - {source}:
            place = list(np.unravel_index(source, shape))
            for step in route(topology, source, destination):
                _, along, begins = step[:-1].split("-")
                dimension, begin = "xyz".index(along), [int(one) for one in begins.split(".")]
                end = [*begin]
                end[dimension] = (end[dimension] + 1) % shape[dimension]
                start, after = (begin, end) if step[-1] == "+" else (end, begin)
                assert place == start
                place = after
            assert place == list(np.unravel_index(destination, shape))


def test_a_shared_link_has_one_direction_and_a_full_duplex_one_has_two():
    for shared, links in ((False, [0, 3]), (True, [0, 2])):
        found = Network(Star(some(2, shared=shared))).routes(np.array([0]), np.array([1]))
        assert found.links.tolist() == links


BAD = {
    "no such link": (lambda: Listed(("a", "b"), some(2), {(0, 1): (4,)}), "directed links of the network"),
    "empty route": (lambda: Listed(("a", "b"), some(2), {(0, 1): ()}), "directed links of the network"),
    "large mesh": (lambda: Mesh(1025, link("m")), "platform: network: a mesh of 1025 nodes cannot be made; give 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_network_is_refused(case):
    make, message = BAD[case]
    with pytest.raises(ScenarioError, match=message):
        make()


def test_a_network_joins_as_many_nodes_as_there_are():
    one = np.array([1.0])
    pes = tuple(PE(name, name, {"k": SpeedBand(one, one, one, one)}) for name in "abc")
    assert Platform(pes, Network(Star(some(3)))).message_s(0, 2, 1e8) == pytest.approx(1.00002)
    with pytest.raises(ScenarioError, match="platform: network: it joins 2 nodes and 3 have PEs; give as many of each"):
        Platform(pes, Network(Star(some(2))))


def test_times_over_measured_packetised_and_plain_links():
    """The slowest link decides; a model's payload time is its time less its latency."""
    knots = LinkModel(np.array([0.0, 1e3, 1e6]), np.array([1e-4, 2e-4, 1e-1]))
    packets = PacketModel(5e-6, 1500.0, 1e-5)
    links = (Link.of_model("measured", knots), Link.of_model("packets", packets), link("plain"))
    network = Network(Star(links))
    sources, destinations = np.array([0, 0, 1]), np.array([1, 2, 2])
    routes = network.routes(sources, destinations)
    sizes = np.array([1.0, 1500.0, 1501.0, 1e6])
    pair = np.repeat(np.arange(3), 4)
    times = network.times_s(routes, pair, np.tile(sizes, 3)).reshape(3, 4)
    measured, packed = knots.time_s(sizes) - 1e-4, np.array([1, 1, 2, 667]) * 1e-5
    np.testing.assert_allclose(times[0], 1.05e-4 + np.maximum(measured, packed))
    np.testing.assert_allclose(times[1], 1.1e-4 + np.maximum(measured, sizes / 1e8))
    np.testing.assert_allclose(times[2], 1.5e-5 + np.maximum(packed, sizes / 1e8))


def sorted_times(platform):
    """Message times of all pairs of PEs."""
    count = len(platform.pes)
    return [[platform.message_s(one, other, 10**6).item() for other in range(count)] for one in range(count)]


@pytest.mark.parametrize(
    "topology",
    [
        "star",
        "mesh",
        "bus",
        "torus, shape: [4]",
        "tree, nodes_per_switch: 2, uplink: {latency: 9us, bandwidth: 1Gbit/s}",
    ],
)
def test_some_nodes_are_joined_as_before_and_copies_like_their_originals(tmp_path, topology):
    path = tmp_path / "s.yaml"
    path.write_text(
        "format: 1\nplatform:\n  nodes:\n    - {name: 'n[1-4]', pes: [{speeds: {dgemm: 1 Gflop/s}}]}\n"
        f"  network: {{topology: {topology}, link: {{latency: 5us, bandwidth: 10Gbit/s}}}}\n"
        "application: {name: matmul, kernel: dgemm, parameters: {n: 100}}\nconfigurations: {e: {partition: equal}}\n"
    )
    whole = load_scenario(path).platform
    before, some = sorted_times(whole), sorted_times(whole.of_nodes([0, 2, 3]))
    assert some == [[before[one][other] for other in (0, 2, 3)] for one in (0, 2, 3)]
    if topology.startswith("torus"):
        with pytest.raises(ScenarioError, match="a torus has as many nodes as its shape says"):
            whole.of_nodes([0, 1, 0])
        return
    copied = whole.of_nodes([0, 1, 2, 3, 0, 1])
    assert copied.node_names[-2:] == ("n1-copy1", "n2-copy1")
    assert sorted_times(copied)[4][5] == before[0][1]

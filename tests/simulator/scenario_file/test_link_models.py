"""Links of a scenario that are fitted network models: message times, hops, contention, explicit form, provenance."""

import numpy as np
import pytest
import yaml

from simulator import files, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.calibration import fit_network_table, load_network_model, save_network_model
from simulator.models.network import PacketisedModel

PACKETS = PacketisedModel(300e-6, 200e-6, 100e-6, 0.5e-6, 1000.0, 400.0)
LINES = {
    "breaks_bytes": [4000.0],
    "latencies_s": [1e-4, 3e-4],
    "gaps_s_per_byte": [1e-8, 2e-9],
    "hop_latencies_s": [1e-5, 2e-5],
    "hop_gaps_s_per_byte": [1e-9, 1e-9],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Holds link.json, fitted to times of equation 5."""
    place = tmp_path_factory.mktemp("links")
    size, hops = (c.reshape(-1).tolist() for c in np.meshgrid(np.arange(100, 20_001, 400), [1, 2, 5]))
    rows = [f"{s},{d},{float(PACKETS.time_s(s, d))!r}\n" for s, d in zip(size, hops, strict=True)]
    (place / "t.csv").write_text("bytes,hops,one_way_s\n" + "".join(rows))
    save_network_model(fit_network_table(place / "t.csv"), place / "link.json")
    return place


def scenario(folder, name="s.yaml", *, link=None, network=None, node_link=None, nodes=4):
    node = {"name": f"n[1-{nodes}]", "pes": [{"speeds": {"dgemm": "1 Gflop/s"}}]}
    if node_link:
        node["link"] = node_link
    platform = {"nodes": [node]} | ({"link": link} if link else {"network": network})
    document = {
        "format": 1,
        "platform": platform,
        "application": {"name": "matmul", "kernel": "dgemm", "parameters": {"n": 60}},
        "configurations": {"all": {"partition": "equal"}},
        "replications": 1,
    }
    path = folder / name
    path.write_text(yaml.safe_dump(document))
    return path


TORUS = {"topology": "torus", "shape": [4], "link": {"model": "link.json"}}


def test_a_fitted_model_is_a_link_and_its_hash_is_kept(folder):
    path = scenario(folder, link={"model": "link.json"})
    made = load_scenario(path)
    found = load_network_model(folder / "link.json")
    assert found.chosen == "packetised"
    assert made.platform.message_s(0, 1, 5000).tolist() == found.model.time_s(5000).tolist()
    assert float(made.platform.message_s(0, 1, 5000)) == pytest.approx(float(PACKETS.time_s(5000)), rel=1e-6)
    assert made.inputs["link.json"] == files.digest((folder / "link.json").read_bytes())


def test_equation_5_takes_the_hops_of_the_route(folder):
    """On a ring of four nodes: one hop to the next node, two to the one opposite."""
    made = load_scenario(scenario(folder, network=TORUS))
    for size in (500, 999, 1001, 5000):
        for node, hops in ((1, 1), (2, 2), (3, 1)):
            expected = float(PACKETS.time_s(size, hops))
            assert float(made.platform.message_s(0, node, size)) == pytest.approx(expected, rel=1e-6), (size, node)


@pytest.mark.parametrize(("bandwidth", "slowest"), [("1kB/s", 5.0), ("1TB/s", None)])
def test_a_route_over_fitted_and_plain_links(folder, bandwidth, slowest):
    """Two hops of equation 5, 900 us without bytes, and a plain link: latencies add up, the slowest one counts."""
    model = {"model": "link.json"}
    plain = {"latency": "1ms", "bandwidth": bandwidth}
    routes = [{"from": "n1", "to": "n2", "via": ["a", "b", "c"]}]
    network = {"topology": "listed", "links": {"a": model, "b": plain, "c": model}, "routes": routes}
    start = 300e-6 + 2 * (100e-6 + 0.5e-6 * 400)
    payload = float(PACKETS.time_s(5000, 2)) - start if slowest is None else slowest
    made = load_scenario(scenario(folder, network=network, nodes=2))
    assert float(made.platform.message_s(0, 1, 5000)) == pytest.approx(start + 1e-3 + payload, rel=1e-6)


@pytest.mark.parametrize("contention", ["none", "fifo"])
def test_both_engines_give_the_same_ticks(folder, contention):
    made = load_scenario(scenario(folder, network=TORUS | {"contention": contention}))
    ticks = [run(made, engine=engine).makespan_ticks.tolist() for engine in ("process", "compiled")]
    assert ticks[0] == ticks[1]


def test_fair_contention_takes_latency_and_bandwidth_from_the_model(folder):
    fair = {"topology": "star", "link": {"model": "link.json"}, "contention": "fair"}
    made = load_scenario(scenario(folder, network=fair))
    links = made.platform.network.links
    assert all(link.model is None for link in links)
    assert links[0].latency_s == pytest.approx(PACKETS.latency_s, rel=1e-6)
    assert links[0].bandwidth_bytes_per_s == pytest.approx(PACKETS.bandwidth_bytes_per_s, rel=1e-6)


def test_a_model_stands_wherever_a_link_does(folder):
    model = {"model": "link.json"}
    tree = {"topology": "tree", "link": model, "uplink": model, "nodes_per_switch": 2, "loopback": model}
    made = load_scenario(scenario(folder, network=tree))
    assert float(made.platform.message_s(0, 1, 5000)) == pytest.approx(float(PACKETS.time_s(5000, 2)), rel=1e-6)
    assert float(made.platform.message_s(0, 3, 5000)) == pytest.approx(float(PACKETS.time_s(5000, 4)), rel=1e-6)
    own = load_scenario(scenario(folder, network={"topology": "star"}, node_link=model))
    assert float(own.platform.message_s(0, 1, 5000)) == pytest.approx(float(PACKETS.time_s(5000, 2)), rel=1e-6)


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ({"model": "speed.json"}, "kind 'speed' is no network model"),
        (
            {"model": "link.json", "latency": "1us"},
            r"12:5: platform\.link\.latency: the key is unknown here; take shared, doubt, source, model",
        ),
        (LINES | {"breaks_bytes": []}, r"11:3: platform\.link: breaks_bytes has 0 numbers; 2 lines need 1"),
    ],
    ids=["another kind", "two forms", "lengths"],
)
def test_what_is_no_link_is_refused_in_one_line(folder, link, told):
    (folder / "speed.json").write_text('{"kind": "speed", "format": 2}')
    with pytest.raises(ScenarioError, match=told) as error:
        load_scenario(scenario(folder, "bad.yaml", link=link))
    assert len(error.value.lines) == 1

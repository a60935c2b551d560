"""Factors of what is measured: fitted links, all links of a network, speed bands and surfaces, lists."""

import json

import numpy as np
import pytest

from simulator import load_scenario
from simulator.base.errors import ScenarioError
from simulator.calibration import fit_network_table, save_network_model

KNOTS = {"sizes_bytes": [0, 1024, 65536, 1048576], "times_s": [2e-5, 3.1e-5, 6e-4, 9e-3]}
LINKS = {
    "knots": KNOTS,
    "curves": {"hops": [1.0], "knots_bytes": [[1.0, 100.0, 1e5]], "knots_s": [[1e-5, 1e-5, 1e-3]]},
    "lines": {
        "breaks_bytes": [4000.0],
        "latencies_s": [1e-4, 3e-4],
        "gaps_s_per_byte": [1e-8, 2e-9],
        "hop_latencies_s": [0.0, 0.0],
        "hop_gaps_s_per_byte": [0.0, 0.0],
    },
    "packets": {"latency": "10us", "packet": "1500B", "packet_time": "2us"},
    "doubted": {**KNOTS, "doubt": {"sizes": [1.0], "sd": [0.2], "common": 0.8, "sources": {}}},
}
BAND = {"sizes": [1e3, 1e6], "low": [8e8, 5e8], "mid": [1e9, 6e8], "high": [1.1e9, 7e8]}
FILE_LINK = {"model": "link.json"}


def scenario_of(folder, platform, speeds=BAND):
    nodes = [{"name": f"n{place}", "pes": [{"speeds": {"dgemm": speeds}}]} for place in (1, 2)]
    path = folder / "s.json"
    text = {
        "format": 1,
        "platform": {"nodes": nodes, **platform},
        "application": {"name": "matmul", "kernel": "dgemm", "parameters": {"n": 200}},
        "configurations": {"equal": {"partition": "equal"}},
    }
    path.write_text(json.dumps(text))
    rows = [f"{size},1,{1e-5 + size * 1e-9!r}" for size in range(100, 20_001, 400)]
    (folder / "t.csv").write_text("\n".join(["bytes,hops,one_way_s", *rows, ""]))
    save_network_model(fit_network_table(folder / "t.csv"), folder / "link.json")
    return path


def message_s(path, size, *changes):
    return load_scenario(path, changes=changes).platform.message_s(0, 1, size).item()


@pytest.mark.parametrize("link", [*LINKS.values(), FILE_LINK], ids=[*LINKS, "file"])
def test_measured_links_have_factors_of_latency_and_bandwidth(tmp_path, link):
    path = scenario_of(tmp_path, {"link": link})
    least, large = message_s(path, 0), message_s(path, 10**8)
    if "packet" not in link:  # whose latency is a number of its own, and which sends no message without a packet
        assert message_s(path, 0, "platform.link.latency=x0.5") == pytest.approx(least / 2, rel=1e-6)
        assert message_s(path, 0, "platform.link.bandwidth=x2") == pytest.approx(least, rel=1e-6)
    assert message_s(path, 10**8, "platform.link.bandwidth=x2") == pytest.approx(large / 2, rel=0.01)
    assert message_s(path, 10**8, "platform.link.bandwidth=x1") == pytest.approx(large, rel=1e-9)
    assert message_s(path, 10**8, "platform.network.bandwidth=x2") == pytest.approx(large / 2, rel=0.01)


def test_a_scaled_link_is_as_doubtful_as_it_was(tmp_path):
    path = scenario_of(tmp_path, {"link": LINKS["doubted"]})
    before, after = (load_scenario(path, changes=made) for made in ([], ["platform.link.bandwidth=x2"]))
    assert after.platform.network.uniform_model.doubt == before.platform.network.uniform_model.doubt
    assert after.structured


def test_a_measured_link_can_be_given_a_bandwidth(tmp_path):
    path = scenario_of(tmp_path, {"link": KNOTS})
    scenario = load_scenario(path, changes=["platform.link.bandwidth=1Gbit/s"])
    assert scenario.platform.network.uniform_model.bandwidth_bytes_per_s == pytest.approx(1.25e8)
    (change,) = scenario.changes
    assert change.after == "1Gbit/s"
    assert change.before.endswith("B/s")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("platform.link.latency=0s", "it has to be above 0"),
        ("platform.link.latency=x-2", "'x-2' is no factor"),
        ("platform.network.latency=5us", "all links are meant; give a factor such as x2, or set platform.link.latency"),
    ],
)
def test_what_cannot_be_a_factor_is_said(tmp_path, change, said):
    path = scenario_of(tmp_path, {"link": KNOTS})
    with pytest.raises(ScenarioError, match=said):
        load_scenario(path, changes=[change])


def test_all_links_of_a_network_are_scaled_and_no_loopback(tmp_path):
    link = {"latency": "5us", "bandwidth": "10Gbit/s"}
    network = {"topology": "tree", "link": KNOTS, "uplink": link, "nodes_per_switch": 1, "loopback": link}
    path = scenario_of(tmp_path, {"network": network})
    before, after = (load_scenario(path, changes=made) for made in ([], ["platform.network.latency=x3"]))
    for one, other in zip(before.platform.network.links, after.platform.network.links, strict=True):
        assert other.latency_s == pytest.approx(3 * one.latency_s)
    assert after.platform.network.within.latency_s == before.platform.network.within.latency_s


def test_measured_speeds_have_factors(tmp_path):
    surface = {"columns": [200.0], "bands": [BAND]}
    for speeds in (BAND, surface, {"sizes": [1e3, 1e6], "speeds": [1e9, 5e8]}, "2 Gflop/s"):
        path = scenario_of(tmp_path, {"link": KNOTS}, speeds)
        changed = load_scenario(path, changes=["platform.nodes.n1.pes.0.speeds.dgemm=x2"]).platform.pes
        for curve in ("low", "mid", "high"):
            own, other = (getattr(pe.speeds["dgemm"], curve) for pe in changed)
            assert np.allclose(own, 2 * other)


def test_lists_are_scaled_number_by_number(tmp_path):
    path = scenario_of(tmp_path, {"link": KNOTS})
    sizes = load_scenario(path, changes=["platform.link.sizes_bytes=x2"]).platform.network.uniform_model.sizes_bytes
    assert sizes.tolist() == [0, 2048, 131072, 2097152]

"""Cores that stay idle under a configuration: how many, where, and in few words."""

import json

import pytest

from simulator import idle_cores, load_scenario

TEXT = """
format: 1
platform:
  nodes:
    - {name: fast, pes: [{cores: 8, speeds: {k: 2 Gflop/s}}]}
    - {name: "slow[01-12]", pes: [{cores: 4, speeds: {k: 1 Gflop/s}}]}
    - {name: twin, pes: [{name: "twin[1-2]", speeds: {k: 1 Gflop/s}}]}
  network: {topology: star, link: {latency: 10us, bandwidth: 10Gbit/s}}
application: {name: ep, kernel: k, parameters: {samples: 1200, volume: 1}}
configurations:
  all: {partition: equal, allocation: {fast: 8, "slow[01-12]": 4, "twin[1-2]": 1}}
  crowded: {partition: equal, allocation: {fast: 9, "slow[01-12]": 5, "twin[1-2]": 2}}
  one: {partition: equal, allocation: {fast: 7, "slow[01-12]": 4, "twin[1-2]": 1}}
  each: {partition: equal}
  shared: {partition: equal, allocation: {fast: 8, "slow[01-12]": 4, twin1: 3}}
  without: {partition: [400, 400, 0, 400], pes: [fast, fast, slow01, slow02]}
  many: {partition: equal, allocation: {fast: 8, slow01: 1, slow02: 2, slow03: 3, twin1: 1}}
replications: 1
"""
TOLD = {
    "all": None,
    "crowded": None,
    "one": "1 of 58 cores stays idle: node fast runs 7 processes on 8 cores",
    "each": "43 of 58 cores stay idle: node fast runs 1 process on 8 cores; "
    "nodes slow[01-12] run 1 process on 4 cores each",
    "shared": "1 of 58 cores stays idle: node twin runs 3 processes on 1 of 2 cores",
    "without": "55 of 58 cores stay idle: node fast runs 2 processes on 8 cores; "
    "nodes slow01, slow03, slow04, slow05, ... (11 in all) run no process on 4 cores each; "
    "node slow02 runs 1 process on 4 cores; 1 more node leaves cores idle",
    "many": "43 of 58 cores stay idle: node slow01 runs 1 process on 4 cores; node slow02 runs 2 processes on 4 cores; "
    "node slow03 runs 3 processes on 4 cores; 10 more nodes leave cores idle",
}


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "s.yaml"
    found.write_text(TEXT)
    return found


def test_idle_cores_are_counted_and_named_by_alike_nodes(path):
    loaded = load_scenario(path)
    found = {one.name: idle_cores(loaded, one) for one in loaded.configurations}
    assert {name: None if idle is None else idle.text for name, idle in found.items()} == TOLD


def test_a_master_without_units_has_its_core(path):
    """Process 0 of matmul sends and collects, so its core is not idle."""
    text = TEXT.replace("{name: ep,", "{name: matmul,").replace("{samples: 1200, volume: 1}", "{n: 1200}")
    path.write_text(text.replace("[400, 400, 0, 400]", "[0, 400, 400, 400]"))
    loaded = load_scenario(path)
    (without,) = (one for one in loaded.configurations if one.name == "without")
    assert idle_cores(loaded, without).idle == 54


def test_simulate_and_advise_name_them_and_are_silent_where_all_are_used(apportion, path):
    told = " ".join(apportion("simulate", path, "--full")[1].split())
    assert f"Idle configuration one: {TOLD['one']}; also in 4 more configurations" in told
    document = json.loads(apportion("simulate", path, "--json")[1])
    assert {one["configuration"]: one["text"] for one in document["idle_cores"]} == {
        name: text for name, text in TOLD.items() if text
    }
    path.write_text(TEXT[: TEXT.index("  crowded:")])
    assert "Idle" not in apportion("simulate", path)[1]
    assert json.loads(apportion("simulate", path, "--json")[1])["idle_cores"] == []


def test_an_advice_names_cores_that_it_leaves_idle(apportion, tmp_path):
    """A link so slow that one process alone is best; and units enough for all cores."""
    path = tmp_path / "s.yaml"
    head, tail = TEXT[: TEXT.index("    - {name: twin")], "  link: {latency: LATENCY, bandwidth: 10Gbit/s}\n"
    rest = TEXT[TEXT.index("application") : TEXT.index("  crowded")].replace(', "twin[1-2]": 1', "")
    head = head.replace("slow[01-12]", "slow")
    text = (head + tail + rest).replace("slow[01-12]", "slow").replace("volume: 1}", "volume: 1000000}")
    path.write_text(text.replace("LATENCY", "10s"))
    document = json.loads(apportion("advise", path, "--json")[1])
    assert document["idle_cores"]["text"] == (
        "11 of 12 cores stay idle: node fast runs 1 process on 8 cores; node slow runs no process on 4 cores"
    )
    assert "Idle      11 of 12 cores stay idle" in apportion("advise", path)[1]
    path.write_text(text.replace("LATENCY", "1us"))
    assert json.loads(apportion("advise", path, "--json")[1])["idle_cores"] is None

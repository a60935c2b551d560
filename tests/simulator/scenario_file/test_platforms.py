"""Nodes by kinds, networks and configurations as files say them, and the way back to a file."""

import numpy as np
import pytest

from simulator import dump_scenario, files, load_scenario, resolved_text
from simulator.base.errors import ScenarioError
from simulator.base.names import compact, counted, expanded
from simulator.platform.networks import Bus, Listed, Mesh, Star, Torus, Tree

LINK = "{latency: 10us, bandwidth: 1Gbit/s}"
HEAD = """
format: 1
platform:
  nodes:
    - name: "fast[01-04]"
      memory: 16GiB
      disk: {latency: 1ms, bandwidth: 200MB/s}
      levels:
        - {name: L2, capacity: 1MiB, latency: 4ns, gap: 500ps}
        - {name: L3, capacity: 32MiB, latency: 20ns, gap: 1ns, shared: true}
        - {name: memory, latency: 90ns, gap: 2ns}
      LINK
      pes:
        - {cores: 2, speeds: {dgemm: 2Gflop/s, fft: {sizes: [1e3, 1e6], speeds: [1e9, 5e8]}}}
    - name: slow
      count: 2
      pes:
        - name: "{node}.cpu[0-1]"
          speeds: {dgemm: {sizes: [1e3], low: [9e8], mid: [1e9], high: [1.1e9]}}
          load: {trace: {times_s: [0, 10], values: [0, 1], end_s: 20}, rule: fair, start: zero}
  network:
"""
TAIL = """
application: {name: matmul, kernel: dgemm, parameters: {n: 100},
  memory: {accesses_per_unit: 0.125, alpha: 0.3}}
configurations:
  equal: {partition: equal}
  some: {partition: [60, 40], pes: ["fast[01-02]"]}
  several: {partition: equal, allocation: {"fast[01-02]": 2, slow1.cpu0: 1}}
"""
NODES = ["fast01", "fast02", "fast03", "fast04", "slow1", "slow2"]
NETWORKS = {
    "uniform": f"topology: uniform\nlink: {LINK}\neager: 64KiB",
    "packets": "topology: uniform\nlink: {latency: 1us, packet: 1500B, packet_time: 12us}",
    "star": f"topology: star\nlink: {LINK}\ncontention: fair\nloopback: {LINK}",
    "backbone": f"topology: star\nlink: {LINK}\nbackbone: {{latency: 1us, bandwidth: 300MB/s}}\ncontention: fifo",
    "bus": f"topology: bus\nlink: {LINK}\ncontention: fair",
    "switches": f"""topology: tree
link: {LINK}
uplink: {LINK}
switches:
  - {{nodes: "fast[01-04]"}}
  - {{nodes: "slow[1-2]", name: old, uplink: {{latency: 1us, bandwidth: 10Gbit/s}}}}""",
    "tree": f"topology: tree\nlink: {LINK}\nuplink: {LINK}\nnodes_per_switch: 3\ncontention: fair",
    "torus": f"topology: torus\nshape: [2, 3]\nlink: {LINK}",
    "mesh": "topology: mesh\nlink: {sizes_bytes: [1, 1e6], times_s: [1e-5, 1e-2], shared: true}",
    "listed": f"""topology: listed
links:
  up: {LINK}
  bus: {{latency: 0s, bandwidth: 1GB/s, shared: true}}
routes:
"""
    + "\n".join(
        f"  - {{from: {source}, to: {destination}, via: [{'up, bus' if source == 'fast01' else 'bus'}]}}"
        for number, source in enumerate(NODES)
        for destination in NODES[number + 1 :]
    ),
}
NETWORKS = {name: text + ("" if "loopback" in text else f"\nloopback: {LINK}") for name, text in NETWORKS.items()}


def scenario_of(tmp_path, network, *, link=""):
    path = tmp_path / "s.yaml"
    indented = "".join(f"    {line}\n" for line in NETWORKS[network].splitlines())
    path.write_text(HEAD.replace("LINK", link) + indented + TAIL)
    return path


def test_nodes_of_a_kind_share_their_models(tmp_path):
    platform = load_scenario(scenario_of(tmp_path, "star")).platform
    names = ["fast01", "fast02", "fast03", "fast04", "slow1.cpu0", "slow1.cpu1", "slow2.cpu0", "slow2.cpu1"]
    assert [pe.name for pe in platform.pes] == names
    assert platform.node_names == ("fast01", "fast02", "fast03", "fast04", "slow1", "slow2")
    assert [pe.cores for pe in platform.pes] == [2] * 4 + [1] * 4
    fast, slow = platform.pes[:4], platform.pes[4:]
    assert len({id(pe.speeds) for pe in fast}) == len({id(pe.speeds) for pe in slow}) == 1
    assert len({id(pe.load) for pe in slow}) == 1
    assert fast[0].speeds["dgemm"].speed([1.0, 1e9]).tolist() == [2e9, 2e9]
    assert fast[0].speeds["fft"].speed([1e6]).tolist() == [5e8]
    assert not slow[0].load.drawn
    assert slow[0].load.trace.end_s == 20
    assert platform.known_nodes[0].memory_bytes == 16 * 2**30
    assert platform.known_nodes[0].disk.bandwidth_bytes_per_s == 2e8
    assert [(level.name, level.capacity_bytes, level.shared) for level in platform.known_nodes[0].levels] == [
        ("L2", 2**20, False),
        ("L3", 2**25, True),
        ("memory", np.inf, False),
    ]
    assert platform.known_nodes[5].memory_bytes is None


def test_processes_are_placed_by_pes_or_by_allocation(tmp_path):
    equal, some, several = load_scenario(scenario_of(tmp_path, "star")).configurations
    assert (equal.partition, equal.placement) == ((13, 13, 13, 13, 12, 12, 12, 12), tuple(range(8)))
    assert (some.partition, some.placement) == ((60, 40), (0, 1))
    assert (several.partition, several.placement) == ((20,) * 5, (0, 0, 1, 1, 4))


def test_networks_are_what_they_say(tmp_path):
    found = {name: load_scenario(scenario_of(tmp_path, name)).platform for name in NETWORKS}
    networks = {name: platform.network for name, platform in found.items()}
    kinds = {"star": Star, "backbone": Star, "bus": Bus, "switches": Tree, "tree": Tree, "torus": Torus, "mesh": Mesh}
    assert {name: type(networks[name].topology) for name in kinds} == kinds
    assert networks["uniform"].eager_bytes == 65536
    assert networks["packets"].model.time_s(1501) == pytest.approx(25e-6)
    assert networks["star"].contention == "fair"
    assert networks["star"].within.time_s(np.array([0.0]))[0] == pytest.approx(1e-5)
    assert networks["tree"].topology.switch_of == (0, 0, 0, 1, 1, 1)
    assert networks["switches"].topology.switch_of == (0, 0, 0, 0, 1, 1)
    assert [link.name for link in networks["switches"].topology.uplinks] == ["switch1", "old"]
    assert networks["switches"].topology.uplinks[1].bandwidth_bytes_per_s == 1.25e9
    assert found["mesh"].message_s(0, 1, 1.0) == pytest.approx(1e-5)
    listed = networks["listed"].topology
    assert isinstance(listed, Listed)
    assert (listed.table[0, 1], listed.table[1, 0]) == ((0, 2), (3, 1))
    assert found["listed"].message_s(0, 1, 125e6) == pytest.approx(1 + 1e-5)


def test_a_route_without_a_way_back_stays_one(tmp_path):
    path = scenario_of(tmp_path, "listed")
    path.write_text(path.read_text().replace("via: [bus]}", "via: [bus], one_way: true}").split("configurations")[0]
                    + 'configurations: {one: {partition: [60, 40], pes: ["fast[01-02]"]}}\n')  # fmt: skip
    assert len(load_scenario(path).platform.network.topology.table) == 15 + 5


def test_nodes_may_have_a_link_of_their_own_kind(tmp_path):
    path = scenario_of(tmp_path, "star", link="link: {latency: 1us, bandwidth: 10Gbit/s}")
    private = load_scenario(path).platform.network.topology.private
    assert [link.bandwidth_bytes_per_s for link in private] == [1.25e9] * 4 + [1.25e8] * 2
    assert [link.name for link in private][:2] == ["fast01", "fast02"]


def test_speed_models_are_read_from_their_files(tmp_path):
    band = {"sizes": [1000.0, 2000.0], "low": [1e9, 1e9], "mid": [2e9, 2e9], "high": [3e9, 3e9]}
    files.write_json(tmp_path / "dgemm.json", {"format": 2, "kind": "speed", "model": band})
    path = scenario_of(tmp_path, "star")
    path.write_text(path.read_text().replace("dgemm: 2Gflop/s", "dgemm: {model: dgemm.json}"))
    loaded = load_scenario(path)
    assert loaded.platform.pes[0].speeds["dgemm"].to_dict() == band
    assert set(loaded.inputs) == {"s.yaml", "dgemm.json"}
    assert "low: [1000000000.0, 1000000000.0]" in resolved_text(path)


@pytest.mark.parametrize(("column", "rule"), [("load", "given"), ("available", "fair"), ("available", "idle")])
def test_a_trace_and_its_rule_agree(tmp_path, column, rule):
    (tmp_path / "t.csv").write_text(f"time_s,{column}\n0,1\n10,0\n")
    path = scenario_of(tmp_path, "star")
    text = path.read_text().replace("{times_s: [0, 10], values: [0, 1], end_s: 20}", "t.csv")
    path.write_text(text.replace("rule: fair", f"rule: {rule}"))
    with pytest.raises(ScenarioError, match=f"load.trace: t.csv: the rule '{rule}' does not fit its column '{column}'"):
        load_scenario(path)
    path.write_text(text.replace("rule: fair", f"rule: {'given' if column == 'available' else 'fair'}"))
    assert load_scenario(path).platform.pes[4].load.trace.end_s == 20


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a", ["a"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-11]b", ["a08b", "a09b", "a10b", "a11b"]),
        ("a[8-11]", ["a8", "a9", "a10", "a11"]),
        ("r2n[0-1].x", ["r2n0.x", "r2n1.x"]),
    ],
)
def test_names_by_pattern_and_back(pattern, names):
    assert expanded(pattern) == names
    assert compact(names) == pattern


def test_names_without_a_pattern():
    assert compact(["a1", "a3"]) is None
    assert compact(["a1", "b2"]) is None
    assert compact(["a", "b"]) is None
    assert compact(["a[1-2]"]) is None
    assert compact(["a1", "a2", "a1"]) is None


def test_names_by_count():
    assert counted("a", 3) == ["a1", "a2", "a3"]
    assert counted("a", 1) == ["a1"]
    assert counted("a", 10)[0] == "a01"
    assert counted("a[1-3]", 3) == ["a1", "a2", "a3"]
    with pytest.raises(
        ScenarioError, match=r"count: 2 does not fit 'a\[1\-3\]', which is 3 names; leave one of the two out"
    ):
        counted("a[1-3]", 2)


SURFACE = """
format: 1
platform:
  nodes:
    - name: a
      pes:
        - name: p
          speeds:
            dgemm:
              columns: [100, 400]
              bands:
                - {sizes: [2e4, 3e4], low: [1e9, 2e9], mid: [1e9, 2e9], high: [1e9, 2e9]}
                - {sizes: [32e4, 48e4], low: [4e9, 8e9], mid: [4e9, 8e9], high: [4e9, 8e9]}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: dgemm, parameters: {n: N}}
configurations: {equal: {partition: equal}}
"""


@pytest.mark.parametrize(("n", "speed", "notes"), [(100, 2e9, 0), (200, 4e9, 0), (400, 8e9, 0), (800, 8e9, 1)])
def test_speeds_by_columns_are_those_of_the_applications_order(tmp_path, n, speed, notes):
    """A square has 3 n^2 elements; halfway between 100 and 400 columns lies the geometric mean of its speeds."""
    path = tmp_path / "s.yaml"
    path.write_text(SURFACE.replace("n: N", f"n: {n}"))
    scenario = load_scenario(path)
    assert scenario.platform.pes[0].speed_of("dgemm").cut(3 * n * n).mid == pytest.approx(speed)
    assert sum("measured on 400 columns" in note for note in scenario.notes) == notes
    written = dump_scenario(scenario)
    assert "columns: [100.0, 400.0]" in written
    (tmp_path / "again.yaml").write_text(written.replace(f"n: {n}", "n: 100").replace(f"[{n}]", "[100]"))
    again = load_scenario(tmp_path / "again.yaml")  # all that was measured is still there
    assert again.platform.pes[0].speed_of("dgemm").cut(3e4).mid == pytest.approx(2e9)

"""Values set in place of a scenario's, and speeds taken to other memory levels."""

import json

import numpy as np
import pytest
import yaml

from advisor.cli import _run
from simulator.base.errors import ScenarioError
from simulator.engines.run import run
from simulator.models.memory import MemoryLevel
from simulator.models.predicted_speed import KERNEL_USES, rescaled
from simulator.scenario_file.load import load_scenario, resolved_text

TEXT = """format: 1
platform:
  nodes:
    - name: a
      memory: 16GiB
      levels:
        - {name: L1, capacity: 32KiB, latency: 1ns, gap: 0.2ns}
        - {name: L3, capacity: 8MiB, latency: 10ns, gap: 0.4ns, shared: true}
        - {name: RAM, latency: 90ns, gap: 1ns}
      pes:
        - {name: "a[0-1]", speeds: {naive_matmul: {sizes: [1e3, 1e5, 1e7], low: [9e8, 8e8, 5e8],
            mid: [1e9, 9e8, 6e8], high: [1.1e9, 1e9, 7e8]}, other: 1Gflop/s}}
    - {name: b.c, pes: [{name: b, speeds: {naive_matmul: 1Gflop/s}}]}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: naive_matmul, parameters: {n: 1500}}
configurations:
  equal: {partition: equal}
replications: 3
"""
TWICE = "platform.nodes.a.levels.L3.capacity=x2"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(TEXT)
    return path


def test_values_are_set_by_name_place_and_factor(file):
    changes = ["platform.nodes.b.c.memory=1GiB", "platform.nodes.0.memory=/2", "platform.link.latency=x1.5", "seed=7"]
    scenario = load_scenario(file, changes=changes)
    assert [node.memory_bytes for node in scenario.platform.known_nodes] == [8 * 2**30, 2**30]
    assert scenario.platform.message_s(0, 2, 0).item() == pytest.approx(15e-6)
    assert scenario.seed == 7
    assert [(change.path, change.before, change.after) for change in scenario.changes] == [
        ("platform.nodes.b.c.memory", None, "1GiB"),
        ("platform.nodes.0.memory", "16GiB", "8 GiB"),
        ("platform.link.latency", "10us", "15 us"),
        ("seed", None, 7),
    ]
    assert any("platform.link.latency: set to '15 us'" in line for line in scenario.warnings)
    assert any("platform.nodes.0.memory: set to '8 GiB': no process needs more" in line for line in scenario.warnings)


def test_twice_the_cache_rescales_the_measured_band(file):
    """The application's use is that known of the kernel; the band is the model's ratio at each size."""
    before, after = load_scenario(file), load_scenario(file, changes=[TWICE])
    measured = before.platform.pes[0].speeds["naive_matmul"]
    levels = before.platform.known_nodes[0].levels
    wider = (levels[0], MemoryLevel("L3", 16 * 2**20, 1e-8, 4e-10, shared=True), levels[2])
    expected = rescaled(measured, KERNEL_USES["naive_matmul"], measured=levels, changed=wider)
    found = after.platform.pes[0].speeds
    assert list(found) == ["naive_matmul"]
    assert np.array_equal(found["naive_matmul"].mid, expected.band.mid)
    assert found["naive_matmul"].speed(5e6) > measured.speed(5e6) * 1.05
    assert found["naive_matmul"].speed(1e3) == pytest.approx(float(measured.speed(1e3)), rel=1e-3)
    assert after.platform.pes[2].speeds is not None
    (said,) = after.extrapolations
    assert (said.node, said.pes, said.kernel) == ("a", "a[0-1]", "naive_matmul")
    assert said.levels == ("L3: capacity 16 MiB in place of 8 MiB",)
    assert said.needed_elements == 1500 * 1500 + 2 * 500 * 1500
    assert any("not measured with L3: capacity 16 MiB" in line for line in after.warnings)
    assert any("speeds of other on a[0-1]: left out" in line for line in after.warnings)


def test_problem_sizes_beyond_the_measured_are_said_to_be_so(file):
    scenario = load_scenario(file, changes=[TWICE, "application.parameters.n=6000"])
    assert any("6 times the largest measured" in line for line in scenario.warnings)


def test_the_resolved_text_holds_the_result_and_what_is_to_be_known(file):
    text = resolved_text(file, changes=[TWICE, "platform.nodes.a.memory=40MiB"])
    again = file.with_name("again.yaml")
    again.write_text(text)
    scenario, loaded = load_scenario(file, changes=[TWICE, "platform.nodes.a.memory=40MiB"]), load_scenario(again)
    assert loaded.warnings == scenario.warnings
    assert np.array_equal(run(loaded, engine="process").makespan_ticks, run(scenario, engine="process").makespan_ticks)
    assert yaml.safe_load(text)["platform"]["nodes"][0]["levels"][1]["capacity"] == "16 MiB"


def test_a_level_that_is_only_shared_differently_changes_no_band(file):
    scenario = load_scenario(file, changes=["platform.nodes.a.levels.L3.shared=false"])
    assert scenario.extrapolations == ()
    assert list(scenario.platform.pes[0].speeds) == ["naive_matmul", "other"]


def test_a_speed_that_is_set_too_is_taken_as_it_is(file):
    speed = "platform.nodes.a.pes.a[0-1].speeds.naive_matmul=3Gflop/s"
    scenario = load_scenario(file, changes=[TWICE, speed])
    assert scenario.platform.pes[0].speeds["naive_matmul"].mid.tolist() == [3e9]
    assert scenario.extrapolations == ()


def test_a_predicted_speed_is_a_wide_band_that_says_so_and_follows_the_levels(file):
    predicted = "{predicted: {flop_rate: 2Gflop/s, half_width: 0.3}}"
    change = f"platform.nodes.a.pes.0.speeds.naive_matmul={predicted}"
    scenario, wider = load_scenario(file, changes=[change]), load_scenario(file, changes=[change, TWICE])
    band = scenario.platform.pes[0].speeds["naive_matmul"]
    assert band.speed(300) == pytest.approx(2e9)
    assert band.speed(5e6) < 1.9e9
    assert np.allclose(band.low / band.mid, 0.7)
    assert any(
        "speed of naive_matmul on a[0-1]: predicted from memory levels and 2 Gunits/s, not measured: a band of +-30%"
        in line
        for line in scenario.warnings
    )
    assert wider.platform.pes[0].speeds["naive_matmul"].speed(5e6) > band.speed(5e6)
    assert wider.extrapolations == ()


def test_a_predicted_speed_needs_levels_and_a_use(file):
    change = "platform.nodes.1.pes.0.speeds.naive_matmul={predicted: {flop_rate: 2Gflop/s}}"
    with pytest.raises(ScenarioError, match="a predicted speed needs the memory levels of the node; give some"):
        load_scenario(file, changes=[change])
    change = "platform.nodes.0.pes.0.speeds.qr={predicted: {flop_rate: 2Gflop/s}}"
    with pytest.raises(
        ScenarioError,
        match=r"\-\-set platform\.nodes\.0\.pes\.0\.speeds\.qr\.predicted: memory is missing; add it \(it is known",
    ):
        load_scenario(file, changes=[change])


def test_swap_says_its_times(file):
    change = "platform.nodes.a.swap={size: 4GiB, latency: 50us, gap: 4ns}"
    node = load_scenario(file, changes=[change]).platform.known_nodes[0]
    assert node.swap_bytes == 4 * 2**30
    assert (node.paging_levels[-1].latency_s, node.paging_levels[-1].gap_s) == (50e-6, 4e-9)
    assert yaml.safe_load(resolved_text(file, changes=[change]))["platform"]["nodes"][0]["swap"]["latency"] == "50 us"


def test_the_command_line_names_changes_and_extrapolation(file, capsys):
    assert _run(["simulate", str(file), "--set", TWICE, "--set", "replications=2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changes"][0] == {"path": TWICE.partition("=")[0], "before": "8MiB", "after": "16 MiB"}
    assert document["extrapolation"][0]["highest_factor"] > 1.05
    assert document["replications"] == 2
    assert any("by the memory model" in line for line in document["warnings"])
    assert _run(["check", str(file), "--set", TWICE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["after"] == "16 MiB"
    assert _run(["simulate", str(file), "--set", TWICE]) == 0
    assert "Set       platform.nodes.a.levels.L3.capacity: 16 MiB in place of 8MiB" in capsys.readouterr().out


def test_a_band_that_ends_for_want_of_memory_pages_where_the_memory_is_known(file):
    """GBBP's last cut (0, 0) stands for the end of memory; without it the error says what is missing."""
    ends = "{sizes: [1e3, 1e5, 1e6], low: [9e8, 9e8, 0], mid: [1e9, 1e9, 0], high: [1.1e9, 1e9, 0]}"
    changes = [f"platform.nodes.{n}.pes.0.speeds.naive_matmul={ends}" for n in (0, 1)]
    with pytest.raises(ScenarioError, match=r"PE b: speed of naive_matmul is 0 at .* where its band ends for want of"):
        run(load_scenario(file, changes=changes), engine="process")
    scenario = load_scenario(file, changes=[*changes, "platform.nodes.1.memory=20MB", "platform.nodes.0.memory=20MB"])
    assert scenario.platform.pes[0].speeds["naive_matmul"].sizes.tolist() == [1e3, 1e5]
    assert any("constant beyond 100000 elements: memory of the node" in line for line in scenario.warnings)
    assert run(scenario, engine="process").makespan_ticks.min() > 0


MORE = """format: 1
platform:
  nodes:
    - {name: "n[08-09]", pes: [{cores: 2, speeds: {stencil: 2 Gflop/s}}]}
    - {name: desk, memory: 8GiB, pes: [{name: cpu, speeds: {stencil: 1 Gflop/s}}]}
  network: {topology: star, link: {latency: 30us, bandwidth: 1Gbit/s}}
application: {name: stencil, kernel: stencil, parameters: {n: 2000, iterations: 10}}
configurations: {equal: {partition: equal}}
"""


@pytest.mark.parametrize(
    ("change", "nodes", "pes"),
    [
        ("n[08-09]: 2", ["n08", "n09", "desk", "n10", "n11"], ["n10", "n11"]),
        ("n09", ["n08", "n09", "desk", "n10"], ["n10"]),
        ("n:1", ["n08", "n09", "desk", "n10"], ["n10"]),
        ("desk: 2", ["n08", "n09", "desk", "desk2", "desk3"], ["desk2-cpu", "desk3-cpu"]),
    ],
)
def test_nodes_like_one_that_is_there_are_added(tmp_path, change, nodes, pes):
    (tmp_path / "s.yaml").write_text(MORE)
    platform = load_scenario(tmp_path / "s.yaml", changes=[f"platform.nodes+={change}"]).platform
    assert list(platform.node_names) == nodes
    assert [pe.name for pe in platform.pes][3:] == pes
    like = platform.pes[2 if "desk" in change else 0]
    assert all((pe.cores, pe.speeds) == (like.cores, like.speeds) for pe in platform.pes[3:])


@pytest.mark.parametrize("change", ["", ":", "m: 1", "n: 0", "n: x", "n: 1025", "desk: -1", "n[08-09"])
def test_what_adds_no_nodes_is_refused_with_what_would(tmp_path, change):
    (tmp_path / "s.yaml").write_text(MORE)
    with pytest.raises(ScenarioError, match=r"adds no nodes; give NODE: COUNT with one of n\[08-09\], desk") as error:
        load_scenario(tmp_path / "s.yaml", changes=[f"platform.nodes+={change}"])
    assert len(error.value.lines) == 1
    with pytest.raises(ScenarioError, match=r"only platform.nodes takes \+="):
        load_scenario(tmp_path / "s.yaml", changes=["platform.network+=n: 1"])


def test_counted_nodes_go_on_counting(tmp_path):
    (tmp_path / "s.yaml").write_text(MORE.replace('"n[08-09]"', "n, count: 2"))
    for name in ("n", "n2"):
        scenario = load_scenario(tmp_path / "s.yaml", changes=[f"platform.nodes+={name}: 2"])
        assert list(scenario.platform.node_names) == ["n1", "n2", "desk", "n3", "n4"]


@pytest.mark.parametrize("nodes", ['"n[08-09]"', "[n08, n09]"])
def test_an_added_node_hangs_on_the_switch_of_its_like(tmp_path, nodes):
    link = "{latency: 30us, bandwidth: 1Gbit/s}"
    switches = f"[{{name: s1, nodes: {nodes}}}, {{name: s2, nodes: desk}}]"
    tree = f"{{topology: tree, link: {link}, uplink: {link}, switches: {switches}}}"
    text = MORE.replace("{topology: star, link: {latency: 30us, bandwidth: 1Gbit/s}}", tree)
    (tmp_path / "s.yaml").write_text(text)
    added = load_scenario(tmp_path / "s.yaml", changes=["platform.nodes+=n: 1"])
    nodes_too = text.replace(
        "  network:", "    - {name: n10, pes: [{cores: 2, speeds: {stencil: 2 Gflop/s}}]}\n  network:"
    )
    (tmp_path / "t.yaml").write_text(
        nodes_too.replace(switches, "[{name: s1, nodes: [n08, n09, n10]}, {name: s2, nodes: desk}]")
    )
    assert np.array_equal(run(added).makespan_ticks, run(load_scenario(tmp_path / "t.yaml")).makespan_ticks)


def test_a_link_may_be_named(tmp_path):
    (tmp_path / "s.yaml").write_text(MORE)
    named, written = (
        load_scenario(tmp_path / "s.yaml", changes=[f"platform.network.link={link}"]).platform.network
        for link in ("25gbe", "{latency: 20us, bandwidth: 25Gbit/s}")
    )
    assert named.links == written.links

"""Files that extend others: how fields are merged, whose paths they are, and that nothing is lost unsaid."""

import json
from pathlib import Path

import pytest

from simulator import ScenarioError, dump_scenario, files, load_platform, load_scenario, read_template, resolved_text
from simulator.experiments.sweep.plan import make_plan
from simulator.scenario_file.extending import read_extended
from simulator.scenario_file.load import Template

BASE = """format: 1
platform:
  nodes:
    - name: desk
      memory: 1GiB
      pes:
        - {name: a, speeds: {k: 1 Gflop/s}, load: {trace: load.csv, rule: fair}}
        - {name: b, speeds: {k: {sizes: [1], speeds: [2e9]}}}
    - {name: lab, count: 2, pes: [{speeds: {k: 1 Gflop/s}}]}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: k, parameters: {n: 100}}
configurations:
  equal: {partition: equal}
  two: {partition: [60, 40], pes: [a, b]}
seed: 5
notes: [first, second]
"""


@pytest.fixture
def merged(tmp_path):
    """What a file that extends the base holds."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "base.yaml").write_text(BASE)
    (tmp_path / "base" / "load.csv").write_text("time_s,load\n0,1\n1,0\n")

    def read(text, name="ours.yaml", extends="extends: base/base.yaml\n"):
        path = tmp_path / name
        path.write_text(f"format: 1\n{extends}{text}")
        return read_extended(path)

    return read


def test_nothing_said_is_the_base_with_its_files_named_from_here(merged, tmp_path):
    document = merged("")
    base = read_extended(tmp_path / "base" / "base.yaml").data
    base["platform"]["nodes"][0]["pes"][0]["load"]["trace"] = "base/load.csv"
    assert document.data == base
    assert resolved_text(document.path) == resolved_text(tmp_path / "base" / "base.yaml")


def test_mappings_are_merged_key_by_key_and_null_takes_one_away(merged):
    data = merged("seed: null\nnotes: null\nplatform: {link: {bandwidth: 2Gbit/s}}\nconfigurations: {two: null}\n").data
    assert "seed" not in data
    assert "notes" not in data
    assert data["platform"]["link"] == {"latency": "10us", "bandwidth": "2Gbit/s"}
    assert list(data["configurations"]) == ["equal"]
    assert len(data["platform"]["nodes"]) == 2


def test_entries_with_names_are_merged_where_they_stand_and_new_ones_added(merged):
    pes = "pes: [{name: b, cores: 2}, {name: c, speeds: {k: 3 Gflop/s}}]"
    nodes = merged(f"platform: {{nodes: [{{name: lab, count: 5}}, {{name: desk, {pes}}}, {{name: new}}]}}\n").data[
        "platform"
    ]["nodes"]
    assert [node["name"] for node in nodes] == ["desk", "lab", "new"]
    assert nodes[1] == {"name": "lab", "count": 5, "pes": [{"speeds": {"k": "1 Gflop/s"}}]}
    assert [pe["name"] for pe in nodes[0]["pes"]] == ["a", "b", "c"]
    assert nodes[0]["pes"][1] == {"name": "b", "speeds": {"k": {"sizes": [1], "speeds": [2e9]}}, "cores": 2}


def test_a_pe_without_a_name_is_the_one_called_after_its_node(merged):
    nodes = merged("platform: {nodes: [{name: lab, pes: [{cores: 4}]}]}\n").data["platform"]["nodes"]
    assert nodes[1]["pes"] == [{"speeds": {"k": "1 Gflop/s"}, "cores": 4}]


def test_a_name_twice_here_is_not_merged_away(merged):
    """Whoever writes it twice hears of it from what checks names."""
    path = merged("platform: {nodes: [{name: desk}, {name: desk, pes: [{speeds: {k: 1 Gflop/s}}]}]}\n").path
    assert len(read_extended(path).data["platform"]["nodes"]) == 3
    with pytest.raises(
        ScenarioError, match=r"3:35: platform\.nodes\.2\.name: two nodes are called 'desk'; give each its own name"
    ):
        load_scenario(path)


def test_other_lists_are_replaced(merged):
    data = merged("notes: [third]\nconfigurations: {two: {partition: [50, 50]}}\n").data
    assert data["notes"] == ["third"]
    assert data["configurations"]["two"] == {"partition": [50, 50], "pes": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "way", "whole"),
    [
        (
            "platform: {link: {sizes_bytes: [0, 1], times_s: [1, 2]}}",
            ("platform", "link"),
            {"sizes_bytes": [0, 1], "times_s": [1, 2]},
        ),
        (
            "platform: {nodes: [{name: desk, pes: [{name: b, speeds: {k: {model: m.json}}}]}]}",
            ("platform", "nodes", 0, "pes", 1, "speeds", "k"),
            {"model": "m.json"},
        ),
        (
            "platform: {nodes: [{name: desk, pes: [{name: a, load: {trace: {times_s: [0], values: [1], end_s: 1}}}]}]}",
            ("platform", "nodes", 0, "pes", 0, "load"),
            {"trace": {"times_s": [0], "values": [1], "end_s": 1}, "rule": "fair"},
        ),
        ("platform: {simgrid: x.xml}", ("platform",), {"simgrid": "x.xml"}),
        (
            "configurations: {two: {allocation: {a: 2}}}",
            ("configurations", "two"),
            {"partition": [60, 40], "allocation": {"a": 2}},
        ),
    ],
    ids=["link", "speed", "trace", "platform", "placement"],
)
def test_another_kind_of_thing_stands_alone(merged, text, way, whole):
    found = merged(text).data
    for part in way:
        found = found[part]
    assert found == whole


def test_a_network_takes_the_place_of_a_link(merged):
    platform = merged("platform: {network: {topology: uniform, link: {latency: 1us, bandwidth: 1GB/s}}}").data[
        "platform"
    ]
    assert "link" not in platform
    assert len(platform["nodes"]) == 2


def test_a_misspelt_key_here_or_there_does_not_make_it_another_kind(merged, tmp_path):
    """Else the fields of the other would be gone unsaid."""
    document = merged("platform: {link: {bandwith: 1Gbit/s}}\n")
    assert document.data["platform"]["link"]["latency"] == "10us"
    base = tmp_path / "base" / "base.yaml"
    base.write_text(BASE.replace("seed: 5", "sede: 5"))
    with pytest.raises(ScenarioError) as error:
        load_scenario(merged("replications: 3\n").path)
    (line,) = error.value.lines
    assert line.startswith(f"{base}:15:1: sede: the key is unknown here")


def test_faults_stand_where_they_are_written(merged, tmp_path):
    document = merged("platform:\n  nodes:\n    - name: desk\n      pes: [{name: a, cores: 2}]\n")
    base = tmp_path / "base" / "base.yaml"
    assert document.place(("platform", "nodes", 0, "pes", 0, "cores")) == (
        f"{document.path}:6:23: platform.nodes.0.pes.0.cores"
    )
    assert document.place(("platform", "nodes", 0, "pes", 0, "load", "rule")).startswith(f"{base}:7:69: ")
    assert document.place(("platform", "nodes", 0, "memory")).startswith(f"{base}:5:7: ")
    assert document.place(("platform", "nodes", 1, "count")).startswith(f"{base}:9:19: ")
    assert document.place(("seed",)).startswith(f"{base}:15:1: ")


def test_hashes_of_all_files_are_among_the_inputs(merged, tmp_path):
    (tmp_path / "middle").mkdir()
    (tmp_path / "middle" / "middle.toml").write_text('format = 1\nextends = "../base/base.yaml"\nseed = 7\n')
    path = merged("replications: 9\n", extends="extends: middle/middle.toml\n").path
    inputs = load_scenario(path).inputs
    assert list(inputs) == ["ours.yaml", "middle/middle.toml", "base/base.yaml", "base/load.csv"]
    assert all(inputs[name] == files.digest((tmp_path / name).read_bytes()) for name in inputs)
    assert (load_scenario(path).seed, load_scenario(path).replications) == (7, 9)


def test_a_path_with_a_link_on_it_is_not_shortened(merged, tmp_path):
    """Up from a folder that is a link is not up from the link."""
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere" / "load.csv").write_text("time_s,load\n0,3\n1,3\n")
    (tmp_path / "elsewhere" / "deep" / "base.yaml").write_text(BASE.replace("load.csv", "../load.csv"))
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    document = merged("", extends="extends: link/base.yaml\n")
    assert document.data["platform"]["nodes"][0]["pes"][0]["load"]["trace"] == "link/../load.csv"
    (load,) = [pe.load for pe in load_scenario(document.path).platform.pes if pe.load]
    assert load.trace.values.tolist() == [3, 3]


def test_changes_work_on_what_is_merged_but_not_on_extends(merged):
    path = merged("configurations: {two: null}\n").path
    changes = ["platform.nodes.lab.count=4", "platform.link.bandwidth=x2"]
    scenario = load_scenario(path, changes=changes)
    assert len(scenario.platform.pes) == 6
    assert [change.before for change in scenario.changes] == [2, "1Gbit/s"]
    with pytest.raises(
        ScenarioError, match=r"^--set extends: the scenario has been read; name another file in its place$"
    ):
        load_scenario(path, changes=["extends=x.yaml"])


def test_a_plan_carries_what_is_merged_and_all_files(merged, tmp_path):
    """A worker elsewhere has the plan's data and copies of its files, and no base."""
    path = merged("seed: 8\n").path
    plan = make_plan(path, [["application.parameters.n=50"]], ask=_nothing)
    assert list(plan.inputs) == ["ours.yaml", "base/base.yaml", "base/load.csv"]
    assert "extends" not in plan.data
    data = json.loads(plan.payload())["scenario"]
    there = tmp_path / "there"
    template = Template.of_data(data, there / "ours.yaml", dict(plan.paths))
    assert dump_scenario(template.scenario()) == dump_scenario(read_template(path).scenario())


def _nothing(_scenario, _threads):
    return {"configurations": []}


def test_a_platform_can_extend_a_platform_and_be_extended_by_a_scenario(tmp_path):
    platform = "format: 1\n" + BASE[BASE.index("platform:") : BASE.index("application:")].replace(
        ", load: {trace: load.csv, rule: fair}", ""
    )
    (tmp_path / "one.yaml").write_text(platform)
    (tmp_path / "two.yaml").write_text(
        "format: 1\nextends: one.yaml\nplatform: {nodes: [{name: lab, count: 1}], link: {latency: 5us}}\n"
    )
    assert [pe.name for pe in load_platform(tmp_path / "two.yaml").pes] == ["a", "b", "lab1"]
    (tmp_path / "three.yaml").write_text(
        "format: 1\nextends: two.yaml\n" + BASE[BASE.index("application:") : BASE.index("  two:")]
    )
    assert [pe.name for pe in load_platform(tmp_path / "three.yaml").pes] == ["a", "b", "lab1"]
    assert "extends" not in resolved_text(tmp_path / "three.yaml")


def test_sixteen_files_in_a_row_are_read(tmp_path):
    (tmp_path / "0.yaml").write_text(BASE.replace(", load: {trace: load.csv, rule: fair}", ""))
    for number in range(1, 17):
        (tmp_path / f"{number}.yaml").write_text(f"format: 1\nextends: {number - 1}.yaml\nreplications: {number}\n")
    assert load_scenario(tmp_path / "15.yaml").replications == 15
    with pytest.raises(ScenarioError, match="after 16 files in a row"):
        load_scenario(Path(tmp_path / "16.yaml"))

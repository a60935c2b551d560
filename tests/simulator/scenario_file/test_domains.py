"""Sharing domains, uses and demands of loads in scenario files: who is in them, what they are called, what is said."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simulator import Configuration, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.calibration import replay_neighbours, save_neighbours
from simulator.models.neighbours import Bandwidth, KernelUses, Occupancy, ShareTable, SharingDomain
from simulator.platform.domains import domain_data
from simulator.scenario_file.load import read_template, template_of
from tests.support.made_up_machine import neighbours_document, visits

NODE = """
    - name: "n[1-2]"
      levels:
        - {{name: L3, capacity: 8MiB, latency: 10ns, gap: 1ns, shared: true}}
        - {{name: RAM, latency: 90ns, gap: 2ns}}
      domains: [{domains}]
      uses: {{{uses}}}
      pes: {pes}"""
FILE = """
format: 1
platform:
  nodes:{nodes}
  link: {{latency: 1us, bandwidth: 1GB/s}}
application: {{name: ep, kernel: {kernel}, parameters: {{samples: 1000, volume: 100}}}}
configurations: {{equal: {{partition: equal}}}}
"""
FOUR = '[{name: "{node}-c", count: 4, speeds: {dgemm: 1Gflop/s, triad: 1Gflop/s}}]'


@pytest.fixture
def written(tmp_path):
    def write(domains, *, uses="", pes=FOUR, kernel="dgemm"):
        path = tmp_path / "scenario.yaml"
        path.write_text(FILE.format(nodes=NODE.format(domains=domains, uses=uses, pes=pes), kernel=kernel))
        return path

    return write


def test_groups_of_cores_in_the_order_of_pes(written):
    pes = """[{name: "{node}-a", cores: 2, speeds: {dgemm: 1Gflop/s}},
              {name: "{node}-b[1-2]", speeds: {dgemm: 1Gflop/s}}, {name: "{node}-c", speeds: {dgemm: 1Gflop/s}}]"""
    found = load_scenario(written("{kind: memory, each: 2, capacity: 20GB/s}", pes=pes)).platform.domains
    assert [(one.name, one.pes) for one in found] == [
        ("memory 1 of n1", (0,)), ("memory 2 of n1", (1, 2)), ("memory 3 of n1", (3,)),
        ("memory 1 of n2", (4,)), ("memory 2 of n2", (5, 6)), ("memory 3 of n2", (7,)),
    ]  # fmt: skip
    assert {one.law for one in found} == {Bandwidth(20e9, 4.0, None)}
    assert {(one.kind, one.level) for one in found} == {("memory", "memory")}


def test_each_law_and_its_names(written):
    domains = """{kind: cache, level: L3}, {kind: cache, level: L2, capacity: 1MiB, pes: ["{node}-c3", "{node}-c1"]},
      {kind: clock, shares: [1, 0.9], name: "budget {node}"}, {kind: core, each: 2, shares: [1, 0.5], name: pair}"""
    scenario = load_scenario(written(domains))
    found = {one.name: one for one in scenario.platform.domains if one.pes[0] < 4}
    assert list(found) == ["L3 of n1", "L2 of n1", "budget n1", "pair 1 of n1", "pair 2 of n1"]
    assert found["L3 of n1"] == SharingDomain("cache", "L3 of n1", "L3", (0, 1, 2, 3), Occupancy(2**23))
    assert (found["L2 of n1"].pes, found["L2 of n1"].law) == ((0, 2), Occupancy(2**20))
    assert found["budget n1"].law == ShareTable((1.0, 0.9))
    assert found["pair 2 of n1"].pes == (2, 3)
    assert not scenario.platform.nodes[0].levels[0].shared  # the domain says who shares it


def test_uses_over_sizes_and_the_same_at_each(written):
    uses = """dgemm: {sizes: [1e4, 1e6], memory: {demand: [1GB/s, 3GB/s], sensitivity: [0.1, 0.3]}},
      triad: {memory: {demand: 12GB/s, sensitivity: 0.9}, L3: {demand: 20MiB, sensitivity: 0.4}}"""
    (node, other) = load_scenario(written("{kind: memory, capacity: 20GB/s}", uses=uses)).platform.nodes
    assert node.uses is other.uses
    half_way = node.uses["dgemm"].at("memory", 1e5)  # in the middle on a logarithmic axis, by hand
    assert half_way.demand == pytest.approx(2e9)
    assert half_way.sensitivity == pytest.approx(0.2)
    assert (node.uses["triad"].at("L3", 7).demand, node.uses["triad"].at("L3", 1e9).sensitivity) == (20 * 2**20, 0.4)


@pytest.mark.parametrize(
    ("change", "count"),
    [("domains.0.capacity=x2", 4), ("domains.0.each=4", 2), ("pes.0.count=6", 6), ("domains.0.softness=8", 4)],
)
def test_what_ifs_on_channels_and_cores(written, change, count):
    path = written("{kind: memory, each: 2, capacity: 20GB/s}")
    domains = load_scenario(path, changes=[f"platform.nodes.0.{change}"]).platform.domains
    assert len(domains) == count
    changed = {"domains.0.capacity=x2": Bandwidth(40e9), "domains.0.softness=8": Bandwidth(20e9, 8.0)}
    assert domains[0].law == changed.get(change, Bandwidth(20e9))


@pytest.mark.parametrize(
    ("lone", "use", "fine"),
    [
        ("1MB/s", "{memory: {demand: 9GB/s}}", False),
        ("8GB/s", "{memory: {demand: 9GB/s}}", False),
        ("9GB/s", "{memory: {demand: 9GB/s}}", True),
        ("4GB/s", "{sizes: [1, 2], memory: {demand: [1GB/s, 9GB/s], sensitivity: [1, 1]}}", False),
        ("8GB/s", "{sizes: [1, 2], memory: {demand: [1GB/s, 9GB/s], sensitivity: [1, 1]}}", True),
    ],
)
def test_no_kernel_takes_more_than_a_pe_gets_alone(written, lone, use, fine):
    path = written(f"{{kind: memory, capacity: 20GB/s, lone: {lone}}}", uses=f"dgemm: {use}")
    if fine:
        assert load_scenario(path).platform.nodes[0].uses["dgemm"].at("memory", 2).demand == 9e9
        return
    with pytest.raises(ScenarioError, match=rf"dgemm.memory.demand: 9 GB/s is more than the {lone[0]} [GM]B/s"):
        load_scenario(path)


def test_a_measured_model_can_be_changed_in_parts(written):
    path = written("", uses="triad: {memory: {demand: 9GB/s}}")
    path.write_text(path.read_text().replace("domains: []", "domains: {model: measured.json}"))
    use = {"sizes": [1.0], "memory": {"demand": ["1GB/s"], "sensitivity": [0.5]}}
    domains = [{"kind": "memory", "capacity": "20GB/s", "lone": "9GB/s", "softness": 4.0}]
    model = neighbours_document(domains, [[0, 1, 2, 3]], {"dgemm": use, "triad": use})
    path.with_name("measured.json").write_text(json.dumps(model))
    scenario = load_scenario(path)
    assert set(scenario.inputs) == {"scenario.yaml", "measured.json"}
    asked = [("dgemm", 1e9), ("triad", 9e9)]
    assert [scenario.platform.nodes[0].uses[kernel].at("memory", 1).demand for kernel, _ in asked] == [1e9, 9e9]
    changes = ["platform.nodes.0.domains.0.capacity=x2", "platform.nodes.0.uses.dgemm.memory.demand=2GB/s"]
    changed = load_scenario(path, changes=changes).platform
    assert {one.law for one in changed.domains} == {Bandwidth(40e9, 4.0, 9e9)}
    assert [changed.nodes[0].uses[kernel].at("memory", 1).demand for kernel, _ in asked] == [2e9, 9e9]
    path.with_name("measured.json").write_text('{"kind": "speed"}')
    with pytest.raises(
        ScenarioError, match="kind 'speed' is no neighbours model; name a file that `apportion calibrate neighbours`"
    ):
        load_scenario(path)


def test_a_scenario_from_python_keeps_them(written):
    scenario = load_scenario(
        written("{kind: memory, each: 2, capacity: 20GB/s}", uses="dgemm: {memory: {demand: 9GB/s}}")
    )
    again = template_of(scenario).scenario().platform
    assert again.domains == scenario.platform.domains
    assert [node.uses["dgemm"].at("memory", 1) for node in again.nodes] == [
        node.uses["dgemm"].at("memory", 1) for node in scenario.platform.nodes
    ]
    assert read_template(written("{kind: clock, shares: [1]}")).scenario().platform.domains[1].name == "clock of n2"


def test_a_name_that_does_not_name_the_node_is_not_written():
    domain = SharingDomain("clock", "all", "clock", (0,), ShareTable((1.0,)))
    with pytest.raises(
        ScenarioError, match="platform: the name of domain 'all' lacks that of its node; write n1 in it"
    ):
        domain_data(domain, "n1", ["n1-c1"])


@pytest.mark.parametrize(
    ("kernel", "uses", "silent"),
    [
        ("dgemm", "", "memory of n1 and 3 more"),
        ("dgemm", "dgemm: {memory: {demand: 1GB/s}}", "L3 of n1 and 1 more"),
        ("dgemm", "dgemm: {memory: {demand: 1GB/s}, L3: {demand: 1MiB, sensitivity: 0}}", None),
        ("triad", "", None),  # its use of memory is known
    ],
)
def test_a_kernel_of_which_nothing_is_known_is_told_once(written, kernel, uses, silent):
    domains = "{kind: memory, capacity: 20GB/s}, {kind: cache, level: L3}, {kind: clock, shares: [1]}"
    said = [line for line in load_scenario(written(domains, uses=uses, kernel=kernel)).warnings if "neighbours" in line]
    assert len(said) == (silent is not None)
    if silent:
        assert said[0].startswith(f"{silent}: what {kernel} takes there")
        assert f"such as uses: {{{kernel}: {{" in said[0]


def test_a_platform_of_many_nodes_has_its_domains_at_once(written):
    """One law and one mapping of uses for all nodes of an entry: nothing is made node by node but the places."""
    path = written("{kind: memory, each: 4, capacity: 20GB/s}", uses="dgemm: {memory: {demand: 1GB/s}}")
    path.write_text(path.read_text().replace("n[1-2]", "n[1-5000]"))
    platform = load_scenario(path).platform
    assert len(platform.domains) == 5000
    assert len({id(one.law) for one in platform.domains}) == len({id(node.uses) for node in platform.nodes}) == 1
    assert isinstance(platform.nodes[0].uses["dgemm"], KernelUses)
    np.testing.assert_array_equal([one.pes[0] for one in platform.domains], np.arange(0, 20000, 4))


def test_a_model_of_other_pes_names_them_by_place_and_says_what_uses_nothing(written):
    """As `apportion calibrate neighbours` writes it: its PEs have names of their own, and places beside them."""
    path = written("")
    path.write_text(path.read_text().replace("domains: []", "domains: {model: measured.json}"))
    near = {"kind": "memory", "name": "near", "capacity": "20GB/s", "lone": "20GB/s", "softness": 4, "pes": ["pe2"]}
    cache = {"kind": "cache", "name": "L3", "level": "L3", "capacity": "1234567.5B"}
    use = {"sizes": [1e3, 1e6], "memory": {"demand": ["1B/s", "2B/s"], "sensitivity": [0.5, 1]}}
    model = neighbours_document([near, cache], [[1, 2], [0, 1, 2, 3]], {"triad": use}, pe_count=8)
    path.with_name("measured.json").write_text(json.dumps(model))
    scenario = load_scenario(path)
    assert [(one.name, one.pes) for one in scenario.platform.domains[:2]] == [
        ("near of n1", (1, 2)),
        ("L3 of n1", (0, 1, 2, 3)),
    ]
    assert scenario.platform.domains[1].law == Occupancy(1234567.5)
    assert scenario.warnings == ("measured.json: neighbours were measured on 8 PEs, and the node has 4",)
    assert [scenario.platform.nodes[0].uses[kernel].at("L3", 1e4).demand for kernel in ("dgemm", "triad")] == [0, 0]
    model["places"][0] = [1, 9]
    path.with_name("measured.json").write_text(json.dumps(model))
    with pytest.raises(
        ScenarioError, match=r"9:7: platform\.nodes\.0\.domains\.0: pes: there is no place 9; give 0 to 3"
    ):
        load_scenario(path)


def test_what_was_measured_is_what_is_simulated(tmp_path):
    """From a table of visits over a model's file and a scenario that names it to a run: what the model says."""
    (tmp_path / "visits.csv").write_text(visits(passes=1))
    model = replay_neighbours(tmp_path / "visits.csv", caches=[("L3", 3.2e7)])
    save_neighbours(replace(model, doubt=None), tmp_path / "measured.json")
    path = tmp_path / "scenario.yaml"
    pes = '[{name: "{node}-c", count: 4, speeds: {stencil: 1Gflop/s}}]'
    path.write_text(FILE.format(nodes=NODE.format(domains="", uses="", pes=pes), kernel="stencil"))
    text = path.read_text().replace("domains: []", "domains: {model: measured.json}").replace("n[1-2]", "n1")
    path.write_text(text.replace("{samples: 1000, volume: 100}", "{samples: 1200, volume: 1e6}"))
    scenario = load_scenario(path)
    for count in (1, 2, 3, 4):
        one = Configuration("one", (1200 // count,) * count, tuple(range(count)))
        for engine in ("process", "compiled"):
            taken_s = run(scenario.with_configurations((one,)), engine=engine).makespan_s[0, 0]
            kept = 1.2 / count / taken_s
            assert kept == pytest.approx(model.together_share("stencil", 4e7, count), rel=1e-3)
    assert kept < 0.8  # they do lose something


@pytest.mark.parametrize("measured", ["on all cores at once", "alone"])
def test_a_speed_measured_beside_neighbours_is_told_where_domains_count_them_again(written, tmp_path, measured):
    model = {"sizes": [1e3], "low": [1e9], "mid": [1e9], "high": [1e9]}
    document = {"format": 2, "kind": "speed", "kernel": "dgemm", "measured": measured, "model": model, "points": []}
    (tmp_path / "speed.json").write_text(json.dumps(document))
    pes = '[{name: "{node}-c", count: 4, speeds: {dgemm: {model: speed.json}}}]'
    notes = load_scenario(written("{kind: clock, shares: [1, 0.9]}", pes=pes)).notes
    told = [line for line in notes if "neighbours count twice" in line]
    assert len(told) == (measured != "alone")
    assert all("speed.json" in line and "without --together" in line for line in told)

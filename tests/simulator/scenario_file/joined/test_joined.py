"""Joined calibrations: the scenario loads and runs, kinds come out as they were measured, every doubt is told."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import simulator as sim
from advisor.cli import _run
from simulator import ScenarioError, join_platform, load_scenario
from simulator.models.doubt import Doubt, Noise
from simulator.models.network.file import fit_network_table, save_network_model
from simulator.models.speed import SpeedBand
from simulator.scenario_file.joined.inputs import CalibratedNode
from simulator.scenario_file.joined.kinds import band_distance, common_band, likeness
from tests.simulator.scenario_file.joined.builders import (
    MACHINE,
    TOPOLOGY,
    host,
    link,
    memory_model,
    provenance,
    speed_model,
)


def loaded(tmp_path, joined):
    path = tmp_path / "cluster.yaml"
    path.write_text(joined.text)
    return load_scenario(path)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Five nodes: three that differ by 2 %, two of half the speed; and a link."""
    folder = tmp_path_factory.mktemp("models")
    speeds = {"n01": 1e9, "n02": 1.02e9, "n03": 5e8, "n04": 0.99e9, "n05": 5.1e8}
    found = {name: speed_model(folder / f"{name}.json", speed=speed, made=host(name)) for name, speed in speeds.items()}
    return found | {"link": link(folder / "link.json")}


def test_one_pattern_for_each_node_in_order(tmp_path, models):
    names = "fast[01-08],slow[01-32]"
    joined = join_platform([models["n01"], models["n03"], models["link"]], names=names)
    scenario = loaded(tmp_path, joined)
    assert [(kind.names, kind.count) for kind in joined.kinds] == [("fast[01-08]", 8), ("slow[01-32]", 32)]
    assert len(scenario.platform.pes) == 40 * 2
    assert scenario.platform.node_names[7:9] == ("fast08", "slow01")
    fast, slow = scenario.platform.pes[0], scenario.platform.pes[-1]
    assert (fast.name, slow.name) == ("fast01-core1", "slow32-core2")
    measured = sim.calibration.load_speed_model(models["n01"]).band
    sizes = np.geomspace(2e3, 4e6, 50)
    assert fast.speed_of("dgemm").speed(sizes) == pytest.approx(measured.speed(sizes), rel=1e-6)
    assert slow.speed_of("dgemm").speed(1e5) == pytest.approx(0.5 * fast.speed_of("dgemm").speed(1e5), rel=1e-6)
    assert {(node.memory_bytes, node.swap_bytes) for node in scenario.platform.nodes} == {(16 * 2**30, 2**30)}
    assert float(scenario.platform.message_s(0, 79, 2**20)) == pytest.approx(9e-3)
    runs = sim.run(scenario, replications=2, seed=1)
    assert np.all(runs.makespan_s > 0)


def test_more_nodes_than_names_are_kinds_by_likeness(tmp_path, models):
    files = [models[name] for name in ("n01", "n02", "n03", "n04", "n05", "link")]
    joined = join_platform(files, names="fast[1-3],slow[1-2]")
    assert [[node.host for node in kind.members] for kind in joined.kinds] == [["n01", "n02", "n04"], ["n03", "n05"]]
    found = {(first, second): found.alike for first, second, found in joined.likenesses}
    assert found == {(i, j): (i in (2, 4)) == (j in (2, 4)) for i in range(5) for j in range(i + 1, 5)}
    band = loaded(tmp_path, joined).platform.pes[0].speed_of("dgemm")
    ends = [sim.calibration.load_speed_model(models[name]).band for name in ("n02", "n04")]
    assert band.speed(1e5, position=1.0) == pytest.approx(ends[0].speed(1e5, position=1.0), rel=0.01)
    assert band.speed(1e5, position=0.0) == pytest.approx(ends[1].speed(1e5, position=0.0), rel=0.01)


def test_without_names_hosts_name_the_kinds(models):
    files = [models[name] for name in ("n01", "n02", "n03", "link")]
    assert [kind.names for kind in join_platform(files).kinds] == ["n[01-02]", "n03"]
    scattered = [models[name] for name in ("n01", "n03", "n04", "link")]  # n01 and n04 make no pattern
    assert [kind.names for kind in join_platform(scattered).kinds] == ["node[1-2]", "node3"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"cores": [{"cpu": cpu, "siblings": []} for cpu in range(4)]}, "2 and 4 PEs"),
        ({"memory_bytes": 32 * 2**30}, "bytes of memory"),
        ({"memory_bytes": 17 * 2**30}, None),
    ],
)
def test_nodes_alike_in_speed_differ_by_pes_and_memory(tmp_path, models, changed, reason):
    other = speed_model(tmp_path / "other.json", made=host("other", **changed))
    ((_, _, found),) = join_platform([models["n01"], other, models["link"]]).likenesses
    assert found.alike == (reason is None)
    assert reason is None or reason in found.reason


def test_a_quota_of_less_than_a_core_is_written_and_makes_a_kind_of_its_own(tmp_path, models):
    half = speed_model(tmp_path / "half.json", made=host("n04", quota_cores=0.5, quota_period_s=0.02))
    third = speed_model(tmp_path / "third.json", made=host("n05", quota_cores=0.3))
    wide = speed_model(tmp_path / "wide.json", made=host("n06", quota_cores=2.5, quota_period_s=0.02))
    joined = join_platform([half, third, wide, models["n01"], models["link"]], names="a,b,c,d")
    assert [pe.quota for pe in loaded(tmp_path, joined).platform.pes] == [
        sim.Quota(0.5, "20ms"),
        sim.Quota(0.3),
        *[None] * 4,
    ]
    ((_, _, found),) = join_platform([half, third, models["link"]]).likenesses
    assert found.reason == "different quotas"


def test_distance_of_bands_by_hand():
    sizes = np.array([1.0, 100.0])
    one = SpeedBand(sizes, *(np.full(2, value) for value in (0.8, 1.0, 1.25)))
    other = SpeedBand(sizes, *(np.full(2, value) for value in (1.6, 2.0, 2.5)))
    distance, apart = band_distance(one, other)
    assert distance == pytest.approx(np.log(2) / (2 * np.log(1.25)))
    assert apart == pytest.approx(1.0)
    assert band_distance(one, one) == (0.0, 0.0)
    far = SpeedBand(sizes * 1000, one.low, one.mid, one.high)
    assert band_distance(one, far) == (np.inf, np.inf)
    assert band_distance(one, SpeedBand.constant(1.1))[1] == pytest.approx(0.1)


def node_with(band):
    return CalibratedNode("f.json", "h", None, 1, None, None, speeds={"k": band})


def test_a_wide_band_does_not_make_everything_alike():
    """Its lower end is what background load left: bands overlap, but middles lie 30 % apart."""
    sizes = np.array([1.0, 100.0])
    wide = SpeedBand(sizes, *(np.full(2, value) for value in (0.3, 1.0, 1.1)))
    fast = SpeedBand(sizes, *(np.full(2, value) for value in (1.25, 1.3, 1.35)))
    found = likeness(node_with(wide), node_with(fast))
    assert found.distance < 1
    assert found.reason == "middles 30% apart, more than 20%"


def test_bands_that_agree_at_small_sizes_only_are_not_alike():
    sizes = np.array([1.0, 10.0, 100.0])
    flat = SpeedBand(sizes, *(np.full(3, value) for value in (0.95, 1.0, 1.05)))
    falls = SpeedBand(sizes, *(np.array([value, value, 0.7 * value]) for value in (0.95, 1.0, 1.05)))
    found = likeness(node_with(flat), node_with(falls))
    assert not found.alike
    assert "do not overlap" in found.reason
    assert likeness(node_with(flat), node_with(flat)).alike


def test_a_kinds_band_counts_each_node_where_it_was_measured():
    short = SpeedBand(np.array([1.0, 10.0]), *(np.full(2, value) for value in (1.0, 2.0, 3.0)))
    long = SpeedBand(np.array([5.0, 100.0]), *(np.full(2, value) for value in (2.0, 3.0, 4.0)))
    both = common_band([short, long])
    assert both.sizes.tolist() == [1, 5, 10, 100]
    assert both.low.tolist() == [1, 1, 1, 2]
    assert both.mid.tolist() == [2, 2.5, 2.5, 3]
    assert both.high.tolist() == [3, 4, 4, 4]
    ends = SpeedBand(np.array([5.0, 50.0]), *(np.array([value, 0.0]) for value in (2.0, 3.0, 4.0)))
    assert common_band([long, ends]).sizes[-1] == 50  # beyond the first node's memory nothing is known of the kind


def test_memory_levels_are_shared_as_the_caches_they_are(tmp_path, models):
    joined = join_platform([models["n01"], memory_model(tmp_path / "m.json"), models["link"]], names="a[1-2]")
    levels = loaded(tmp_path, joined).platform.nodes[0].levels
    assert [(level.capacity_bytes, level.shared) for level in levels[:-1]] == [(30_000, False), (7e6, True)]
    assert levels[-1].latency_s == 1e-7


def test_models_without_machine_or_kernel_make_a_scenario_all_the_same(tmp_path):
    bare = provenance(machine=None)
    files = [speed_model(tmp_path / f"{i}.json", speed=i * 1e9, kernel=None, made=bare) for i in (1, 2)]
    files.append(link(tmp_path / "link.json"))
    joined = join_platform(files, names="a,b")
    scenario = loaded(tmp_path, joined)
    assert (len(scenario.platform.pes), scenario.application.kernel) == (2, "unnamed")
    for part in ("says no machine", "says no kernel; called 'unnamed'", "stands in"):
        assert any(part in line for line in joined.warnings)
    named = loaded(tmp_path, join_platform(files, names="a,b", kernel="dgemm"))
    assert named.application.kernel == "dgemm"


def test_nodes_without_the_kernel_are_left_out_of_the_configuration(tmp_path, models):
    other = speed_model(tmp_path / "fft.json", kernel="fft", made=host("n09"))
    joined = join_platform([models["n01"], models["n02"], other, models["link"]], names="a,b,c[1-4]")
    scenario = loaded(tmp_path, joined)
    assert {scenario.platform.pes[pe].node for pe in scenario.configurations[0].placement} == {"a", "b"}
    assert any("different kernels: fft" in line for line in joined.warnings)
    assert any(line.startswith("c[1-4]: no speed of kernel 'dgemm'") for line in joined.warnings)
    assert loaded(tmp_path, join_platform([other, models["link"]], kernel="fft")).application.name == "fft"


@pytest.mark.parametrize("kernel", ["fft", "cholesky", "triad"])
def test_every_kernel_gets_an_application_that_can_be_simulated(tmp_path, kernel):
    small = MACHINE | {"memory_bytes": 64 * 2**20, "swap_bytes": 0}
    model = speed_model(tmp_path / "k.json", kernel=kernel, made=provenance(machine=small))
    scenario = loaded(tmp_path, join_platform([model, link(tmp_path / "link.json")], names="a[1-3]"))
    assert np.all(sim.run(scenario, replications=1).makespan_s > 0)


DOUBTS = {
    "age": (provenance(days=40), "speed of dgemm is 40 days old, more than 30"),
    "to come": (provenance(days=-5), "is dated in the future"),
    "numpy": (provenance(numpy="1.0"), "different versions of numpy"),
    "ours": (provenance(apportion="0.0.9"), "different versions of apportion: 0.0.9 in"),
    "machine": (host("n01", cpu_model="Another"), "different machines under the name n01"),
    "load": (host("n02", load_average=[1.7, 1, 1]), "was measured under load: 1.70"),
    "no date": ({"machine": MACHINE}, "has no date"),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_every_doubt_is_told_once_and_stands_in_the_file(tmp_path, models, case):
    made, expected = DOUBTS[case]
    other = speed_model(tmp_path / "other.json", made=made)
    joined = join_platform([other, models["n01"], models["link"]], names="a,b")
    assert sum(expected in line for line in joined.warnings) == 1
    assert expected in joined.text
    clean = join_platform([models["n02"], models["n01"], models["link"]], names="a,b")
    assert not any(expected in line for line in clean.warnings)


def test_two_links_are_between_nodes_and_within_one(tmp_path, models):
    within = link(tmp_path / "within.json", measured={"between": "processes"}, times_s=[1e-6, 2e-6, 1e-4])
    platform = loaded(tmp_path, join_platform([models["n01"], models["link"], within], names="a[1-2]")).platform
    assert float(platform.message_s(0, 1, 0)) == pytest.approx(1e-6)
    assert float(platform.message_s(0, 2, 0)) == pytest.approx(2e-5)
    many = join_platform([models["n01"], models["link"], within], names="a[1-1025]")
    assert any("more than 1024 nodes" in line for line in many.warnings)
    alone = join_platform([models["n01"], within], names="a[1-2]")
    assert any("between processes of one machine; taken for" in line for line in alone.warnings)


def test_the_command_writes_what_check_accepts(tmp_path, capsys, models):
    output = tmp_path / "out" / "cluster.yaml"
    command = [
        "cluster",
        "--join",
        ",".join(str(models[name]) for name in ("n01", "n03", "link")),
        "--names",
        "fast[01-08],slow[01-32]",
    ]
    assert _run([*command, "-o", str(output)]) == 0
    assert _run(["check", str(output)]) == 0
    assert "matmul on 40 nodes, 80 PEs, 80 cores; configurations equal" in capsys.readouterr().out
    assert _run([*command, "--json", "-o", str(tmp_path / "folder")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [kind["count"] for kind in document["kinds"]] == [8, 32]
    assert document["likenesses"][0]["alike"] is False
    written = (tmp_path / "folder" / "scenario.yaml").read_text()
    assert re.sub("on 20.*", "", written) == re.sub("on 20.*", "", output.read_text())
    assert _run([*command, "-o", str(output)]) == 2
    assert "cluster.yaml is there already; name a new one" in capsys.readouterr().err


def test_a_fitted_network_model_passes_through(tmp_path, models):
    table = tmp_path / "times.csv"
    rows = [f"{2**power},{1e-5 + 1e-9 * 2**power:.17g}" for power in range(20)]
    table.write_text("\n".join(["bytes,one_way_s", *rows]) + "\n")
    fitted = fit_network_table(table)
    save_network_model(fitted, tmp_path / "fitted.json")
    platform = loaded(tmp_path, join_platform([models["n01"], tmp_path / "fitted.json"], names="a[1-2]")).platform
    assert float(platform.message_s(0, 2, 1e5)) == float(fitted.model.time_s(1e5))


GOOD_SPEED = {"format": 2, "kind": "speed", "kernel": "k", "model": {n: [1.0] for n in ("sizes", "low", "mid", "high")}}
NODE = {"format": 1, "kind": "node", "name": "n", "topology": TOPOLOGY, "models": [GOOD_SPEED]}
BAD_FILES = {
    "no object": ("[1]", "this is a list and no model"),
    "no kind": ("{}", "the file has no kind; name one of kind speed, memory, network, neighbours or node"),
    "a node without topology": (
        json.dumps({k: v for k, v in NODE.items() if k != "topology"}),
        "topology: missing key; add it",
    ),
    "a kernel twice": (
        json.dumps(NODE | {"models": [GOOD_SPEED] * 2}),
        "models.1: the node has a speed model of kernel 'k' already",
    ),
    "a node without speeds": (json.dumps(NODE | {"models": []}), "the node has no speed model"),
    "memory before its node": ('{"kind": "memory"}', "the memory model comes before any node"),
    "a date that is none": (
        json.dumps(GOOD_SPEED | {"provenance": {"made": "soon"}}),
        "provenance: made: 'soon' is no date; measure again",
    ),
    "a network in a node": (
        json.dumps(NODE | {"models": [{"kind": "network"}]}),
        "models.0: a model of kind 'network' is none of a node",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_gets_its_line(tmp_path, capsys, models, case):
    text, expected = BAD_FILES[case]
    path = tmp_path / "bad.json"
    path.write_text(text)
    nodes = [] if case == "a node without speeds" else [models["n01"]]
    files = ",".join(map(str, [path, *nodes, models["link"]]))
    assert _run(["cluster", "--join", files, "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert all(line.startswith(f"error: {path}") for line in lines)
    assert any(expected in line for line in lines)


BAD_NAMES = {
    "a,b,c": "--names: these are 3 patterns for 2 calibrated nodes of 2 kinds",
    "a[1-3],a2": "--names: 'a2' comes twice; give each node its own name",
    "a[1-2][1-2],b": "--names: 'a[1-2][1-2]' has several ranges; write one, such as [01-08]",
    "a[1-2,4],b": "--names: 'a[1-2,4]' is no name; give one, or one range such as fast[01-08]",
}


@pytest.mark.parametrize("names", BAD_NAMES)
def test_names_that_do_not_match_are_refused(models, names):
    with pytest.raises(ScenarioError) as caught:
        join_platform([models["n01"], models["n03"], models["link"]], names=names)
    (line,) = caught.value.lines
    assert line.startswith("--names: ")
    assert BAD_NAMES[names] in line


def test_what_is_missing_is_said(tmp_path, models):
    for files, expected in (
        ([models["link"]], "these files describe no node; give a speed model or node file for each"),
        ([models["n01"]], "these files describe no link; add one of kind network"),
        (
            [models["n01"], models["link"], models["link"]],
            "these are 2 networks; give one between nodes and one within a node",
        ),
    ):
        with pytest.raises(ScenarioError, match=expected):
            join_platform(files)
    with pytest.raises(ScenarioError, match=r"\-\-kernel: no node has 'hpl'; take dgemm"):
        join_platform([models["n01"], models["link"]], kernel="hpl")
    memory = memory_model(tmp_path / "m.json")
    with pytest.raises(ScenarioError, match="has a memory model already; leave one out"):
        join_platform([models["n01"], memory, memory, models["link"]])


def test_what_is_doubted_of_a_kind_is_what_is_of_its_nodes_and_how_they_differ():
    """Two nodes 10 % apart, each known to 3 % with four fifths in common: a variance of ln(1.1)^2 / 2 is each PE's."""
    sizes, doubt = np.array([1e3, 1e6]), Doubt.constant(0.03, sources={"drift": 1.0})
    bands = [
        SpeedBand(sizes, 0.9 * mid, mid, 1.1 * mid, doubt=doubt, noise=Noise(np.array(factors)))
        for mid, factors in ((np.array([1e9, 1e9]), [1.0, 1.2]), (np.array([1.1e9, 1.1e9]), [0.9, 1.1]))
    ]
    found, apart = common_band(bands), np.log(1.1) ** 2 / 2
    assert found.doubt.at(1e4) == pytest.approx(np.sqrt(0.03**2 + apart))
    assert found.doubt.common == pytest.approx(0.8 * 0.03**2 / (0.03**2 + apart))
    assert found.doubt.sources == pytest.approx({"drift": 0.0009 / (0.0009 + apart), "node": apart / (0.0009 + apart)})
    assert (found.noise.factors[0], found.noise.factors[-1]) == pytest.approx((0.975, 1.125))
    assert common_band([bands[0], replace(bands[1], doubt=None)]).doubt is None

"""`apportion calibrate machine`: the block loads, says what the system says, and its node file joins."""

import json
import os
from pathlib import Path

import psutil
import pytest
import yaml

from advisor.cli import _run
from simulator import Quota, join_platform, load_scenario, this_machine
from simulator.base.machine import CacheUnit, Core, SharedCache, Topology, this_topology
from simulator.models.memory import MemoryLevel
from simulator.platform.foreign import read_hwloc
from simulator.scenario_file.caches import level_names, shared_levels
from simulator.scenario_file.machine_node import node_block
from simulator.scenario_file.written import safe_name
from tests.simulator.scenario_file.joined.builders import host, link, memory_model, speed_model
from tests.support.made_up_machine import neighbours_document

HWLOC = Path(__file__).parents[1] / "platform" / "foreign" / "hwloc"
AROUND = """
  link: {latency: 10us, bandwidth: 1GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 100}}
configurations: {equal: {partition: equal}}
"""


def pasted(block):
    """A scenario with the block put into it as a user would, indented."""
    lines = "\n".join(f"    {line}" for line in block.splitlines())
    return f"format: 1\nplatform:\n  nodes:\n{lines}{AROUND}"


def printed(capsys, *arguments):
    assert _run(["calibrate", "machine", *map(str, arguments)]) == 0
    return capsys.readouterr()


@pytest.fixture
def speed(tmp_path):
    here = this_machine()
    return speed_model(tmp_path / "dgemm.json", made=host(here.host, cpu_model=here.cpu_model))


def test_the_block_of_this_machine_loads_once_a_speed_is_known(tmp_path, capsys, speed):
    said = printed(capsys, "--speed", speed, "--name", "here")
    path = tmp_path / "s.yaml"
    path.write_text(pasted(said.out))
    assert _run(["check", str(path)]) == 0
    platform = load_scenario(path).platform
    machine = this_machine()
    assert [pe.cpu for pe in platform.pes] == [core.cpu for core in machine.cores][: machine.pe_count]
    assert platform.pes[0].name == f"here-core{'0' * len(str(machine.pe_count - 1))}"
    (node,) = platform.nodes
    assert node.memory_bytes == min(machine.memory_bytes, machine.memory_limit_bytes or machine.memory_bytes)
    assert node.swap_bytes == psutil.swap_memory().total


def test_comments_say_what_else_is_known(capsys):
    out = printed(capsys).out
    for cache in this_topology().data_caches:
        assert f"# cache L{cache.level} {cache.kind}: " in out
    for part in ("affinity: processors", "governor", "load ", "memory limit", "CPU quota"):
        assert part in out
    first = next(line for line in out.splitlines() if not line.startswith("#"))
    assert first == f"- name: {safe_name(this_topology().host)}"


def test_a_memory_model_fills_in_the_levels(tmp_path, capsys, speed):
    said = printed(capsys, "--speed", speed, "--memory", memory_model(tmp_path / "m.json"), "--name", "here")
    path = tmp_path / "s.yaml"
    path.write_text(pasted(said.out))
    levels = load_scenario(path).platform.nodes[0].levels
    assert [level.name for level in levels] == ["level 1", "level 2", "level 3"]
    assert levels[0].capacity_bytes == 30_000
    assert levels[1].latency_s == 1e-8


def test_an_export_of_another_machine_becomes_a_node(tmp_path, capsys):
    model = speed_model(tmp_path / "dgemm.json", made=host("laptop"))
    said = printed(capsys, "--hwloc", HWLOC / "hybrid-2.xml", "--speed", model, "--name", "lap[1-2]")
    assert "of another machine" in said.err
    assert "each speed is written for all" in said.err
    node = tmp_path / "node.json"
    printed(capsys, "--hwloc", HWLOC / "hybrid-2.xml", "--speed", model, "-o", node)
    joined = join_platform([node, link(tmp_path / "link.json")])
    assert any("it has cores of 2 kinds (P, E)" in line for line in joined.warnings)
    assert joined.kinds[0].names == "laptop-two"
    path = tmp_path / "s.yaml"
    path.write_text(pasted(said.out))
    platform = load_scenario(path).platform
    assert [pe.name for pe in platform.pes[:5]] == [f"lap1-{kind}{i}" for i, kind in enumerate("PPEEE")]
    assert len(platform.pes) == 10
    assert platform.nodes[0].memory_bytes == 12 * 2**30
    assert "SMT sibling, no PE: 2" in said.out
    assert all(line.startswith(("#", "-", " ")) for line in said.out.splitlines())  # a host's name breaks no comment


def test_a_node_file_holds_its_models_and_joins(tmp_path, capsys, speed):
    node = tmp_path / "n01.json"
    printed(capsys, "--speed", speed, "--memory", memory_model(tmp_path / "m.json"), "-o", node)
    output = tmp_path / "cluster.yaml"
    joined = ["cluster", "--join", f"{node},{link(tmp_path / 'link.json')}", "--names", "n[1-4]", "-o", output]
    assert _run([str(part) for part in joined]) == 0
    platform = load_scenario(output).platform
    assert len(platform.pes) == 4 * this_machine().pe_count
    assert platform.nodes[0].levels[0].capacity_bytes == 30_000
    document = json.loads(node.read_text())
    assert document["kind"] == "node"
    assert set(document["provenance"]["inputs"]) == {str(speed), str(tmp_path / "m.json")}
    assert [model["kind"] for model in document["models"]] == ["speed", "memory"]


def test_json_says_all_of_it(capsys):
    document = json.loads(printed(capsys, "--json").out)
    assert document["command"] == "calibrate machine"
    assert document["topology"]["pe_count"] == document["machine"]["pe_count"] == this_machine().pe_count
    assert yaml.safe_load(document["yaml"])[0]["name"] == document["name"]


def test_quota_and_siblings():
    cores = tuple(Core(cpu, (cpu + 4,)) for cpu in range(4))
    caches = tuple(CacheUnit(1, "data", 32768, (cpu, cpu + 4)) for cpu in range(4))
    caches += tuple(CacheUnit(3, "unified", 2**23, (cpu, cpu + 1, cpu + 4, cpu + 5)) for cpu in (0, 2))
    topology = Topology("f.xml", "h", None, cores, caches, (), (), 2**30, quota_cores=3.5)
    assert topology.pe_count == 3
    assert topology.data_caches == (
        SharedCache(1, "data", 32768, instances=3, most_pes=1),
        SharedCache(3, "unified", 2**23, instances=2, most_pes=2),
    )
    text = node_block(topology, name="n")
    assert "CPU quota of 3.5 cores" in text
    assert len(yaml.safe_load(text)[0]["pes"]) == 3
    assert "quota:" not in text
    limited = node_block(topology, name="n", quota=Quota(0.37, "50ms"))
    assert [one["quota"] for one in yaml.safe_load(limited)[0]["pes"]] == [{"cpu": 0.37, "period": "50 ms"}] * 3


def test_levels_are_matched_with_caches_by_capacity():
    caches = (
        SharedCache(1, "data", 2**15, 8, 1),
        SharedCache(2, "unified", 2**20, 8, 1),
        SharedCache(3, "unified", 2**25, 2, 4),
    )
    fitted = [
        MemoryLevel(name, size, 1e-9, 1e-9) for name, size in (("a", 4e4), ("b", 3e7), ("c", 1e9), ("d", float("inf")))
    ]
    found, notes = shared_levels(caches, fitted)
    assert [(level.capacity_bytes, level.shared) for level in found[:3]] == [(4e4, False), (3e7, False), (1e9, False)]
    (note,) = notes
    assert note.startswith("level c: no cache of about its capacity")
    assert level_names(caches, fitted) == {("L1", 2**15): "a", ("L3", 2**25): "b"}
    one_for_all = (*caches[:2], SharedCache(3, "unified", 2**25, 1, 8))
    assert [level.shared for level in shared_levels(one_for_all, fitted)[0]] == [False, True, False, True]


def shared_of(name):
    """The domains of the block of an export."""
    topology = read_hwloc(HWLOC / name)
    return yaml.safe_load(node_block(topology, name="n"))[0].get("domains")


def test_caches_that_several_pes_share_are_domains():
    """Against what `lstopo` printed of these exports: one L3 for all, one for each two, an L2 of the E cores alone."""
    assert shared_of("real-2.9.xml") == [{"kind": "cache", "level": "L3", "capacity": "32 MiB"}]
    assert shared_of("made-2.9.xml") == [{"kind": "cache", "level": "L3", "each": 2, "capacity": "8 MB"}]
    assert shared_of("hybrid-2.xml") == [
        {"kind": "cache", "level": "L2", "pes": ["{node}-E[2-4]"], "capacity": "4 MiB"},
        {"kind": "cache", "level": "L3", "capacity": "12 MiB"},
    ]
    assert shared_of("new-3.0.xml") is None


@pytest.mark.parametrize("name", sorted(path.name for path in HWLOC.glob("*.xml")))
def test_the_block_of_an_export_loads_with_its_domains(tmp_path, name):
    topology = read_hwloc(HWLOC / name)
    block = node_block(topology, name="n", speeds={"dgemm": "speed.json"}).replace("{model: speed.json}", "1Gflop/s")
    path = tmp_path / "s.yaml"
    path.write_text(pasted(block))
    platform = load_scenario(path).platform
    pes = {core.cpu for core in topology.pes}
    for domain in platform.domains:
        assert domain.kind == "cache"
        cpus = {topology.pes[place].cpu for place in domain.pes}
        (cache,) = (one for one in topology.caches if f"L{one.level}" == domain.level and cpus <= set(one.cpus))
        assert (cache.size_bytes, set(cache.cpus) & pes) == (domain.law.capacity, cpus)
    assert "calibrate neighbours" in block
    assert ("virtual machines lie" in block) == bool(platform.domains)


def test_a_machine_with_one_core_has_no_domains(capsys):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(before)})
        out = printed(capsys).out
    finally:
        os.sched_setaffinity(0, before)
    assert "domains" not in yaml.safe_load(out)[0]
    assert "# one PE: nobody to share a cache, memory or a clock with, so no domains\n" in out


def test_a_fitted_level_that_some_pes_share_is_a_domain_of_its_own_capacity():
    cores = tuple(Core(cpu, ()) for cpu in range(4))
    caches = tuple(CacheUnit(3, "unified", 2**23, pair) for pair in ((0, 2), (1, 3)))
    topology = Topology("f.xml", "h", None, cores, caches, (), (), 2**30)
    fitted = [MemoryLevel("level 1", 7e6, 1e-9, 1e-9), MemoryLevel("level 2", float("inf"), 1e-7, 1e-9)]
    levels, notes = shared_levels(topology.data_caches, fitted)
    assert notes == ()
    (node,) = yaml.safe_load(node_block(topology, name="n", levels=levels))
    assert [(level["name"], level["shared"]) for level in node["levels"]] == [("level 1", False), ("level 2", True)]
    assert node["levels"][0]["capacity"] == "7 MB"
    assert node["domains"] == [
        {"kind": "cache", "level": "level 1", "pes": ["{node}-core0", "{node}-core2"]},
        {"kind": "cache", "level": "level 1", "pes": ["{node}-core1", "{node}-core3"]},
    ]


def test_measured_neighbours_take_the_place_of_proposals_and_are_carried(tmp_path, capsys, speed):
    measured = tmp_path / "neighbours.json"
    memory = {"kind": "memory", "capacity": "20GB/s", "lone": "9GB/s", "softness": 4, "pes": ["pe1"]}
    uses = {"dgemm": {"sizes": [1.0], "memory": {"demand": ["2GB/s"], "sensitivity": [0.5]}}}
    each = this_machine().pe_count
    domains, places = [memory, {"kind": "clock", "shares": [1, 0.9]}], [[0], list(range(each))]
    measured.write_text(json.dumps(neighbours_document(domains, places, uses, pe_count=each)))
    given = ["--speed", speed, "--neighbours", measured]
    (node,) = yaml.safe_load(printed(capsys, *given).out)
    assert node["domains"] == {"model": str(measured)}
    file, output = tmp_path / "n01.json", tmp_path / "cluster.yaml"
    printed(capsys, *given, "-o", file)
    assert [model["kind"] for model in json.loads(file.read_text())["models"]] == ["speed", "neighbours"]
    joined = ["cluster", "--join", f"{file},{link(tmp_path / 'link.json')}", "--names", "n[1-2]", "-o", output]
    assert _run([str(part) for part in joined]) == 0
    platform = load_scenario(output).platform
    assert [(one.name, one.pes) for one in platform.domains] == [
        ("memory of n1", (0,)), ("clock of n1", tuple(range(each))),
        ("memory of n2", (each,)), ("clock of n2", tuple(range(each, 2 * each))),
    ]  # fmt: skip
    assert platform.nodes[1].uses["dgemm"].at("memory", 1).demand == 2e9
    apart = join_platform([speed, measured, link(tmp_path / "link.json")], names="n1")
    assert apart.kinds[0].uses["dgemm"] == {"memory": {"demand": "2 GB/s", "sensitivity": 0.5}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--memory", "SPEED"], "the file is of kind 'speed'; name one of kind 'memory' with --memory"),
        (
            ["--speed", "SPEED", "--speed", "SPEED"],
            "the node has a speed model of kernel 'dgemm' already; leave one out",
        ),
    ],
)
def test_bad_options_get_one_line(tmp_path, capsys, speed, arguments, expected):
    places = {"LINK": str(link(tmp_path / "link.json")), "SPEED": str(speed)}
    assert _run(["calibrate", "machine", *(places.get(part, part) for part in arguments)]) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert said.out == ""

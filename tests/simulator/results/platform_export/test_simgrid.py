"""Platforms written for SimGrid and read again: the same bits; and every feature that it does not have, by name."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simulator import ScenarioError, export_simgrid, run
from simulator.models.load import LoadTrace
from simulator.models.memory.levels import MemoryLevel
from simulator.models.neighbours import ShareTable, SharingDomain
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.foreign import read_simgrid
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from tests.agreement.simgrid_scenarios import scenario

FOLDER = Path(__file__).parents[2] / "platform" / "foreign" / "simgrid"
KNOTS = LinkModel(np.array([0.0, 100.0, 1000.0]), np.array([1e-6, 2e-6, 9e-6]))


def some_program(platform):
    """Every PE computes and sends to the next one that a route leads to, so that times show in the makespan."""
    count = len(platform.pes)
    steps = [[Compute(3e8 * (1 + index), 1.0)] for index in range(count)]
    node = platform.node_of
    for index in range(count):
        other = (index + 1) % count
        if node[index] == node[other]:
            continue
        try:
            platform.network.routes(node[[index]], node[[other]])
        except ScenarioError:
            continue
        steps[index].append(Send(other, 10_000_000 + index, 0))
        steps[other].append(Recv(index, 0))
    return Program(tuple(map(tuple, steps)), (0,) * count)


def of_platform(platform):
    application = Application.of_program(some_program(platform), kernel="k")
    pes = len(platform.pes)
    return Scenario(platform, application, (Configuration("c", (1,) * pes, tuple(range(pes))),), replications=1)


def written(made, folder, **options):
    found = export_simgrid(made, **options)
    folder.mkdir(exist_ok=True)
    for name, text in found.files.items():
        (folder / name).write_text(text)
    contention = made.platform.network.contention
    read = read_simgrid(folder / "platform.xml", kernel="k", contention="fair" if contention == "fifo" else contention)
    return found, replace(made, platform=read.platform)


CASES = [(path.name, "fair") for path in sorted(FOLDER.glob("*.xml"))] + [("zones.xml", "none"), ("torus.xml", "none")]


@pytest.mark.parametrize(("name", "contention"), CASES)
def test_a_platform_read_written_and_read_again_gives_the_same_makespans(tmp_path, name, contention):
    made = of_platform(read_simgrid(FOLDER / name, kernel="k", contention=contention).platform)
    _, again = written(made, tmp_path / "one")
    before, after = (run(one, engine="process").finish_ticks for one in (made, again))
    assert np.array_equal(before, after)
    assert [pe.cores for pe in again.platform.pes] == [pe.cores for pe in made.platform.pes]
    assert again.platform.node_names == made.platform.node_names


@pytest.mark.parametrize("seed", range(5))
def test_any_platform_written_and_read_gives_the_same_makespans(tmp_path, seed):
    """Every topology; our loads start where a replication draws, so that ticks may differ by roundings: 1e-9."""
    made, _ = scenario(seed)
    _, once = written(made, tmp_path / "one")
    _, twice = written(once, tmp_path / "two")
    makespans = [float(run(one, engine="process").makespan_s[0, 0]) for one in (made, once, twice)]
    assert makespans[1] == pytest.approx(makespans[0], rel=1e-9)
    assert makespans[2] == makespans[1]


def star(*pes, **network):
    links = tuple(Link(f"l{number}", 1e-4, 1e8) for number in range(len({pe.node for pe in pes})))
    return of_platform(Platform(tuple(pes), Network(Star(links), **{"contention": "fair"} | network)))


def pe(name, *, speed=1e9, **more):
    return PE(name, more.pop("node", name), {"k": SpeedBand.constant(speed)}, **more)


def uneven(contention):
    links = tuple(Link(f"l{number}", 1e-4 * number, 1e8) for number in range(3))
    network = Network(Star(links), contention=contention)
    return of_platform(Platform(tuple(pe(name) for name in "abc"), network))


def loaded(rule, *, after_end="cycle", drawn=True, values=(0.5, 2.0, 0.1), **more):
    trace = LoadTrace(np.arange(len(values)) * 1.5, np.array(values), len(values) * 1.5, after_end)
    return pe("a", load=Load(trace, rule, drawn=drawn), **more)


def test_a_replication_s_draws_are_written(tmp_path):
    band = SpeedBand(*(np.array([value]) for value in (1.0, 1e8, 2e8, 4e8)))
    made = star(replace(loaded("fair", cores=2), speeds={"k": band}), pe("b"))
    made = replace(made, replications=3, seed=5)
    runs = run(made)
    for replication in range(3):
        found, again = written(made, tmp_path / str(replication), replication=replication)
        expected = runs.makespan_s[0, replication]
        assert run(again).makespan_s[0, 0] == pytest.approx(expected, rel=1e-9), replication
        assert f"seed 5, replication {replication}" in found.files["platform.xml"]
    assert len(set(runs.makespan_s[0].tolist())) == 3


def test_hosts_of_one_node_stay_together(tmp_path):
    made = star(pe("a", node="n"), pe("b", node="n"), pe("c"), loopback=LinkModel.from_latency(3e-6, 7e9))
    _, again = written(made, tmp_path)
    assert again.platform.node_names == ("n", "c")
    assert np.array_equal(again.platform.network.loopback.times_s, made.platform.network.loopback.times_s)


def test_names_that_xml_or_files_do_not_take_are_written_so_that_they_come_back(tmp_path):
    names = ['<"&>', "a/b", "a b", "A b", "..", "--", "é"]
    load = loaded("given", values=(0.5, 1.0, 0.25)).load
    made = star(*(pe(name, load=load) for name in names))
    made = replace(made, inputs={"a--b-.yaml": "0"})
    found, again = written(made, tmp_path)
    assert [one.name for one in again.platform.pes] == names
    assert len(found.files) == 1 + len(names)  # SimGrid refuses a profile that two hosts name
    assert len({name.lower() for name in found.files}) == len(found.files)
    assert np.array_equal(run(made).makespan_ticks, run(again).makespan_ticks)


def test_straight_message_times_come_back_as_the_numbers_they_were_made_of(tmp_path):
    line = LinkModel.from_latency(59.904e-6, 498e6)
    links = tuple(Link.of_model(f"l{number}", line) for number in range(2))
    platform = Platform((pe("a"), pe("b")), Network(Star(links), loopback=line))
    found, again = written(of_platform(platform), tmp_path)
    assert found.files["platform.xml"].count('bandwidth="498000000.0Bps" latency="5.9904e-05s"') == 3
    assert np.array_equal(again.platform.network.loopback.times_s, line.times_s)


def test_disks_come_back(tmp_path):
    made = star(pe("a"), pe("b"))
    disk = Link("disk", 0.0, 123456789.125, shared=True)
    made = replace(made, platform=replace(made.platform, nodes=(Node("b", disk=disk),)))
    assert written(made, tmp_path)[1].platform.nodes == made.platform.nodes


def with_domain():
    made = star(pe("a"), pe("b"))
    domain = SharingDomain("clock", "clock of a", "clock", (0,), ShareTable((1.0,)))
    return replace(made, platform=replace(made.platform, domains=(domain,)))


LOST = {
    "fifo": (lambda: star(pe("a"), pe("b"), contention="fifo"), "contention fifo of the links"),
    "loopback": (lambda: star(pe("a"), pe("b"), loopback=KNOTS), "message times by payload of the loopback"),
    "slice": (lambda: star(pe("a", slice_s=0.1), pe("b")), "time slices of a"),
    "memory": (lambda: with_node(memory_bytes=10**9), "memory of a"),
    "levels": (lambda: with_node(levels=(MemoryLevel("L1", np.inf, 1e-9, 1e-9, shared=False),)), "memory of a"),
    "domains": (with_domain, "sharing of clock of a"),
    "disk": (lambda: with_node(disk=Link("disk", 1e-3, 1e8, shared=True)), "a disk's latency of a"),
    "idle": (lambda: crowded(loaded("idle", cores=2)), "loads under fair or idle for several processes of a"),
    "fair": (lambda: crowded(loaded("fair")), "loads under fair or idle for several processes of a"),
}


def with_node(**known):
    made = star(pe("a"), pe("b"))
    return replace(made, platform=replace(made.platform, nodes=(Node("a", **known),)))


def crowded(first):
    made = star(first, pe("b"), loopback=LinkModel.from_latency(1e-6, 1e9))
    return replace(made, configurations=(Configuration("c", (1, 1), (0, 0)),))


@pytest.mark.parametrize("case", LOST)
def test_what_simgrid_does_not_have_is_refused_by_name_or_stated(tmp_path, case):
    make, line = LOST[case]
    with pytest.raises(ScenarioError) as caught:
        export_simgrid(make())
    assert [found.partition(": not in SimGrid")[0] for found in caught.value.lines] == [f"platform: {line}"]
    found, _ = written(make(), tmp_path, approximate=True)
    assert any(note.startswith(f"{line}: approximated") for note in found.notes)


def test_several_features_are_several_lines():
    made = with_node(memory_bytes=10**9)
    network = replace(made.platform.network, contention="fifo", loopback=KNOTS)
    made = replace(made, platform=replace(made.platform, network=network))
    with pytest.raises(ScenarioError) as caught:
        export_simgrid(made)
    assert len(caught.value.lines) == 3


def test_speeds_by_problem_size_need_a_size(tmp_path):
    curve = np.array([1e9, 2e9])
    made = star(replace(pe("a"), speeds={"k": SpeedBand(np.array([10.0, 20.0]), curve, curve, curve)}), pe("b"))
    with pytest.raises(ScenarioError, match="speeds of k by problem size of a: not in SimGrid; give a size"):
        export_simgrid(made, approximate=True)
    _, again = written(made, tmp_path, size=15.0)
    assert again.platform.pes[0].speed_of("k").mid.tolist() == [1.5e9]
    with pytest.raises(ScenarioError, match=r"size is -1; give a finite number above 0"):
        export_simgrid(made, size=-1.0)


def test_what_is_exact_under_a_condition_is_told():
    for made, said in (
        (star(loaded("fair"), pe("b")), "the share of one process alone"),
        (star(loaded("given", values=(0.0, 1.0)), pe("b")), "SimGrid then goes on at the speed before"),
        (star(loaded("given", after_end="error"), pe("b")), "SimGrid keeps the last value"),
        (star(pe("a", power_w=3.0), pe("b")), "cost and power of a left out"),
        (star(pe("a"), pe("b"), eager_bytes=10), "eager messages (up to 10 bytes)"),
        (uneven("fair"), "routes of unlike latency"),
    ):
        assert any(said in note for note in export_simgrid(made).notes), said
    assert not export_simgrid(uneven("none")).notes
    assert "eager: 10B" in export_simgrid(star(pe("a"), pe("b"), eager_bytes=10)).read_back
    assert export_simgrid(star(loaded("idle"), pe("b"))).notes == (
        "loads of a leave nothing at times: SimGrid then goes on at the speed before",
    )


def test_too_many_nodes_for_routes_are_refused_but_a_star_may_have_any_number(tmp_path):
    many = [pe(f"p{number}") for number in range(601)]
    made = star(*many)
    _, again = written(made, tmp_path)
    assert isinstance(again.platform.network.topology, Star)
    assert again.platform.network.topology.private[-1].bandwidth_bytes_per_s == 1e8
    uniform = of_platform(Platform.uniform(tuple(many[:2]), LinkModel.from_latency(1e-6, 1e9)))
    uniform = replace(uniform, platform=Platform.uniform(tuple(many), LinkModel.from_latency(1e-6, 1e9)))
    with pytest.raises(ScenarioError, match="there are 601 nodes; at most 600 can be written"):
        export_simgrid(uniform)

"""`apportion new`: a commented scenario from flags."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulator
from simulator import ScenarioError, units
from simulator.programs.applications import PARAMETERS
from simulator.scenario_file.begun import EXAMPLES, NETWORKS, begin_scenario
from tests.support.command_line import apportion_here

NODES = "fast[1-2]:8 cores 3 Gflop/s 32GiB, slow[1-2]:8 cores 1.5 Gflop/s"


def loaded(tmp_path, **asked):
    path = tmp_path / "new.yaml"
    path.write_text(begin_scenario(**asked).text, encoding="utf-8")
    return simulator.load_scenario(path)


@pytest.mark.parametrize("application", EXAMPLES)
def test_every_application_is_a_scenario_that_loads_and_runs(tmp_path, application):
    scenario = loaded(tmp_path, nodes=["a[1-2]: 2 cores 1 Gflop/s"], application=application)
    assert scenario.application.name == application
    assert [len(one.partition) for one in scenario.configurations] == [4]


@pytest.mark.parametrize("network", [*NETWORKS, "10gbe", "30us,10Gbit/s"])
def test_every_network_is_known_by_its_name_or_its_ends(tmp_path, network):
    links = loaded(tmp_path, network=network).platform.network.links
    latency, bandwidth = NETWORKS.get(network, NETWORKS["10GbE"])
    latency_s = units.parse_duration(latency, field="")
    bytes_per_s = units.parse(bandwidth, units.BANDWIDTH, field="")
    assert {(link.latency_s, link.bandwidth_bytes_per_s) for link in links} == {(latency_s, bytes_per_s)}


def test_nodes_speeds_memory_and_busy_hours_are_what_was_asked(tmp_path):
    scenario = loaded(tmp_path, nodes=[NODES], busy=["slow1 13:00-18:00", "slow1 20:00-24:00 2"])
    pes = {pe.name: pe for pe in scenario.platform.pes}
    assert list(pes) == ["fast1", "fast2", "slow1", "slow2"]
    assert [pe.cores for pe in pes.values()] == [8] * 4
    assert [float(pe.speeds["stencil"].speed(1e6)) for pe in pes.values()] == [3e9, 3e9, 1.5e9, 1.5e9]
    load = pes["slow1"].load
    assert (load.trace.times_s.tolist(), load.trace.values.tolist()) == (
        [0, 13 * 3600, 18 * 3600, 20 * 3600],
        [0, 8, 0, 2],
    )
    assert [name for name, pe in pes.items() if pe.load is None] == ["fast1", "fast2", "slow2"]
    assert scenario.replications == 200
    assert len(scenario.configurations[0].partition) == 32


NAMES = st.sampled_from(["a", "b[1-3]", "null", "{x}", "1e3", "yes", "a'b", '"', "#", "é", "n,2", "a/b", "-", "[1-2]"])
SPEEDS = st.sampled_from(["1 Gflop/s", "0 Gflop/s", "1e-30 Gflop/s", "1e30 Gflop/s", "3 Gunits/s 1MiB", "2 Gflop/s 0B"])
VALUES = st.one_of(st.integers(-1, 40).map(str), st.sampled_from(["1e3", "x", "0x10", "1.5", "true", "9" * 20, "{a}"]))
PLACES = st.builds("{}: {} cores {}".format, NAMES, st.integers(0, 4), SPEEDS)
KERNELS = st.sampled_from([None, "own", "a: b", "null", "", " ", "x]", "n\nm"])
LINKS = st.sampled_from(["10GbE", "0us,1Gbit/s", "1us,0Gbit/s", "1s,1bit/s", "1us,1e30Gbit/s"])
TIMES = st.lists(st.sampled_from(["a 1:00-2:00", "b1 0:00-24:00 0.5", "a 2:00-3:00 1"]), max_size=2)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(sorted(EXAMPLES)), PLACES, LINKS, KERNELS, TIMES)
def test_what_is_written_is_what_check_takes(tmp_path_factory, data, application, place, link, kernel, busy):
    """Or nothing is written."""
    names = st.sampled_from(sorted(PARAMETERS[application]))
    asked = {"parameters": data.draw(st.dictionaries(names, VALUES, max_size=2)), "kernel": kernel}
    try:
        begun = begin_scenario(nodes=[place], network=link, application=application, busy=busy, **asked)
    except ScenarioError:
        return
    path = tmp_path_factory.getbasetemp() / "begun.yaml"
    path.write_text(begun.text, encoding="utf-8")
    assert simulator.load_scenario(path).application.name == application


BAD = {
    "--nodes a": "--nodes: 'a' is no kind of nodes; give NAMES: CORES cores SPEED [MEMORY], such as",
    "--nodes 'a: 2 cores'": "--nodes: 'a: 2 cores' has no speed; give",
    "--nodes 'a: 2 cores 1 Gbyte/s'": "--nodes a: '1 Gbyte/s' is no speed; write one such as 2.5Gflop/s",
    "--nodes 'a: 2 cores 1 Gflop/s, a: 1 cores 1 Gflop/s'": "--nodes: 'a' comes twice; name each node once",
    "--network 10Gb": "--network: '10Gb' is unknown; give 1GbE,",
    "--application stencl": "--application: 'stencl' is unknown; take stencil,",
    "--parameter n": "--parameter is 'n'; give NAME=VALUE, such as n=8000",
    "--parameter n=1 --parameter n=2": "--parameter: 'n' is given twice; leave one out",
    "--parameter m=1": "--parameter: stencil has no 'm'; take n, iterations",
    "--busy node1": "--busy: 'node1' is no time of a node; give NODE FROM-TO",
    "--busy 'node9 13:00-18:00'": "--busy: there is no node 'node9'; name one of node1,",
    "--busy 'node1 18:00-13:00'": "ends before it begins",
    "--busy 'node1 13:00-25:00'": "25:00 is no time of day; give 0:00 to 24:00",
    "--busy 'node1 13:00-14:60'": "14:60 is no time of day; give 0:00 to 24:00",
    "--busy 'node1 13:00-15:00' --busy 'node1 14:00-16:00'": "--busy: 'node1' is busy twice at a time",
}


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_understood_is_one_line(words):
    import shlex

    ran = apportion_here("new", *shlex.split(words))
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert BAD[words] in ran.stderr


def test_all_faults_come_in_one_wave():
    ran = apportion_here("new", "--nodes", "a", "--network", "x", "--application", "y", "--busy", "z")
    assert [line.split()[1] for line in ran.stderr.splitlines()] == [
        "--nodes:",
        "--busy:",
        "--network:",
        "--application:",
    ]


def test_no_file_is_overwritten_unasked(tmp_path):
    path = tmp_path / "c.yaml"
    assert apportion_here("new", "-o", path).returncode == 0
    first = path.read_text()
    ran = apportion_here("new", "--network", "HDR", "-o", path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{path} is there already; name another file, or add --overwrite" in ran.stderr
    assert path.read_text() == first
    assert apportion_here("new", "--network", "HDR", "-o", path, "--overwrite").returncode == 0
    assert path.read_text() != first

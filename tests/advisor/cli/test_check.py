"""`check` says for which commands a scenario is ready; `advise` and `verify` refuse the rest with the same lines."""

import json

import pytest

from advisor.verification.asking import plan_verification
from simulator import Scenario, ScenarioError, this_machine

CPU = this_machine().cores[0].cpu
TEXT = """
format: 1
platform:
  nodes:
    - {name: a, pes: [{name: a, cpu: CPU, speeds: {dgemm: 2 Gflop/s}}]}
    - {name: b, pes: [{name: b, speeds: {dgemm: 2 Gflop/s}}]}
    - {name: c, pes: [{name: c, speeds: {dgemm: 2 Gflop/s}}]}
  link: {latency: 10us, bandwidth: 10Gbit/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 200}}
configurations: {two: {partition: equal, pes: [a, b]}}
replications: 1
"""
LISTED = """  network:
    topology: listed
    links: {l: {latency: 10us, bandwidth: 1Gbit/s}}
    routes: [{from: a, to: b, via: [l]}]"""
BEGINS = "an advice begins with one process on each of the 3 PEs"
LACKING = {
    "kernel": (
        [("c, speeds: {dgemm", "c, speeds: {other")],
        "platform: PE c has no speed of kernel 'dgemm', only of other; an advice compares all PEs, so each needs one",
    ),
    "route": (
        [("  link: {latency: 10us, bandwidth: 10Gbit/s}", LISTED)],
        f"{BEGINS}: platform: network: a message has no route from node a to node c; add one to routes",
    ),
    "processes": (
        [("matmul,", "matmul_2d,"), ("{n: 200}", "{n: 200, nb: 10, grid_rows: 2}")],
        f"{BEGINS}: it has 3 processes, but needs a multiple of grid_rows = 2; write as many, or another grid_rows",
    ),
}


@pytest.fixture
def made(tmp_path):
    def make(*changes):
        text = TEXT.replace("CPU", str(CPU))
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "s.yaml"
        path.write_text(text)
        return path

    return make


@pytest.mark.parametrize("name", LACKING)
def test_what_advise_lacks_is_said_by_check_and_refused_in_the_same_words(apportion, made, name):
    changes, line = LACKING[name]
    path = made(*changes)
    assert apportion("simulate", path)[0] == 0
    code, told, err = apportion("check", path)
    assert (code, err) == (0, "")
    assert f"\nready for simulate, whatif\nnot for advise: {line}\n" in told.replace("\n  ", " ")
    assert json.loads(apportion("check", path, "--json")[1])["ready"]["advise"] == [line]
    assert apportion("advise", path) == (2, "", f"error: {line}\n")


def test_as_now_has_to_fit_where_other_configurations_need_not(apportion, made):
    memory, alone = ("- {name: c,", "- {name: c, memory: 500KiB, swap: 0B,"), ("pes: [a, b]", "pes: [c, b]")
    code, told, err = apportion("advise", made(memory, alone), "--json")
    assert code == 0, err
    assert any(line.startswith("strategy two: left out") for line in json.loads(told)["warnings"])
    code, told, err = apportion("advise", made(memory, alone, ("two:", "as-now:")))
    line = "configuration as-now: node c: its processes need 938 KiB, 438 KiB more than its memory and swap hold"
    assert (code, told, err) == (2, "", f"error: {line}\n")


def test_what_verify_lacks_is_said_before_it_looks_for_a_partition(apportion, made):
    elsewhere = made()
    told = "platform: PEs b, c have no cpu of this machine; say `cpu:` with each PE"
    said = apportion("check", elsewhere)[1]
    assert f"ready for simulate, whatif, advise\nnot for verify: {told}\n" in said.replace("\n  ", " ")
    assert max(map(len, said.splitlines()[1:])) <= 80
    with pytest.raises(ScenarioError) as error:
        plan_verification(elsewhere)
    assert error.value.lines == (told,)
    alone = [(f"    - {{name: {node}, pes: [{{name: {node}, speeds: {{dgemm: 2 Gflop/s}}}}]}}\n", "") for node in "bc"]
    one = [*alone, ("{two: {partition: equal, pes: [a, b]}}", "{one: {partition: equal}}")]
    assert json.loads(apportion("check", made(*one), "--json")[1])["ready"]["verify"] == []
    kernel = made(*one, ("dgemm", "mine"))
    (line,) = json.loads(apportion("check", kernel, "--json")[1])["ready"]["verify"]
    assert line == "application: matmul really runs with the kernels dgemm, matmul, not with 'mine'"
    with pytest.raises(ScenarioError, match="not with 'mine'"):
        plan_verification(kernel)
    assert isinstance(plan_verification(kernel, command=["sleep", "0.0{units}"]).scenario, Scenario)


# What is shown of a scenario, and all faults in one wave


def test_nodes_cores_speeds_and_what_is_drawn_are_shown(apportion, tmp_path):
    path = tmp_path / "c.yaml"
    words = ["--nodes", "fast[1-2]: 8 cores 3 Gflop/s 32GiB, slow[1-2]: 4 cores 1.5 Gflop/s"]
    assert apportion("new", *words, "--busy", "slow1 13:00-18:00", "-o", path)[0] == 0
    code, out, _ = apportion("check", path)
    assert code == 0
    assert "stencil on 4 nodes, 4 PEs, 24 cores; configurations as-now" in " ".join(out.split())  # a long path wraps
    rows = [line.split() for line in out.splitlines()]
    assert ["fast[1-2]", "2", "x", "1", "8", "3", "Gunits/s", "32", "GiB"] in rows
    assert ["slow1", "1", "x", "1", "4", "1.5", "Gunits/s", "mean", "0.83,", "fair"] in rows
    assert ["slow2", "1", "x", "1", "4", "1.5", "Gunits/s"] in rows
    assert "drawn: when the load of 1 PE begins\n" in out
    document = json.loads(apportion("check", path, "--json")[1])
    assert (document["cores"], document["drawn"]) == (24, ["when the load of 1 PE begins"])
    assert [kind["count"] for kind in document["kinds"]] == [2, 1, 1]


@pytest.mark.parametrize(
    ("name", "drawn"), [("cluster", "nothing: all replications are alike"), ("two-cores", "speeds (")]
)
def test_what_is_drawn_is_said_of_shipped_scenarios(apportion, name, drawn):
    line = next(line for line in apportion("check", name)[1].splitlines() if line.startswith("drawn: "))
    assert drawn in line


WAVES = {
    "speed: 2 Gflop": [("c, speeds: {dgemm: 2 Gflop/s}", "c, speeds: {dgemm: 2 Gflop}")],
    "a file that is not there": [("c, speeds: {dgemm: 2 Gflop/s}", "c, speeds: {dgemm: {model: none.json}}")],
    "a name twice": [("name: b, pes: [{name: b", "name: b, pes: [{name: c")],
    "nothing else": [],
}


@pytest.mark.parametrize("wave", WAVES)
def test_all_faults_come_in_one_wave(apportion, made, wave):
    """Whatever is wrong with the platform, its form or its meaning, the rest of the file is looked at."""
    further = [("kernel: dgemm", "kernel: dgem"), ("n: 200", "m: 200"), ("pes: [a, b]", "pes: [a, d]")]
    path = made(*WAVES[wave], *further)
    _, _, err = apportion("check", path)
    lines = err.splitlines()
    assert any("application.parameters: n is missing" in line for line in lines)
    assert any("application.parameters: m is unknown" in line for line in lines)
    if "Gflop" not in wave and "twice" not in wave:
        assert any("application.kernel: no PE has a speed of kernel 'dgem'" in line for line in lines)
        assert any("configurations.two.pes: there is no PE 'd'" in line for line in lines)
    assert len(lines) == {"nothing else": 4, "a file that is not there": 5}.get(wave, 3)

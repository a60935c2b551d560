import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from simulator import LinkModel, Scenario, dump_scenario, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.load_traces import trace_text
from tests.support.platforms import band, pe, scenario, trace

GOOD = """
format: 1
platform:
  nodes:
    - name: node
      pes:
        - {name: a, speeds: {dgemm: {sizes: [1e3], low: [9e8], mid: [1e9], high: [1.1e9]}}}
        - {name: b, speeds: {dgemm: {sizes: [1e3], low: [9e8], mid: [1e9], high: [1.1e9]}}}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 10}}
configurations:
  equal: {partition: [5, 5]}
  swapped: {partition: [7, 3], pes: [b, a]}
replications: 3
seed: 5
"""


def write(tmp_path, text, name="s.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_reads_units_and_places(tmp_path):
    made = load_scenario(write(tmp_path, GOOD))
    assert made.platform.network.uniform_model.time_s(0) == pytest.approx(1e-5)
    assert made.platform.network.uniform_model.time_s(125e6) == pytest.approx(1.00001)
    assert [c.placement for c in made.configurations] == [(0, 1), (1, 0)]
    assert (made.replications, made.seed) == (3, 5)


def test_what_is_written_is_read_back_and_runs_to_the_same_ticks(tmp_path):
    load = trace(np.arange(40) * 0.05, np.arange(40) % 3, 2.0)
    link = LinkModel(np.array([0.1, 1e5, 1e16]), np.array([1e-5, 1 / 3, 7.0]))
    pes = [pe("a", band(1 / 3 * 1e9, 1e9, 1.1e9)), pe("b", 0.7e9, load)]
    pes[1] = replace(pes[1], load=replace(pes[1].load, recorded=True))  # as a file is
    made = scenario(pes, 100, (60, 40), (100, 0), link=link, replications=5, seed=9)
    (tmp_path / "b.csv").write_text(trace_text(load))
    path = write(tmp_path, dump_scenario(made, traces={"b": "b.csv"}))
    again = load_scenario(path)
    assert isinstance(again, Scenario)
    assert dump_scenario(again, traces={"b": "b.csv"}) == path.read_text()
    assert np.array_equal(run(again).makespan_ticks, run(made).makespan_ticks)


def test_json_and_toml_are_the_same_form(tmp_path):
    import json

    toml = """
format = 1
[platform.link]
latency = "10us"
bandwidth = "1Gbit/s"
[[platform.nodes]]
name = "node"
[[platform.nodes.pes]]
name = "a"
speeds.dgemm = {sizes = [1e3], low = [9e8], mid = [1e9], high = [1.1e9]}
[application]
name = "matmul"
kernel = "dgemm"
parameters.n = 10
[configurations.all]
partition = [10]
"""
    import tomllib

    one = load_scenario(write(tmp_path, toml, "s.toml"))
    two = load_scenario(write(tmp_path, json.dumps(tomllib.loads(toml)), "s.json"))
    assert run(one).makespan_ticks.tolist() == run(two).makespan_ticks.tolist()


BAD = {
    "unknown key": (
        ("seed: 5", "sede: 5"),
        r"15:1: sede: the key is unknown here; take format, extends, platform, application, configurations",
    ),
    "missing": (
        ("application: {name: matmul, kernel: dgemm, parameters: {n: 10}}\n", ""),
        "2:1: application: it is missing; add it",
    ),
    "bare number": (
        ("latency: 10us", "latency: 10"),
        r"9:10: platform\.link\.latency: 10 is no duration; write one such as 50us, 1\.5s or 10min",
    ),
    "wrong unit": (
        ("1Gbit/s", "1Gbit"),
        r"9:25: platform\.link\.bandwidth: '1Gbit' is no bandwidth; write one such as 1Gbit/s or 125MB/s",
    ),
    "both links": (
        ("latency: 10us", "times_s: [1], latency: 10us"),
        r"9:39: platform\.link\.bandwidth: the key is unknown here; take shared, doubt, source, sizes_bytes, times_s",
    ),
    "duplicate key": (("seed: 5", "seed: 5\nseed: 6"), "16:1: this is no YAML: the key 'seed' comes twice"),
    "boolean": (
        ("n: 10", "n: true"),
        r"10:57: application\.parameters\.n: True is neither a finite number nor a text; give one of them",
    ),
    "yaml 1.1": (
        ("name: node", "name: 12:30\n      x: NO"),
        r"6:7: platform\.nodes\.0\.x: the key is unknown here; take name, count, host, memory, price, swap, levels",
    ),
    "infinite": (("sizes: [1e3]", "sizes: [.inf]"), "finite"),
    "rows": (
        ("[5, 5]", "[5, 6]"),
        "s.yaml:12:11: configurations.equal.partition: its parts are 11 rows together, but n = 10; take 1 away",
    ),
    "negative rows": (("[5, 5]", "[11, -1]"), "configurations.equal.partition"),
    "no such PE": (("[b, a]", "[b, c]"), r"13:32: configurations\.swapped\.pes: there is no PE 'c'; take one of a, b"),
    "PE twice": (
        ("name: b,", "name: a,"),
        r"8:12: platform\.nodes\.0\.pes\.1\.name: two PEs are called a; give each its own name",
    ),
    "no trace": (("{name: b,", "{name: b, load: {trace: no.csv, rule: fair},"), "no.csv: no such file"),
    "rule": (
        ("{name: b,", "{name: b, load: {trace: no.csv, rule: greedy},"),
        r"8:43: platform\.nodes\.0\.pes\.1\.load\.rule: 'greedy' is not possible here; give 'idle', 'fair' or 'given'",
    ),
    "application": (
        ("name: matmul", "name: lu"),
        r"10:15: application\.name: 'lu' is unknown; take cholesky, ep, farm, fft, fft3d, hpl, matmul, matmul_2d",
    ),
    "zero speed": (("mid: [1e9]", "mid: [0]"), "speed band"),
    "format": (("format: 1", "format: 2"), "2:1: format: 2 is not possible here; give 1"),
    "bandwidth zero": (
        ("1Gbit/s", "0Gbit/s"),
        r"9:25: platform\.link\.bandwidth: '0Gbit/s' is too small; give more than zero",
    ),
    "replications": (("replications: 3", "replications: 0"), "14:1: replications: 0 is too small; give at least 1"),
    "tag": (("seed: 5", "seed: !!python/object/apply:os.system ['true']"), "this is no YAML"),
    "no mapping": ((GOOD, "- 1"), "top level"),
    "empty": ((GOOD, ""), "1:1: the file is empty; write a scenario"),
    "tab": ((GOOD, "a:\n\t- b"), "this is no YAML"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_line_that_names_the_field(tmp_path, case):
    (old, new), message = BAD[case]
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=message) as caught:
        load_scenario(path)
    assert all(str(tmp_path) in line and "\n" not in line for line in caught.value.lines)


def test_all_faults_are_told_at_once(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path, GOOD.replace("seed: 5", "sede: 5").replace("format: 1", "format: 3")))
    assert len(caught.value.lines) == 2


def test_yaml_that_grows_without_bound_is_refused_at_once(tmp_path):
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(ScenarioError, match="8:5: this has more than 2000000 values; write fewer"):
        load_scenario(write(tmp_path, "\n".join(lines)))
    with pytest.raises(ScenarioError, match="1:4: this lies more than 50 levels deep; write fewer levels"):
        load_scenario(write(tmp_path, "a: &a [*a]"))
    with pytest.raises(ScenarioError, match="1:52: this lies more than 50 levels deep; write fewer levels"):
        load_scenario(write(tmp_path, "[" * 60 + "]" * 60))


@pytest.mark.slow
def test_the_command_line_says_the_same_without_a_traceback(tmp_path):
    path = write(tmp_path, GOOD.replace("seed: 5", "sede: 5"))
    done = subprocess.run(
        [sys.executable, "-m", "advisor.cli", "check", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    allowed = "format, extends, platform, application, configurations, replications, truths, seed, notes"
    assert done.stderr == f"error: {path}:15:1: sede: the key is unknown here; take {allowed}; did you mean seed?\n"

from dataclasses import replace

import numpy as np
import pytest

from simulator import LinkModel, Scenario, dump_scenario, load_scenario, run
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

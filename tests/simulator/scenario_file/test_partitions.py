"""Partitions by rule: what each name gives, that files keep the name, and lists that follow the size of the problem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import Scenario, dump_scenario, load_scenario
from simulator.base.errors import ScenarioError
from simulator.scenario_file.partitions import RULES, functional_over, in_proportion, rule_of

TEXT = """format: 1
platform:
  nodes:
    - name: a
      pes:
        - {name: flat, speeds: {dgemm: 10 Gflop/s}}
        - {name: falls, speeds: {dgemm: {sizes: [1e3, 1e7], speeds: [60e9, 20e9]}}}
        - {name: two, cores: 2, speeds: {dgemm: 10 Gflop/s}}
  link: {latency: 30us, bandwidth: 10Gbit/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 1200}}
configurations:
  equal: {partition: equal}
  by-speed: {partition: by-speed}
  peak: {partition: peak}
  constant: {partition: constant}
  functional: {partition: functional}
  shared: {partition: by-speed, allocation: {flat: 2, two: 2}}
  listed: {partition: [300, 600, 300]}
  cores: {partition: one-per-core}
replications: 2
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(TEXT)
    return path


def units_of(scenario):
    return {one.name: one.partition for one in scenario.configurations}


def test_each_rule_divides_by_what_it_says(file):
    scenario = load_scenario(file)
    found = units_of(scenario)
    assert found["equal"] == (400, 400, 400)
    share = scenario.application.work.compute(3)(400)
    speed = float(scenario.platform.pes[1].speed_of("dgemm").speed(share.size))
    assert found["by-speed"] == in_proportion(1200, [10e9, speed, 10e9])
    assert 20e9 < speed < 60e9
    assert found["peak"] == found["constant"] == (150, 900, 150)
    assert found["functional"] == functional_over(scenario, (0, 1, 2), led=True)[0]
    assert found["shared"] == (200, 200, 400, 400)  # two processes share the one core of the first PE
    assert all(sum(units) == 1200 for units in found.values())


def test_rules_follow_the_problem_and_lists_keep_their_proportion_and_say_so(file):
    scenario = load_scenario(file, changes=["application.parameters.n=2400"])
    found = units_of(scenario)
    assert found["equal"] == (800, 800, 800)
    assert found["functional"] == functional_over(scenario, (0, 1, 2), led=True)[0]
    assert found["listed"] == (600, 1200, 600)
    (said,) = [line for line in scenario.warnings if "keep their proportion" in line]
    assert said.startswith("configuration listed: its units are listed for 1200 in all")
    assert not any("keep their proportion" in line for line in load_scenario(file).warnings)


def test_a_list_that_is_set_or_was_wrong_before_is_not_scaled(file):
    with pytest.raises(ScenarioError, match="its parts are 1200 rows together, but n = 2400; add 1200"):
        load_scenario(
            file, changes=["application.parameters.n=2400", "configurations.listed.partition=[300, 600, 300]"]
        )
    file.write_text(TEXT.replace("[300, 600, 300]", "[300, 600, 299]"))
    with pytest.raises(ScenarioError, match="its parts are 1199 rows together"):
        load_scenario(file, changes=["application.parameters.n=2400"])


def test_a_written_scenario_says_the_rule_where_units_are_still_its(file, tmp_path):
    scenario = load_scenario(file)
    text = dump_scenario(scenario)
    for rule in RULES:
        assert f"partition: {rule}\n" in text
    again = tmp_path / "again.yaml"
    again.write_text(text)
    assert units_of(load_scenario(again)) == units_of(scenario)
    faster = load_scenario(file, changes=["platform.nodes.0.pes.0.speeds.dgemm=20Gflop/s"])
    stale = next(one for one in scenario.configurations if one.name == "by-speed")
    assert rule_of(scenario, stale) == "by-speed"
    assert rule_of(faster, stale) == ""


def test_one_per_core_says_where_processes_run_in_files_as_in_python(file):
    scenario = load_scenario(file)
    named = {one.name: one for one in scenario.configurations}
    assert (named["cores"].partition, named["cores"].placement) == ((300, 300, 300, 300), (0, 1, 2, 2))
    (one,) = Scenario(scenario.platform, scenario.application, {"cores": "one-per-core"}).configurations
    assert (one.partition, one.placement) == (named["cores"].partition, named["cores"].placement)
    file.write_text(TEXT.replace("one-per-core}", "one-per-core, pes: [flat, two]}"))
    assert units_of(load_scenario(file))["cores"] == (600, 600)


@given(st.integers(1, 5000), st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
def test_nobody_could_end_earlier_than_in_proportion(units, speeds):
    found = np.array(in_proportion(units, speeds))
    assert found.sum() == units
    last = (found / np.array(speeds)).max()
    assert np.all((found + 1) / np.array(speeds) >= last * (1 - 1e-12))

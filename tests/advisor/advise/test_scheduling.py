"""Static or dynamic: stencils whose units move, products on grids, farms under chunk rules, and how it is said."""

from dataclasses import replace

import pytest

from advisor.advise.advice import advice_of
from advisor.advise.recommendation import recommend
from advisor.advise.scheduling import FARM, axes_of, chunk_rules, crossing, sentence, under
from advisor.advise.spending import Spending
from advisor.report.advice import _scheduling, advice_page
from advisor.verification.asking import plan_verification
from simulator import ScenarioError, load_scenario
from tests.support.command_line import ROOT

FARM_TEXT = """
format: 1
platform:
  nodes:
    - name: n
      pes:
        - {name: fast, speeds: {dgemm: 4 Gflop/s}}
        - name: slow
          speeds: {dgemm: 2 Gflop/s}
          load: {trace: {times_s: [0, 3], values: [1, 0], end_s: 6}, rule: fair}
  link: {latency: 50us, bandwidth: 1GB/s}
application:
  name: farm
  kernel: dgemm
  parameters: {units: 200, volume: 100000000, size: 30000, pull: 1ms, chunk: 60, distribution: gamma, cv: 0.5}
configurations:
  as-now: {partition: equal}
replications: 10
"""


def test_a_farm_is_told_its_best_rule_and_when_static_parts_are_better(tmp_path, monkeypatch):
    (tmp_path / "farm.yaml").write_text(FARM_TEXT)
    scenario = load_scenario(tmp_path / "farm.yaml")
    made = recommend(scenario, vary=("scheduling",), confirm=0, runs=200)
    found = made.scheduling
    monkeypatch.delattr("advisor.report.picture.who_figure")  # nobody is given units
    page = advice_page(advice_of(scenario, made))
    assert page.answer.startswith("Let each of ")
    assert " pull units: " in page.answer
    assert not page.answer.startswith("Give")
    means = {one.name: one.mean_s for one in found.rules}
    assert list(means.values()) == sorted(means.values())
    assert {"ss, chunk 1", "gss", "tss", "fac2", "awf-b", "af", "as it is"} <= set(means)
    assert means["as it is"] == pytest.approx(found.now_s)
    assert found.dynamic == found.rules[0].name
    assert found.now_s > found.predicted_s
    dearer = next(axis for axis in found.axes if axis.what == "times of a pull")
    assert dearer.gains[0] > dearer.gains[-1]
    said = sentence(found)
    assert said.startswith(f"Stay static: pulling units ({found.rule}) is predicted {found.gain:.2f} times as fast")
    pulled = sentence(replace(found, pays=True))
    assert pulled.startswith(f"Let processes pull their units ({found.rule}): ")
    assert "under the rule as it is" in pulled
    assert len(list(_scheduling(found))) == 3
    with pytest.raises(ScenarioError, match="--dynamic: processes of a farm pull their units"):
        plan_verification(scenario, dynamic=True)


def test_when_moving_pays_is_asked_only_while_there_is_time(tmp_path):
    (tmp_path / "farm.yaml").write_text(FARM_TEXT)
    scenario = load_scenario(tmp_path / "farm.yaml")
    sides = (scenario, scenario.configurations), (under(scenario, {"rule": "gss"}), scenario.configurations)
    assert [one.what for one in axes_of(*sides, Spending())][-1] == "times of a pull"
    assert list(axes_of(*sides, Spending(time_s=0.0))) == []


def test_parameters_of_another_rule_are_left_out():
    scenario = load_scenario(ROOT / "scenarios" / "tutorial" / "wandering.yaml")
    farm = replace(
        scenario.application,
        name=FARM,
        parameters={"units": 9, "chunk": 2, "rule": "ss", "volume": 1, "size": 1, "pull": "1s"},
    )
    asked = under(replace(scenario, application=farm), {"rule": "gss"})
    assert asked.application.parameters == {"units": 9, "volume": 1, "size": 1, "pull": "1s", "rule": "gss"}
    assert list(chunk_rules(5, 4))[:2] == ["ss, chunk 1", "gss"]


@pytest.mark.slow
def test_of_a_product_on_a_grid_only_one_column_lets_rows_move(tmp_path):
    text = (ROOT / "scenarios" / "tutorial" / "wandering.yaml").read_text()
    text = text.replace(
        "application: {name: stencil, kernel: stencil, parameters: {n: 2000, iterations: 400}}",
        "application: {name: matmul_2d, kernel: stencil, parameters: {n: 200, nb: 10, grid_rows: 1}}",
    )
    (tmp_path / "grid.yaml").write_text(text[: text.index("  # Every 5")] + "replications: 2\n")
    scenario = load_scenario(tmp_path / "grid.yaml")
    made = recommend(scenario, vary=("partition", "scheduling"), confirm=0, runs=30)
    dynamic = next(one for one in made.candidates if one.name == made.scheduling.dynamic)
    assert scenario.application.work.shape(dynamic) == (2, 1)


def test_the_nearest_crossing_counts():
    assert crossing((0.1, 1.0, 10.0), (0.1, 0.1, 0.1)) is None
    assert crossing((0.1, 1.0, 10.0), (-0.08, 0.1, 0.1)) == pytest.approx(10**-0.5)
    assert crossing((0.1, 1.0, 10.0), (0.1, 0.1, -0.08)) == pytest.approx(10**0.5)

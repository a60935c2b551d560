"""Advice for clusters whose best configuration is known, and against what other questions about it show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advisor import explain, pareto_fronts
from advisor.advise.recommendation import recommend
from simulator import Configuration, load_scenario
from tests.support import advice_oracle as oracle
from tests.support.advice_cases import case, loaded
from tests.support.advised import advised

DATA = Path(__file__).parents[4] / "shared" / "data" / "public"
TIE, JUDGED = 1.01, 300
SEEDS = (1, 2)
ROBUST_S = 3.88
"""What units by the speed under load take, and 1 %."""
FOUR = """
format: 1
platform:
  nodes:
    - {name: "new[1-2]", pes: [{cores: 8, speeds: {stencil: 3 Gflop/s}}]}
    - {name: old1, pes: [{cores: 8, speeds: {stencil: 1.5 Gflop/s}}]}
    - name: old2
      pes:
        - cores: 8
          speeds: {stencil: 1.5 Gflop/s}
          load:
            trace: {start: "2026-01-05T00:00+00:00", times_s: [0, 46800, 64800], values: [0, 8, 0], end_s: 86400}
            rule: fair
            start: drawn
  network:
    topology: star
    link: {latency: 30us, bandwidth: 10Gbit/s}
    contention: fair
    loopback: {latency: 1us, bandwidth: 5GB/s}
application: {name: stencil, kernel: stencil, parameters: {n: 16000, iterations: 400}}
configurations:
  as-now: {partition: equal, allocation: {"new[1-2]": 8, "old[1-2]": 8}}
replications: 200
"""


def named(name):
    path = DATA / f"{name}.yaml"
    if not path.exists():
        pytest.skip(f"{path.name} is missing")
    return load_scenario(path)


@pytest.mark.parametrize(
    ("name", "objective", "right"),
    [
        pytest.param("advice_slow_link_first", "mean", 70.0e-3, marks=pytest.mark.slow),
        ("advice_extra_node", "mean", 24.4e-3),
        ("advice_cost", "cost", 0.222),
        ("advice_overflow", "mean", np.inf),
        ("advice_order", "mean", 0.1029),
    ],
)
def test_the_advice_is_as_good_as_the_configuration_that_is_right(name, objective, right):
    made = advised(named(name), objective=objective)
    assert sum(made.configuration.partition) > 0
    assert made.value <= TIE * right


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_units_follow_the_speed_under_load_whatever_the_seed(seed):
    scenario = replace(named("advice_busy_eight"), seed=seed)
    made = recommend(scenario, confirm=0)
    assert made.runs.of(made.configuration.name).mean() <= ROBUST_S
    explained = explain(scenario, made).recommendation
    assert explained.runs.of(explained.configuration.name).mean() <= ROBUST_S


def by_speed(scenario, speeds):
    """A process per core, units by the speed of each node."""
    weights = [speed for speed in speeds for _ in range(8)]
    placement = tuple(pe for pe in range(len(speeds)) for _ in range(8))
    return Configuration("by hand", tuple(oracle.divided(scenario.application.work.units, weights).tolist()), placement)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_four_nodes_of_the_tutorial_have_the_same_advice_whatever_the_seed(seed, tmp_path):
    (tmp_path / "four.yaml").write_text(FOUR)
    scenario = replace(load_scenario(tmp_path / "four.yaml"), seed=seed)
    hands = [by_speed(scenario, (2, 2, 1, share)) for share in (1.0, 0.75, 0.55, 0.5, 0.49, 0.45)]
    made = advised(scenario)
    values = oracle.values(scenario, [made.configuration, *hands], "mean", replications=JUDGED, first=oracle.FRESH)
    assert values[0] <= TIE * values.min()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_the_cheapest_advice_is_as_cheap_as_the_front_of_the_fastest(number, tmp_path):
    scenario = loaded(case(number)[0], tmp_path)
    fronts = pareto_fronts(scenario, recommend(scenario, confirm=0))
    for front in fronts:
        made = advised(scenario, objective=front.of)
        assert made.best <= min(getattr(point, front.of) for point in front.points) * (1 + 1e-9)

"""Construction plans: kinds of a platform, anchors, budgets, choice per second, and files that come back the same."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from advisor.advise.process_counts.construction import Wishes, fits_memory, plan_construction
from advisor.advise.process_counts.search import configurations
from simulator import ScenarioError, load_platform
from simulator.calibration import read_plan
from simulator.calibration.allocation.campaign import MadeRun, expected_s
from simulator.calibration.allocation.plan import PEKind, PlacedPE
from simulator.calibration.allocation.program import MeasuredTimes

TUTORIAL = Path(__file__).parents[4] / "scenarios" / "tutorial"
LOCAL = """
format: 1
platform:
  nodes:
    - name: here
      host: localhost
      pes:
        - {name: fast, cpu: 0, speeds: {dgemm: 45 Gflop/s}}
        - {name: slow, cpu: 1, speeds: {dgemm: 45 Gflop/s},
           load: {trace: {times_s: [0], values: [2], end_s: 1}, rule: fair}}
  link: {latency: 2us, bandwidth: 5GB/s}
"""


@pytest.fixture
def local(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(LOCAL)
    return load_platform(path)


def made(platform, sizes=(400, 800, 1200, 2400), at=(4800,), budget_s=30.0, **more):
    return plan_construction(platform, Wishes(tuple(map(float, sizes)), tuple(map(float, at)), budget_s), **more)


def kind(name, pes, most):
    return PEKind(name, tuple(PlacedPE(f"{name}{i}", f"{name}{i}", f"{name}{i}") for i in range(pes)), most)


def test_alike_pes_are_a_kind_named_after_what_their_names_share():
    plan = made(load_platform(TUTORIAL / "cluster.yaml"), budget_s=600.0)
    assert [(k.name, len(k.pes), k.speed, k.most) for k in plan.kinds] == [("fast", 8, 4e9, 4), ("slow", 24, 1e9, 2)]
    assert plan.kinds[0].cores == 4
    assert plan.kinds[0].pes[1].host == "fast02"
    loaded = made(load_platform(TUTORIAL / "three-pes.yaml"), budget_s=600.0).kinds
    assert [(k.name, k.competitors > 0, k.steady) for k in loaded] == [
        ("steady", False, True),
        ("cached", False, True),
        ("busy", True, False),
    ]


def test_every_kind_runs_alone_at_every_size_and_crowded_at_the_middle_one(local):
    plan = made(local, most={"fast": 4, "slow": 3})
    have = Counter({run.key: run.repetitions for run in plan.runs if not run.reserve})
    for size in (400.0, 800.0, 1200.0, 2400.0):
        assert have[size, ((1, 1), (0, 0))]
        assert have[size, ((0, 0), (1, 1))]
    for m in (2, 3, 4):
        assert have[1200.0, ((1, m), (0, 0))]
    for m in (2, 3):
        assert have[1200.0, ((0, 0), (1, m))]
    together = [key for key in have if all(pes for pes, _ in key[1])]
    assert len(together) >= 2
    assert any(size == 2400 for size, _ in together)
    assert plan.expected_s <= plan.budget_s == 30.0


def test_several_pes_are_looked_at_with_several_process_counts():
    plan = made(load_platform(TUTORIAL / "cluster.yaml"), budget_s=600.0)
    for number in (0, 1):
        counts = {a[number][0] for run in plan.runs for a in [run.allocation] if not a[1 - number][0]}
        assert len(counts) >= 3
    assert max(run.processes for run in plan.runs) >= 32 + 24


def test_a_smaller_budget_buys_fewer_runs_and_never_less_than_each_kind_alone(local):
    dear, cheap = made(local), made(local, budget_s=7.0)
    assert cheap.expected_s <= 7.0 < dear.expected_s
    assert {run.key for run in cheap.runs if not run.reserve} >= {
        (size, a) for size in (400.0, 1200.0, 2400.0) for a in (((1, 1), (0, 0)), ((0, 0), (1, 1)))
    }
    with pytest.raises(
        ScenarioError,
        match=r"--budget: each kind alone at 3 sizes takes .* s, more than 3 s",
    ):
        made(local, budget_s=3.0)


def test_without_a_budget_it_is_15_percent_of_running_everything(local):
    plan = made(local, budget_s=None, at=(4800, 6400), most={"fast": 4, "slow": 3})
    assert plan.budget_s == pytest.approx(0.15 * plan.full_s)
    assert plan.expected_s <= plan.budget_s
    allocations, weight = configurations([(len(kind.pes), kind.most) for kind in plan.kinds])
    assert (len(allocations), weight) == (5 * 4 - 1, 1)
    by_hand = sum(
        plan.guess.time_s(np.full(19, size), allocations).sum() + 19 * plan.start_s for size in (4800.0, 6400.0)
    )
    assert plan.full_s == pytest.approx(by_hand)


def test_competitors_take_their_share(local):
    """m processes beside k competitors: each has 1 / (m + k) of the core, as long as the slowest kind takes it all."""
    guess = made(local).guess
    rows = np.array([((1, 1), (0, 0)), ((0, 0), (1, 1)), ((0, 0), (1, 2))], dtype=np.int64)
    alone, slow, crowded = guess.time_s(np.full(3, 2400.0), rows)
    assert alone == pytest.approx(2 / 3 * 2400**3 / 45e9, rel=0.35)
    assert slow == pytest.approx(3 * alone, rel=0.01)
    assert guess.slowest(np.full(2, 2400.0), rows[1:]).tolist() == [1, 1]
    assert crowded > slow / 2 * 4 / 3


def test_costs_follow_what_was_measured(local):
    plan, alone = made(local), (((1, 1), (0, 0)), ((0, 0), (1, 1)))

    def guessed(size):
        return plan.guess.time_s(np.full(2, size), np.array(alone))

    def factors(runs, size):
        return (expected_s(plan, runs, [(size, one) for one in alone]) - (0.2 if runs else 0.5)) / guessed(size)

    assert factors([], 800.0) == pytest.approx([1.0, 1.0])
    runs = []
    for row, factor in ((0, 4.0), (1, 12.0)):
        for size in (400.0, 800.0, 1600.0):
            true = factor * float(guessed(size)[row])
            runs.append(MadeRun(size, alone[row], true + 0.2, MeasuredTimes(true)))
    assert factors(runs[:1], 800.0) == pytest.approx([4.0, 4.0])
    assert factors([*runs, MadeRun(800.0, alone[0], 9.0, failed="no licence")], 800.0) == pytest.approx([4.0, 12.0])
    later = 3 * float(guessed(3200.0)[0])
    assert factors([*runs, MadeRun(3200.0, alone[0], later + 0.2, MeasuredTimes(later))], 6400.0) == pytest.approx(
        [3, 12]
    )


def test_memory_leaves_out_what_does_not_fit():
    kinds = (kind("big", 2, 2), kind("small", 4, 2))
    fit = fits_memory(kinds, {"big0": 8 * 10**6, "small0": 2 * 10**6})
    rows = np.array([((1, 1), (0, 0)), ((2, 1), (0, 0)), ((0, 0), (1, 1)), ((1, 1), (1, 1)), ((2, 2), (4, 1))])
    assert fit(1000.0, rows).tolist() == [True, True, False, False, True]
    assert fit(1001.0, rows).tolist() == [False, True, False, False, True]


def test_a_plan_comes_back_from_its_file_and_is_the_same_for_the_same_seed(local, tmp_path):
    plan, again = made(local), made(local)
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    read = read_plan(tmp_path / "plan.json")
    assert read.to_dict() == plan.to_dict() == again.to_dict()

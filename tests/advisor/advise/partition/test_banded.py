"""Partitions from bands: the worst case is exact, levels are chosen by simulation, regret against every corner."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from advisor.advise.partition import SpeedKinds, banded, functional
from simulator import ScenarioError
from simulator.base.randomness import stream
from tests.advisor.advise.partition.cases import least_makespan, random_cases


def noisy_pes(p=16, seed=1):
    """Two in five PEs have bands of 40 % to either side, the others of 2 %."""
    rng = stream(seed, "noisy")
    mid, width = rng.uniform(1, 10, p), np.where(rng.random(p) < 0.4, 0.4, 0.02)
    return SpeedKinds.constant(mid), mid * (1 - width), mid * (1 + width)


def test_the_worst_case_is_exact():
    """Every PE on its lower curve at once, against trying everything."""
    for case in [case for case in random_cases(60, growing=True, seed=6) if case.feasible]:
        pes = case.pes
        slow = [speeds * 0.6 for speeds in case.speeds]
        found = banded(case.units, pes, low=np.concatenate(slow), high=pes.speeds, objective="worst", replications=2)
        best_s = least_makespan(type(case)(case.units, case.sizes, slow, case.limits, case.setups, case.counts))
        assert found.makespan_s == pytest.approx(best_s, rel=1e-12)
        assert found.optimal


@pytest.mark.parametrize(("objective", "name"), [("mean", "mean_s"), ("cvar", "cvar95_s")])
def test_the_chosen_level_is_better_than_planning_on_the_middle(objective, name):
    pes, low, high = noisy_pes()
    found = banded(16_000, pes, low=low, high=high, objective=objective, seed=4)
    middle = functional(16_000, pes).units
    place = stream(9, "judge").random((4000, 16))
    speeds = low + place * (high - low)  # these bands are symmetric
    ours, naive = ((units / speeds).max(axis=1) for units in (found.units, middle))
    gain = naive.mean() / ours.mean() if objective == "mean" else np.quantile(naive, 0.95) / np.quantile(ours, 0.95)
    assert gain > 1.03
    assert found.details["level"] < 0.5
    assert found.makespan_s == found.details["simulated"][name]
    assert found.lower_bound_s < found.makespan_s
    assert not found.optimal


def least_mean(units, seconds_per_unit):
    """Least mean makespan over scenarios, with parts of units: a linear program."""
    scenarios, p = seconds_per_unit.shape
    rows = np.zeros((scenarios * p, p + scenarios))
    rows[np.arange(scenarios * p), np.tile(np.arange(p), scenarios)] = seconds_per_unit.ravel()
    rows[np.arange(scenarios * p), p + np.repeat(np.arange(scenarios), p)] = -1
    cost = np.concatenate((np.zeros(p), np.full(scenarios, 1 / scenarios)))
    sums = np.concatenate((np.ones(p), np.zeros(scenarios)))[None]
    return linprog(cost, rows, np.zeros(len(rows)), sums, [units], method="highs").fun


@pytest.mark.slow
def test_one_parameter_is_within_one_percent_of_the_scenario_program():
    """The program knows its 200 scenarios and all partitions; ours is judged on the same ones."""
    for seed in (1, 2, 3):
        pes, low, high = noisy_pes(seed=seed)
        place = stream(seed, "scenarios").random((200, 16))
        seconds = 1 / (low + place * (high - low))
        found = banded(160_000, pes, low=low, high=high, seed=seed)
        ours = (found.units * seconds).max(axis=1).mean()
        assert ours <= 1.01 * least_mean(160_000, seconds)


@pytest.mark.slow
def test_worst_regret_is_least_over_all_corners():
    """A linear program over every corner of the bands, with parts of units."""
    rng = stream(5, "regret")
    for _ in range(25):
        p, units = int(rng.integers(2, 5)), int(rng.integers(10**4, 10**6))
        low = rng.uniform(1, 5, p)
        high = low * rng.uniform(1, 2, p)
        found = banded(units, SpeedKinds.constant((low + high) / 2), low=low, high=high, objective="regret")
        rows, right, corners = [], [], []
        for corner in itertools.product((False, True), repeat=p):
            speeds = np.where(corner, low, high)
            corners.append(units / speeds.sum())
            rows += [np.append(row, -1) for row in np.diag(1 / speeds)]
            right += [corners[-1]] * p
        least = linprog(
            np.append(np.zeros(p), 1),
            rows,
            right,
            [np.append(np.ones(p), 0)],
            [units],
            bounds=[(0, None)] * p + [(None, None)],
        ).fun
        assert least - 1e-6 <= found.details["worst_regret_s"] <= least + 1 / low.min()
        regrets = [
            (found.units / np.where(corner, low, high)).max() - best_s
            for corner, best_s in zip(itertools.product((False, True), repeat=p), corners, strict=True)
        ]
        assert max(regrets) == pytest.approx(found.details["worst_regret_s"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objective": "median"}, "objective 'median' is not known; give mean, cvar, worst, regret"),
        ({"correlation": 1.0}, "correlation is 1; give a number from 0 to below 1"),
        (
            {"low": np.array([1.0, 0.0, 1.0])},
            "pe1: low has speed 0, so that no partition has a worst case",
        ),
        (
            {"objective": "regret", "low": np.array([0.5, 0.5, 0.6])},
            "pe1: speeds differ by size; give one speed",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(options, said):
    pes = SpeedKinds.of([[1], [1, 2]], [[1.0], [1.0, 1.0]])
    with pytest.raises(ScenarioError, match=said):
        banded(10, pes, **({"low": pes.speeds, "high": pes.speeds} | options))


def test_regret_allows_no_limits():
    pes = SpeedKinds.of([[1], [1]], [[1.0], [1.0]], limits=[5, 100])
    with pytest.raises(ScenarioError, match="pe0 has setup_s or max_size, which objective regret cannot use"):
        banded(10, pes, low=pes.speeds, high=pes.speeds, objective="regret")

"""Costs from counts and times: made-up truths come back, bounds and guesses hold, faults are told."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.base.randomness import stream
from simulator.models.cost_fit import fit_costs


def made_up(*, noise, operations=8, runs=40, seed=3):
    """Counts, times, groups of two and the truth."""
    draws = stream(seed, "cost fit")
    truth = np.exp(draws.normal(0, 0.7, operations)) * 1e-9
    counts = draws.poisson(4.0, (runs, operations)) * (draws.random((runs, operations)) < 0.5) + 0.0
    counts[np.arange(runs), np.arange(runs) % operations] += 6
    times = counts @ truth * np.exp(draws.normal(0, noise, runs))
    return counts, times, [f"program {i // 2}" for i in range(runs)], truth


@pytest.mark.parametrize(("noise", "off"), [(0.0, 0.01), (0.02, 0.08)])
def test_a_made_up_truth_comes_back(noise, off):
    counts, times, groups, truth = made_up(noise=noise)
    found = fit_costs(counts, times, groups, guesses_s=np.full(truth.size, 1e-9))
    assert found.costs_s == pytest.approx(truth, rel=off)
    assert np.abs(found.errors).mean() <= noise + 0.001
    assert np.abs(found.held_out).mean() <= 1.6 * noise + 0.002


def test_no_cost_is_below_zero():
    """The second operation makes runs faster: the best bounded cost of it is 0."""
    counts = np.array([[10.0, 0.0], [10.0, 5.0], [10.0, 9.0], [20.0, 4.0]])
    times = 1e-9 * (counts @ np.array([2.0, -0.8]))
    found = fit_costs(counts, times, ["a", "b", "c", "d"], guesses_s=[1e-9, 1e-9], shrinkages=[1e-6])
    assert (found.costs_s >= 0).all()
    assert found.costs_s[1] == pytest.approx(0.0, abs=1e-13)


def test_an_operation_that_no_run_uses_costs_its_guess_times_the_common_factor():
    counts = np.array([[10.0, 0.0], [30.0, 0.0]])
    found = fit_costs(counts, 5e-9 * counts[:, 0], ["a", "b"], guesses_s=[1e-9, 4e-9])
    assert found.common == pytest.approx(5.0)
    assert found.costs_s == pytest.approx([5e-9, 20e-9])


def test_twice_and_half_as_much_are_equally_wrong():
    """One operation, two programs of 1 and 4 ns each: the cost between them is their geometric mean."""
    found = fit_costs([[1.0], [1.0]], [1e-9, 4e-9], ["a", "b"], guesses_s=[1e-9], shrinkages=[1e-9])
    assert found.costs_s[0] == pytest.approx(2e-9, rel=1e-3)


def test_groups_count_alike_however_many_runs_they_have():
    counts = np.ones((6, 1))
    found = fit_costs(counts, [1e-9] * 5 + [4e-9], ["a"] * 5 + ["b"], guesses_s=[1e-9], shrinkages=[1e-9])
    assert found.costs_s[0] == pytest.approx(2e-9, rel=1e-3)


def test_classes_count_alike_however_many_groups_they_have():
    names = [str(k) for k in range(6)]
    options = {"guesses_s": [1e-9], "shrinkages": [1e-9], "classes": ["many"] * 5 + ["few"]}
    found = fit_costs(np.ones((6, 1)), [1e-9] * 5 + [4e-9], names, **options)
    assert found.costs_s[0] == pytest.approx(2e-9, rel=1e-3)


@pytest.mark.parametrize(
    ("counts", "times", "guesses", "told"),
    [
        ([[1.0, 2.0]], [1.0], [1.0], "shape"),
        ([[1.0]], [0.0], [1.0], "times"),
        ([[1.0]], [1.0], [0.0], "guesses"),
        ([[-1.0]], [1.0], [1.0], "counts"),
        ([[0.0]], [1.0], [1.0], "counts"),
    ],
)
def test_faults(counts, times, guesses, told):
    with pytest.raises(ScenarioError, match=told):
        fit_costs(counts, times, ["a"], guesses_s=guesses)

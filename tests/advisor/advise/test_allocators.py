"""Allocators against enumeration on random small cases, and what each refuses."""

import numpy as np
import pytest

from advisor.advise.allocate import branch_and_bound, exhaustive, ranked
from advisor.advise.allocate.exhaustive import all_allocations, places_of
from advisor.advise.allocate.sumsets import as_numbers, reachable
from advisor.advise.problem import EqualWork, Kind, Problem, ShareTimes, model_times_s
from simulator import ScenarioError, randomness
from tests.support.allocation_cases import many_kinds

CASES = 100
EXACT = 1e-12


def small_case(seed, *, factors=True):
    """Up to three kinds, PEs of each, and processes on each, with ties, gaps, and shares that need not fall."""
    draw = randomness.stream(seed, "allocation case")
    kinds = tuple(
        Kind(f"kind{k}", tuple(range(draw.integers(1, 4))), int(draw.integers(1, 4)))
        for k in range(draw.integers(1, 4))
    )
    widest, most = max(kind.most for kind in kinds), sum(kind.count * kind.most for kind in kinds)
    loads = draw.integers(1, 6, (len(kinds), 1)) * np.cumsum(draw.integers(0, 4, (len(kinds), widest)) + 0.5, axis=1)
    if draw.random() < 0.3:  # more processes on a PE may be quicker than fewer
        loads = draw.integers(1, 9, loads.shape).astype(float)
    if draw.random() < 0.2 and loads.size > 1:
        loads[0, 0] = np.inf
    for place, kind in enumerate(kinds):
        loads[place, kind.most :] = np.inf
    if not np.any(np.isfinite(loads)):
        loads[0, 0] = 1.0
    falls = draw.uniform(5, 20) / np.maximum(np.arange(most + 1), 1)
    share_s = falls if draw.random() < 0.6 else draw.uniform(1, 10, most + 1)
    grows = draw.choice([0.0, 0.1, 0.5]) * np.arange(most + 1) ** draw.choice([0.5, 1.0, 2.0])
    comm_s = grows if draw.random() < 0.6 else draw.uniform(0, 4, most + 1)
    if factors:
        return Problem.of_model(kinds, EqualWork(loads, share_s, comm_s))
    pe_s = loads[:, :, np.newaxis] * share_s * draw.uniform(0.5, 2, (*loads.shape, most + 1))
    return Problem.of_model(kinds, ShareTimes(pe_s, comm_s))


@pytest.mark.parametrize("factors", [True, False])
def test_branch_and_bound_finds_what_enumeration_finds_and_proves_it(factors):
    wrong = []
    for seed in range(CASES):
        problem = small_case(seed, factors=factors)
        found, oracle = branch_and_bound(problem), exhaustive(problem)
        problem.check(found.allocation[np.newaxis])
        value_s = float(model_times_s(problem.model, found.allocation[np.newaxis])[0])
        right = abs(found.value_s - oracle.value_s) <= EXACT * oracle.value_s and found.value_s == value_s
        if not (right and found.optimal and found.gap == 0):
            wrong.append(seed)
    assert wrong == []


@pytest.mark.parametrize("factors", [True, False])
def test_ranked_has_every_allocation_of_the_model_in_order(factors):
    for seed in range(20):
        problem = small_case(seed, factors=factors)
        every = np.concatenate(list(all_allocations(problem)))
        times_s = model_times_s(problem.model, every)
        digits = [float(f"{time_s:.10g}") for time_s in times_s]  # more would be rounding: equals stay in their order
        order = np.argsort(digits, kind="stable")[: np.sum(np.isfinite(times_s))]
        found, allocations, seen_s = ranked(problem)
        np.testing.assert_array_equal(allocations, every[order])
        np.testing.assert_allclose(seen_s, times_s[order], rtol=EXACT)
        assert found.value_s == pytest.approx(exhaustive(problem).value_s, rel=EXACT)
        np.testing.assert_array_equal(places_of(problem, every), np.arange(len(every)))
        some = max(1, order.size // 3)
        np.testing.assert_array_equal(ranked(problem, most=some)[1], allocations[:some])


def test_reachable_numbers_are_the_sums():
    offers = [(2, (2, 3)), (1, (5,)), (3, ())]
    sums = {a + b for a in (0, 2, 4, 3, 6) for b in (0, 5)}
    assert set(as_numbers(reachable(offers)[-1]).tolist()) == sums


def test_exhaustive_judges_noise_by_the_objective():
    """Two PEs: the second is usually faster, and once much slower."""
    table = {1: [5.0, 5.0, 5.0, 5.0], 2: [1.0, 1.0, 1.0, 12.0], 3: [20.0] * 4}

    def runs(allocations, replications):
        sides = (allocations[:, 0, 0] + 2 * allocations[:, 1, 0]).tolist()
        return np.array([table[side] for side in sides])[:, replications]

    kinds = Kind("a", (0,)), Kind("b", (1,))
    best = {
        objective: exhaustive(Problem(kinds, runs, objective=objective, replications=4)).allocation[:, 0].tolist()
        for objective in ("mean", "worst")
    }
    assert best == {"mean": [0, 1], "worst": [1, 0]}


def test_what_cannot_be_searched_is_refused():
    big = many_kinds(10, 100)
    with pytest.raises(ScenarioError, match="allocations are too many to look at each; give at most"):
        exhaustive(big)
    with pytest.raises(ScenarioError, match="allocation: there is no model; give one for branch and bound"):
        branch_and_bound(Problem(big.kinds, big.runs))
    with pytest.raises(ScenarioError, match="bounds are too many for this search; at most"):
        branch_and_bound(many_kinds(30, 240))
    with pytest.raises(ScenarioError, match="objective: there is no 'best'; name one of mean, p95"):
        Problem(big.kinds, big.runs, objective="best")
    with pytest.raises(
        ScenarioError,
        match=r"allocation: kind kind0 is \[101, 1\]; give up to 100 PEs with 1 to 4 processes each or \[0, 0\]",
    ):
        big.check(np.array([[[101, 1], *[[0, 0]] * 9]]))
    with pytest.raises(ScenarioError, match="allocation: there is no process; give at least one"):
        big.check(np.zeros((1, 10, 2), dtype=np.int64))
    nobody = EqualWork(np.full((1, 1), np.inf), np.ones(2), np.ones(2))
    with pytest.raises(ScenarioError, match="allocation: the model allows no process on any PE"):
        branch_and_bound(Problem.of_model((Kind("a", (0,)),), nobody))

"""How long the exact search of a model takes: `make bench` prints it."""

import time
from statistics import median

import numpy as np
import pytest

from advisor.advise.allocate import branch_and_bound, ranked
from advisor.advise.problem import Problem, ShareTimes
from advisor.advise.process_counts import advise_allocation
from tests.support.allocation_cases import many_kinds
from tests.support.known_models import KnownModel, fit_of

pytestmark = pytest.mark.benchmark


def seconds(search, problem, samples=7):
    search(problem)
    times = []
    for _ in range(samples):
        begun = time.perf_counter()
        search(problem)
        times.append(time.perf_counter() - begun)
    return median(times)


def test_branch_and_bound_of_ten_kinds_that_differ_by_more_than_factors():
    problem = many_kinds(10, 100)
    wiggle = 1 + 0.2 * np.sin(np.arange(10)[:, np.newaxis, np.newaxis] + np.arange(problem.most_processes + 1) / 300)
    general = Problem.of_model(problem.kinds, ShareTimes(problem.model.pe_s * wiggle, problem.model.comm_s))
    found = branch_and_bound(general)
    print(f"10 kinds of 100: {seconds(branch_and_bound, general, 3):.3f} s, {found.evaluations} nodes")
    assert found.optimal


def test_a_million_allocations_ranked():
    problem = many_kinds(3, 33, most=3)
    assert 0.99e6 < problem.size <= 1e6
    print(f"{problem.size} allocations ranked: {seconds(ranked, problem):.3f} s")
    assert ranked(problem)[0].value_s <= branch_and_bound(problem).value_s * (1 + 1e-12)


def test_advice_on_a_million_allocations_with_switch_points():
    """By a model of few operations: what the advice itself takes."""
    fitted = fit_of(KnownModel(("a", "b", "c"), (4e9, 2e9, 1e9), spread=0.05))
    kinds = {"a": (33, 3), "b": (33, 3), "c": (33, 3)}
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        advice = advise_allocation(fitted, kinds, 3200.0)
        times.append(time.perf_counter() - begun)
    print(f"{advice.searched} allocations, advice with switch points: {median(times):.2f} s")
    assert advice.search == "exhaustive"

"""How long the exact search takes, and how its regret on the simulator compares: `make bench` prints both."""

import time
from statistics import median

import numpy as np
import pytest

from advisor.advise.allocate import branch_and_bound, local_search, ranked, structured
from advisor.advise.problem import Problem, ShareTimes
from advisor.advise.process_counts import advise_allocation
from advisor.advise.simulated import problem_of
from tests.support.allocation_cases import many_kinds, scenario
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


def test_structured_search_of_thirty_kinds_and_seven_thousand_pes():
    problem = many_kinds(30, 235)
    found = structured(problem)
    print(f"30 kinds, {30 * 235} PEs, {float(problem.size):.1e} allocations: {seconds(structured, problem):.3f} s")
    assert found.optimal


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
    assert ranked(problem)[0].value_s <= structured(problem).value_s * (1 + 1e-12)


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


def test_local_search_on_the_simulator_finds_in_200_runs_what_2000_find():
    """A small cluster (5 kinds of 20), so that the long search is affordable; judged in fresh replications."""
    for name in ("hpl", "farm", "matmul"):
        case = scenario(name, kinds=5, each=20)
        means = []
        for budget in (200, 2000):
            problem = problem_of(case, budget=budget)
            chosen = local_search(problem).allocation
            means.append(problem.runs(chosen[np.newaxis], np.arange(10**6, 10**6 + 40)).mean())
        print(f"{name}: {means[0] / means[1] - 1:+.2%} against a search ten times as long")
        assert means[0] <= 1.02 * means[1]

"""How long the exact search takes, and how its regret on the simulator compares: `make bench` prints both."""

import time
from statistics import median

import numpy as np
import pytest

from advisor.allocators import branch_and_bound, local_search, structured
from advisor.problem import Problem, ShareTimes
from advisor.simulated import problem_of
from tests.advisor.test_allocators import many_kinds
from tests.benchmarks.allocation_cases import scenario

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

"""The search for an allocation on the project's simulator: kinds, model, baselines, advice."""

from dataclasses import replace

import numpy as np
import pytest

from advisor import recommend, search_allocation
from advisor.advise.allocate import exhaustive
from advisor.advise.baselines import allocation_baselines
from advisor.advise.problem import EqualWork, Problem, model_times_s
from advisor.advise.search_allocation import SOUGHT
from advisor.advise.simulated import configuration_of, kinds_of, model_of, problem_of, simulate
from simulator import ScenarioError, run
from tests.support.allocation_cases import scenario


@pytest.fixture(scope="module")
def small():
    """Three kinds of four PEs; matmul, whose master sends to one worker after the other."""
    return scenario("matmul", kinds=3, each=4)


@pytest.fixture(scope="module")
def advice(small):
    return search_allocation(small, budget=120)


def test_kinds_are_pes_that_are_alike(small):
    kinds = kinds_of(small, most=2)
    assert [(kind.pes, kind.most) for kind in kinds] == [((0, 1, 2, 3), 2), ((4, 5, 6, 7), 2), ((8, 9, 10, 11), 2)]


def test_an_allocation_becomes_a_configuration_with_equal_shares(small):
    kinds = kinds_of(small, most=2)
    found = configuration_of(small, kinds, np.array([[1, 2], [0, 0], [2, 1]]), "c")
    assert (found.placement, found.partition) == ((0, 0, 8, 9), (1000, 1000, 1000, 1000))


def test_replications_have_the_draws_of_a_run(small):
    configurations = tuple(allocation_baselines(small, problem_of(small)))[:2]
    whole = run(small.with_configurations(configurations), replications=6).makespan_s
    assert np.array_equal(simulate(small, configurations, np.array([1, 2, 5])), whole[:, [1, 2, 5]])


def test_the_model_is_right_where_nothing_is_left_out():
    """Without load, noise and waiting, equal shares on one kind take what the model says."""
    calm = scenario("ep", kinds=2, each=4, noise=0.0, loaded=False)
    kinds = kinds_of(calm)
    model, spent = model_of(calm, kinds)
    assert isinstance(model, EqualWork)
    assert spent <= 8
    problem = Problem(kinds, problem_of(calm).runs, model)
    for allocation in ([[1, 1], [0, 0]], [[4, 1], [0, 0]], [[4, 1], [4, 1]]):
        asked = np.array([allocation])
        assert model_times_s(model, asked)[0] == pytest.approx(problem.runs(asked, np.arange(1))[0, 0], rel=0.01)


def test_baselines_have_names_and_what_is_the_same_shares_an_entry(small):
    plain = allocation_baselines(small, problem_of(small))
    names = [name for configuration in plain for name in configuration.name.split(", ")]
    expected = {"equal", "one-per-pe", "peak", "constant", "speed-ratio", "fastest-pe", "fastest-kind", "greedy"}
    assert sorted(names) == sorted(expected)
    of = {name: configuration for configuration in plain for name in configuration.name.split(", ")}
    assert of["equal"] is of["one-per-pe"]
    assert of["fastest-pe"].placement == (0,)
    assert of["fastest-kind"].placement == (0, 1, 2, 3)
    assert sum(of["peak"].partition) == small.application.work.units
    unlike = scenario("matmul", kinds=10, each=1)
    ratio = next(c for c in allocation_baselines(unlike, problem_of(unlike, most=8)) if "speed-ratio" in c.name)
    each = np.bincount(ratio.placement)
    assert each[0] > each[-1] == 1


def test_greedy_stops_at_the_first_pe_that_does_not_help(small):
    problem = problem_of(small)
    greedy = next(c for c in allocation_baselines(small, problem) if "greedy" in c.name)
    prefixes = [np.clip([n, n - 4, n - 8], 0, 4) for n in range(1, 13)]  # the kinds are in the order of their speeds
    allocations = np.stack([np.stack((pes, np.minimum(pes, 1)), axis=1) for pes in prefixes])
    times_s = model_times_s(problem.model, allocations).tolist()
    first = next((n for n in range(1, 12) if times_s[n] >= times_s[n - 1]), 12)
    assert greedy.placement == tuple(range(first))
    assert 1 < first < 12


@pytest.mark.slow
def test_recommend_may_vary_the_allocation_too(small):
    calm = replace(small, replications=20)
    found = recommend(calm, vary=("partition", "allocation"))
    names = [candidate.name for candidate in found.candidates]
    assert found.baselines.keys() >= {"equal", "functional", "fastest-kind", "one-per-core"}
    means = dict(zip(names, found.runs.makespan_s.mean(axis=1).tolist(), strict=True))
    assert found.predicted["mean"] == min(means.values())
    assert all(gain.mean >= 1 for gain in found.baselines.values())
    with pytest.raises(ScenarioError, match="vary: 'speed' cannot vary; name partition or allocation"):
        recommend(calm, vary=("partition", "speed"))


def test_advice_is_no_worse_than_any_baseline_and_near_the_best_there_is(small, advice):
    table = {advice.candidates[entry.candidate].name: entry for entry in advice.ranking.ranked}
    assert len({entry.runs for entry in table.values()}) == 1
    assert advice.ranking.best.value_s == min(entry.value_s for entry in table.values())
    assert all(found.mean >= 1 for found in advice.baselines.values())
    assert advice.evaluations <= 120
    kinds = kinds_of(small)
    oracle = exhaustive(Problem(kinds, problem_of(small).runs, replications=8))
    chosen = simulate(small, (advice.configuration,), np.arange(8)).mean()
    assert chosen <= 1.02 * oracle.value_s


def test_the_reference_engine_confirms_the_finalists(advice):
    assert len(advice.confirmations) == 2
    assert all(confirmation.agrees for confirmation in advice.confirmations)


def test_the_document_tells_all(small, advice):
    told = advice.to_dict()
    assert {"gap", "model_bound_s", "evaluations", "seed", "confirmed"} <= told.keys()
    assert told["seed"] == small.seed
    assert told["gap"] == pytest.approx(advice.ranking.best.value_s / told["model_bound_s"] - 1)
    assert set(told["gain_over"]) == {c.name for c in advice.candidates} - set(SOUGHT)
    assert search_allocation(small, budget=120).to_dict() == told


def test_too_small_a_budget_and_unknown_objectives_are_refused(small):
    with pytest.raises(ScenarioError, match="runs: "):
        search_allocation(small, budget=6)
    with pytest.raises(ScenarioError, match="objective: there is no 'median'"):
        search_allocation(small, objective="median")

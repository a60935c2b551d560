import numpy as np
import pytest

from advisor.advise.ranking import gain, rank
from simulator import ScenarioError, describe, randomness
from simulator.base.intervals import alike, chances
from tests.support.hpl_like import any_hpl_like, hpl_like, noisy
from tests.support.reliability import deviation


def test_paired_draws_make_the_interval_of_a_gain_narrow():
    generator = randomness.stream(1, "gain")
    common = generator.normal(10, 2, 400)
    baseline, recommended = 1.5 * common, common + generator.normal(0, 0.01, 400)
    found = gain(baseline, recommended)
    assert found.low < 1.5 < found.high
    assert found.high - found.low < 0.01
    assert found.probability == 1.0


@pytest.mark.slow
def test_description_agrees_with_an_independent_tool():
    from scipy import stats

    samples = randomness.stream(3, "x").normal(5, 1, 30)
    low, high = stats.t.interval(0.9, 29, loc=samples.mean(), scale=stats.sem(samples))
    found = describe(samples)
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))
    assert found["median"] == np.median(samples)
    assert describe(samples[:1])["low"] is None


RUNS = 12
"""Of each of 62 configurations."""


def ranked(cases, means_of, **noise):
    """True regret of the best, and its stated chances to be it and to be near it; (case, 3)."""
    rows = []
    for seed in range(cases):
        generator = randomness.stream(seed, "ranking")
        means = means_of(generator)
        table = noisy(means, generator, **noise)(np.arange(means.size), np.arange(RUNS))
        found = rank(table, seed=seed)
        rows.append((means[found.best.candidate] / means.min() - 1, found.best.p_best, found.best.p_near))
    return np.array(rows)


@pytest.mark.slow
def test_stated_chances_come_true_as_often_as_stated():
    """Over tables of one family, whose gaps differ; the stated chances err on the careful side."""
    found = ranked(1000, any_hpl_like)
    for stated, true in ((found[:, 1], found[:, 0] < 1e-9), (found[:, 2], found[:, 0] <= 0.01)):
        assert deviation(stated, true) <= 0.03
    assert found[:, 0].mean() <= 0.0015


def test_a_candidate_with_noise_of_its_own_does_not_blur_the_others():
    generator = randomness.stream(9, "unlike noise")
    common = generator.normal(0, 0.1, 14)
    rest = generator.normal(0, 1, (3, 14)) * np.array([[0.001], [0.001], [0.3]])
    table = np.array([[1.0], [1.02], [10.0]]) * np.exp(common + rest)
    found = rank(table)
    assert found.best.candidate == 0
    assert found.best.p_best > 0.95


def test_objectives_other_than_the_mean_choose_by_what_is_rare():
    """Usually faster, now and then much slower."""
    generator = randomness.stream(5, "rare")
    steady = np.full(200, 1.1)
    risky = np.where(generator.random(200) < 0.1, 1.9, 0.9)
    table = np.stack((steady, risky))
    best = {objective: rank(table, objective=objective).best for objective in ("mean", "p95", "worst")}
    assert {name: entry.candidate for name, entry in best.items()} == {"mean": 1, "p95": 0, "worst": 0}
    assert best["p95"].p_best > 0.7  # every tenth run is slow: the 95 % quantile is near the edge
    assert best["worst"].low_s <= best["worst"].value_s <= best["worst"].high_s


def test_the_ranking_tells_the_bound_and_repeats():
    table = noisy(hpl_like(), randomness.stream(6, "table"))(np.arange(62), np.arange(RUNS))
    first, again = (rank(table, bound_s=0.9, seed=11) for _ in range(2))
    assert first == again
    assert first.regret == pytest.approx(first.best.value_s / 0.9 - 1)
    assert sum(entry.p_best for entry in first.ranked) == pytest.approx(1)
    assert all(entry.p_near >= entry.p_best for entry in first.ranked)
    assert first.best.low_s < first.best.value_s < first.best.high_s


def test_one_run_each_says_all_where_nothing_is_drawn():
    found = rank(1.0 + np.arange(4.0)[:, np.newaxis], deterministic=True)
    assert [entry.p_best for entry in found.ranked] == [1, 0, 0, 0]
    assert found.best.low_s == found.best.high_s == 1.0


@pytest.mark.parametrize("objective", ["mean", "p95", "worst"])
@pytest.mark.parametrize("runs", [2, 3, 4])
def test_few_runs_are_never_nearly_sure(runs, objective):
    """Twice as fast in every one of them: the next ones may still be others."""
    table = np.array([[1.0], [2.0]]) * (1 + 1e-6 * np.random.default_rng(1).random((2, runs)))
    found = rank(table, objective=objective)
    assert found.best.p_best == 1 - 0.5**runs
    assert found.best.p_near <= 1 - 0.5**runs
    assert sum(entry.p_best for entry in found.ranked) == pytest.approx(1)
    assert (found.best.low_s is None) == (objective != "mean")


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ScenarioError, match="there are no candidates; give at least one"):
        rank(np.zeros((0, 3)))
    with pytest.raises(ScenarioError, match="objective: there is no 'median'"):
        rank(np.ones((2, 5)), objective="median")


def test_rows_that_differ_by_rounding_are_alike():
    rows = np.array([[3.0, 4.0], [4.0, 3.0], [3.0, 4.0], [3.0, 4.0], [np.nan, np.nan], [np.nan, np.nan]])
    rows[2:4] *= 1 + np.array([[1e-15], [-1e-13]])
    assert alike(rows).tolist() == [0, 1, 0, 0, 4, 4]
    assert chances(rows[:4], None, seed=1).best[[0, 2, 3]].tolist() == [chances(rows[:2], None, seed=1).best[0]] * 3

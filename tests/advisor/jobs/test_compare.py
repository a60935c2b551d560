"""Paired differences, their intervals and verdicts; and the coverage of a small study."""

import numpy as np
import pytest
from scipy import stats

from advisor.jobs.compare import alternatives, compare, read_policy
from advisor.jobs.paired import FEWEST_STREAMS, differences, holm
from advisor.report.job_answers import Comparison
from simulator import Estimates, Policy, ScenarioError
from tests.studies import job_coverage as study

CASE = study.Case("streams", 2, 150, 0.7, 0, "streams", 20)


def made(number):
    return study.generated(CASE, number, seed=3)


def test_straight_differences_have_students_interval():
    draw = np.random.default_rng(1)
    half = draw.normal(1.0, 1.0, (3, 20))
    values = np.concatenate((half, 2 - half), axis=1)  # no skewness at all
    found = differences(values, level=0.95)
    expected = stats.ttest_1samp(values, 0.0, axis=1)
    low, high = expected.confidence_interval(0.95)
    np.testing.assert_allclose(found.low, low)
    np.testing.assert_allclose(found.high, high)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-6)
    assert np.all(found.low_together < found.low)


def test_skewed_differences_reach_further_to_the_long_side():
    values = np.random.default_rng(2).lognormal(0.0, 1.0, (1, 30))
    found = differences(values)
    low, high = stats.ttest_1samp(values, 0.0, axis=1).confidence_interval(0.95)
    assert found.high[0] > high[0] + 0.05 * (high[0] - low[0])
    assert found.low[0] == pytest.approx(low[0]) or found.low[0] < low[0]
    turned = differences(-values)
    assert turned.low[0] == pytest.approx(-found.high[0])


def test_a_chance_is_where_the_interval_ends():
    values = np.random.default_rng(3).lognormal(0.0, 0.8, (500, 25)) - 1.8
    found = differences(values, comparisons=1)
    for level in (0.8, 0.95, 0.99):
        told = differences(values, level=level, comparisons=1)
        np.testing.assert_array_equal((told.low > 0) | (told.high < 0), found.p < 1 - level)


def test_one_log_is_judged_by_the_spread_of_its_draws_enlarged_for_few_weeks():
    draws = np.random.default_rng(4).normal(5.0, 2.0, (1, 100_000))
    found = differences(draws, np.array([4.0]), units=60.0)
    half = stats.t.ppf(0.975, 59) * draws.std() * np.sqrt(60 / 59)
    assert found.mean[0] == 4.0
    assert found.high[0] - 4.0 == pytest.approx(half, rel=0.02)
    assert np.isnan(differences(draws, np.array([4.0]), units=39.0).low[0]), "thirty-nine weeks are too few"


def test_holm_corrects_in_steps():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm(np.array([0.5, np.nan, 0.001]))[[0, 2]], [1.0, 0.003])


def test_policies_run_on_the_same_streams_and_equal_ones_are_alike():
    choices = alternatives([Policy(), Policy(candidates="shortest")], [Estimates()], [32, 33])
    assert [one.name for one in choices][:2] == ["fcfs easy, 32 PEs", "fcfs easy, 33 PEs"]
    same = (*choices, type(choices[0])("again", Policy(), Estimates(), choices[0].setting))
    found = compare(made, same, replications=12, workers=2)
    np.testing.assert_array_equal(found.values[:, 0], found.values[:, -1])
    metric = found.metrics[0]
    assert [found.verdict(place, metric) for place in range(4)][-1] == "alike"
    assert compare(made, same, replications=12, workers=1).values.tolist() == found.values.tolist()
    row = next(row.apart for row in Comparison.of(found).differences if row.other == "fcfs easy, 33 PEs")
    assert row.mean == pytest.approx(np.mean(found.values[:, 1, 0] - found.values[:, 0, 0]))
    assert row.low_together < row.low < row.mean < row.high < row.high_together


def test_too_few_streams_and_overloaded_ones_tell_no_interval():
    choices = alternatives([Policy(), Policy(backfill="none")], [Estimates()], [32])
    few = compare(made, choices, replications=FEWEST_STREAMS - 1)
    assert "too few" in few.refused
    assert {row.verdict for row in Comparison.of(few).differences} == {"refused"}
    crowded = study.Case("streams", 3, 150, 1.4, 0, "streams", 20)
    over = compare(lambda number: study.generated(crowded, number, seed=1), choices, replications=12)
    assert all(over.overloaded)
    assert {row.apart.low for row in Comparison.of(over).differences} == {None}
    assert Comparison.of(over).alternatives[0].metrics["wait"] > 0


def test_the_end_of_one_log_tells_no_interval():
    case = study.Case("weeks", 44, 40, 0.6, 0, "weeks", 40)
    log, choices = study.generated(case, 0, seed=2), alternatives([Policy(), Policy(order="sjf")], [Estimates()], [32])
    found = compare(log, choices, replications=40, metrics=["wait", "makespan"])
    rows = {row.metric: row.apart for row in Comparison.of(found).differences}
    assert rows["wait"].low < rows["wait"].mean < rows["wait"].high
    assert rows["makespan"].low is None
    assert "last jobs" in Comparison.of(found).untold["makespan"]
    assert compare(log, choices, replications=20).refused.startswith("20 draws are too few")


def test_policies_are_read_from_their_words():
    assert read_policy("easy") == Policy()
    assert read_policy("sjf") == Policy(order="sjf", backfill="none")
    assert read_policy("sjf easy shortest first named") == Policy("sjf", "easy", "shortest", "named")
    with pytest.raises(ScenarioError, match="there is no 'esy'"):
        read_policy("esy")
    with pytest.raises(ScenarioError, match="exclude each other"):
        read_policy("easy conservative")


@pytest.mark.slow
def test_intervals_of_a_small_study_hold():
    """A share so far below the goal that chance does not explain it; the whole study takes minutes."""
    for case, experiments in ((CASE, 50), (study.Case("weeks", 44, 60, 0.6, 0, "weeks", 60), 25)):
        rows = study.study(case, experiments=experiments, truth=1500, seed=7, jobs=2)
        assert [
            row["metric"] for row in rows if row["metric"] in {"wait", "slowdown"} and row["interval"][1] < 0.93
        ] == []


def test_unknown_words_are_refused():
    log, choices = made(0), alternatives([Policy()], [Estimates()], [32])
    for bad, said in (
        ({"draws": "months"}, "there is no 'months'"),
        ({"metrics": ["x"]}, "there is no x"),
        ({"draws": "loads"}, "nothing of the platform"),
    ):
        with pytest.raises(ScenarioError, match=said):
            compare(log, choices, **bad)

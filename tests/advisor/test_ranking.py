import numpy as np
import pytest

from advisor.ranking import gain
from simulator import describe, randomness


def test_paired_draws_make_the_interval_of_a_gain_narrow():
    generator = randomness.stream(1, "gain")
    common = generator.normal(10, 2, 400)
    baseline, recommended = 1.5 * common, common + generator.normal(0, 0.01, 400)
    found = gain(baseline, recommended)
    assert found.low < 1.5 < found.high
    assert found.high - found.low < 0.01
    assert found.probability == 1.0


def test_the_interval_holds_as_often_as_it_says():
    generator = randomness.stream(2, "coverage")
    hits = 0
    for _ in range(600):
        common = generator.gamma(20, 1, 60)
        found = gain(2 * common + generator.normal(0, 2, 60), common + generator.normal(0, 1, 60))
        hits += found.low <= 2 <= found.high
    assert hits / 600 == pytest.approx(0.95, abs=0.03)


def test_ties_count_half():
    assert gain(np.array([1.0, 2.0]), np.array([1.0, 1.0])).probability == 0.75


def test_description_agrees_with_an_independent_tool():
    from scipy import stats

    samples = randomness.stream(3, "x").normal(5, 1, 30)
    low, high = stats.t.interval(0.95, 29, loc=samples.mean(), scale=stats.sem(samples))
    found = describe(samples)
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))
    assert found["median"] == np.median(samples)
    assert describe(samples[:1])["low"] == samples[0]

"""What replications say of a mean, and what so few of them do not say."""

import numpy as np
import pytest

import simulator as sim
from simulator.base import intervals
from simulator.base.intervals import FEWEST_EQUAL
from simulator.engines.costs import service_table
from simulator.engines.run_set import describe
from tests.support.platforms import pe, scenario, trace


def drawn(**more):
    """One PE beside a competitor that is there half of the time."""
    return scenario([pe("a"), pe("b", 1e9, trace([0.0, 0.3], [0.0, 1.0], 0.6))], 90, (45, 45), **more)


def test_one_replication_of_what_is_drawn_has_neither_interval_nor_quantiles():
    found = describe(np.array([2.0]))
    assert (found["mean"], found["median"]) == (2.0, 2.0)
    assert [found[name] for name in ("low", "high", "run_low", "run_high")] == [None] * 4


def test_one_replication_tells_all_where_nothing_is_drawn():
    assert set(describe(np.array([2.0]), deterministic=True).values()) == {2.0}


@pytest.mark.parametrize("count", [2, 3, FEWEST_EQUAL - 1, FEWEST_EQUAL])
def test_a_few_replications_that_are_equal_by_chance_have_no_interval(count):
    found = describe(np.full(count, 0.1))
    assert (found["low"] is None) == (found["high"] is None) == (count < FEWEST_EQUAL)


def test_two_replications_have_students_interval():
    found = describe(np.array([1.0, 1.2]))
    assert found["high"] - found["mean"] == pytest.approx(6.3138 * 0.1, rel=1e-4)  # t of one degree x error 0.1
    found = describe(np.array([1.0, 1.2]), level=0.95)
    assert found["high"] - found["mean"] == pytest.approx(12.7062 * 0.1, rel=1e-5)


def test_equality_is_judged_by_what_the_differences_are_of():
    base = np.array([1.0, 1.0])
    found = intervals.of_difference(base, base + np.array([[1e-15, -1e-15], [1e-3, -1e-3]]), None)
    assert np.isnan(found.low).tolist() == [True, False]


def test_runs_of_one_truth_have_no_interval_and_say_so():
    found = describe(np.array([1.0, 1.1, 1.3]), np.zeros(3, np.int64))
    assert [found[name] for name in ("low", "high", "run_low", "run_high")] == [None] * 4
    assert "one truth" in sim.interval_note(3, np.zeros(3, np.int64), deterministic=False)
    assert sim.interval_note(3, np.arange(3), deterministic=False) is None


def test_a_scenario_says_whether_anything_is_drawn():
    certain = scenario([pe("a"), pe("b")], 90, (45, 45))
    assert certain.deterministic
    assert sim.run(certain, replications=1).deterministic
    assert not drawn().deterministic
    assert not sim.run(drawn(), replications=3).deterministic
    assert not sim.run(certain, replications=2, sharing=my_own).deterministic


def my_own(*given, **more):
    """Sharing of the user's own may draw."""
    return service_table(*given, **more)

"""The one choice among forms: folds, comparisons beyond chance, near equals that yield to the simplest, and odds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.models import choice
from simulator.models.choice import TooFewPoints

SOME = np.array([0.10, 0.12, 0.09, 0.11, 0.10])


def test_each_point_is_predicted_without_its_fold():
    y, folds = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 2])
    asked = []

    def mean_of_others(fold):
        asked.append(fold)
        return np.full(np.count_nonzero(folds == fold), y[folds != fold].mean())

    np.testing.assert_array_equal(choice.held_out(folds, mean_of_others), [3.0, 8 / 3, 3.0, 2.0])
    assert asked == [0, 1, 2]


def test_one_fold_without_a_fit_leaves_nothing_held_out():
    def fails(fold):
        if fold:
            raise TooFewPoints
        return 1.0

    assert choice.held_out(np.array([0, 1]), fails) is None


def test_smaller_errors_count_only_beyond_chance_and_above_the_floor():
    assert choice.is_better(SOME - 0.05, SOME, sure=2.0)
    assert not choice.is_better(SOME, SOME - 0.05, sure=2.0)
    assert not choice.is_better(SOME[::-1], SOME, sure=2.0)  # the same on average
    assert not choice.is_better(SOME - 0.05, SOME, sure=2.0, floor=0.2)
    assert not choice.is_better(SOME, SOME * (1 + 1e-13), sure=0.0)  # last bits


def test_the_standard_error_is_that_of_paired_differences():
    assert choice.standard_error(SOME, np.zeros(5)) == pytest.approx(np.std(SOME, ddof=1) / np.sqrt(5))
    assert choice.standard_error(SOME + 1, SOME) == pytest.approx(0, abs=1e-15)


def test_schwarz_charges_for_numbers_and_more_where_few_points_are_left():
    assert choice.schwarz(0.01, 20, 3) == pytest.approx(20 * np.log(0.01) + 3 * np.log(20))
    assert choice.schwarz(0.01, 20, 3, spare=16) == pytest.approx(20 * np.log(0.01) + 3 * np.log(20) * 20 / 16)


def chosen(errors, costs, near):
    places = range(len(errors))
    return choice.choose(
        places, by=errors.__getitem__, rivals=lambda one, best: errors[one] <= errors[best] + near, then=costs.get
    )


def test_a_form_that_is_hardly_worse_and_cheaper_is_taken():
    errors, costs = [0.30, 0.11, 0.10], {0: 0, 1: 1, 2: 2}
    assert chosen(errors, costs, 0.0) == 2
    assert chosen(errors, costs, 0.02) == 1
    assert chosen(errors, costs, 1.0) == 0


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=6), st.integers(0, 99))
def test_of_equals_the_first_is_taken_whatever_their_last_bits(errors, seed):
    shaken = list(np.array(errors) * (1 + 1e-13 * np.random.default_rng(seed).standard_normal(len(errors))))
    assert chosen(shaken, dict.fromkeys(range(len(errors)), 1.0), 0.0) == errors.index(min(errors))


def test_without_rivals_the_first_choice_stands():
    assert choice.choose("ab", by={"a": 1, "b": 0}.get, rivals=lambda *_: False, then=len) == "b"


def test_the_first_form_within_a_tolerance_is_taken():
    misses = {"a": 0.3, "b": 0.02, "c": 0.01}
    assert choice.first_within("abc", misses.get, 0.02) == "b"
    assert choice.first_within("abc", misses.get, 0.001) is None


def test_odds_are_against_the_likeliest_and_tempered():
    np.testing.assert_allclose(choice.odds([-1000.0, -1001.0]), [1, np.exp(-1)])
    np.testing.assert_allclose(choice.odds([5.0, 3.0], power=0.5), [1, np.exp(-1)])


def test_a_record_says_mean_and_most_or_nothing():
    assert choice.mean_and_most(SOME) == (pytest.approx(0.104), 0.12)
    assert choice.mean_and_most(None) == (None, None)

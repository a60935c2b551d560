"""Numbers that differ by rounding alone are equal to whatever is chosen by them, and the first of equals wins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import ties

NOISE = 1e-13
VALUES = st.lists(st.sampled_from([0.1, 0.3, 1.0, 2.0, 7.0, 1e-12, 1e12]), min_size=1, max_size=12)


def shaken(values, seed):
    """As another processor has them: other last bits."""
    return np.array(values) * (1 + NOISE * np.random.default_rng(seed).standard_normal(len(values)))


@given(VALUES, st.integers(0, 1000))
def test_last_bits_change_no_choice_and_no_order(values, seed):
    other = shaken(values, seed)
    assert ties.first_least(other) == values.index(min(values))
    assert ties.first_most(other) == values.index(max(values))
    expected = sorted(range(len(values)), key=lambda place: values[place])  # stable
    assert ties.in_order(other).tolist() == expected
    assert ties.levels(other).tolist() == [sorted(set(values)).index(value) for value in values]


@given(VALUES, st.lists(st.integers(0, 2), min_size=12, max_size=12), st.integers(0, 1000))
def test_a_second_key_decides_between_equals(values, second, seed):
    expected = sorted(range(len(values)), key=lambda place: (values[place], second[place]))
    assert ties.in_order(shaken(values, seed), second[: len(values)]).tolist() == expected


def test_below_a_floor_everything_is_equal():
    errors = [4.67e-16, 3.79e-16, 2e-3]
    assert ties.first_least(errors) == 1
    assert ties.first_least(errors, floor=1e-3) == 0
    assert not ties.is_less(errors[1], errors[0], floor=1e-3)
    assert ties.is_less(errors[0], errors[2], floor=1e-3)
    assert ties.levels(errors, floor=1e-3).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1.0, 1.0 + 1e-12, False), (1.0, 1.0 + 1e-8, True), (-1.0, 1.0, True), (1.0, -1.0, False), (0.0, 1e-300, True),
     (1.0, np.inf, True), (np.inf, np.inf, False), (-np.inf, 0.0, True), (np.nan, 1.0, False), (1.0, np.nan, False)],
)  # fmt: skip
def test_less_by_more_than_rounding(one, other, expected):
    assert ties.is_less(one, other) is expected


def test_what_is_infinite_or_no_number_comes_last():
    assert ties.first_least([np.nan, np.inf, 3.0, np.inf, 3.0]) == 2
    assert ties.first_least([np.nan, np.inf]) == 0  # nothing is less
    assert ties.first_least([2.0, -np.inf, -np.inf]) == 1
    assert ties.in_order([np.nan, np.inf, 3.0, np.inf, 3.0, np.nan]).tolist() == [2, 4, 1, 3, 0, 5]
    assert ties.in_order([]).tolist() == []


def test_the_least_along_an_axis():
    table = np.array([[3.0, 1.0 + 1e-13, 1.0], [np.nan, np.inf, 2.0], [5.0, 5.0, 5.0]])
    assert ties.near_least(table, axis=1).tolist() == [[False, True, True], [False, False, True], [True, True, True]]
    assert np.argmax(ties.near_least(table.T, axis=0), axis=0).tolist() == [1, 2, 0]

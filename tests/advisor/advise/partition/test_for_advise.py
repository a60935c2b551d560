"""The partitioners that `advise` uses: splits as tuples, times from any function, and refinement by simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.scenario_file.partitions import by_times, even_split, in_proportion

TABLES = st.integers(1, 9).flatmap(
    lambda units: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7]), min_size=units, max_size=units), min_size=1, max_size=4
    )
)
"""Increments of the time per unit: flat steps and ties on purpose."""


def times_of(increments):
    table = np.concatenate(
        (np.zeros((len(increments), 1)), np.cumsum(np.array(increments, dtype=float), axis=1)), axis=1
    )
    return table, lambda counts: table[np.arange(len(table)), counts]


def brute_force(table):
    units = table.shape[1] - 1
    return min(
        max(table[i, k] for i, k in enumerate(counts))
        for counts in itertools.product(range(units + 1), repeat=len(table))
        if sum(counts) == units
    )


@pytest.mark.slow
@given(TABLES)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_by_times_is_the_best_there_is(increments):
    table, times_s = times_of(increments)
    units = table.shape[1] - 1
    partition = by_times(units, len(table), times_s)
    assert sum(partition) == units
    assert min(partition) >= 0
    assert max(times_s(np.array(partition))) == brute_force(table)


@given(st.integers(1, 60), st.lists(st.floats(0.01, 100), min_size=1, max_size=3))
@settings(max_examples=80, deadline=None)
def test_a_constant_split_is_exact_for_constant_speeds(units, speeds):
    partition = in_proportion(units, speeds)
    finish = max(k / s for k, s in zip(partition, speeds, strict=True))
    others = itertools.product(range(units + 1), repeat=len(speeds) - 1)
    best = min(
        max(k / s for k, s in zip((*counts, units - sum(counts)), speeds, strict=True))
        for counts in others
        if sum(counts) <= units
    )
    assert (sum(partition), min(partition) >= 0, finish) == (units, True, best)


@given(st.integers(0, 10**9), st.integers(1, 100))
def test_an_even_split_differs_by_one_at_most(units, processes):
    partition = even_split(units, processes)
    assert sum(partition) == units
    assert max(partition) - min(partition) <= 1


def test_by_times_gives_nothing_to_a_pe_that_cannot_help():
    setup = np.array([0.0, 100.0])
    partition = by_times(10, 2, lambda counts: np.where(counts > 0, setup + counts, 0))
    assert partition == (10, 0)


def test_all_units_are_given_where_times_fall_with_the_units():
    """A speed that rises again after a cache's end: 1,050 units take longer than 1,150."""
    sizes, fast = [0, 800, 960, 1024, 1152, 1408], [0.0, 36, 50, 55, 51, 61]

    def times_s(units):
        return np.array([np.interp(units[0], sizes, fast), units[1] * 0.135])

    for total in range(1000, 1408, 7):
        found = by_times(total, 2, times_s)
        assert sum(found) == total
        assert min(found) >= 0

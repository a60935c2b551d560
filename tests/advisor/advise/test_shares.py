"""What proposers make of a configuration: units by what its processes take, on new PEs, and without a master's own."""

import itertools

import numpy as np
import pytest

from advisor.advise.judge import Judge
from advisor.advise.proposers import orders, processes, shares
from advisor.advise.space import Space
from advisor.advise.spending import Spending
from simulator import Configuration
from tests.support.allocation_cases import scenario


@pytest.fixture(scope="module")
def small():
    """Two kinds of two PEs; matmul of 4,000 rows, whose master sends to one worker after the other."""
    return scenario("matmul", kinds=2, each=2)


def worst_mean(table, part):
    """The mean of the worst part of last times; (..., draw, group)."""
    last = np.sort(table.max(axis=-1), axis=-1)
    return last[..., -max(1, round(part * last.shape[-1])) :].mean(axis=-1)


@pytest.mark.parametrize("part", [1.0, 0.25])
def test_balanced_shares_are_as_good_as_the_best_of_a_grid(part):
    rng = np.random.default_rng(3)
    for _ in range(5):
        held = rng.integers(10, 60, 3).astype(float)
        takes = rng.uniform(1, 2, (8, 3)) * rng.choice([1, 1, 4], (8, 3))
        found = shares.balance(held, takes * held, np.ones(8), part=part)
        grid = [one for one in itertools.product(range(1, 100), repeat=2) if sum(one) < 100]
        each = np.array([(*one, 100 - sum(one)) for one in grid]) * held.sum() / 100
        best = worst_mean(each[:, np.newaxis] * takes, part).min()
        assert found.sum() == pytest.approx(held.sum())
        assert worst_mean(found * takes, part) <= best * (1 + 1e-9)


def test_one_draw_is_levelled_and_who_has_nothing_keeps_nothing():
    found = shares.balance(np.array([30.0, 0.0, 30.0]), np.array([[3.0, 5.0, 1.0]]), np.ones(1), part=1.0)
    assert found == pytest.approx([15, 0, 45])


def test_few_units_are_divided_so_that_the_last_ends_first(small):
    space, base = Space(small), Configuration("c", (2000, 1000, 1000), (0, 1, 2))
    whole = space.units
    found = shares._finest(space, base, np.array([4.0, 1.0, 2.0]))
    assert sum(found.partition) == whole
    times = np.array(found.partition) * [4 / 2000, 1 / 1000, 2 / 1000]
    assert times.max() - times.min() <= 4 / 2000
    assert found.partition != base.partition


def test_alike_processes_are_also_tried_with_equal_units(small):
    space = Space(small)
    (found,) = shares._evened(space, Configuration("c", (1500, 500, 1500, 500), (0, 1, 2, 3)))
    assert found.partition[2] == found.partition[3] == 1000  # the first one is a master
    assert list(shares._evened(space, found)) == [found]


def test_a_process_on_a_new_pe_is_also_tried_with_little(small):
    base = Configuration("c", (2000, 2000), (0, 1))
    found = list(processes.in_proportion(Space(small), base, [(0, 1, 2)]))
    parts = [one.partition[2] / one.partition[0] for one in found]
    assert parts == pytest.approx([1.0, *processes.LITTLE], abs=0.01)


def test_a_master_at_rest_leaves_each_worker_what_others_of_its_kind_have(small):
    base = Configuration("c", (400, 1600, 1000, 1000), (0, 1, 2, 3))
    found = list(orders._resting(Space(small), base))
    assert {one.partition[0] for one in found} == {0}
    assert {one.partition[1] / one.partition[2] for one in found} == {1.0}
    assert sorted(one.placement for one in found) == [(0, 0, 1, 2, 3), (2, 0, 1, 2, 3)]


def test_what_each_process_takes_is_kept_of_every_draw(small):
    judge = Judge(Space(small), Spending(), draws=3)
    one = Configuration("c", (2000, 2000), (0, 1))
    judge.of([one])
    seen = judge.seen(one)
    assert seen.ends.shape == seen.busy.shape == (seen.weights.size, 2)
    assert seen.weights.sum() == judge.draws
    assert np.all(seen.busy <= seen.ends)

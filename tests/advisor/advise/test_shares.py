"""What proposers make of a configuration: units by what its processes take, on new PEs, and without a master's own."""

import itertools

import numpy as np
import pytest

from advisor.advise.judge import Seen
from advisor.advise.proposers import shares
from advisor.advise.space import Space
from simulator import Configuration
from tests.support.platforms import pe, scenario


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


@pytest.mark.parametrize("parts", [(0, 1, 1), (1, 1, 1), (0, 1, 4), (2, 1, 3)])
def test_units_move_one_by_one_only_from_who_has_several(parts):
    """The first process is a master, which may have none."""
    made = scenario([pe(name, 1e9) for name in "abc"], sum(parts), parts)
    base, took = Configuration("x", parts, (0, 1, 2)), np.array([[1.0, 2.0, 3.0]])
    seen = Seen(base, np.ones(1), took, took, np.ones(1))
    found = [one.partition for one in shares._unit_by_unit(Space(made), base, seen)]
    assert bool(found) == (max(parts) > 1)
    assert all(sum(one) == sum(parts) and min(one) >= 0 for one in found)


def test_one_draw_is_levelled_and_who_has_nothing_keeps_nothing():
    found = shares.balance(np.array([30.0, 0.0, 30.0]), np.array([[3.0, 5.0, 1.0]]), np.ones(1), part=1.0)
    assert found == pytest.approx([15, 0, 45])

"""The search: all configurations where they are few, else no worse than many others; memory; the fewest processes."""

import itertools

import numpy as np
import pytest

from advisor.advise.process_counts.search import Space, configurations, fewest_of_near
from tests.support.known_models import KnownModel


def enumerated(kinds):
    """Every configuration, that of the last kind changing fastest."""
    offers = [[(0, 0), *itertools.product(range(1, pes + 1), range(1, each + 1))] for pes, each in kinds.values()]
    return np.array([one for one in itertools.product(*offers) if any(pes for pes, _ in one)])


def test_few_configurations_are_all_looked_at():
    kinds = {"slow": (2, 3), "fast": (4, 1)}
    space = Space(KnownModel(("fast", "slow"), (4e9, 1e9)), kinds, 900.0)
    np.testing.assert_array_equal(space.looked_at(), enumerated(kinds))
    assert space.count == 7 * 5 - 1
    np.testing.assert_array_equal(space.wide(np.array([[[1, 2], [3, 1]]])), [[[3, 1], [1, 2]]])


def test_the_best_of_more_than_can_be_listed():
    """Of 64 million configurations none of many drawn ones, and none a step away, is better than what is found."""
    kinds = {"a": (100, 4), "b": (100, 4), "c": (100, 4)}
    model = KnownModel(tuple(kinds), (3e9, 1e9, 2e9))
    space = Space(model, kinds, 3200.0)
    assert space.count == 401**3 - 1
    found = space.looked_at()
    times_s = model.estimate(3200.0, found).mean_s
    best = found[times_s.argmin()]
    draw = np.random.default_rng(1)
    some = np.stack((draw.integers(1, 101, (2000, 3)), draw.integers(1, 5, (2000, 3))), axis=2)
    moves = np.array([step * np.eye(6, dtype=int)[place].reshape(3, 2) for place in range(6) for step in (-1, 1)])
    near = np.clip(best + moves, 1, [100, 4])
    for others in (some, near):
        assert model.estimate(3200.0, others).mean_s.min() >= times_s.min() * (1 - 1e-9)


@pytest.mark.parametrize("kinds", [10, 16])
def test_many_kinds_are_thinned_out(kinds):
    found, weight = configurations([(100, 4)] * kinds)
    assert 100 < len(found) <= 10_000
    assert weight * len(found) == pytest.approx(401.0**kinds - 1)


def test_fewest_processes_of_those_that_runs_cannot_tell_from_the_best():
    def advised(behind, sd, processes):
        return fewest_of_near(np.array(behind), np.array(sd), np.array(processes))

    assert advised([0.0, 0.03, 0.002], [0.0, 0.02, 0.0], [8, 1, 4]) == 1
    assert advised([0.0, 0.03, 0.002], [0.0, 0.01, 0.0], [8, 1, 4]) == 2  # surely slower
    assert advised([0.0, 0.06], [0.0, 0.1], [8, 1]) == 0  # at most 5 %
    assert advised([0.0, 0.03], [0.0, 0.1], [10, 9]) == 0  # saves few processes
    assert advised([0.004, 0.0], [0.0, 0.0], [1, 1]) == 1

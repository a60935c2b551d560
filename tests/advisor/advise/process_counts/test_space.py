"""The exact search by a model's tables against enumeration on random small cases, and what it refuses."""

import itertools

import numpy as np
import pytest

from advisor.advise.process_counts.space import Limits, space_of
from simulator import ScenarioError, randomness, ties
from tests.support.known_models import KnownModel, TableModel


def small_case(seed):
    """Up to three kinds, PEs of each, and processes on each, with ties, gaps, and times that need not fall with P."""
    draw = randomness.stream(seed, "allocation case")
    names = "abc"[: draw.integers(1, 4)]
    kinds = {name: (int(draw.integers(1, 4)), int(draw.integers(1, 4))) for name in names}
    most, widest = sum(pes * each for pes, each in kinds.values()), max(each for _, each in kinds.values())
    pe_s = draw.integers(1, 6, (len(kinds), widest, 1)) * draw.integers(1, 4, (len(kinds), widest, most + 1)) / 2.0
    if draw.random() < 0.3:
        pe_s[0, 0] = np.inf
    every = enumerated(kinds)
    own = every[draw.integers(len(every), size=draw.integers(0, 4))]
    factor = draw.choice([0.5, 1.0, 2.0], len(own))
    return kinds, TableModel(tuple(names), pe_s, {one.tobytes(): f for one, f in zip(own, factor, strict=True)})


def enumerated(kinds):
    """Every configuration, that of the last kind changing fastest."""
    offers = [[(0, 0), *itertools.product(range(1, pes + 1), range(1, each + 1))] for pes, each in kinds.values()]
    return np.array([one for one in itertools.product(*offers) if any(pes for pes, _ in one)])


def test_the_best_are_those_of_enumeration_in_its_order():
    for seed in range(100):
        kinds, model = small_case(seed)
        every = enumerated(kinds)
        times_s = model.times_s(every)
        order = ties.in_order(times_s)[: np.isfinite(times_s).sum()]
        if not order.size:
            continue
        here = space_of(model, kinds).at(1.0)
        assert here.space.most_configurations == len(every)
        np.testing.assert_array_equal(here.of(every), times_s)
        np.testing.assert_array_equal(here.best(len(every)), every[order])
        for most in (1, max(1, order.size // 3)):
            np.testing.assert_array_equal(here.best(most), every[order[:most]])


def test_memory_holds_what_fits_on_each_pe():
    kinds = {"fast": (1, 6), "slow": (8, 1)}
    here = space_of(KnownModel(("slow", "fast"), (1e9, 4e9)), kinds, Limits({"fast": 20e6}, "8*N**2/P")).at(3200.0)
    every = enumerated(kinds)
    held = every[:, 0, 1] * 8 * 3200**2 / every.prod(axis=2).sum(axis=1) <= 20e6
    assert 0 < held.sum() < len(every)
    np.testing.assert_array_equal(np.isfinite(here.of(every)), held)
    assert here.fitting == held.sum()


def test_the_best_of_more_than_can_be_listed():
    """64 million configurations: at a limit on the time, as many processes as it allows are the best."""
    kinds = {"a": (100, 4), "b": (100, 4), "c": (100, 4)}
    model = KnownModel(tuple(kinds), (3e9, 1e9, 2e9))
    space = space_of(model, kinds)
    assert space.most_configurations == 401**3 - 1
    best = space.at(3200.0).best(50)
    times_s = model.estimate(3200.0, best).mean_s
    assert np.all(np.diff(times_s) >= -1e-9)
    draw = np.random.default_rng(1)
    some = np.stack((draw.integers(1, 101, (2000, 3)), draw.integers(1, 5, (2000, 3))), axis=2)
    near = best[0] + np.array([[[0, 0]] * 3, *[[[-(k == place), 0] for k in range(3)] for place in range(3)]])
    for others in (some, near):
        assert model.estimate(3200.0, others).mean_s.min() >= times_s[0] * (1 - 1e-9)


def test_what_cannot_be_searched_is_refused():
    ten = dict.fromkeys("abcdefghij", (100, 4))
    with pytest.raises(ScenarioError, match="10 kinds have more than 2e\\+07 classes of configurations"):
        space_of(KnownModel(tuple(ten), (1e9,) * 10), ten)
    many = dict.fromkeys("abcdef", (20000, 1))
    with pytest.raises(ScenarioError, match="6 kinds have more than"):
        space_of(KnownModel(tuple(many), (1e9,) * 6), many)
    nobody = TableModel(("a",), np.full((1, 1, 2), np.inf), {})
    with pytest.raises(ScenarioError, match="--size 5: the model knows no configuration of these kinds"):
        space_of(nobody, {"a": (1, 1)}).at(5.0).best(1)

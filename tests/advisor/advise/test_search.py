"""The search of an advice: kinds of PEs, and the baselines of an allocation."""

from dataclasses import replace

import numpy as np
import pytest

from advisor import recommend
from advisor.advise.baselines import allocation_baselines, configuration_of
from advisor.advise.kinds import kinds_of
from simulator import ScenarioError
from tests.support.allocation_cases import scenario


@pytest.fixture(scope="module")
def small():
    """Three kinds of four PEs; matmul, whose master sends to one worker after the other."""
    return scenario("matmul", kinds=3, each=4)


def test_kinds_are_pes_that_are_alike(small):
    kinds = kinds_of(small, most=2)
    assert [(kind.pes, kind.most) for kind in kinds] == [((0, 1, 2, 3), 2), ((4, 5, 6, 7), 2), ((8, 9, 10, 11), 2)]


def test_an_allocation_becomes_a_configuration_with_equal_shares(small):
    kinds = kinds_of(small, most=2)
    found = configuration_of(small, kinds, np.array([[1, 2], [0, 0], [2, 1]]), "c")
    assert (found.placement, found.partition) == ((0, 0, 8, 9), (1000, 1000, 1000, 1000))


@pytest.mark.slow
def test_recommend_may_vary_the_allocation_too(small):
    calm = replace(small, replications=20)
    found = recommend(calm, vary=("partition", "allocation"))
    names = [candidate.name for candidate in found.candidates]
    assert found.baselines.keys() >= {"equal", "functional", "fastest-kind", "one-per-core"}
    means = dict(zip(names, found.runs.makespan_s.mean(axis=1).tolist(), strict=True))
    assert found.predicted.mean == min(means.values())
    assert all(gain.mean >= 1 for gain in found.baselines.values())
    with pytest.raises(ScenarioError, match="vary: 'speed' cannot vary; name partition or allocation"):
        recommend(calm, vary=("partition", "speed"))


def test_baselines_of_an_allocation_have_names(small):
    of = {one.name: one for one in allocation_baselines(small, kinds_of(small))}
    assert sorted(of) == sorted(
        {"equal", "one-per-pe", "peak", "constant", "speed-ratio", "fastest-pe", "fastest-kind"}
    )
    assert of["equal"].partition == of["one-per-pe"].partition
    assert of["fastest-pe"].placement == (0,)
    assert of["fastest-kind"].placement == (0, 1, 2, 3)
    assert sum(of["peak"].partition) == small.application.work.units
    unlike = scenario("matmul", kinds=10, each=1)
    ratio = next(one for one in allocation_baselines(unlike, kinds_of(unlike, most=8)) if one.name == "speed-ratio")
    each = np.bincount(ratio.placement)
    assert each[0] > each[-1] == 1

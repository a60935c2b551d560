"""Access times over memory levels, by hand."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.memory import MemoryLevel, MemoryUse, access_time_s, shared_access_time_s

CACHE = MemoryLevel("L3", 100, 1e-9, 0.5e-9, shared=True)
MEMORY = MemoryLevel("RAM", 1000, 10e-9, 2e-9, shared=True)
SWAP = MemoryLevel("swap", np.inf, 1e-3, 1e-6)


def test_model_3_by_hand():
    """M = 400, c = 100, alpha = 1/2: half of the accesses hit; runs of 3 words cost latency and two gaps."""
    use = MemoryUse(1.0, 0.5, 3)
    expected = 0.5 * (1e-9 + 2 * 0.5e-9) / 3 + 0.5 * (10e-9 + 2 * 2e-9) / 3
    assert access_time_s((CACHE, MEMORY), use, 400, capacities_bytes=[100]) == pytest.approx(expected)


def test_three_levels_and_a_footprint_of_nothing():
    use = MemoryUse(1.0, 1.0)
    times = access_time_s((CACHE, MEMORY, SWAP), use, [0, 50, 2000], capacities_bytes=[[100, 1000]] * 3)
    assert times.tolist() == pytest.approx([1e-9, 1e-9, 0.05 * 1e-9 + 0.45 * 10e-9 + 0.5 * 1e-3])


def test_four_processes_fit_alone_but_not_together():
    """Each 80 of 100 bytes; together each has 25 of them: a hit rate of 25/80."""
    use = MemoryUse(1.0, 1.0)
    alone, together = shared_access_time_s((CACHE, MEMORY), use, [80] * 4)
    assert alone.tolist() == pytest.approx([1e-9] * 4)
    assert together.tolist() == pytest.approx([25 / 80 * 1e-9 + 55 / 80 * 10e-9] * 4)


def test_those_who_fit_together_lose_nothing_and_private_levels_are_not_shared():
    use = MemoryUse(1.0, 0.3)
    alone, together = shared_access_time_s((CACHE, MEMORY), use, [60, 40])
    assert np.array_equal(alone, together)
    private = MemoryLevel("L2", 100, 1e-9, 0.5e-9)
    alone, together = shared_access_time_s((private, MEMORY), use, [300, 300])
    assert np.array_equal(alone, together)


@pytest.mark.parametrize("fields", [(-1, 0.5, 1), (1, 0, 1), (1, 1.5, 1), (1, 0.5, 0.5)])
def test_uses_that_are_none(fields):
    with pytest.raises(ScenarioError, match="alpha above 0 and up to 1"):
        MemoryUse(*fields)
    with pytest.raises(ScenarioError, match="latency: -1 is not"):
        MemoryLevel("x", 1, -1, 1)

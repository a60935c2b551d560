"""One suite for all partitioners: valid and honest for every input, and refusing what cannot be divided."""

import numpy as np
import pytest

from advisor.advise.partition.methods import METHODS
from advisor.advise.partition.result import Partition
from advisor.advise.partition.speed_kinds import SpeedKinds
from simulator import ScenarioError
from tests.advisor.advise.partition.cases import least_makespan, random_cases


@pytest.mark.parametrize("growing", [True, False], ids=["growing", "falling"])
@pytest.mark.parametrize("name", METHODS)
def test_a_partition_is_valid_and_its_bound_holds(name, growing):
    """Every unit once, none beyond a memory limit; and nothing said of the makespan that trying everything denies."""
    partitioned = 0
    for case in random_cases(40, growing=growing, seed=3):
        pes = case.pes
        if not case.feasible:
            with pytest.raises(ScenarioError, match=f", {case.units - case.room} more than fit the memory"):
                METHODS[name](case.units, pes)
            continue
        found = METHODS[name](case.units, pes)
        partitioned += 1
        assert isinstance(found, Partition)
        assert found.units.dtype == np.int64
        assert found.units.size == sum(case.counts)
        assert found.units.sum() == case.units
        assert np.all((found.units >= 0) & (found.units <= case.pe_limits))
        assert found.makespan_s == found.times_s.max()
        best_s = least_makespan(case)
        assert found.lower_bound_s <= best_s <= found.makespan_s
        if found.optimal:
            assert found.makespan_s <= best_s * (1 + 1e-12)
    assert partitioned > 5


def test_equal_differs_by_one_at_most_and_fills_what_is_small():
    pes = SpeedKinds.of([[1.0]] * 3, [[1.0], [9.0], [5.0]], limits=[100, 2, 100])
    assert METHODS["equal"](5, pes).units.tolist() == [2, 2, 1]
    found = METHODS["equal"](11, pes)
    assert found.units.tolist() == [5, 2, 4]
    assert "an equal share of 4 units does not fit pe1 (max_size 2)" in found.warnings[0]


def test_by_speed_goes_by_the_smallest_size():
    pes = SpeedKinds.of([[10, 100, 1000], [10, 1000]], [[1, 4, 2], [1, 1]])
    assert METHODS["by-speed"](100, pes).units.tolist() == [50, 50]

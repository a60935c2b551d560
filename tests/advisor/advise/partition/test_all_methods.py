"""One suite for all partitioners: valid and honest for every input, and refusing what cannot be divided."""

import numpy as np
import pytest

from advisor.advise.partition import METHODS, Partition, SpeedKinds, banded
from simulator import ScenarioError
from tests.advisor.advise.partition.cases import least_makespan, random_cases


def worst_case(units, pes):
    return banded(units, pes, low=pes.speeds * 0.7, high=pes.speeds * 1.2, objective="worst")


def mean_case(units, pes):
    return banded(units, pes, low=pes.speeds * 0.7, high=pes.speeds * 1.2, replications=20)


ALL = {name: method for name, method in METHODS.items() if name != "banded"}
ALL |= {"banded, worst": worst_case, "banded, mean": mean_case}
OWN_MAKESPAN = {"banded, worst", "banded, mean"}
"""Those whose makespan is not that of the middle speeds."""


@pytest.mark.parametrize("growing", [True, False], ids=["growing", "falling"])
@pytest.mark.parametrize("name", ALL)
def test_a_partition_is_valid_and_its_bound_holds(name, growing):
    """Every unit once, none beyond a memory limit; and nothing said of the makespan that trying everything denies."""
    partitioned = 0
    for case in random_cases(12 if "mean" in name else 40, growing=growing, seed=3):
        pes = case.pes
        if not case.feasible:
            with pytest.raises(ScenarioError, match=f", {case.units - case.room} more than fit the memory"):
                ALL[name](case.units, pes)
            continue
        if name == "grid2d" and min(case.limits) < case.units:
            continue  # rectangles within limits: test_grid2d.py
        found = ALL[name](case.units, pes)
        partitioned += 1
        assert isinstance(found, Partition)
        assert found.units.dtype == np.int64
        assert found.units.size == sum(case.counts)
        assert found.units.sum() == case.units
        assert np.all((found.units >= 0) & (found.units <= case.pe_limits))
        if name in OWN_MAKESPAN:
            continue
        assert found.makespan_s == found.times_s.max()
        best_s = least_makespan(case)
        assert found.lower_bound_s <= best_s <= found.makespan_s
        if found.optimal:
            assert found.makespan_s <= best_s * (1 + 1e-12)
    assert partitioned > 5


@pytest.mark.parametrize("name", ALL)
def test_no_unit_and_too_little_memory_are_refused(name):
    pes = SpeedKinds.of([[1.0], [1.0]], [[2.0], [3.0]], limits=[10, 20], counts=[1, 2])
    with pytest.raises(ScenarioError, match="units is 0; give at least 1"):
        ALL[name](0, pes)
    with pytest.raises(ScenarioError, match=", 7 more than fit the memory of all PEs"):
        ALL[name](57, pes)


def test_equal_differs_by_one_at_most_and_fills_what_is_small():
    pes = SpeedKinds.of([[1.0]] * 3, [[1.0], [9.0], [5.0]], limits=[100, 2, 100])
    assert METHODS["equal"](5, pes).units.tolist() == [2, 2, 1]
    found = METHODS["equal"](11, pes)
    assert found.units.tolist() == [5, 2, 4]
    assert "an equal share of 4 units does not fit pe1 (max_size 2)" in found.warnings[0]


def test_proportional_goes_by_one_size_or_by_the_peak():
    pes = SpeedKinds.of([[10, 100, 1000], [10, 1000]], [[1, 4, 2], [1, 1]])
    assert METHODS["by-speed"](100, pes).units.tolist() == [50, 50]
    assert METHODS["by-speed"](100, pes, peak=True).units.tolist() == [80, 20]
    assert METHODS["by-speed"](90, pes, at=5000).units.tolist() == [60, 30]
    assert METHODS["by-speed"](100, pes, at=40).units.tolist() == [67, 33]

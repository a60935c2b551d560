"""The exact partition against trying everything, on the very float64 times; large problems by certificate."""

import numpy as np
import pytest

from advisor.advise.partition.methods import functional
from advisor.advise.partition.speed_kinds import SpeedKinds
from simulator.base.randomness import stream
from tests.advisor.advise.partition.cases import Case, least_makespan, random_cases


def feasible(number, *, growing, seed=0):
    cases = [case for case in random_cases(number * 5 // 4, growing=growing, seed=seed) if case.feasible]
    assert len(cases) >= number
    return cases[:number]


def mismatches(cases):
    wrong = []
    for case in cases:
        found, best_s = functional(case.units, case.pes), least_makespan(case)
        if not (found.makespan_s == found.lower_bound_s == found.times_s.max() == best_s and found.optimal):
            wrong.append((case, found.units, found.makespan_s, best_s))
    return wrong


@pytest.mark.parametrize("growing", [True, False])
def test_the_partition_is_the_best_there_is(growing):
    assert mismatches(feasible(150, growing=growing)) == []


@pytest.mark.slow
@pytest.mark.parametrize("growing", [True, False])
def test_the_partition_is_the_best_there_is_in_1500_cases(growing):
    assert mismatches(feasible(1500, growing=growing, seed=1)) == []


def larger_case(rng):
    """Up to 3,000 units, knots near and far, PEs of which some are alike; times that grow."""
    units, kinds = int(rng.integers(1, 3000)), int(rng.integers(1, 8))
    sizes, speeds = [], []
    for _ in range(kinds):
        x = np.unique(np.round(rng.uniform(0.5, 1.2 * units + 1, int(rng.integers(1, 7))), int(rng.integers(0, 3))))
        x = x[x > 0] if np.any(x > 0) else np.ones(1)
        t = np.cumsum(rng.choice([0.01, 0.5, 1.0, 2.0], x.size) * np.diff(x, prepend=0.0))
        sizes.append(x)
        speeds.append(x / (x / float(rng.integers(1, 4)) if rng.random() < 0.3 else t))
    limits = [int(rng.integers(units // kinds // 2, units)) if rng.random() < 0.4 else 10**12 for _ in range(kinds)]
    setups, counts = rng.choice([0.0, 0.0, 1.0, 37.5], kinds), rng.choice([1, 1, 3], kinds)
    return units, SpeedKinds.of(sizes, speeds, limits=limits, setups=setups, counts=counts)


def sorted_limit(units, pes):
    """The least limit by sorting the times of all PEs for all their units."""
    times_s = []
    for kind, (begin, end) in enumerate(zip(pes.starts[:-1], pes.starts[1:], strict=True)):
        k = np.arange(1, min(int(pes.limits[kind]), units) + 1)
        one = pes.setups[kind] + k / np.interp(k, pes.sizes[begin:end], pes.speeds[begin:end])
        times_s += [one] * int(pes.counts[kind])
    return np.sort(np.concatenate(times_s))[units - 1]


def test_larger_partitions_are_those_of_all_times_sorted():
    rng = stream(5, "larger")
    grown = 0
    for _ in range(60):
        units, pes = larger_case(rng)
        if np.sum(np.minimum(pes.limits, units) * pes.counts) < units:
            continue
        grown += pes.grows(units)
        found = functional(units, pes)
        assert found.makespan_s == found.lower_bound_s == sorted_limit(units, pes)
        assert found.units.sum() == units
    assert grown > 25


def certified(units, pes, partition):
    """Whoever ends before the makespan would not with a unit more: so nobody can be relieved."""
    extra = np.minimum(partition.units + 1, pes.limits[pes.kind_of_pe])
    early = partition.times_s < partition.makespan_s
    full = extra == partition.units
    return partition.units.sum() == units and bool(
        np.all((pes.time_s(pes.kind_of_pe, extra) >= partition.makespan_s) | full | ~early)
    )


def many_pes(kinds, knots=20, seed=1, counts=None):
    """Speeds that wander between knots, with times that grow."""
    rng = stream(seed, "many")
    sizes = np.sort(rng.uniform(1, 4e4, (kinds, knots)), axis=1)
    times_s = np.cumsum(rng.uniform(0.3, 1.7, (kinds, knots)) * np.diff(sizes, axis=1, prepend=0), axis=1)
    times_s /= rng.uniform(1, 9, (kinds, 1))
    limits = np.where(rng.random(kinds) < 0.1, 5000, 10**12)
    return SpeedKinds.of(
        list(sizes), list(sizes / times_s), limits=limits, setups=rng.uniform(0, 50, kinds), counts=counts
    )


@pytest.mark.parametrize("units", [1, 17, 10**6, 10**9, 10**12])
def test_many_pes_are_certified(units):
    pes = many_pes(500)
    partition = functional(units, pes)
    assert partition.optimal
    assert certified(units, pes, partition)


# Pitfalls met before


def test_a_limit_on_a_rising_piece_holds_beyond_the_time_that_piece_can_have():
    """On `s = a + b x` the inverse `a T / (1 - b T)` is negative beyond T = 1 / b; the PE is then full, not empty."""
    pes = SpeedKinds.of([[1, 1000], [1]], [[1, 900], [0.1]], limits=[500, 10**12])
    found = functional(600, pes)
    assert found.units.tolist() == [500, 100]
    assert found.makespan_s == 100 / 0.1
    assert certified(600, pes, found)


def test_a_long_flat_step_is_taken_in_part():
    """Speed in proportion to the size: all sizes from 1,000 to 100,000 take the same time."""
    pes = SpeedKinds.of([[1e3, 1e5], [1.0]], [[1.0, 1e2], [1e2]])
    found = functional(150_000, pes)
    assert found.optimal
    assert found.makespan_s == pytest.approx(1000.0, rel=1e-12)
    assert found.units.sum() == 150_000


def test_a_set_up_cost_is_paid_with_the_first_unit_only():
    pes = SpeedKinds.of([[1.0], [1.0]], [[1.0], [1.0]], setups=[0.0, 100.0])
    assert functional(10, pes).units.tolist() == [10, 0]
    assert functional(200, pes).units.tolist() == [150, 50]


# Times that fall


def test_too_many_sizes_to_look_at_leave_a_bound():
    pes = SpeedKinds.of([[1e8, 1.1e8, 1e9], [1e9]], [[1.0, 5.0, 5.0], [2.0]])
    found = functional(12 * 10**7, pes)
    assert not found.optimal
    assert 0 < found.lower_bound_s < found.makespan_s
    assert any("a good partition and a bound are given" in warning for warning in found.warnings)


def test_limits_far_above_the_bound_are_found():
    """Multiples of 7 are fast, each PE a little differently: many limits lie between the bound and the optimum."""
    rng, k, far = stream(7, "loose"), np.arange(1, 61), 0
    for _ in range(12):
        speeds = [np.where(k % 7 == 0, 10.0, 1.0) * rng.uniform(0.8, 1.2, k.size) for _ in range(4)]
        case = Case(int(rng.integers(40, 200)), [k] * 4, speeds, [60] * 4, [0.0] * 4, [1] * 4)
        found = functional(case.units, case.pes)
        assert found.makespan_s == least_makespan(case)
        padded = [np.minimum.accumulate((k / one)[::-1])[::-1] for one in speeds]
        bound_s = np.sort(np.concatenate(padded))[case.units - 1]
        times_s = np.unique(np.concatenate([k / one for one in speeds]))
        far += np.sum((times_s > bound_s) & (times_s < found.makespan_s)) > 6
    assert far >= 3

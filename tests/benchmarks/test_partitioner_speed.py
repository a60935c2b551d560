"""Speed of the partitioners, in-process medians: `make bench` prints them beside a MILP.

Targets are printed, not asserted: a busy machine would miss them. Processor time is steadier than wall time there.
"""

import statistics
import time

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from advisor.advise.partition import SpeedKinds, discontinuous, functional
from simulator.base.randomness import stream

pytestmark = pytest.mark.benchmark


def fresh(pes):
    """The same PEs, with nothing computed beforehand."""
    return SpeedKinds(pes.names, pes.counts, pes.limits, pes.setups, pes.starts, pes.sizes, pes.speeds)


def timed(work, repetitions=7):
    """Median wall and processor seconds, and the last result."""
    wall, cpu, result = [], [], None
    for _ in range(repetitions):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        result = work()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return statistics.median(wall), statistics.median(cpu), result


def told(what, wall_s, cpu_s, target_s=None):
    target = f", target {1e3 * target_s:g} ms" if target_s else ""
    print(f"{what}: {1e3 * wall_s:.4g} ms wall, {1e3 * cpu_s:.4g} ms processor{target}")


def growing_pes(kinds, knots, largest, counts=None):
    rng = stream(1, "bench", kinds)
    sizes = np.sort(rng.uniform(1, largest, (kinds, knots)), axis=1)
    times_s = np.cumsum(rng.uniform(0.3, 1.7, (kinds, knots)) * np.diff(sizes, axis=1, prepend=0), axis=1)
    return SpeedKinds.of(list(sizes), list(sizes / times_s * rng.uniform(1, 9, (kinds, 1))), counts=counts)


def jagged_pes(p, points=1000):
    rng = stream(2, "jagged", p)
    sizes = np.arange(1, points + 1)
    speeds = rng.uniform(1, 9, (p, 1)) * rng.uniform(0.5, 1, (p, points))
    return SpeedKinds.of([sizes] * p, list(speeds), limits=np.full(p, points)), sizes / speeds


def test_a_billion_units_over_a_hundred_thousand_distinct_pes():
    pes = growing_pes(100_000, 20, 4e4)
    wall_s, cpu_s, found = timed(lambda: functional(10**9, fresh(pes)))
    told("10^9 units, 10^5 PEs of 20 knots", wall_s, cpu_s, 0.25)
    assert found.optimal
    assert found.units.sum() == 10**9


def test_a_million_pes_of_thirty_kinds():
    pes = growing_pes(30, 20, 4e3, counts=[33_334] * 30)
    wall_s, cpu_s, found = timed(lambda: functional(10**9, fresh(pes)), 21)
    told("10^6 PEs of 30 kinds", wall_s, cpu_s, 0.005)
    wall_s, cpu_s, units = timed(lambda: functional(10**9, fresh(pes)).units, 21)
    told("the same with a list of 10^6 entries", wall_s, cpu_s)
    assert found.optimal
    assert units.sum() == 10**9


@pytest.mark.parametrize(("p", "target_s"), [(512, 0.3), (2048, 3.0)])
def test_jagged_times_of_a_thousand_points(p, target_s):
    pes, _ = jagged_pes(p)
    wall_s, cpu_s, found = timed(lambda: discontinuous(400 * p, fresh(pes)), 5)
    told(f"discontinuous, {p} PEs of 1,000 points", wall_s, cpu_s, target_s)
    assert found.makespan_s == found.times_s.max() == found.lower_bound_s


def least_makespan_milp(units, pes):
    """Least T with whole units and convex piecewise linear times: T is above each PE's every chord."""
    p, rows, columns, values, low = len(pes.names), [], [], [], []
    for kind in range(p):
        part = slice(pes.starts[kind], pes.starts[kind + 1])
        size, time_s = (np.concatenate(([0.0], a)) for a in (pes.sizes[part], pes.sizes[part] / pes.speeds[part]))
        slopes = np.diff(time_s) / np.diff(size)
        for slope, x, t in zip(slopes, size, time_s, strict=False):  # T - slope * units >= t - slope * x
            rows += [len(low)] * 2
            columns += [p, kind]
            values += [1.0, -slope]
            low.append(t - slope * x)
    chords = LinearConstraint(coo_array((values, (rows, columns)), shape=(len(low), p + 1)).tocsr(), low, np.inf)
    every = LinearConstraint(np.append(np.ones(p), 0.0)[None], units, units)
    whole = np.append(np.ones(p), 0.0)
    bounds = Bounds(np.zeros(p + 1), np.append(np.full(p, units), np.inf))
    cost = np.append(np.zeros(p), 1.0)
    return milp(cost, integrality=whole, bounds=bounds, constraints=[chords, every], options={"time_limit": 60})


def test_beside_a_mixed_integer_program():
    """A MILP needs convex times that are straight between knots: chords of ours, whose speeds are straight.

    Both are judged by the real times; the program's partition can be no better.
    """
    rng = stream(3, "milp")
    sizes = np.sort(rng.uniform(1, 2e4, (100, 20)), axis=1)
    steps = np.sort(rng.uniform(0.3, 1.7, (100, 20)), axis=1) / rng.uniform(1, 9, (100, 1))
    times_s = np.cumsum(steps * np.diff(sizes, axis=1, prepend=0), axis=1)
    pes, units = SpeedKinds.of(list(sizes), list(sizes / times_s)), 10**6
    ours_s, ours_cpu_s, ours = timed(lambda: functional(units, fresh(pes)))
    their_s, their_cpu_s, theirs = timed(lambda: least_makespan_milp(units, pes), 1)
    told("100 PEs of 20 knots", ours_s, ours_cpu_s)
    told(f"the same as a MILP (HiGHS, {theirs.message[:40]!r})", their_s, their_cpu_s)
    counts = np.round(theirs.x[:100]).astype(np.int64)
    print(f"makespan by the real times: ours {ours.makespan_s:.10g} s, the MILP's {pes.times_s(counts).max():.10g} s")
    assert counts.sum() == units
    assert ours.makespan_s <= pes.times_s(counts).max()
    assert ours_s < their_s

"""Speed of the load models, as ratios or generous bounds: `make bench` runs these."""

import time

import numpy as np
import pytest

from simulator.models.load import Capacity, LoadTrace
from simulator.models.load_functions import LoadWindow, build_load_functions
from tests.support.yardstick import times_as_long

pytestmark = pytest.mark.benchmark
MILLION = 1_000_000


def least_s(work, repetitions=5):
    best = np.inf
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def persistent_loads(count, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    noise, loads = rng.normal(0, 0.3, count), np.zeros(count)
    for k in range(1, count):
        loads[k] = 0.9 * loads[k - 1] + noise[k]
    return np.abs(loads)


def test_building_at_the_papers_largest_size_costs_no_more_than_each_window_by_itself():
    loads = persistent_loads(14_400)
    trace, sums = LoadTrace(np.arange(14_400) * 1.0, loads, 14_400.0), np.append(0.0, np.cumsum(loads))

    def each_by_itself():
        for width in range(1, 3601):
            means = (sums[width:] - sums[:-width]) / width
            means.min(), means.max()

    found = times_as_long(lambda: build_load_functions(trace, window=3600), each_by_itself)
    print(f"h = 14400, w = 3600: {found:.2f} times as long as the means of each width")
    assert found <= 2


@pytest.mark.parametrize("kind", ["persistent", "independent"])
def test_an_update_costs_hardly_more_than_in_proportion_to_the_window(kind):
    """Beyond the processor's cache a step costs more: exponents of 1.3 to 1.5 were seen; work by its square gives 2."""
    rng = np.random.Generator(np.random.PCG64(1))
    loads = persistent_loads(25_000) if kind == "persistent" else rng.exponential(1.0, 25_000)
    widths, seconds = [500, 1000, 2000, 4000], []
    for width in widths:
        tracker = LoadWindow(1.0, window=width, history=16_000)
        tracker.extend(loads[:16_000])
        parts = iter(np.split(loads[16_000:], 3))
        seconds.append(least_s(lambda t=tracker, p=parts: t.extend(next(p)), 3) / 3000)
    exponent = np.polyfit(np.log(widths), np.log(seconds), 1)[0]
    print(f"{kind}: {', '.join(f'{1e6 * s:.1f} us' for s in seconds)} per update, exponent {exponent:.3f}")
    assert exponent <= 1.7


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_a_million_inversions_cost_at_most_five_interpolations(order):
    rng = np.random.Generator(np.random.PCG64(2))
    loads = rng.exponential(1.0, MILLION) * (rng.random(MILLION) < 0.7)
    capacity = Capacity.of(LoadTrace(np.arange(MILLION) * 1.0, loads, float(MILLION)), "fair")
    asked = rng.uniform(0, capacity.totals_s[-1], MILLION)
    asked = np.sort(asked) if order == "sorted" else asked
    reference = least_s(lambda: np.interp(asked, capacity.totals_s, capacity.knots_s))
    ours = least_s(lambda: capacity.inverse(asked))
    print(f"{order}: {1e3 * ours:.1f} ms against {1e3 * reference:.1f} ms, ratio {ours / reference:.2f}")
    assert ours <= 5 * reference
    assert np.max(np.abs(capacity.integral(capacity.inverse(asked)) / asked - 1)) <= 1e-9

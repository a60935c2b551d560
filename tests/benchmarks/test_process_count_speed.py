"""Speed of the process-count models, medians and least: `make bench` prints them beside plain loops and the targets.

The paper took 0.69 ms to build 54 configurations and 35 ms to estimate 62, on an AthlonXP 2600+.
"""

import statistics
import time
from dataclasses import replace

import numpy as np
import pytest

from advisor.advise.process_counts import advise_allocation
from simulator.models import Composed, fit_process_counts
from simulator.models.process_count.fitting import AllocationFit, MeasuredAllocations
from tests.support import allocation_surrogate as surrogate

pytestmark = pytest.mark.benchmark


def timed(work, repetitions=200):
    seconds = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), min(seconds)


def told(what, seconds, target_s):
    median, least = seconds
    print(f"{what}: median {1e3 * median:.3g} ms, least {1e3 * least:.3g} ms, target {1e3 * target_s:g} ms")


@pytest.fixture(scope="module")
def runs():
    of = surrogate.cluster()
    return surrogate.measured(of, *surrogate.construction(of, "Basic"), seed=1)


@pytest.fixture(scope="module")
def small():
    """All 54 configurations at the four smallest sizes, computation and communication apart."""
    of = surrogate.cluster()
    sizes, allocations = surrogate.construction(of, "Basic")
    kept = sizes <= np.unique(sizes)[3]
    return surrogate.measured(of, sizes[kept], allocations[kept], seed=1)


def without_phases(runs):
    unknown = np.full_like(runs.comp_s, np.nan)
    return replace(runs, comp_s=unknown, comm_s=unknown)


def fit(runs):
    return fit_process_counts(runs, method="paper", compose={"fast": Composed("slow")})


def loops(runs):
    """The N-T fits alone, one configuration at a time."""
    configurations = np.unique(runs.allocations.reshape(len(runs.size), -1), axis=0)
    for row in configurations:
        own = (runs.allocations.reshape(len(runs.size), -1) == row).all(axis=1)
        kind = int(row[2] > 0)
        np.linalg.lstsq(np.vander(runs.size[own], 4), runs.comp_s[own, kind])
        np.linalg.lstsq(np.vander(runs.size[own], 3), runs.comm_s[own, kind])


def test_54_configurations_are_built(runs):
    ours, plain = timed(lambda: fit(runs)), timed(lambda: loops(runs), 20)
    told("paper, 54 configurations from 486 runs", ours, 0.7e-3)
    told("one least-squares fit at a time, N-T alone", plain, 0.7e-3)
    assert ours[0] < plain[0]


def test_62_configurations_are_estimated(runs):
    model, candidates = fit(runs), surrogate.candidates(surrogate.cluster())
    first = timed(lambda: fit(runs).estimate(6400.0, candidates), 5)
    ours = timed(lambda: model.estimate(6400.0, candidates))
    told("paper, 62 configurations with intervals", ours, 1e-3)
    told("the same from runs, the first estimate with its 64 members", first, 1e-3)
    assert ours[0] < first[0]


def test_the_pooled_model_is_built(small):
    whole = without_phases(small)
    ours = timed(lambda: fit_process_counts(whole), 50)
    told(f"pooled, {len(whole.size)} runs by their whole time", ours, 5e-3)
    told("the same with computation and communication apart", timed(lambda: fit_process_counts(small), 50), 5e-3)
    far = timed(lambda: fit_process_counts(whole).estimate(6400.0, surrogate.candidates(surrogate.cluster())), 5)
    assert ours[1] < far[1]


def test_62_configurations_are_estimated_by_the_pooled_model(small):
    model, candidates = fit_process_counts(small), surrogate.candidates(surrogate.cluster())
    one_by_one = timed(lambda: [model.estimate(6400.0, candidates[k : k + 1]) for k in range(len(candidates))], 5)
    ours = timed(lambda: model.estimate(6400.0, candidates))
    told("pooled, 62 configurations with intervals", ours, 1e-3)
    assert ours[0] < one_by_one[0]


@pytest.mark.parametrize("method", ["pooled", "paper"])
def test_a_million_configurations_are_ranked(small, method):
    """The whole advice: ranking, regret, intervals, switch points."""
    model = fit_process_counts(small, method=method)
    fitted = AllocationFit(model, MeasuredAllocations.of_runs(small))
    kinds = {"fast": (250, 4), "slow": (199, 5)}
    advice = advise_allocation(fitted, kinds, 6400.0)
    ours = timed(lambda: advise_allocation(fitted, kinds, 6400.0), 5)
    told(f"{method}, advice on {advice.searched} configurations", ours, 2.0)
    assert 0.99e6 < advice.searched <= 1e6
    assert advice.search == "exhaustive"

"""Speed of the process-count model and of its exact search, medians: `make bench` prints them beside the targets."""

import statistics
import time

import numpy as np
import pytest

from advisor.advise.process_counts import advise_allocation
from advisor.advise.process_counts.space import space_of
from simulator.calibration import AllocationFit
from simulator.models import fit_process_counts
from tests.support import lu_clusters as clusters
from tests.support.known_models import KnownModel

pytestmark = pytest.mark.benchmark


def timed(work, repetitions):
    seconds = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def told(what, seconds, target_s):
    print(f"{what}: median {1e3 * seconds:.3g} ms, target {1e3 * target_s:g} ms")


@pytest.fixture(scope="module")
def runs():
    """30 configurations at the four smallest sizes."""
    return clusters.runs_of(clusters.cheapest_set(), (400, 800, 1200, 1600), clusters.lu, noise=0.03)


def test_a_model_is_fitted(runs):
    told(f"{len(runs.size)} runs", timed(lambda: fit_process_counts(runs), 50), 5e-3)


def test_62_configurations_are_estimated(runs):
    model, candidates = fit_process_counts(runs), clusters.judged()
    one_by_one = timed(lambda: [model.estimate(6400.0, candidates[k : k + 1]) for k in range(len(candidates))], 5)
    ours = timed(lambda: model.estimate(6400.0, candidates), 200)
    told("62 configurations with intervals", ours, 1e-3)
    assert ours < one_by_one


def test_the_best_of_64_million():
    kinds = {"a": (100, 4), "b": (100, 4), "c": (100, 4)}
    space = space_of(KnownModel(tuple(kinds), (4e9, 2e9, 1e9)), kinds)
    ours = timed(lambda: space.at(3200.0).best(1000), 5)
    told(f"the best 1000 of {space.most_configurations}", ours, 0.1)


def test_a_million_configurations_with_switch_points(runs):
    """The whole advice: ranking, regret, intervals, switch points."""
    fitted, kinds = AllocationFit(fit_process_counts(runs), runs), {"fast": (250, 4), "slow": (199, 5)}
    ours = timed(lambda: advise_allocation(fitted, kinds, 6400.0), 5)
    told("advice on a million configurations", ours, 2.0)
    assert np.isfinite(ours)

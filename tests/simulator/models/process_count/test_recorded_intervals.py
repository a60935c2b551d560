"""How often stated intervals of mixed configurations hold on recorded runs of HPL, built as `allocate plan` builds."""

import numpy as np
import pytest

from simulator.models.process_count.fit import cells_of
from simulator.models.process_count.model import UNMIXED_SD, fit_process_counts
from tests.support import lu_clusters as clusters

BALANCED = ((2, 1), (3, 1), (4, 1), (3, 2), (4, 2))
"""Processes on the fast and the slow core that a plan may take for balanced."""


def sessions(runs):
    """Models of few runs at small sizes, and the larger sizes: each kind alone over N, m processes at one size, two
    mixed configurations at two."""
    sizes, m = np.unique(runs.size), runs.allocations[:, :, 1]
    for small in (3, 4, 5):
        if small >= len(sizes):
            continue
        middle, last = sizes[small // 2], sizes[small - 1]
        for balanced in BALANCED:
            alone = m.min(axis=1) == 0
            mixed = (m == balanced).all(axis=1) | (m == 1).all(axis=1)
            wanted = (m.sum(axis=1) == 1) | (alone & (runs.size == middle))
            wanted |= mixed & ((runs.size == middle) | (runs.size == last))
            wanted &= runs.size <= last
            if mixed.any() and len(np.unique(m[wanted].sum(axis=1))) > 1:
                yield fit_process_counts(clusters.chosen(runs, wanted)), sizes[small:]


@pytest.mark.slow
def test_intervals_of_mixed_configurations_hold_on_recorded_runs():
    held, regret = [], []
    for runs in [clusters.recorded(), *clusters.two_core_tables().values()]:
        for model, sizes in sessions(runs):
            for size in sizes:
                seen = cells_of(clusters.chosen(runs, runs.size == size))
                mixed = (seen.allocations[:, :, 0] > 0).all(axis=1)
                found = model.estimate(size, seen.allocations)
                held += ((found.low_s <= seen.time_s) & (seen.time_s <= found.high_s))[mixed].tolist()
                regret.append(seen.time_s[found.mean_s.argmin()] / seen.time_s.min() - 1)
    assert len(held) > 1000
    assert 0.85 <= np.mean(held) <= 0.95
    assert np.median(regret) <= 0.01


def test_each_mixed_configuration_that_was_run_leaves_less_open():
    runs = clusters.recorded(largest=1600)
    m = runs.allocations[:, :, 1]
    asked = np.array([[[1, 4], [1, 2]]])
    widths = []
    for known in ((), ((1, 1),), ((1, 1), (2, 1), (3, 1))):
        mixed = np.zeros(len(m), bool)
        for one in known:
            mixed |= (m == one).all(axis=1)
        model = fit_process_counts(clusters.chosen(runs, (m.min(axis=1) == 0) | mixed))
        widths.append(float(model._drift(1600.0, asked, model._strange(asked))[0]))
    assert widths[0] > widths[1] > widths[2] > 0
    np.testing.assert_allclose(np.diff(widths), UNMIXED_SD**2 * np.diff([1, 1 / 2, 1 / 4]), rtol=1e-9)

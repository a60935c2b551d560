import os

import numpy as np
import pytest

from simulator import randomness
from simulator.calibration import Point, Ranks, measure_speeds, measured_bands
from simulator.calibration.bench.measurement import half_interval_of_median

CPUS = sorted(os.sched_getaffinity(0))
PAIR = [CPUS[0], CPUS[-1]]


def test_the_interval_of_the_median_covers_it_as_often_as_it_says():
    """95 % by the binomial distribution: of 2,000 skewed samples with a known median, 5 % may miss it."""
    generator = randomness.stream(1, "coverage")
    for count in (6, 11, 30):
        samples = np.sort(generator.exponential(1.0, (2000, count)), axis=1)
        halves = np.array([half_interval_of_median(row) for row in samples])
        ranks = [r for r in range(count // 2) if half_of(samples[0], r, count) == pytest.approx(halves[0])]
        rank = ranks[0]
        inside = (samples[:, rank] <= np.log(2)) & (np.log(2) <= samples[:, count - 1 - rank])
        assert inside.mean() >= 0.94
    assert half_interval_of_median(np.ones(5)) == np.inf


def half_of(row, rank, count):
    return (row[count - 1 - rank] - row[rank]) / 2 / np.median(row)


@pytest.mark.real
def test_measuring_real_kernels_gives_bands_and_keeps_all_samples():
    seen = []
    points = [Point("dgemm", 64, 64), Point("matmul", 64, 64), Point("dgemm", 128, 128)]
    with Ranks(PAIR) as ranks:
        measured = measure_speeds(
            ranks,
            ["a", "b"],
            points,
            budget_s=1.0,
            generator=randomness.stream(1, "order"),
            on_progress=lambda measurements, share: seen.append((len(measurements), share)),
        )
    assert {(m.pe, Point(m.kernel, m.n, m.rows)) for m in measured} == {
        (name, point) for name in "ab" for point in points
    }
    assert all(len(m.samples) >= 3 for m in measured)
    assert [count for count, _ in seen] == [6] * len(seen)
    found = measured_bands(measured)
    assert set(found) == {(name, kernel) for name in "ab" for kernel in ("dgemm", "matmul")}
    assert found["a", "dgemm"].sizes.tolist() == [3 * 64**2, 3 * 128**2]
    assert found["a", "dgemm"].mid.min() > 1e8

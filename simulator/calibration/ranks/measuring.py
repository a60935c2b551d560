"""The measuring loop: kernels on all PEs side by side, in random order, until the medians are known well enough."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import KERNELS
from simulator.calibration.ranks.ranks import Ranks
from simulator.models.speed import Cut, SpeedBand, cut_from_samples

LEAST_SAMPLE_S = 0.02
"""A sample repeats its kernel until it lasts this long, far above the clock's grain."""
LEAST_SAMPLES = 6
"""Fewest samples whose extremes hold the median with 95 % confidence."""
MOST_SAMPLES = 30
PRECISION = 0.03
"""A median is known well enough when the half width of its 95 % interval is at most this share of it."""


@dataclass(frozen=True)
class Point:
    """One problem size of one kernel."""

    kernel: str
    n: int
    rows: int

    @property
    def size(self) -> int:
        """Elements stored and processed."""
        return KERNELS[self.kernel].problem_size(self.n, self.rows)

    @property
    def volume(self) -> float:
        """Floating point operations."""
        return KERNELS[self.kernel].volume(self.n, self.rows)


@dataclass(frozen=True)
class Measurement:
    """All samples of one point on one PE, each the mean of its inner repetitions."""

    pe: str
    point: Point
    samples: tuple[Usage, ...]

    @property
    def cpu_s(self) -> NDArray[np.float64]:
        """CPU seconds of one run of the kernel, per sample."""
        return np.array([sample.cpu_s for sample in self.samples])

    @property
    def wall_s(self) -> NDArray[np.float64]:
        """Wall seconds of one run of the kernel, per sample."""
        return np.array([sample.wall_s for sample in self.samples])

    @property
    def half_interval(self) -> float:
        """Half width of the 95 % interval of the median wall time, as a share of it."""
        return half_interval_of_median(self.wall_s)

    @property
    def stable(self) -> bool:
        """Whether the median is known as well as was asked for."""
        return self.half_interval <= PRECISION

    def cut(self) -> Cut:
        """The speeds seen at this point."""
        return cut_from_samples(self.point.size, self.point.volume / self.cpu_s, self.point.volume / self.wall_s)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        cut, half = self.cut(), self.half_interval
        return {
            "n": self.point.n,
            "rows": self.point.rows,
            "size_elements": self.point.size,
            "volume": self.point.volume,
            "repetitions": len(self.samples),
            "cpu_s": self.cpu_s.tolist(),
            "wall_s": self.wall_s.tolist(),
            "involuntary_switches": [sample.involuntary_switches for sample in self.samples],
            "speed": {"low": cut.low, "mid": cut.mid, "high": cut.high},
            "interval_percent": 100 * half if np.isfinite(half) else None,
            "stable": self.stable,
        }


def half_interval_of_median(samples: NDArray[np.float64]) -> float:
    """Half width of the distribution-free 95 % interval of the median, as a share of it; infinite below six samples.

    The interval lies between order statistics whose ranks the binomial distribution gives.
    """
    from scipy.special import bdtr

    count = samples.size
    if count < LEAST_SAMPLES:
        return float("inf")
    ranks = np.arange(count // 2)
    outside = 2 * bdtr(ranks, count, 0.5)  # chance that the median lies outside ranks k .. count-1-k
    rank = int(ranks[outside <= 0.05].max())
    ordered = np.sort(samples)
    return float((ordered[count - 1 - rank] - ordered[rank]) / 2 / np.median(samples))


def measure_speeds(
    ranks: Ranks,
    names: Sequence[str],
    points: Sequence[Point],
    *,
    budget_s: float,
    generator: np.random.Generator,
    on_progress: Callable[[list[Measurement], float], None],
) -> list[Measurement]:
    """Measure points on all PEs at once, so that they share caches, memory and clock as in a parallel run.

    Parameters
    ----------
    ranks, names
        Pinned processes, and the name of each one's PE.
    points
        Visited in a new random order in every pass, so that drift and bursts do not fall on one size.
    budget_s
        Soft limit in seconds: no pass starts after it, and points already known well enough are left out of it.
    generator
        For the order.
    on_progress
        Called after every pass with all measurements so far and the share of the budget or of the points done.
    """
    start = time.monotonic()
    samples: dict[Point, list[list[Usage]]] = {}
    inner: dict[Point, int] = {}
    for point in points:  # smallest first: a warm-up of everything, and how long each takes
        ranks.prepare(point.kernel, point.n, point.rows)
        once = max(usage.wall_s for usage in ranks.measure(point.kernel, point.n, point.rows, inner=1))
        inner[point] = max(1, ceil(LEAST_SAMPLE_S / once))
        samples[point] = [[] for _ in names]
    measured: list[Measurement] = []
    while open_points := [point for point in points if not _done(samples[point])]:
        for index in generator.permutation(len(open_points)):
            point = open_points[index]
            for row, usage in zip(samples[point], _sample(ranks, point, inner[point]), strict=True):
                row.append(usage)
        measured = _measurements(names, samples)
        elapsed = time.monotonic() - start
        on_progress(measured, max(elapsed / budget_s, 1 - len(open_points) / len(points)))
        if elapsed > budget_s and all(len(rows[0]) >= 3 for rows in samples.values()):
            break
    ranks.forget()
    return measured


def measured_bands(measured: Sequence[Measurement]) -> dict[tuple[str, str], SpeedBand]:
    """The speed band of every (PE, kernel) through its measured cuts."""
    keys = dict.fromkeys((m.pe, m.point.kernel) for m in measured)
    return {
        (pe, kernel): SpeedBand.through([m.cut() for m in measured if (m.pe, m.point.kernel) == (pe, kernel)])
        for pe, kernel in keys
    }


def _sample(ranks: Ranks, point: Point, inner: int) -> list[Usage]:
    """One sample per PE, scaled to one run of the kernel."""
    usages = ranks.measure(point.kernel, point.n, point.rows, inner=inner)
    return [Usage(u.cpu_s / inner, u.wall_s / inner, u.voluntary_switches, u.involuntary_switches) for u in usages]


def _done(rows: list[list[Usage]]) -> bool:
    if len(rows[0]) >= MOST_SAMPLES:
        return True
    return all(half_interval_of_median(np.array([usage.wall_s for usage in row])) <= PRECISION for row in rows)


def _measurements(names: Sequence[str], samples: dict[Point, list[list[Usage]]]) -> list[Measurement]:
    return [
        Measurement(name, point, tuple(row))
        for point, rows in samples.items()
        for name, row in zip(names, rows, strict=True)
        if row
    ]

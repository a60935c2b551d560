"""The measuring loop: kernels on all PEs side by side, in random order, until the medians are known well enough."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bands import BuiltBand, PointMeasured, apart
from simulator.calibration.bench.disturbance import clean_samples, is_disturbed, may_be_off
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import KERNELS
from simulator.calibration.ranks.ranks import Ranks
from simulator.models.doubt import COMMON, DRIFT
from simulator.models.speed import Cut, SpeedBand, cut_from_samples

LEAST_SAMPLE_S = 0.02
"""A sample repeats its kernel until it lasts this long, far above the clock's grain."""
LEAST_SAMPLES = 6
"""Fewest samples whose extremes hold the median with 95 % confidence."""
MOST_SAMPLES = 30
SURELY_ONE = 5 * LEAST_SAMPLE_S
"""A first run that takes so long says that one run makes a sample; another one is not spent on finding out."""
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
    def clean(self) -> tuple[Usage, ...]:
        """The samples that no other program disturbed; all of them where too few are: then `may_be_off` is above 0."""
        return clean_samples(self.samples)

    @property
    def disturbed(self) -> int:
        """How many samples other programs disturbed."""
        return sum(is_disturbed(sample) for sample in self.samples)

    @property
    def may_be_off(self) -> float:
        """By which share the true speed may lie above what is told, since other programs ran meanwhile."""
        return may_be_off(self.samples)

    @property
    def half_interval(self) -> float:
        """Half width of the 95 % interval of the median CPU time of the clean samples, as a share of it."""
        return half_interval_of_median(np.array([sample.cpu_s for sample in self.clean]))

    @property
    def stable(self) -> bool:
        """Whether the median is known as well as was asked for."""
        return self.half_interval <= PRECISION

    def cut(self) -> Cut:
        """The speeds seen at this point, by the CPU seconds of the clean samples.

        A load that a scenario has is simulated beside it, so its lower end must hold no load that was met by chance.
        """
        speeds = self.point.volume / np.array([sample.cpu_s for sample in self.clean])
        return cut_from_samples(self.point.size, speeds, speeds)

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
            "disturbed": self.disturbed,
            "may_be_off_percent": 100 * self.may_be_off,
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
    for point in sorted(points, key=lambda point: (point.n, -point.rows)):  # panels of one order share their arrays
        once = max(ranks.prepare(point.kernel, point.n, point.rows))
        if once < SURELY_ONE:
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


def measured_bands(
    measured: Sequence[Measurement],
    *,
    columns: Mapping[str, int] | None = None,
    drifts: Mapping[str, float] | None = None,
) -> dict[tuple[str, str], SpeedBand]:
    """The speed band of every (PE, kernel) through its measured cuts, noise and doubt apart.

    What the PEs of a machine have in common of their doubt is all but the errors of their own medians, and of the rest
    the share that is assumed of PEs of a kind.

    Parameters
    ----------
    columns
        Kernel -> the order n that its cuts are taken of: panels of one order say nothing of another's. Kernels that
        are not named join cuts of all orders.
    drifts
        Kernel -> standard deviation of what the machine changes by until the bands are used; by default `DRIFT`.
    """
    found: dict[tuple[str, str], list[Measurement]] = {}
    for one in measured:
        if (columns or {}).get(one.point.kernel, one.point.n) == one.point.n:
            found.setdefault((one.pe, one.point.kernel), []).append(one)
    several = len({pe for pe, _ in found}) > 1
    return {
        key: _stated(own, (drifts or {}).get(key[1], DRIFT), source=key[1] if several else "")
        for key, own in found.items()
    }


def _stated(own: Sequence[Measurement], drift: float, *, source: str) -> SpeedBand:
    """The band through the cuts of one PE; a source where others of its machine were measured too."""
    ordered = sorted(own, key=lambda one: one.point.size)
    cuts, samples = [one.cut() for one in ordered], [one.clean for one in ordered]
    points = [
        PointMeasured(
            one.point.size,
            one.point.volume,
            tuple(usage.cpu_s for usage in clean),
            tuple(usage.cpu_s for usage in clean),
            float(one.wall_s.sum()),
        )
        for one, clean in zip(ordered, samples, strict=True)
    ]
    built = BuiltBand("measured", SpeedBand.through(cuts), tuple(points), tuple(cuts), 0.0, "")
    band = apart(built, drift=drift).band
    if not source or band.doubt is None:
        return band
    shared = COMMON * (1 - band.doubt.sources.get("sampling", 0.0))
    return replace(band, doubt=replace(band.doubt, common=shared), source=source)


def _sample(ranks: Ranks, point: Point, inner: int) -> list[Usage]:
    """One sample per PE, scaled to one run of the kernel."""
    usages = ranks.measure(point.kernel, point.n, point.rows, inner=inner)
    return [Usage(u.cpu_s / inner, u.wall_s / inner, u.voluntary_switches, u.involuntary_switches) for u in usages]


def _done(rows: list[list[Usage]]) -> bool:
    if len(rows[0]) >= MOST_SAMPLES:
        return True
    return all(half_interval_of_median(np.array([usage.cpu_s for usage in _known(row)])) <= PRECISION for row in rows)


def _known(row: list[Usage]) -> list[Usage]:
    """The samples that count towards enough: disturbed ones are taken again while the budget lasts."""
    return [usage for usage in row if not is_disturbed(usage)]


def _measurements(names: Sequence[str], samples: dict[Point, list[list[Usage]]]) -> list[Measurement]:
    return [
        Measurement(name, point, tuple(row))
        for point, rows in samples.items()
        for name, row in zip(names, rows, strict=True)
        if row
    ]

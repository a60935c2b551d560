"""Kernels on all PEs side by side, sizes in random order, until the medians are known well enough; and their bands."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from simulator.calibration.bands import BuiltBand, apart
from simulator.calibration.bench.campaign import Budget, run_campaign, shuffled
from simulator.calibration.bench.measurement import (
    LEAST_SAMPLE_S,
    MOST_SAMPLES,
    PRECISION,
    Measurement,
    half_interval_of_median,
    is_disturbed,
    one_of,
)
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import KERNELS
from simulator.calibration.ranks.ranks import Ranks
from simulator.models.doubt import COMMON
from simulator.models.speed import SpeedBand

LEAST_PASSES = 3
"""Samples that each point gets whatever the budget."""
SURELY_ONE = 5 * LEAST_SAMPLE_S
"""A first run that takes so long says that one run makes a sample; another one is not spent on finding out."""


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

    Points are visited in a new random order in every pass, so that drift and bursts do not fall on one size. `budget_s`
    is a soft limit: no pass starts after it, and points already known well enough are left out of it. `on_progress` is
    called after every pass with all measurements so far and the share of the budget or of the points done.
    """
    budget = Budget(budget_s)
    samples: dict[Point, list[list[Usage]]] = {}
    inner: dict[Point, int] = {}
    for point in sorted(points, key=lambda point: (point.n, -point.rows)):  # panels of one order share their arrays
        once = max(ranks.prepare(point.kernel, point.n, point.rows))
        if once < SURELY_ONE:
            once = max(usage.wall_s for usage in ranks.measure(point.kernel, point.n, point.rows, inner=1))
        inner[point] = max(1, ceil(LEAST_SAMPLE_S / once))
        samples[point] = [[] for _ in names]
    measured: list[Measurement] = []

    def passes() -> Iterator[tuple[int, list[Point]]]:
        for number in budget.passes(least=LEAST_PASSES, most=MOST_SAMPLES + 1):
            still_open = [point for point in points if not _done(samples[point])]
            if not still_open:
                return
            yield number, shuffled(still_open, generator)
            measured[:] = _measurements(names, samples)
            on_progress(measured.copy(), max(budget.share, 1 - len(still_open) / len(points)))

    def sample(point: Point, _number: int) -> None:
        usages = ranks.measure(point.kernel, point.n, point.rows, inner=inner[point])
        for row, usage in zip(samples[point], usages, strict=True):
            row.append(one_of(usage, inner[point]))

    run_campaign(passes(), sample)
    ranks.forget()
    return measured


def measured_bands(measured: Sequence[Measurement]) -> dict[tuple[str, str], SpeedBand]:
    """The speed band of every (PE, kernel) through its measured cuts, noise and doubt apart.

    What the PEs of a machine have in common of their doubt is all but the errors of their own medians, and of the rest
    the share that is assumed of PEs of a kind.
    """
    found: dict[tuple[str, str], list[Measurement]] = {}
    for one in measured:
        found.setdefault((one.pe, one.kernel), []).append(one)
    several = len({pe for pe, _ in found}) > 1
    return {(pe, kernel): _stated(own, source=kernel if several else "") for (pe, kernel), own in found.items()}


def _stated(own: Sequence[Measurement], *, source: str) -> SpeedBand:
    """The band through the cuts of one PE; a source where others of its machine were measured too."""
    ordered = sorted(own, key=lambda one: one.size)
    cuts = [one.cut() for one in ordered]
    points = tuple(
        Measurement.of_times(one.size, one.volume, one.cpu_s, one.cpu_s, sum(sample.wall_s for sample in one.samples))
        for one in ordered
    )
    built = BuiltBand("measured", SpeedBand.through(cuts), points, tuple(cuts), 0.0, "")
    band = apart(built).band
    if not source or band.doubt is None:
        return band
    shared = COMMON * (1 - band.doubt.sources.get("sampling", 0.0))
    return replace(band, doubt=replace(band.doubt, common=shared), source=source)


def _done(rows: list[list[Usage]]) -> bool:
    if len(rows[0]) >= MOST_SAMPLES:
        return True
    return all(half_interval_of_median(np.array([usage.cpu_s for usage in _known(row)])) <= PRECISION for row in rows)


def _known(row: list[Usage]) -> list[Usage]:
    """The samples that count towards enough: disturbed ones are taken again while the budget lasts."""
    return [usage for usage in row if not is_disturbed(usage)]


def _measurements(names: Sequence[str], samples: dict[Point, list[list[Usage]]]) -> list[Measurement]:
    return [
        Measurement(point.size, point.volume, tuple(row), n=point.n, kernel=point.kernel, rows=point.rows, pe=name)
        for point, rows in samples.items()
        for name, row in zip(names, rows, strict=True)
        if row
    ]

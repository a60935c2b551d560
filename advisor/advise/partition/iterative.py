"""A partition without a model to begin with: measure, repartition, and stop when nothing more is to be gained.

Lastovetsky and Reddy, "Distributed Data Partitioning for Heterogeneous Processors Based on Partial Estimation of Their
Functional Performance Models" (HeteroPar 2009). Each PE's speed function goes through the points met so far. A test of
imbalance would never be met where measurements fluctuate: of many PEs one is always unlucky. What is asked is whether
the gain that the model predicts is more than that.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from advisor.advise.partition.equal import equal
from advisor.advise.partition.functional import functional
from advisor.advise.partition.min_max import check_units
from advisor.advise.partition.result import Partition, of_units
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds

Measure = Callable[[Ints], Floats]
"""Seconds that every PE really takes for its units, both (p,)."""

NEAR = 0.03
"""Sizes that differ by no more than this share are one point, the mean of both."""


@dataclass
class _Points:
    """What was measured of one PE, ascending in units."""

    units: list[float]
    times_s: list[float]
    weights: list[int]

    def add(self, units: int, time_s: float) -> float | None:
        """Note a point; where another one is near, say how far its speed was off, in standard deviations of one."""
        for index, other in enumerate(self.units):
            if abs(units - other) <= NEAR * other:
                weight = self.weights[index]
                off = time_s / units / (self.times_s[index] / other) - 1
                self.units[index] = (other * weight + units) / (weight + 1)
                self.times_s[index] = (self.times_s[index] * weight + time_s) / (weight + 1)
                self.weights[index] += 1
                return float(off * np.sqrt(weight / (weight + 1)))
        at = int(np.searchsorted(self.units, units))
        self.units.insert(at, float(units))
        self.times_s.insert(at, time_s)
        self.weights.insert(at, 1)
        return None

    def function(self, unknown: float) -> tuple[Floats, Floats]:
        """Sizes and speeds; times that fell by fluctuation are levelled, so that they grow a little."""
        if not self.units:
            return np.ones(1), np.array([unknown])
        sizes, times_s = np.array(self.units), np.array(self.times_s)
        times_s = np.maximum.accumulate(times_s) * (1 + 1e-6 * np.log(sizes / sizes[0]))
        return sizes, sizes / times_s


def iterative(
    units: int, pes: SpeedKinds, *, measure: Measure, least_gain: float = 0.02, most_iterations: int = 20
) -> Partition:
    """Begin with the equal split, and repartition by what was measured while that promises a gain.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.

    Parameters
    ----------
    units, pes
        What is divided, and by whom; only names, counts and memory limits are looked at.
    measure
        See `Measure`; called with each partition tried.
    least_gain
        Stop when the predicted makespan is not lower than the best one measured by this share, and by what fluctuation
        explains.
    most_iterations
        Stop after so many measurements.

    Returns
    -------
    Partition
        The best one measured, with its measured makespan; 0 is its bound, since nothing is known for sure. `details`
        holds every measured makespan and why it ended.
    """
    check_units(units, pes)
    points = [_Points([], [], []) for _ in range(pes.pe_count)]
    tried = equal(units, pes).units
    best, best_s, measured_s, ended = tried, np.inf, [], "most iterations"
    for _ in range(most_iterations):
        times_s = np.asarray(measure(tried.copy()), np.float64)
        measured_s.append(float(times_s[tried > 0].max()))
        if measured_s[-1] < best_s:
            best, best_s = tried, measured_s[-1]
        off = [points[index].add(int(tried[index]), float(times_s[index])) for index in np.flatnonzero(tried)]
        plan = functional(units, _partial(pes, points))
        if plan.makespan_s > best_s * (1 - least_gain - _worst_luck(off)):
            ended = "no gain predicted"
            break
        tried = plan.units
    details = {"measured_s": measured_s, "iterations": len(measured_s), "ended": ended}
    return replace(of_units("iterative", pes, best, 0.0, details=details), makespan_s=best_s)


def _worst_luck(off: list[float | None]) -> float:
    """How much longer the unluckiest of all PEs takes by fluctuation alone; 0 while most points are new.

    The greatest of p normal deviations is about `sqrt(2 ln p)`.
    """
    known = [value for value in off if value is not None]
    if 2 * len(known) < len(off):
        return 0.0
    return float(np.sqrt(np.mean(np.square(known)) * 2 * np.log(len(off))))


def _partial(pes: SpeedKinds, points: list[_Points]) -> SpeedKinds:
    """Speed functions through the points; a PE without any is taken for the fastest, so that it is tried."""
    speeds = [size / time_s for point in points for size, time_s in zip(point.units, point.times_s, strict=True)]
    functions = [point.function(max(speeds)) for point in points]
    return SpeedKinds.of(
        [sizes for sizes, _ in functions], [speed for _, speed in functions], limits=pes.limits[pes.kind_of_pe]
    )

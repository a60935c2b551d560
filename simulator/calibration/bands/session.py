"""One building of a band under way: what was measured, in order, at what cost, and what was said about it."""

import bisect
from dataclasses import dataclass, field

import numpy as np

from simulator.base.errors import CalibrationError, ScenarioError
from simulator.calibration.bands.cuts import CutRule
from simulator.calibration.bands.source import Source
from simulator.calibration.bench.measurement import Measurement
from simulator.models.speed import Cut


class BudgetSpentError(Exception):
    """The next point would not fit the budget; builders stop and keep what they have."""


@dataclass
class Session:
    """Measures points for a builder, counts their cost, and refuses what the budget does not hold."""

    source: Source
    rule: CutRule
    budget_s: float | None = None
    points: list[Measurement] = field(default_factory=list)
    cuts: dict[float, Cut] = field(default_factory=dict)
    """Cuts by size, measured or by definition."""
    steps: list[str] = field(default_factory=list)
    violated: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    """Limits that were reached before the procedure was done."""
    open: list[tuple[Cut, Cut]] = field(default_factory=list)
    """GBBP's intervals still to bisect, the next one last."""
    unsettled: list[tuple[Cut, Cut]] = field(default_factory=list)
    """Intervals that GBBP left off without one of its cases."""
    _known: list[tuple[float, Measurement]] = field(default_factory=list)
    """The points by ascending size, as far as they were counted."""
    _counted: int = 0
    _spent_s: float = 0.0
    _cheapest_s: float = float("inf")

    def __post_init__(self) -> None:
        a, b = self.source.smallest, self.source.largest
        if not 0 < a < b < float("inf"):
            raise ScenarioError(f"sizes: a = {a:g} and b = {b:g} elements found, 0 < a < b allowed")
        if self.budget_s is not None and not 0 < self.budget_s < float("inf"):
            raise ScenarioError(f"budget: {self.budget_s:g} s found, a finite time above 0 allowed")

    @property
    def ends_s(self) -> float:
        """Seconds that the source took to find a and b, before the first point."""
        return float(getattr(self.source, "ends_s", 0.0))

    @property
    def room_s(self) -> float:
        """Experimental seconds that the budget leaves for points; infinite without one."""
        return float("inf") if self.budget_s is None else self.budget_s - self.ends_s

    @property
    def spent_s(self) -> float:
        """Experimental seconds so far."""
        self._count()
        return self._spent_s

    def _count(self) -> None:
        """Take in the points added since: each once, whatever their number."""
        for point in self.points[self._counted :]:
            self._spent_s += point.cost_s
            self._cheapest_s = min(self._cheapest_s, point.cost_s)
            bisect.insort(self._known, (point.size, point), key=lambda known: known[0])
        self._counted = len(self.points)

    def measure(self, size: float) -> Cut:
        """The cut at a size, measured once.

        Raises
        ------
        BudgetSpentError
            If two points are there and this one is foretold to exceed the budget.
        CalibrationError
            If the budget does not hold two points.
        """
        if size in self.cuts:
            return self.cuts[size]
        if self.room_s <= 0:
            self._too_small(f"{self.ends_s:.3g} s spent on finding a and b")
        if self.budget_s is not None and self.points:
            foretold = self.foretell_s(size)
            if self.spent_s + foretold > self.room_s:
                if len(self.points) < 2:
                    self._too_small(f"{foretold:.3g} s foretold for {size:.6g} elements")
                raise BudgetSpentError
        point = self.source.measure(size)
        if point.size in self.cuts:  # snapped to a size that is there already
            return self.cuts[point.size]
        self.points.append(point)
        if self.spent_s > self.room_s and len(self.points) < 2:
            self._too_small(f"{point.cost_s:.3g} s spent on {point.size:.6g} elements")
        cut = self.rule.cut(point)
        self.cuts[point.size] = cut
        return cut

    def foretell_s(self, size: float) -> float:
        """Cost of a point by the time of those measured: between two, a power of the size; beyond, the last such power.

        With one point only, time is taken to grow with the size itself, the least that any program does; and never is a
        run foretold to take longer than the source allowed for b.
        """
        near = self._neighbours(size)
        sizes, times = np.log([(point.size, point.ideal_s) for point in near]).T
        slope = (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]) if len(near) > 1 else 1.0
        beyond = max(0.0, float(np.log(size)) - sizes[-1]) * float(np.clip(slope, 0.0, 3.0))
        time_s = float(np.exp(np.interp(np.log(size), sizes, times) + beyond))
        longest_s = max(self._known[-1][1].ideal_s, getattr(self.source, "longest_run_s", np.inf))
        foretold = float(self.source.cost_s(np.array(min(time_s, longest_s))))
        return max(self._cheapest_s, foretold + self._beside_s(size, near))

    def _neighbours(self, size: float) -> list[Measurement]:
        """The points on either side of a size, beyond the outer ones the two at that end; fewer if there are fewer."""
        self._count()
        place = bisect.bisect_left(self._known, size, key=lambda known: known[0])
        first = min(max(0, place - 1), max(0, len(self._known) - 2))
        return [point for _, point in self._known[first : first + 2]]

    def _beside_s(self, size: float, near: list[Measurement]) -> float:
        """What points of that size took beside what their runs foretell, such as filling gigabytes of operands."""
        sizes, costs, times = np.array([(point.size, point.cost_s, point.ideal_s) for point in near]).T
        return float(np.interp(size, sizes, np.maximum(0.0, costs - self.source.cost_s(times))))

    def say(self, text: str) -> None:
        """Log a step."""
        self.steps.append(text)

    def ended_early(self) -> None:
        """Say that the budget ended the procedure."""
        done = max(point.size for point in self.points)
        text = (
            f"budget: {self.budget_s:g} s ended the procedure after {len(self.points)} points; the largest has "
            f"{done:.6g} of {self.source.largest:.6g} elements"
        )
        self.violated.append(text)
        self.incomplete.append(text)

    def _too_small(self, why: str) -> None:
        raise CalibrationError(
            f"budget: {self.budget_s:g} s found, too small for two points ({why}); "
            f"{len(self.points)} measured, a larger budget or a smaller largest size allowed"
        )


def tell(cut: Cut) -> str:
    """A cut in words."""
    return f"{cut.size:.6g} elements: {cut.low:.4g} to {cut.high:.4g} per second"

"""One building of a band under way: what was measured, in order, at what cost, and what was said about it."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from simulator.base import units
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.calibration.bands.source import Source
from simulator.calibration.bench.campaign import BudgetSpentError
from simulator.calibration.bench.measurement import Measurement
from simulator.models.load import LoadTrace, taken
from simulator.models.load_functions import LoadFunctions, build_load_functions
from simulator.models.speed import LEAST_HALF_WIDTH, Cut, cut_from_samples

Availability = Literal["idle", "fair"]
POINTS = 20


@dataclass(frozen=True)
class CutRule:
    """How wide a cut is (EQUATIONS section 1)."""

    band: float | None = None
    """Half width as a share of the ideal speed; None: what the samples show, with load at least 2.5 %."""
    load: LoadFunctions | None = None
    """Load functions of the share of the PE that others take; None: no load but what the samples saw."""

    def __post_init__(self) -> None:
        if self.band is not None and not 0 < self.band < 1:
            raise ScenarioError(f"band is {self.band:g}; give a share above 0 and below 1")

    @classmethod
    def under_load(
        cls,
        trace: LoadTrace,
        *,
        window: int,
        history: int | None,
        availability: str,
        band: float | None = None,
    ) -> "CutRule":
        """Cuts as wide as a recorded load makes them.

        Under `fair` what others take of the core, `l / (1 + l)` at whole loads, is averaged over windows in the place
        of the load: a competitor that is there for 40 % of the time takes 20 % of a core, and so does a load of 0.4.

        The trace has equal steps; `window` and `history` are in samples (`build_load_functions`); `availability` is
        `idle` (we take idle cycles only) or `fair`. `band` is the half width of what is known of the ideal speed as a
        share of it, by default the samples', at least 2.5 %.
        """
        if availability not in get_args(Availability):
            raise ScenarioError(f"availability is {availability!r}; name idle or fair")
        if availability == "fair":
            trace = replace(trace, values=taken(trace.values))
        load = build_load_functions(trace, window=window, history=history)
        return cls(band=band, load=load)

    @property
    def widths_measured(self) -> bool:
        """Whether cuts are as wide as samples or loads make them, and not of a stated share."""
        return self.band is None or self.load is not None

    def cut(self, point: Measurement) -> Cut:
        """The cut at a measured point."""
        ideal = point.speed
        if self.load is not None:
            return self.cut_under_load(point.size, ideal, point.ideal_s, spread=self.spread(point))
        if self.band is not None:
            return Cut(point.size, ideal * (1 - self.band), ideal, ideal * (1 + self.band))
        return cut_from_samples(point.size, point.volume / np.array(point.cpu_s), point.volume / np.array(point.wall_s))

    def spread(self, point: Measurement) -> float:
        """Half width of what is known of the ideal speed, as a share of it.

        Stated, or the samples' without their outer tenths and at least 2.5 %; the wider one.
        """
        speeds = np.array(point.volume / np.array(point.cpu_s))
        seen = float(np.quantile(speeds, 0.9) - np.quantile(speeds, 0.1)) / 2 / point.speed
        return max(seen, self.band or LEAST_HALF_WIDTH)

    def cut_under_load(self, size: float, ideal: float, ideal_s: float, *, spread: float) -> Cut:
        """`s_max = s_ideal (1 - l_min)`, `s_min = s_ideal (1 - l_max)`, no narrower than the spread.

        `size` in elements; `ideal` and `ideal_s` are speed and time on an idle PE, `spread` the half width of what is
        known of that speed, as a share of it.
        """
        assert self.load is not None  # noqa: S101 - asked only under load
        loads = self.load.predict(ideal_s)
        high, low = ideal * (1 - float(loads.l_min)), ideal * (1 - float(loads.l_max))
        half, mid = spread * ideal, (low + high) / 2
        return Cut(size, max(0.0, min(low, mid - half)), mid or half, max(high, mid + half))


@dataclass
class Session:
    """Measures points for a builder, counts their cost, and refuses what the budget does not hold."""

    source: Source
    rule: CutRule
    budget_s: float | None = None
    points: list[Measurement] = field(default_factory=list)
    cuts: dict[float, Cut] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    violated: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    """Limits that were reached before the procedure was done."""
    open: list[tuple[Cut, Cut]] = field(default_factory=list)
    """GBBP's intervals still to bisect, the next one last."""
    unsettled: list[tuple[Cut, Cut]] = field(default_factory=list)
    """Intervals that GBBP left off without one of its cases."""

    def __post_init__(self) -> None:
        a, b = self.source.smallest, self.source.largest
        if not 0 < a < b < float("inf"):
            raise ScenarioError(f"sizes: a is {a:g} and b is {b:g} elements; give 0 < a < b")
        if self.budget_s is not None and not 0 < self.budget_s < float("inf"):
            raise ScenarioError(f"budget is {self.budget_s:g} s; give a finite time above 0")

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
        return sum((point.cost_s for point in self.points), start=0.0)

    def measure(self, size: float) -> Cut:
        """The cut at a size, measured once."""
        if size in self.cuts:
            return self.cuts[size]
        if self.room_s <= 0:
            self._too_small(f"{self.ends_s:.3g} s spent on finding a and b")
        if self.budget_s is not None and self.points:
            predicted = self.predict_s(size)
            if self.spent_s + predicted > self.room_s:
                if len(self.points) < 2:
                    self._too_small(f"{predicted:.3g} s expected for {size:.6g} elements")
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

    def predict_s(self, size: float) -> float:
        """Cost of a point by the time of those measured: between two, a power of the size; beyond, the last such power.

        With one point only, time is taken to grow with the size itself, the least that any program does; and never is a
        run predicted to take longer than the source allowed for b.
        """
        known = sorted(self.points, key=lambda point: point.size)
        first = bisect.bisect_left(known, size, key=lambda point: point.size) - 1
        near = known[max(0, min(first, len(known) - 2)) :][:2]  # beyond the outer points the two at that end
        sizes, times = np.log([(point.size, point.ideal_s) for point in near]).T
        slope = (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]) if len(near) > 1 else 1.0
        beyond = max(0.0, float(np.log(size)) - sizes[-1]) * float(np.clip(slope, 0.0, 3.0))
        time_s = float(np.exp(np.interp(np.log(size), sizes, times) + beyond))
        longest_s = max(known[-1].ideal_s, getattr(self.source, "longest_run_s", np.inf))
        predicted = float(self.source.cost_s(np.array(min(time_s, longest_s))))
        cheapest_s = min(point.cost_s for point in known)
        return max(cheapest_s, predicted + self._overhead_s(size, near))

    def _overhead_s(self, size: float, near: list[Measurement]) -> float:
        """What points of that size took besides what their runs predict, such as filling gigabytes of operands."""
        sizes, costs, times = np.array([(point.size, point.cost_s, point.ideal_s) for point in near]).T
        return float(np.interp(size, sizes, np.maximum(0.0, costs - self.source.cost_s(times))))

    def say(self, text: str) -> None:
        """Log a step."""
        self.steps.append(text)

    def ended_early(self) -> None:
        """Say that the budget ended the procedure."""
        done = max(point.size for point in self.points)
        text = (
            f"budget: {units.show_duration(self.budget_s or 0.0)} ended the procedure after {len(self.points)} points; "
            f"the largest has {done:.3g} of {self.source.largest:.3g} elements"
        )
        self.violated.append(text)
        self.incomplete.append(text)

    def _too_small(self, why: str) -> None:
        raise CalibrationError(
            f"budget: {self.budget_s:g} s is too short for two points ({why}; {len(self.points)} measured); "
            "give more, or a smaller largest size"
        )


def tell(cut: Cut) -> str:
    """A cut in words."""
    return f"{cut.size:.6g} elements: {cut.low:.4g} to {cut.high:.4g} per second"


# Builders of sizes known in advance: 20 equidistant ones (speed-bands-gbbp, section 3), or halved rows of panels.


def grid_sizes(smallest: float, largest: float) -> list[float]:
    """The grid's problem sizes in elements."""
    return [float(size) for size in np.linspace(smallest, largest, POINTS)]


def build_grid(session: Session) -> None:
    """Measure the grid, smallest size first; at a memory limit the last cut is (0, 0) by definition."""
    source = session.source
    sizes = grid_sizes(source.smallest, source.largest)
    if source.largest_is_memory_limit:
        session.cuts[sizes.pop()] = Cut(source.largest, 0.0, 0.0, 0.0)
        session.say("the cut at b is (0, 0): b is the memory limit")
    _measure_all(session, sizes, "grid")


def build_panels(session: Session, sizes: Sequence[float]) -> None:
    """Measure panels of so many columns at their rows halved again and again: the fewest, then all of them and down.

    Their sizes hardly differ, since each holds the same columns; so steps in size would miss what few rows cost.

    `sizes` in elements, in any order.
    """
    few, *others = sorted(sizes)
    _measure_all(session, [few, *reversed(others)], "panel")


def _measure_all(session: Session, sizes: list[float], what: str) -> None:
    together = getattr(session.source, "measure_together", None)
    if together is not None and session.budget_s is None:  # a budget needs each point's cost before the next
        together(sizes)
    try:
        for size in sizes:
            session.say(f"{what}, {tell(session.measure(size))}")
    except BudgetSpentError:
        session.ended_early()

"""From a measured point to a cut: its spread, a stated share, or the loads that load functions foretell."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from simulator.calibration.bands.source import PointMeasured
from simulator.errors import ScenarioError
from simulator.models.load import LoadTrace
from simulator.models.load_functions import LoadFunctions, build_load_functions
from simulator.models.speed import LEAST_HALF_WIDTH, Cut, cut_from_samples

Availability = Literal["idle", "fair"]


@dataclass(frozen=True)
class CutRule:
    """How wide a cut is (EQUATIONS section 1)."""

    band: float | None = None
    """Half width as a share of the ideal speed; None: what the samples show, with load at least 2.5 %."""
    load: LoadFunctions | None = None
    """Load functions of the share of the PE that others take; None: no load but what the samples saw."""

    def __post_init__(self) -> None:
        if self.band is not None and not 0 < self.band < 1:
            raise ScenarioError(f"band: {self.band:g} found, a share above 0 and below 1 allowed")

    @classmethod
    def under_load(
        cls, trace: LoadTrace, *, window: int, history: int | None, availability: str, band: float | None = None
    ) -> "CutRule":
        """Cuts as wide as a recorded load makes them.

        Under `fair` what others take of the core, `l / (1 + l)`, is averaged over windows in the place of the load: a
        competitor that is there for 40 % of the time takes 20 % of a core, one of 0.4 that is always there 29 %.

        Parameters
        ----------
        trace
            Recorded load at equal steps.
        window, history
            In samples; see `build_load_functions`.
        availability
            `idle` (we take idle cycles only) or `fair`.
        band
            Least half width as a share of the ideal speed.

        Raises
        ------
        ScenarioError
            If an option is out of bounds.
        TraceError
            If the trace's steps differ.
        """
        if availability not in get_args(Availability):
            raise ScenarioError(f"availability: {availability!r} found, idle or fair allowed")
        if availability == "fair":
            trace = replace(trace, values=trace.values / (1 + trace.values))
        return cls(band=band, load=build_load_functions(trace, window=window, history=history))

    @property
    def widths_measured(self) -> bool:
        """Whether cuts are as wide as samples or loads make them, and not of a stated share."""
        return self.band is None or self.load is not None

    def cut(self, point: PointMeasured) -> Cut:
        """The cut at a measured point."""
        ideal = point.speed
        if self.load is not None:
            return self._under_load(point, self.load)
        if self.band is not None:
            return Cut(point.size, ideal * (1 - self.band), ideal, ideal * (1 + self.band))
        return cut_from_samples(point.size, point.volume / np.array(point.cpu_s), point.volume / np.array(point.wall_s))

    def _under_load(self, point: PointMeasured, load: LoadFunctions) -> Cut:
        """`s_max = s_ideal (1 - l_min)`, `s_min = s_ideal (1 - l_max)`, widened to the spread measured."""
        loads = load.predict(point.ideal_s)
        ideal, speeds = point.speed, point.volume / np.array(point.cpu_s)
        high, low = ideal * (1 - float(loads.l_min)), ideal * (1 - float(loads.l_max))
        spread = float(np.quantile(speeds, 0.9) - np.quantile(speeds, 0.1)) / 2
        half, mid = max(spread, ideal * (self.band or LEAST_HALF_WIDTH)), (low + high) / 2
        return Cut(point.size, max(0.0, min(low, mid - half)), mid or half, max(high, mid + half))

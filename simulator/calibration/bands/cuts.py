"""From a measured point to a cut: its spread, a stated share, or the loads that load functions foretell."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.calibration.bench.measurement import Measurement
from simulator.models.load import LoadTrace, taken
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
    outer_spread: bool = False
    """Whether under load both ends get what is not known of the ideal speed besides (our choice, for real runs).

    By the paper's formulas a run that meets the least load lies on the very edge, inside or outside by chance.
    """

    def __post_init__(self) -> None:
        if self.band is not None and not 0 < self.band < 1:
            raise ScenarioError(f"band: {self.band:g} found, a share above 0 and below 1 allowed")

    @classmethod
    def under_load(
        cls,
        trace: LoadTrace,
        *,
        window: int,
        history: int | None,
        availability: str,
        band: float | None = None,
        outer_spread: bool = False,
    ) -> "CutRule":
        """Cuts as wide as a recorded load makes them.

        Under `fair` what others take of the core, `l / (1 + l)` at whole loads, is averaged over windows in the place
        of the load: a competitor that is there for 40 % of the time takes 20 % of a core, and so does a load of 0.4.

        Parameters
        ----------
        trace
            Recorded load at equal steps.
        window, history
            In samples; see `build_load_functions`.
        availability
            `idle` (we take idle cycles only) or `fair`.
        band
            Half width of what is known of the ideal speed, as a share of it; by default the samples', at least 2.5 %.
        outer_spread
            See `CutRule.outer_spread`.

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
            trace = replace(trace, values=taken(trace.values))
        load = build_load_functions(trace, window=window, history=history)
        return cls(band=band, load=load, outer_spread=outer_spread)

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

        Parameters
        ----------
        size
            In elements.
        ideal, ideal_s
            Speed and time on an idle PE.
        spread
            Half width of what is known of that speed, as a share of it; see `CutRule.spread`.
        """
        assert self.load is not None  # noqa: S101 - asked only under load
        loads = self.load.predict(ideal_s)
        outer = spread if self.outer_spread else 0.0
        high, low = ideal * (1 + outer) * (1 - float(loads.l_min)), ideal * (1 - outer) * (1 - float(loads.l_max))
        half, mid = spread * ideal, (low + high) / 2
        return Cut(size, max(0.0, min(low, mid - half)), mid or half, max(high, mid + half))

"""From a measured point to a cut: its spread, a stated share, or the loads that load functions foretell."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from simulator.calibration.bands.source import PointMeasured
from simulator.errors import ScenarioError
from simulator.models.load_functions import LoadFunctions
from simulator.models.speed import LEAST_HALF_WIDTH, Cut, cut_from_samples

Availability = Literal["idle", "fair"]


@dataclass(frozen=True)
class CutRule:
    """How wide a cut is (EQUATIONS section 1)."""

    band: float | None = None
    """Half width as a share of the ideal speed; None: what the samples show, with load at least 2.5 %."""
    load: LoadFunctions | None = None
    """Load functions of the PE; None: no load but what the samples saw."""
    availability: Availability = "idle"
    """Under load, what is left to one process on one core: `1 - l` (idle) or `1 / (l + 1)` (fair)."""

    def __post_init__(self) -> None:
        if self.band is not None and not 0 < self.band < 1:
            raise ScenarioError(f"band: {self.band:g} found, a share above 0 and below 1 allowed")
        if self.availability not in get_args(Availability):
            raise ScenarioError(f"availability: {self.availability!r} found, idle or fair allowed")

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
        if self.availability == "fair":  # of a core that 1 / (l + 1) is left of, the share l / (l + 1) is taken
            load = LoadFunctions(load.t_s, load.l_min / (1 + load.l_min), load.l_max / (1 + load.l_max))
        loads = load.predict(point.ideal_s)
        ideal, speeds = point.speed, point.volume / np.array(point.cpu_s)
        high, low = ideal * (1 - float(loads.l_min)), ideal * (1 - float(loads.l_max))
        spread = float(np.quantile(speeds, 0.9) - np.quantile(speeds, 0.1)) / 2
        half, mid = max(spread, ideal * (self.band or LEAST_HALF_WIDTH)), (low + high) / 2
        return Cut(point.size, max(0.0, min(low, mid - half)), mid or half, max(high, mid + half))

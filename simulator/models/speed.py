"""Speed of a PE as a function of problem size: cuts and speed bands, piecewise linear through measured points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.errors import ScenarioError

Floats = NDArray[np.float64]

LEAST_HALF_WIDTH = 0.025
"""A cut is never narrower than this share of its middle, on either side (speed-bands-gbbp, section 2.4; our choice)."""


@dataclass(frozen=True)
class Cut:
    """The speed band at one problem size: the closed interval of speeds seen there."""

    size: float
    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class SpeedBand:
    """Lower, middle and upper speed over problem size: straight lines between cuts, constant beyond the outer ones."""

    sizes: Floats
    """Ascending problem sizes, elements stored and processed."""
    low: Floats
    mid: Floats
    high: Floats
    """Speeds in units of volume per second, `0 <= low <= mid <= high`."""

    def __post_init__(self) -> None:
        arrays = (self.sizes, self.low, self.mid, self.high)
        if any(a.ndim != 1 or a.shape != self.sizes.shape for a in arrays) or not self.sizes.size:
            raise ScenarioError("speed band: sizes and speeds of equal length, at least one of each, allowed")
        if not all(np.all(np.isfinite(a)) for a in arrays) or np.any(np.diff(self.sizes) <= 0) or self.sizes[0] <= 0:
            raise ScenarioError("speed band: ascending finite sizes above zero allowed")
        if np.any(self.low < 0) or np.any(self.low > self.mid) or np.any(self.mid > self.high) or np.any(self.mid <= 0):
            raise ScenarioError("speed band: 0 <= low <= mid <= high with mid above zero allowed")

    @classmethod
    def through(cls, cuts: list[Cut]) -> "SpeedBand":
        """Join cuts of different sizes, in any order, by straight lines."""
        ordered = sorted(cuts, key=lambda cut: cut.size)
        columns = np.array([(c.size, c.low, c.mid, c.high) for c in ordered], dtype=np.float64).T
        return cls(*columns)

    def cut(self, size: float) -> Cut:
        """The band at one problem size."""
        low, mid, high = (float(np.interp(size, self.sizes, curve)) for curve in (self.low, self.mid, self.high))
        return Cut(size, low, mid, high)

    def speed(self, size: ArrayLike, *, position: ArrayLike = 0.5) -> Floats:
        """Speed at problem sizes, at a position across the band.

        Parameters
        ----------
        size
            Problem sizes, any shape; broadcast against `position`.
        position
            0 on the lower curve, 0.5 on the middle one, 1 on the upper one, linear between.
        """
        size, position = np.asarray(size, dtype=np.float64), np.asarray(position, dtype=np.float64)
        low, mid, high = (np.interp(size, self.sizes, curve) for curve in (self.low, self.mid, self.high))
        below, above = np.minimum(position * 2, 1.0), np.maximum(position * 2 - 1, 0.0)
        return np.asarray(low + below * (mid - low) + above * (high - mid), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        return {name: getattr(self, name).tolist() for name in ("sizes", "low", "mid", "high")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SpeedBand":
        """The band that `to_dict` wrote."""
        return cls(*(np.asarray(data[name], dtype=np.float64) for name in ("sizes", "low", "mid", "high")))


def cut_from_samples(size: float, cpu_speeds: Floats, wall_speeds: Floats) -> Cut:
    """The cut that repeated runs of one problem size show.

    Middle and upper end are speeds in CPU seconds, what the PE gives without load (the paper's ideal time); the lower
    end is the speed in wall seconds, what the load observed meanwhile left. The ends are without their outer tenth.

    Parameters
    ----------
    size
        Problem size in elements.
    cpu_speeds, wall_speeds
        Volume per CPU second and per wall second of each repetition.
    """
    mid = float(np.median(cpu_speeds))
    low = min(float(np.quantile(wall_speeds, 0.1)), mid * (1 - LEAST_HALF_WIDTH))
    high = max(float(np.quantile(cpu_speeds, 0.9)), mid * (1 + LEAST_HALF_WIDTH))
    return Cut(size, low, mid, high)

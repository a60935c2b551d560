"""A band that a builder built: its points in order, what they cost, the steps, and the assumptions that failed."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.calibration.bands.source import PointMeasured
from simulator.models.speed import Cut, SpeedBand


@dataclass(frozen=True)
class BuiltBand:
    """The result of `build`."""

    method: str
    band: SpeedBand
    points: tuple[PointMeasured, ...]
    """In the order in which they were measured."""
    cuts: tuple[Cut, ...]
    """Measured or defined cuts by size; the band may hold foretold ones besides."""
    experimental_s: float
    largest_reason: str
    """Why b is b, and what its cut is."""
    steps: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What the method takes for granted."""
    assumptions_violated: tuple[str, ...] = ()
    """Where that, or the shape that partitioning needs, does not hold."""
    unmeasured: tuple[str, ...] = ()
    """Those of the assumptions that foretell a range in which nothing was measured; warnings of the model's file."""
    expected_error: dict[str, float] | None = None
    """`mean` and `max` relative error that the method expects if its assumptions hold; None: it promises nothing."""
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the body of a speed model's file is `model`."""
        return {
            "format": 1,
            "kind": "speed",
            "method": self.method,
            "experimental_s": self.experimental_s,
            "model": self.band.to_dict(),
            "points": [_point(point, self._cut(point)) for point in self.points],
            "largest_reason": self.largest_reason,
            "steps": list(self.steps),
            "assumptions": list(self.assumptions),
            "assumptions_violated": list(self.assumptions_violated),
            "warnings": [*self.assumptions_violated, *self.unmeasured],
            "expected_error": self.expected_error,
            "provenance": self.provenance,
        }

    def _cut(self, point: PointMeasured) -> Cut:
        return next(cut for cut in self.cuts if cut.size == point.size)


def shape_faults(band: SpeedBand, cuts: tuple[Cut, ...]) -> list[str]:
    """Where the shape assumptions of EQUATIONS section 1 fail, in words; sizes in elements.

    Cuts count as falling or rising only where they do not meet, so that the band's own width is no fault.
    """
    faults = []
    fallen: Cut | None = None
    for k, cut in enumerate(cuts):
        before = cuts[:k]
        peak = max(before, key=lambda c: c.low, default=None)
        if peak is not None and cut.high < peak.low and (fallen is None or cut.high < fallen.high):
            fallen = cut
        if fallen is not None and cut.low > fallen.high:
            faults.append(
                f"shape: speed rises again from {fallen.mid:.4g} at {fallen.size:.6g} to {cut.mid:.4g} per second at "
                f"{cut.size:.6g} elements after it had fallen"
            )
            fallen = None
    for name, position in (("lower", 0.0), ("middle", 0.5), ("upper", 1.0)):
        if position == 0.0 and np.any(band.low[:-1] <= 0):
            faults.append("shape: the lower curve is zero below b, so some loads leave nothing")
            continue
        if not band.function(position=position).monotone:
            faults.append(
                f"shape: the {name} curve meets a line through the origin more than once: time does not grow with size "
                "everywhere, and a time has more than one size"
            )
    return faults


def drops(cuts: tuple[Cut, ...]) -> list[str]:
    """Steep falls between neighbouring cuts, such as a cache's end or paging, where a straight line is a guess."""
    return [
        f"drop: speed falls by {100 * (1 - right.mid / left.mid):.0f} % between {left.size:.6g} and {right.size:.6g} "
        "elements (a cache's end or paging); where in between is not known"
        for left, right in itertools.pairwise(cuts)
        if right.mid > 0 and right.high < left.low and right.mid < 0.85 * left.mid and right.size < 2.1 * left.size
    ]


def _point(point: PointMeasured, cut: Cut) -> dict[str, Any]:
    return {
        "size_elements": point.size,
        "volume": point.volume,
        "cpu_s": list(point.cpu_s),
        "wall_s": list(point.wall_s),
        "cost_s": point.cost_s,
        "speed": {"low": cut.low, "mid": cut.mid, "high": cut.high},
    }

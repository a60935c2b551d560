"""What the adaptive builder knows: speed over size in log-log, its trend beyond, and how wrong it may be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.base import ties
from simulator.calibration.bands.source import Floats
from simulator.calibration.bench.measurement import Measurement

NEAR, FAR = 2.0, 4.0
"""The trend's last and former slope span at least these factors in size."""
STEEPEST = 2.5
"""Greatest fall of speed that a trend may go on with, as a power of the size."""
HIDDEN_PER_OCTAVE = 0.006
"""Mean error that an octave without a point may hide although its ends fit their neighbours."""
GOES_ON, NEW_FALL = 3.0, 4.0
"""A fall at most so many times as steep as the one before goes on; a new one is a drop more often than a trend, and
only this part of it is carried on."""
STEADY = 0.06
"""Least doubt about the power of a trend that makes it unsteady."""
SLOPE_FLOOR = 0.02
"""Least doubt about the power of a trend."""


@dataclass(frozen=True)
class Curve:
    """Measured points by ascending size; speeds follow straight lines in log-log between them."""

    x: Floats
    """Logarithms of sizes."""
    s: Floats
    """Logarithms of ideal speeds."""
    v: Floats
    """Logarithms of volumes."""
    cost_s: Floats
    """Experimental seconds of each point."""
    cost_of: Callable[[Floats], Floats]
    """What the source foretells for points whose single runs take so many seconds."""

    @classmethod
    def through(cls, points: Sequence[Measurement], cost_of: Callable[[Floats], Floats]) -> "Curve":
        """The curve through points in any order; of two of one size the later one counts."""
        by_size = {point.size: point for point in points}
        rows = [(np.log(p.size), np.log(p.speed), np.log(p.volume), p.cost_s) for _, p in sorted(by_size.items())]
        x, s, v, cost_s = np.array(rows, np.float64).T
        return cls(x, s, v, cost_s, cost_of)

    def speed(self, x: Floats) -> Floats:
        """Log speed at log sizes: straight between points, the trend above the last, constant below the first."""
        beyond = np.maximum(0.0, x - self.x[-1])
        return np.asarray(np.interp(x, self.x, self.s) + self.slope * beyond)

    def volume(self, x: Floats) -> Floats:
        """Log volume at log sizes; a power of the size above the last point."""
        power = 1.0 if self.x.size < 2 else (self.v[-1] - self.v[-2]) / (self.x[-1] - self.x[-2])
        return np.asarray(np.interp(x, self.x, self.v) + power * np.maximum(0.0, x - self.x[-1]))

    def cost(self, x: Floats, *, falling: bool = True) -> Floats:
        """Foretold experimental seconds of points at log sizes, never less than those of the cheapest so far.

        Unless `falling`, speed is taken to fall no further beyond the last point. A rise goes on for an octave only: it
        comes from overheads that fade, and taken as a power over all sizes it would foretell that all is nearly free.
        """
        known = np.interp(x, self.x, self.s)
        speed = np.minimum(self.speed(x), known + max(0.0, self.slope) * np.log(2))
        speed = speed if falling else np.maximum(speed, known)
        times = np.exp(self.volume(x) - speed)
        return np.asarray(np.maximum(np.min(self.cost_s), self.dearness * self.cost_of(times)))

    @cached_property
    def dearness(self) -> float:
        """By what factor points cost more than foretold, as on a busy machine; least squares: dear ones count most."""
        foretold = self.cost_of(np.exp(self.v - self.s))
        return float(np.dot(self.cost_s, foretold) / np.dot(foretold, foretold))

    @cached_property
    def slopes(self) -> tuple[float, float]:
        """The power of the size that speed followed at the end, and just before."""
        last = self.x.size - 1
        near = self._below(last, np.log(NEAR))
        far = self._below(near, np.log(FAR / NEAR))
        late = self._slope(near, last)
        return late, self._slope(far, near) if far < near else late

    @cached_property
    def slope(self) -> float:
        """The power that the trend goes on with: the last one where it went on before, a part of it where it is new."""
        late, former = self.slopes
        goes_on = late <= 0 and former <= 0 and abs(late) <= GOES_ON * abs(former) + SLOPE_FLOOR
        return float(np.clip(late if goes_on else late / NEW_FALL, -STEEPEST, 0.3))

    @cached_property
    def trust(self) -> float:
        """How far costs may be foretold by the trend, 0 to 1: wholly where it is steady, half where it goes on."""
        if self.doubt <= STEADY:
            return 1.0
        return 0.5 if self.slope == self.slopes[0] < 0 else 0.0

    @cached_property
    def doubt(self) -> float:
        """How far the trend's power may be wrong."""
        late, former = self.slopes
        return max(SLOPE_FLOOR, abs(late - former) / 2)

    @cached_property
    def deviations(self) -> Floats:
        """By how much each inner point lies off the straight line through its neighbours, 0 at the ends."""
        d = np.zeros(self.x.size)
        if self.x.size > 2:
            share = (self.x[1:-1] - self.x[:-2]) / (self.x[2:] - self.x[:-2])
            d[1:-1] = self.s[1:-1] - (self.s[:-2] + share * (self.s[2:] - self.s[:-2]))
        return np.where(np.abs(d) > ties.SAME, d, 0.0)

    def errors(self) -> tuple[Floats, Floats]:
        """Mean and greatest relative error to expect in each interval between neighbours.

        A smooth bend leaves neighbours' deviations alike in sign, and halving an interval quarters its error; a drop
        inside an interval leaves them opposed, and only halves it.
        """
        d, octaves = self.deviations, np.diff(self.x) / np.log(2)
        left, right = d[:-1].copy(), d[1:].copy()
        if self.x.size > 2:
            left[0], right[-1] = right[0], left[-1]
        size = np.sqrt(np.abs(left * right))
        drop = left * right < 0
        hidden = HIDDEN_PER_OCTAVE * octaves
        return np.where(drop, size / 2, size / 6) + hidden, np.where(drop, 1.5 * size, size / 3) + 2 * hidden

    def top_error(self, largest: float) -> tuple[float, float]:
        """Mean and greatest relative error to expect of the trend up to a log size."""
        beyond = max(0.0, largest - self.x[-1])
        return self.doubt * beyond / 2, self.doubt * beyond

    def weights(self, largest: float) -> Floats:
        """Share of each interval, the one up to `largest` too, half by size and half by its logarithm."""
        knots = np.append(self.x, max(largest, self.x[-1]))
        whole = max(knots[-1] - knots[0], 1e-12)
        linear = np.diff(np.exp(knots)) / max(np.exp(knots[-1]) - np.exp(knots[0]), 1e-300)
        return np.asarray((np.diff(knots) / whole + linear) / 2)

    def _below(self, index: int, distance: float) -> int:
        """Index of the nearest point at least `distance` below one, else of the first."""
        return max(0, int(np.searchsorted(self.x, self.x[index] - distance * (1 - 1e-9), side="right")) - 1)

    def _slope(self, left: int, right: int) -> float:
        slope = float((self.s[right] - self.s[left]) / (self.x[right] - self.x[left])) if left < right else 0.0
        return slope if abs(slope) > ties.SAME else 0.0  # what is level but for rounding neither rises nor falls

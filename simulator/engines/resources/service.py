"""Attained service on a PE over the time of its load trace, and its inverse, in exact integers."""

from bisect import bisect_left, bisect_right
from math import ceil, floor

from simulator.engines import faults
from simulator.engines.costs import LAST_TICK, ServiceTable

EXACT = 2**53
"""Up to here every int is a float64, so that a full share attains exactly the ticks that pass."""


class Service:
    """What one of `m` processes attains on a PE by each tick of its trace, for a fixed `m`."""

    def __init__(self, table: ServiceTable) -> None:
        # Memory views hand out Python's own numbers without copying a long trace.
        self._knots, self._rates, self._attained = table.knots.data, table.rates.data, table.attained.data
        self._after_end = table.after_end
        self._end: int = self._knots[-1]
        self._total: int = self._attained[-1]
        self._even = self._after_end == "hold" and len(self._rates) == 1
        """One share for ever."""
        self._rate: float = self._rates[0]
        self.full = self._even and self._rate == 1.0
        """Whether a process has the PE to itself for ever."""

    def at(self, tick: int) -> int:
        """Nominal ticks attained from the trace's start to `tick`."""
        if self._even and tick < self._end:
            return min(floor(self._rate * tick), self._total)
        laps, inside = divmod(tick, self._end) if self._after_end == "cycle" else (0, tick)
        if inside >= self._end:
            return self._beyond(inside)
        piece = bisect_right(self._knots, inside) - 1
        gained = floor(self._rates[piece] * (inside - self._knots[piece]))
        return laps * self._total + min(self._attained[piece] + gained, self._attained[piece + 1])

    def when(self, attained: int) -> int | None:
        """The least tick by which `attained` (above 0) is reached; None if it never is.

        Raises
        ------
        TraceError
            If the trace ends before.
        """
        if self._even and attained <= self._total:
            return _steps(self._rate, attained, self._end)
        laps, inside = 0, attained
        if self._after_end == "cycle":
            if self._total == 0:
                return None
            laps = (attained - 1) // self._total
            inside = attained - laps * self._total
        if inside > self._total:
            return self._when_beyond(inside)
        piece = bisect_left(self._attained, inside) - 1
        return laps * self._end + self._least(piece, inside)

    def _least(self, piece: int, attained: int) -> int:
        start, longest = self._knots[piece], self._knots[piece + 1] - self._knots[piece]
        return int(start + _steps(self._rates[piece], attained - self._attained[piece], longest))

    def _beyond(self, tick: int) -> int:
        """After a trace that holds its last value, or ends."""
        if self._after_end == "error" and tick > self._end:
            raise faults.ended_trace()
        return self._total + floor(self._rates[-1] * (tick - self._end))

    def _when_beyond(self, attained: int) -> int | None:
        if self._after_end == "error":
            raise faults.ended_trace()
        if self._rates[-1] == 0:
            return None
        return self._end + _steps(self._rates[-1], attained - self._total, None)


def _steps(rate: float, missing: int, longest: int | None) -> int:
    """The least number of ticks in which `floor(rate * ticks)` reaches what is missing, at most `longest`."""
    if missing > rate * LAST_TICK:
        return LAST_TICK if longest is None else longest  # the caller refuses what lasts so long
    steps = ceil(missing / rate)
    if longest is not None:
        steps = min(longest, steps)
    while steps > 1 and floor(rate * (steps - 1)) >= missing:
        steps -= 1
    while (longest is None or steps < longest) and floor(rate * steps) < missing:
        steps += 1
    return steps

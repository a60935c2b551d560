"""The background load of a PE as its neighbours feel it: whole 1/1024ths over ticks."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from simulator.engines.costs.ticks import LAST_TICK, Ticks, rounded
from simulator.platform.nodes import PE

PARTS = 1024
"""A load of 1."""


@dataclass(frozen=True)
class Pressing:
    """A load over the ticks of its trace; after the end it cycles, or holds its last value (a trace that ends too)."""

    knots: Ticks
    """First tick of each value, each unlike the one before; (K,)."""
    values: Ticks
    """In `PARTS`; (K,)."""
    end: int
    """Of the trace."""
    cycles: bool

    def at(self, tick: int) -> int:
        """The load at a tick of the trace's time."""
        return int(self.values[self._piece(tick)])

    def _piece(self, tick: int) -> int:
        return bisect_right(self.knots, tick % self.end if self.cycles else tick) - 1

    def changes_after(self, tick: int) -> int | None:
        """The first tick after one at which it may be another; None if it stays."""
        following = self._piece(tick) + 1
        passed = tick // self.end * self.end if self.cycles else 0
        if following < self.knots.size:
            return passed + int(self.knots[following])
        return passed + self.end if self.cycles and self.knots.size > 1 else None


def pressing(pe: PE, *, tick_s: float) -> Pressing | None:
    """How the load of a PE presses, in ticks from the trace's start; None without load."""
    if pe.load is None:
        return None
    trace = pe.load.trace
    values = np.asarray(trace.values, dtype=np.float64)
    loads = np.maximum(0.0, 1 - values) * pe.cores if pe.load.rule == "given" else np.maximum(0.0, values)
    counts = np.rint(np.minimum(loads * PARTS, LAST_TICK >> 30)).astype(np.int64)
    knots = rounded(np.asarray(trace.times_s, dtype=np.float64), tick_s)
    last = np.append(knots[1:] > knots[:-1], True)  # of values at one tick the last holds
    knots, counts = knots[last], counts[last]
    new = np.append(True, counts[1:] != counts[:-1])
    end = int(rounded(np.asarray(trace.end_s), tick_s))
    return Pressing(knots[new], counts[new], max(end, 1), trace.after_end == "cycle")

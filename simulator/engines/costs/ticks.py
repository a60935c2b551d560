"""Ticks: the only unit of time in an engine, and how seconds become ticks."""

import numpy as np

from simulator.base.arrays import Floats, Ints

Ticks = Ints

TICKS_S = (1e-12, 1e-9)
"""The tick, and the coarser one that a whole set restarts with if any of its runs would pass `LAST_TICK`."""
LAST_TICK = 2**62


class TickOverflowError(Exception):
    """A run would pass the last tick; the whole set restarts with a coarser one."""


def to_ticks(seconds: Floats | float, tick_s: float) -> Ticks:
    """Seconds as ticks, rounded half to even, at least one."""
    return np.maximum(1, rounded(np.asarray(seconds, dtype=np.float64), tick_s))


def rounded(seconds: Floats, tick_s: float) -> Ticks:
    """Seconds as ticks, rounded half to even.

    Raises TickOverflowError if any is past the last tick.
    """
    if seconds.size and not np.max(seconds) <= LAST_TICK * tick_s:
        raise TickOverflowError
    return np.rint(seconds / tick_s).astype(np.int64)

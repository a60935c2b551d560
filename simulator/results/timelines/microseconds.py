"""Ticks as the microseconds of trace files: numbers that readers round, and that nest all the same."""

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]
Floats = NDArray[np.float64]

NS_PER_US = 1000.0
"""Perfetto keeps `floor(1000 * ts)` and `floor(1000 * dur)` apart, in nanoseconds."""


def moments_us(ticks: Ticks, tick_s: float) -> Floats:
    """Microseconds since the start; a later tick is never an earlier number."""
    per_us = 1e-6 / tick_s
    found = ticks / round(per_us) if per_us >= 1 else ticks * (tick_s * 1e6)
    return np.asarray(found, dtype=np.float64)


def durations_us(begin: Ticks, end: Ticks, tick_s: float, *, within: tuple[Floats, Floats] | None = None) -> Floats:
    """Microseconds from `begin` to `end`, shortened where rounding would lead past the end.

    What a reader gets by adding up is never after `moments_us(end)`: as floats, nor as Perfetto's nanoseconds, which
    are cut off on both sides. So what begins at `end` begins after what ends there.

    Parameters
    ----------
    within
        Starts and durations of slices that these lie in: as they were rounded, so that these do not stick out.
    """
    start, stop = moments_us(begin, tick_s), moments_us(end, tick_s)
    found = moments_us(end - begin, tick_s)
    last = np.trunc(stop * NS_PER_US)
    if within is not None:
        stop = np.minimum(stop, within[0] + within[1])
        last = np.minimum(last, np.trunc(within[0] * NS_PER_US) + np.trunc(within[1] * NS_PER_US))
    room = np.maximum(0.0, last - np.trunc(start * NS_PER_US))
    for _ in range(8):  # two rounded numbers and a rounded sum are off by some last places
        late = start + found > stop
        wide = np.trunc(found * NS_PER_US) > room
        shorter = np.where(late, np.minimum(stop - start, found - np.spacing(stop)), found)
        shorter = np.where(wide, np.minimum((room + 1) / NS_PER_US, np.nextafter(shorter, 0)), shorter)
        found = np.maximum(shorter, 0.0)
    return found


def just_before_us(ticks: Ticks, start: Floats, duration: Floats, tick_s: float) -> Floats:
    """Microseconds of a tick within slices, before their ends wherever these are not their starts."""
    last = np.nextafter(start + duration, -np.inf)
    return np.maximum(start, np.minimum(moments_us(ticks, tick_s), last))

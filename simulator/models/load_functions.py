"""Load functions: the least and greatest mean load seen over every window length, and the loads they predict for a run.

After Lastovetsky, Reddy and Higgins, "Building the Functional Performance Model of a Processor", section 2.2, as
EQUATIONS section 1 mends it. Loads are fixed-point integers, so an update gives the very numbers of a rebuild.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import notebook
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import TraceError
from simulator.models.load import LoadTrace

Integers = Ints
_SUM_BITS = 62
_USUAL_PEAK = 64.0
"""Loads up to here share one fixed-point step, so that histories of one machine give identical numbers."""
REGULAR = 1e-6
"""How much steps between samples may differ, relative to the step, to count as equal."""
_FIRST_ROOM = 16


@dataclass(frozen=True)
class PredictedLoads:
    """Where a run meets the load functions; all arrays have the shape of the ideal times asked about."""

    time_min_s: Floats
    time_max_s: Floats
    """Run time under the greatest load; infinity if that load never leaves anything."""
    l_min: Floats
    l_max: Floats
    """Mean load over that run, 1 where the time is infinite: the speed is `ideal speed * (1 - load)`."""


@dataclass(frozen=True)
class LoadFunctions:
    """`l_min(t)` and `l_max(t)`, linear between their points, constant before the first and after the last."""

    t_s: Floats
    """Window lengths `d, 2d, ..., w*d`."""
    l_min: Floats
    """Least mean load over any window of that length in the history."""
    l_max: Floats
    """Greatest mean load over any window of that length in the history."""

    def at(self, t_s: ArrayLike) -> tuple[Floats, Floats]:
        """Both functions at any times, in the shape of `t_s`."""
        asked = np.asarray(t_s, dtype=np.float64)
        return np.asarray(np.interp(asked, self.t_s, self.l_min)), np.asarray(np.interp(asked, self.t_s, self.l_max))

    def __repr__(self) -> str:
        return f"LoadFunctions({self.t_s.size} windows of {self.t_s[0]:.4g} to {self.t_s[-1]:.4g} s)"

    def _repr_html_(self) -> str:
        labels = ("window (s)", "mean load")
        chart = notebook.curves(self.t_s, {"greatest": self.l_max, "least": self.l_min}, labels=labels)
        return notebook.page("Load functions", chart, notebook.facts({"area between them (s)": self.area_s}))

    @property
    def area_s(self) -> float:
        """Area between the curves over `[d, w*d]`, in seconds (load times time)."""
        return float(np.trapezoid(self.l_max - self.l_min, self.t_s))

    def predict(self, ideal_s: ArrayLike) -> PredictedLoads:
        """Loads that a run taking `ideal_s` on an idle PE will meet, where `t = ideal_s / (1 - l(t))` first holds.

        Raises TraceError if an ideal time is not above zero and finite.
        """
        ideal = np.asarray(ideal_s, dtype=np.float64)
        if not (np.all(ideal > 0) and np.all(np.isfinite(ideal))):
            raise TraceError("load functions: give ideal times that are finite and above 0")
        least, greatest = (_first_finish(self.t_s, loads, ideal) for loads in (self.l_min, self.l_max))
        return PredictedLoads(least, greatest, 1.0 - ideal / least, 1.0 - ideal / greatest)


def build_load_functions(trace: LoadTrace, *, window: int, history: int | None = None) -> LoadFunctions:
    """Build the load functions of a trace's latest observations in O(h w).

    Raises TraceError if the steps differ or window or history are not at least 1.

    `trace`: samples at equal steps `d`.
    `window`: longest window `w` in samples; shortened to the history where that is shorter.
    `history`: how many of the latest samples `h` count; all by default.
    """
    step_s = regular_step(trace)
    check_lengths(window, trace.values.size if history is None else history)
    loads = trace.values[-(history or 0) :]
    width = min(window, loads.size)
    shift = fixed_point(window, float(np.max(loads)))
    prefix = np.concatenate(([0], np.cumsum(to_fixed(loads, shift))))
    least, greatest = np.empty(width, np.int64), np.empty(width, np.int64)
    for length in range(1, width + 1):
        sums = prefix[length:] - prefix[:-length]
        least[length - 1], greatest[length - 1] = sums.min(), sums.max()
    return from_sums(least, greatest, shift, step_s)


def regular_step(trace: LoadTrace) -> float:
    """The one step between a trace's samples, in seconds.

    Raises TraceError if the steps differ; `LoadTrace.resampled` makes them equal.
    """
    steps = trace.durations_s
    least, greatest = float(np.min(steps)), float(np.max(steps))
    if greatest - least > REGULAR * least:
        raise TraceError(f"trace: steps between samples are {least:g} s to {greatest:g} s; resample the trace")
    return trace.end_s / trace.values.size


def check_lengths(window: int, history: int) -> None:
    """Refuse windows and histories of less than one sample."""
    for name, value in (("window", window), ("history", history)):
        if value < 1:
            raise TraceError(f"load functions: {name} is {value} samples; give at least 1")


def fixed_point(window: int, peak: float) -> int:
    """How many binary places loads keep so that no sum over a window overflows."""
    return _SUM_BITS - math.ceil(math.log2(max(window, 2))) - math.ceil(math.log2(max(peak, _USUAL_PEAK)))


def to_fixed(loads: Floats, shift: int) -> Integers:
    """Loads as integers in steps of `2**-shift`."""
    return np.rint(np.ldexp(loads, shift)).astype(np.int64)


def from_sums(least: Integers, greatest: Integers, shift: int, step_s: float) -> LoadFunctions:
    """Load functions from the least and greatest sum over 1, 2, ... observations in fixed point."""
    lengths = np.arange(1, least.size + 1)
    l_min, l_max = (np.asarray(np.ldexp(sums / lengths, -shift), np.float64) for sums in (least, greatest))
    return LoadFunctions(np.asarray(lengths * step_s, np.float64), l_min, l_max)


def _first_finish(t_s: Floats, loads: Floats, ideal_s: Floats) -> Floats:
    """The least t with `t * (1 - l(t)) = ideal_s`, infinity if there is none; quadratic between points."""
    knots, values = np.concatenate(([0.0], t_s)), np.concatenate((loads[:1], loads))
    slope = np.diff(values) / np.diff(knots)
    lead = 1.0 - values[:-1] + slope * knots[:-1]  # g = lead * t - slope * t**2 on a segment
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        top = np.clip(np.where(slope > 0, lead / (2 * slope), knots[1:]), knots[:-1], knots[1:])
    peaks = np.maximum(lead * top - slope * top**2, knots[1:] * (1.0 - values[1:]))
    segment = np.searchsorted(np.maximum.accumulate(peaks), ideal_s, side="left")
    inside = np.minimum(segment, slope.size - 1)
    b, c = slope[inside], lead[inside]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(0.0, c * c - 4 * b * ideal_s))
        found = np.where(c > 0, 2 * ideal_s / (c + root), (c - root) / (2 * b))
        after = ideal_s / max(0.0, 1.0 - values[-1]) if values[-1] < 1 else np.full(ideal_s.shape, np.inf)
    found = np.clip(found, knots[inside], knots[inside + 1])
    return np.asarray(np.where(segment < slope.size, found, after))


class LoadWindow:
    """The latest `history` observations of a load and the load functions over windows of up to `window` of them.

    Its queues take `8 w` bytes times their greatest length, at most `8 w h` bytes (a load that only rises or falls).
    """

    def __init__(self, step_s: float, *, window: int, history: int) -> None:
        check_lengths(window, history)
        self._step_s, self._window, self._history = step_s, min(window, history), history
        self._shift = fixed_point(window, 0.0)
        self._peak = 2.0 ** (62 - self._shift) / 2 ** np.ceil(np.log2(max(window, 2)))
        self._seen = 0
        self._loads = np.zeros(history)
        self._clear()

    def __len__(self) -> int:
        return min(self._seen, self._history)

    @property
    def observations(self) -> Floats:
        """The observations in the history, oldest first."""
        return np.roll(self._loads, -(self._seen % self._history))[self._history - len(self) :]

    def update(self, load: float) -> None:
        """Take in one observation; the oldest leaves when the history is full.

        Raises TraceError if it is negative or no finite number.
        """
        self.extend(np.array([load], dtype=np.float64))

    def extend(self, loads: Floats) -> None:
        """Take in observations one after the other, oldest first; see `update`."""
        if not (np.all(loads >= 0) and np.all(np.isfinite(loads))):
            raise TraceError("load functions: give loads that are finite and at least 0")
        if loads.size and float(np.max(loads)) > self._peak:
            self._rescale(float(np.max(loads)))
        done = 0
        while done < loads.size:
            done += self._push(loads[done:])

    def functions(self) -> LoadFunctions:
        """The load functions of the history as it is now."""
        if not len(self):
            raise TraceError("load functions: there is no observation yet; take in at least one")
        lengths = np.arange(1, min(self._window, len(self)) + 1)
        heads = self._heads[:, : lengths.size, None]
        ends = np.take_along_axis(self._queues[:, : lengths.size], heads, axis=2)[..., 0]
        least, greatest = self._prefix[ends] - self._prefix[(ends - lengths) % self._prefix.size]
        return from_sums(least, greatest, self._shift, self._step_s)

    def _clear(self) -> None:
        room = min(_FIRST_ROOM, self._history)
        self._queues = np.zeros((2, self._window, room), np.int32)
        self._heads = np.zeros((2, self._window), np.int32)
        self._sizes = np.zeros((2, self._window), np.int32)
        self._fronts = np.zeros((2, self._window), np.int32)
        self._backs = np.zeros((2, self._window), np.int64)
        self._prefix = np.zeros(self._history + 1, np.int64)
        self._seen = 0

    def _push(self, loads: Floats) -> int:
        """Take in loads until a queue is full; how many."""
        fixed = to_fixed(loads, self._shift)
        arrays = self._prefix, self._queues, self._heads, self._sizes, self._fronts, self._backs
        done, full = _kernel()(fixed, self._seen, *arrays)
        self._loads[(self._seen + np.arange(done)) % self._history] = loads[:done]
        self._seen += done
        if full:
            self._widen()
        return int(done)

    def _widen(self) -> None:
        """Double the queues' room, oldest entry first."""
        room = self._queues.shape[2]
        order = (self._heads[..., None] + np.arange(room)) % room
        wider = np.zeros((2, self._window, min(2 * room, self._history)), np.int32)
        wider[..., :room] = np.take_along_axis(self._queues, order, axis=2)
        self._queues, self._heads = wider, np.zeros_like(self._heads)

    def _rescale(self, peak: float) -> None:
        """Begin again with a coarser step for loads beyond what the present one holds."""
        kept = self.observations
        self._shift = fixed_point(self._window, peak)
        self._peak = 2.0 ** np.ceil(np.log2(peak))
        self._clear()
        self.extend(kept)


@cache
def _kernel() -> Callable[..., Any]:
    """Compile the update when it is first needed."""
    from numba import njit

    return njit(nogil=True)(_push_all)


def _push_all(
    fixed: Any, seen: int, prefix: Any, queues: Any, heads: Any, sizes: Any, fronts: Any, backs: Any
) -> tuple[int, bool]:
    """Push observations until a queue is full: ends with ascending sums, and with descending ones."""
    span, room = prefix.size, queues.shape[2]
    for i in range(fixed.size):
        slot = (seen + i) % span
        newest = slot + 1 if slot + 1 < span else 0
        prefix[newest] = prefix[slot] + fixed[i]
        full = False
        start = newest
        for j in range(min(queues.shape[1], seen + i + 1)):
            start = start - 1 if start > 0 else span - 1
            leaving = newest + 1 + j if newest + 1 + j < span else newest + 1 + j - span
            total = prefix[newest] - prefix[start]
            for side in range(2):
                head, size, back = heads[side, j], sizes[side, j], backs[side, j]
                if size > 0 and seen + i >= span - 1 and fronts[side, j] == leaving:
                    head = head + 1 if head + 1 < room else 0
                    size -= 1
                    fronts[side, j] = queues[side, j, head]
                while size > 0 and ((back >= total) if side == 0 else (back <= total)):
                    size -= 1
                    last = head + size - 1 if head + size - 1 < room else head + size - 1 - room
                    end = queues[side, j, last]
                    begin = end - j - 1 if end - j - 1 >= 0 else end - j - 1 + span
                    back = prefix[end] - prefix[begin]
                queues[side, j, head + size if head + size < room else head + size - room] = newest
                if size == 0:
                    fronts[side, j] = newest
                heads[side, j], sizes[side, j], backs[side, j] = head, size + 1, total
                full = full or size + 1 == room
        if full and room < span - 1:
            return i + 1, True
    return fixed.size, False

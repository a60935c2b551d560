"""Background load: what a trace says between its samples, and how much of a PE it leaves to us."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import notebook
from simulator.base.arrays import Flags, Floats
from simulator.base.errors import TraceError

AvailabilityRule = Literal["idle", "fair", "given", "turns"]
"""How a PE is shared: we take idle cycles only; all take equal shares; the trace states our share; all take turns by
time slices, and so equal shares in the mean."""
AfterEnd = Literal["hold", "cycle", "error"]
"""What holds after the last sample: its value for ever; the trace again from its start; a refusal."""

DAY_S = 86_400.0
HARDLY = 0.05
"""A load up to which it is not there."""


@dataclass(frozen=True)
class LoadTrace:
    """A piecewise constant load: `values[k]` holds from `times_s[k]` up to the next sample."""

    times_s: Floats
    """Ascending sample times, the first one 0."""
    values: Floats
    """Mean runnable competitors over each stay, or under the rule `given` the share left to us."""
    end_s: float
    """Where the last sample's stay ends; the period of a trace that cycles."""
    after_end: AfterEnd = "cycle"
    start_instant: datetime.datetime | None = field(default=None, compare=False)
    """The instant of its time 0 with its zone, where that is known."""
    end_assumed: bool = field(default=False, compare=False)
    """Whether nothing says where it ends and its steps are too unequal to show it."""

    def __post_init__(self) -> None:
        for name in ("times_s", "values"):  # a column of a table is strided; engines read traces where they lie
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        if self.times_s.ndim != 1 or self.times_s.shape != self.values.shape or not self.times_s.size:
            raise TraceError("trace: give as many values as times, at least one of each")
        if self.times_s[0] != 0 or not np.all(self.times_s[1:] > self.times_s[:-1]) or self.end_s <= self.times_s[-1]:
            raise TraceError("trace: times have to ascend from 0, and the trace to end after the last of them")
        if not (self.values.min() >= 0 and self.values.max() < np.inf):  # of traces of 10^5 samples; NaN fails both
            raise TraceError("trace: values have to be finite and at least 0")
        if self.after_end not in get_args(AfterEnd):
            raise TraceError(f"trace: after_end is {self.after_end!r}; write one of {', '.join(get_args(AfterEnd))}")

    @property
    def durations_s(self) -> Floats:
        """How long each value holds, up to `end_s`."""
        return np.diff(self.times_s, append=self.end_s)

    @cached_property
    def content(self) -> bytes:
        """A hash of times, values and end: equal for the same recording read twice."""
        return blake2b(self.times_s.tobytes() + self.values.tobytes() + np.float64(self.end_s).tobytes()).digest()

    def mean(self) -> float:
        """Mean of the values over the trace's time."""
        return float(np.average(self.values, weights=self.durations_s))

    def __repr__(self) -> str:
        steps = f"{self.values.size} values over {self.end_s:.4g} s"
        return f"LoadTrace({steps}, mean {self.mean():.4g}, then {self.after_end})"

    def _repr_html_(self) -> str:
        chart = notebook.curves(self.times_s, {"load": self.values}, labels=("time (s)", "load"), steps=True)
        facts: dict[str, object] = {"values": self.values.size, "length (s)": self.end_s, "mean": self.mean()}
        facts |= {
            "least": float(self.values.min()),
            "greatest": float(self.values.max()),
            "after its end": self.after_end,
        }
        return notebook.page("Load trace", chart, notebook.facts(facts))

    def starting_at(self, start_s: float) -> "LoadTrace":
        """The same trace seen from `start_s` on (modulo its length if it cycles): how a replication starts its load.

        Raises TraceError if a trace that does not cycle is over by then.
        """
        if self.after_end == "cycle":
            start_s = float(start_s % self.end_s)
        elif not 0 <= start_s < self.end_s:
            raise TraceError(f"trace: start: {start_s:g} s does not lie in the trace, which lasts {self.end_s:g} s")
        first = int(np.searchsorted(self.times_s, start_s, side="right")) - 1
        if self.after_end != "cycle":
            times = np.concatenate(([start_s], self.times_s[first + 1 :])) - start_s
            return LoadTrace(times, self.values[first:], self.end_s - start_s, self.after_end)
        times = np.concatenate(([start_s], self.times_s[first + 1 :], self.times_s[: first + 1] + self.end_s)) - start_s
        values = np.concatenate((self.values[first:], self.values[: first + 1]))
        keep = times < self.end_s  # a start on a sample leaves an empty last piece
        return LoadTrace(times[keep], values[keep], self.end_s, self.after_end)

    def offset_s(self, at: float | datetime.time | datetime.datetime) -> float:
        """Seconds into the trace of an offset, of a time of day (the first one in it), or of a date and time.

        Times without a zone are in the trace's own.

        Raises TraceError if it does not lie in the trace, or the trace does not say when it began.
        """
        if isinstance(at, float):
            found_s, shown = at, f"{at:g} s"
        elif self.start_instant is None:
            raise TraceError(
                f"{at.isoformat()} needs a trace that says when it began: write '# start: 2026-11-21T08:00+01:00' into"
                " its file (start: into a trace written out), or start at an offset such as 6h"
            )
        else:
            zone, shown = at.tzinfo or self.start_instant.tzinfo, at.isoformat()
            if isinstance(at, datetime.time):
                day = datetime.datetime.combine(self.start_instant.astimezone(zone).date(), at, zone)
                found_s = (day - self.start_instant).total_seconds()
                found_s += DAY_S if found_s < 0 else 0.0
            else:
                found_s = (at.replace(tzinfo=zone) - self.start_instant).total_seconds()
        if not 0 <= found_s < self.end_s:
            since = "" if self.start_instant is None else f", from {self.start_instant.isoformat()} on"
            raise TraceError(f"{shown} does not lie in the trace, which lasts {self.end_s:g} s{since}: start within it")
        return found_s

    def resampled(self, step_s: float) -> "LoadTrace":
        """The same load in equal steps, each the exact mean over its time; a shorter last piece is left out.

        Raises TraceError if the trace is shorter than two steps.
        """
        count = int(np.floor(self.end_s / step_s * (1 + 1e-12))) if step_s > 0 else 0
        if count < 2:
            raise TraceError(
                f"trace: a step of {step_s:g} s does not fit twice into the {self.end_s:g} s; give a shorter one"
            )
        knots = np.append(self.times_s, self.end_s)
        totals = np.concatenate(([0.0], np.cumsum(self.values * self.durations_s, dtype=np.longdouble)))
        edges = np.minimum(np.arange(count + 1) * step_s, self.end_s)
        piece = np.clip(np.searchsorted(knots, edges, side="right") - 1, 0, self.values.size - 1)
        at_edges = totals[piece] + self.values[piece] * (edges - knots[piece])
        values = np.maximum(0.0, (np.diff(at_edges) / np.diff(edges)).astype(np.float64))
        return LoadTrace(edges[:-1], values, float(edges[-1]), self.after_end, self.start_instant)


def availability(values: Floats, rule: AvailabilityRule, *, processes: int = 1, cores: int = 1) -> Floats:
    """Share of one core that each of our runnable processes gets (DESIGN, CPU semantics).

    It is `min(1, c/(l+m))` under `fair`, on straight lines between whole loads; `min(1, max(0, c-l)/m)` under `idle`;
    `a*min(1, c/m)` under `given`.

    A load that is no whole number is the mean of whole numbers of competitors, which come and go: 2.25 stands for two
    of them three quarters of the time and three of them the rest, and the share is the mean of the shares next to
    two and next to three; under `turns` it is the mean share over whole rounds. The other rules are straight between
    whole loads.

    `values`: load (mean runnable competitors), any shape; under `given` the share left to us.
    """
    if rule in ("fair", "turns"):
        whole: Floats = np.floor(values)
        share: Floats = np.minimum(1.0, cores / (whole + processes))
        part = values - whole
        if not np.any(part):
            return share
        return share + part * (np.minimum(1.0, cores / (whole + (processes + 1.0))) - share)
    if rule == "idle":
        return np.minimum(1.0, np.maximum(0.0, cores - values) / processes)
    if rule == "given":
        return values * min(1.0, cores / processes)
    raise TraceError(f"availability {rule!r} is no rule; write one of {', '.join(get_args(AvailabilityRule))}")


def taken(values: Floats) -> Floats:
    """Share of a core that others take from one process of ours under `fair`: `l / (l + 1)` between whole loads."""
    whole: Floats = np.floor(values)
    share: Floats = whole / (whole + 1)
    part = values - whole
    return share + part * ((whole + 1) / (whole + 2) - share)


_Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Capacity:
    """Seconds of an idle PE that availability leaves to us, `C(t) = integral of a from 0 to t`, for one or several PEs.

    The knots of all traces lie end to end in one array. Queries about several traces have the trace as their last axis.
    """

    first: _Ints
    """Where each trace's knots begin; one entry more than there are traces."""
    knots_s: Floats
    """Knots of each trace: its sample times and its end."""
    totals_s: Floats
    """C at each knot."""
    rates: Floats
    """Availability from each knot on; at an end that of the last sample, which `hold` continues."""
    cycles: Flags
    """Per trace: whether it begins again at its end."""
    ends: Flags
    """Per trace: whether nothing is known after its end."""

    @classmethod
    def of(
        cls,
        traces: LoadTrace | Sequence[LoadTrace],
        rule: AvailabilityRule,
        *,
        processes: int | Sequence[int] = 1,
        cores: int | Sequence[int] = 1,
    ) -> Self:
        """Integrate the availability that traces leave to each of our processes.

        `traces`: one trace, or one per PE.
        `processes`, `cores`: our processes `m` and the cores `c` of every PE, or one number per PE.
        """
        traces = [traces] if isinstance(traces, LoadTrace) else list(traces)
        counts = np.broadcast_to(np.asarray(processes), len(traces)), np.broadcast_to(np.asarray(cores), len(traces))
        knots, totals, rates = [], [], []
        for trace, m, c in zip(traces, *counts, strict=True):
            share = availability(trace.values, rule, processes=int(m), cores=int(c))
            knots.append(np.append(trace.times_s, trace.end_s))
            # Summed in extended precision: a million terms keep a relative error of one rounding.
            summed = np.cumsum(share * trace.durations_s, dtype=np.longdouble).astype(np.float64)
            totals.append(np.concatenate(([0.0], summed)))
            rates.append(np.append(share, share[-1]))
        return cls(
            first=np.cumsum([0, *(part.size for part in knots)], dtype=np.intp),
            knots_s=np.concatenate(knots),
            totals_s=np.concatenate(totals),
            rates=np.concatenate(rates),
            cycles=np.array([trace.after_end == "cycle" for trace in traces]),
            ends=np.array([trace.after_end == "error" for trace in traces]),
        )

    def integral(self, times_s: ArrayLike) -> Floats:
        """Capacity up to each time, in seconds of an idle PE.

        Raises TraceError if a time is negative or no number, or past the end of a trace that ends.

        `times_s`: times of at least 0, any shape; with several traces the last axis runs over them or has length 1.
        """
        which, times = self._queries(times_s, "time_s")
        periods, rest = self._fold(which, times, self._last(self.knots_s), "time_s")
        knot = np.clip(self._count(which, rest, self.knots_s, "right") - 1, *self._range(which))
        found = self.totals_s[knot] + self.rates[knot] * (rest - self.knots_s[knot])
        inside = np.minimum(found, self._next(which, knot, self.totals_s))
        return np.asarray(inside if periods is None else periods * self._last(self.totals_s)[which] + inside)

    def inverse(self, capacity_s: ArrayLike) -> Floats:
        """Earliest time at which each capacity has been reached; infinity where it never is.

        Raises TraceError if a capacity is negative or no number, or more than a trace that ends holds.

        `capacity_s`: seconds of an idle PE, at least 0; shapes as in `integral`.
        """
        which, asked = self._queries(capacity_s, "capacity_s")
        periods, rest = self._fold(which, asked, self._last(self.totals_s), "capacity_s", from_above=True)
        # What is left of whole periods is known up to rounding: it may be just what a knot has.
        sought = rest if periods is None else np.where(periods > 0, rest - 4 * np.spacing(asked), rest)
        knot = np.clip(self._count(which, sought, self.totals_s, "left") - 1, *self._range(which))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.knots_s[knot] + (rest - self.totals_s[knot]) / self.rates[knot]
        times = np.minimum(found, self._next(which, knot, self.knots_s))
        if periods is not None:
            with np.errstate(invalid="ignore"):
                later = periods * self._last(self.knots_s)[which] + times
            times = np.where(np.isinf(periods), np.inf, later)
        return np.where(asked == 0, 0.0, times)

    def finish(self, start_s: ArrayLike, work_s: ArrayLike) -> Floats:
        """When work of `work_s` seconds on an idle PE ends that starts at `start_s`; shapes as in `integral`."""
        return self.inverse(self.integral(start_s) + np.asarray(work_s, dtype=np.float64))

    def _queries(self, asked: ArrayLike, name: str) -> tuple[_Ints | int, Floats]:
        """The trace that each query is about, and the queries as an array that is as wide as there are traces."""
        queries = np.asarray(asked, dtype=np.float64)
        if not (np.all(queries >= 0) and np.all(np.isfinite(queries))):
            raise TraceError(f"trace: {name} has to be finite and at least 0")
        count = self.first.size - 1
        if count == 1:
            return 0, queries
        if queries.ndim and queries.shape[-1] not in (1, count):
            raise TraceError(
                f"trace: {name} has a last axis of {queries.shape[-1]} for {count} traces; give one entry for each"
            )
        shape = np.broadcast_shapes(queries.shape, (count,))
        return np.broadcast_to(np.arange(count), shape), np.broadcast_to(queries, shape)

    def _fold(
        self, which: _Ints | int, queries: Floats, span: Floats, name: str, *, from_above: bool = False
    ) -> tuple[Floats | None, Floats]:
        """Split queries about cyclic traces into whole periods and a rest within one; None if none is past its end."""
        past = queries > span[which]
        if not np.any(past):
            return None, queries
        if np.any(past & self.ends[which]):
            worst = float(np.max(queries[past & self.ends[which]]))
            raise TraceError(f"trace: {name} is {worst:g}, and the trace ends at {float(np.min(span[self.ends])):g}")
        turns = past & self.cycles[which]
        length = np.broadcast_to(span[which], queries.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = np.where(turns, np.fmod(queries, length), queries)
            whole = np.where(turns, np.rint((queries - rest) / length), 0.0)
        if from_above:
            exact = turns & (rest <= 4 * np.spacing(queries))  # a whole number up to rounding
            rest, whole = np.where(exact, length, rest), whole - exact
            never = turns & (length == 0)
            rest, whole = np.where(never, 0.0, rest), np.where(never, np.inf, whole)
        return whole, rest

    def _count(self, which: _Ints | int, queries: Floats, keys: Floats, side: str) -> _Ints:
        """How many entries of the flat `keys` lie before each query: one search over (trace, key)."""
        if isinstance(which, int):
            return np.asarray(np.searchsorted(keys, queries, side=side))  # type: ignore[call-overload]
        of_knot = np.repeat(np.arange(self.first.size - 1), np.diff(self.first))
        ordered, asked = np.empty(keys.shape, complex), np.empty(queries.shape, complex)
        ordered.real, ordered.imag, asked.real, asked.imag = of_knot, keys, which, queries
        return np.asarray(np.searchsorted(ordered, asked, side=side))  # type: ignore[call-overload]  # numpy orders lexically

    def _range(self, which: _Ints | int) -> tuple[_Ints, _Ints]:
        """First and last knot of each query's trace."""
        return self.first[:-1][which], self.first[1:][which] - 1

    def _last(self, values: Floats) -> Floats:
        """Each trace's last entry."""
        return values[self.first[1:] - 1]

    def _next(self, which: _Ints | int, knot: _Ints, values: Floats) -> Floats:
        """The value at the next knot, infinity after the last one."""
        last = self.first[1:][which] - 1
        return np.where(knot < last, values[np.minimum(knot + 1, last)], np.inf)

"""Background load: what a trace says between its samples, and how much of a PE it leaves to us."""

import datetime
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simulator.base import notebook
from simulator.base.errors import TraceError

Floats = NDArray[np.float64]
AvailabilityRule = Literal["idle", "fair", "given"]
"""How a PE is shared: we take idle cycles only; all take equal shares; the trace states our share."""
AfterEnd = Literal["hold", "cycle", "error"]
"""What holds after the last sample: its value for ever; the trace again from its start; a refusal."""

DAY_S = 86_400.0


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
    """Whether nothing says where it ends and its steps are too unequal to tell."""

    def __post_init__(self) -> None:
        for name in ("times_s", "values"):  # a column of a table is strided; engines read traces where they lie
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        if self.times_s.ndim != 1 or self.times_s.shape != self.values.shape or not self.times_s.size:
            raise TraceError("trace: times and values of equal length, at least one of each, allowed")
        if self.times_s[0] != 0 or not np.all(self.times_s[1:] > self.times_s[:-1]) or self.end_s <= self.times_s[-1]:
            raise TraceError("trace: time_s: ascending times from 0, and an end after the last of them, allowed")
        if not (self.values.min() >= 0 and self.values.max() < np.inf):  # of traces of 10^5 samples; NaN fails both
            raise TraceError("trace: values: finite numbers of at least 0 allowed")
        if self.after_end not in get_args(AfterEnd):
            raise TraceError(
                f"trace: after_end: {self.after_end!r} found, one of {', '.join(get_args(AfterEnd))} allowed"
            )

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
        told: dict[str, object] = {"values": self.values.size, "length (s)": self.end_s, "mean": self.mean()}
        told |= {
            "least": float(self.values.min()),
            "greatest": float(self.values.max()),
            "after its end": self.after_end,
        }
        return notebook.page("Load trace", chart, notebook.facts(told))

    def starting_at(self, start_s: float) -> "LoadTrace":
        """The same trace seen from `start_s` on (modulo its length if it cycles): how a replication starts its load.

        Raises
        ------
        TraceError
            If a trace that does not cycle is over by then.
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

        Raises
        ------
        TraceError
            If it does not lie in the trace, or the trace does not say when it began.
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

        Raises
        ------
        TraceError
            If the trace is shorter than two steps.
        """
        count = int(np.floor(self.end_s / step_s * (1 + 1e-12))) if step_s > 0 else 0
        if count < 2:
            raise TraceError(f"trace: step {step_s:g} s found, a step of at most half of {self.end_s:g} s allowed")
        knots = np.append(self.times_s, self.end_s)
        totals = np.concatenate(([0.0], np.cumsum(self.values * self.durations_s, dtype=np.longdouble)))
        edges = np.minimum(np.arange(count + 1) * step_s, self.end_s)
        piece = np.clip(np.searchsorted(knots, edges, side="right") - 1, 0, self.values.size - 1)
        at_edges = totals[piece] + self.values[piece] * (edges - knots[piece])
        values = np.maximum(0.0, (np.diff(at_edges) / np.diff(edges)).astype(np.float64))
        return LoadTrace(edges[:-1], values, float(edges[-1]), self.after_end, self.start_instant)


def availability(values: Floats, rule: AvailabilityRule, *, processes: int = 1, cores: int = 1) -> Floats:
    """Share of one core that each of our runnable processes gets (DESIGN, CPU semantics).

    A load that is no whole number is the mean of whole numbers of competitors, which come and go: 2.25 stands for two
    of them three quarters of the time and three of them the rest, and the share is the mean of the shares beside two
    and beside three. Only `fair` tells the difference: the other rules are straight between whole loads.

    Parameters
    ----------
    values
        Load (mean runnable competitors), any shape; under `given` the share left to us.
    processes
        Our own runnable processes `m` on the PE.
    cores
        Cores `c` of the PE.

    Returns
    -------
    Floats
        `min(1, c/(l+m))` under `fair`, on straight lines between whole loads; `min(1, max(0, c-l)/m)` under `idle`;
        `a*min(1, c/m)` under `given`.
    """
    if rule == "fair":
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
    raise TraceError(f"availability: {rule!r} found, one of {', '.join(get_args(AvailabilityRule))} allowed")


def taken(values: Floats) -> Floats:
    """Share of a core that others take from one process of ours under `fair`: `l / (l + 1)` between whole loads."""
    whole: Floats = np.floor(values)
    share: Floats = whole / (whole + 1)
    part = values - whole
    return share + part * ((whole + 1) / (whole + 2) - share)

"""Background load: what a trace says between its samples, and how much of a PE it leaves to us."""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class LoadTrace:
    """A piecewise constant load: `values[k]` holds from `times_s[k]` up to the next sample."""

    times_s: Floats
    """Ascending sample times, the first one 0."""
    values: Floats
    """Mean runnable competitors, or under the rule `given` the share left to us."""
    end_s: float
    """Where the last sample's stay ends; the period of a trace that cycles."""
    after_end: AfterEnd = "cycle"

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
        """The same cyclic trace seen from `start_s` on (modulo its length): how a replication draws its load."""
        if self.after_end != "cycle":
            raise TraceError(f"trace: after_end: {self.after_end!r} found, 'cycle' needed to start in the middle")
        start_s = float(start_s % self.end_s)
        first = int(np.searchsorted(self.times_s, start_s, side="right")) - 1
        times = np.concatenate(([start_s], self.times_s[first + 1 :], self.times_s[: first + 1] + self.end_s)) - start_s
        values = np.concatenate((self.values[first:], self.values[: first + 1]))
        keep = times < self.end_s  # a start on a sample leaves an empty last piece
        return LoadTrace(times[keep], values[keep], self.end_s, self.after_end)

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
        return LoadTrace(edges[:-1], values, float(edges[-1]), self.after_end)


def availability(values: Floats, rule: AvailabilityRule, *, processes: int = 1, cores: int = 1) -> Floats:
    """Share of one core that each of our runnable processes gets (DESIGN, CPU semantics).

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
        `min(1, c/(l+m))` under `fair`, `min(1, max(0, c-l)/m)` under `idle`, `a*min(1, c/m)` under `given`.
    """
    if rule == "fair":
        return np.minimum(1.0, cores / (values + processes))
    if rule == "idle":
        return np.minimum(1.0, np.maximum(0.0, cores - values) / processes)
    if rule == "given":
        return values * min(1.0, cores / processes)
    raise TraceError(f"availability: {rule!r} found, one of {', '.join(get_args(AvailabilityRule))} allowed")

"""The capacity integral of piecewise constant availability and its inverse: how much a PE can do by when, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import TraceError
from simulator.models.load import AvailabilityRule, Floats, LoadTrace, availability

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
    cycles: NDArray[np.bool_]
    """Per trace: whether it begins again at its end."""
    ends: NDArray[np.bool_]
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

        Parameters
        ----------
        traces
            One trace, or one per PE.
        rule
            How load becomes availability.
        processes, cores
            Our processes `m` and the cores `c` of every PE, or one number per PE.
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

        Parameters
        ----------
        times_s
            Times of at least 0, any shape; with several traces the last axis runs over them or has length 1.

        Raises
        ------
        TraceError
            If a time is negative or no number, or past the end of a trace that ends.
        """
        which, times = self._queries(times_s, "time_s")
        periods, rest = self._fold(which, times, self._last(self.knots_s), "time_s")
        knot = np.clip(self._count(which, rest, self.knots_s, "right") - 1, *self._range(which))
        found = self.totals_s[knot] + self.rates[knot] * (rest - self.knots_s[knot])
        inside = np.minimum(found, self._next(which, knot, self.totals_s))
        return np.asarray(inside if periods is None else periods * self._last(self.totals_s)[which] + inside)

    def inverse(self, capacity_s: ArrayLike) -> Floats:
        """Earliest time at which each capacity has been reached; infinity where it never is.

        Parameters
        ----------
        capacity_s
            Seconds of an idle PE, at least 0; shapes as in `integral`.

        Raises
        ------
        TraceError
            If a capacity is negative or no number, or more than a trace that ends can tell.
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
            raise TraceError(f"trace: {name}: finite numbers of at least 0 allowed")
        count = self.first.size - 1
        if count == 1:
            return 0, queries
        if queries.ndim and queries.shape[-1] not in (1, count):
            raise TraceError(f"trace: {name}: a last axis of {queries.shape[-1]} found, {count} traces allowed")
        shape = np.broadcast_shapes(queries.shape, (count,))
        return np.broadcast_to(np.arange(count), shape), np.broadcast_to(queries, shape)

    def _fold(
        self, which: _Ints | int, queries: Floats, span: Floats, name: str, *, from_above: bool = False
    ) -> tuple[Floats | None, Floats]:
        """Split queries about cyclic traces into whole periods and a rest within one; None if none is past its end.

        The rest of a whole number of periods is 0, or with `from_above` a full span: the earliest time is asked.
        """
        past = queries > span[which]
        if not np.any(past):
            return None, queries
        if np.any(past & self.ends[which]):
            worst = float(np.max(queries[past & self.ends[which]]))
            raise TraceError(
                f"trace: {name}: {worst:g} found, at most {float(np.min(span[self.ends])):g} allowed: it ends"
            )
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

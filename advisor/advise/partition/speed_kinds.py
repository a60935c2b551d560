"""PEs as partitioners see them: kinds of identical PEs, each with speed function, set-up cost and memory limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, repeat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator import ScenarioError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_UNITS = 10**12
"""Sums over all PEs then fit 64 bits, and neighbouring times differ in float64."""
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SpeedKinds:
    """Speed functions of all kinds, end to end: straight lines between knots, constant beyond the outer ones.

    The time of a PE is `setup + units / speed(units)`, 0 without units. Every method means this very float64
    expression: `speed = base + slope * (units - knot)` with the knot at or below the units, as `numpy.interp` has it.
    """

    names: tuple[str, ...]
    counts: Ints
    """Identical PEs of each kind, (K,)."""
    limits: Ints
    """Most units that one PE of the kind can hold, (K,)."""
    setups: Floats
    """Seconds that a PE takes before its first unit, (K,)."""
    starts: Ints
    """Knots of kind i are those from `starts[i]` to `starts[i + 1]`, (K + 1,)."""
    sizes: Floats
    """Units at the knots, ascending within a kind."""
    speeds: Floats
    """Units per second at the knots, above zero."""

    @classmethod
    def of(
        cls,
        sizes: Sequence[ArrayLike],
        speeds: Sequence[ArrayLike],
        *,
        names: Sequence[str] | None = None,
        counts: ArrayLike | None = None,
        limits: ArrayLike | None = None,
        setups: ArrayLike | None = None,
    ) -> "SpeedKinds":
        """Join one array of sizes and one of speeds per kind; by default one PE of each, without limit and set-up cost.

        Raises ScenarioError if sizes do not ascend, lengths differ, or a number is outside what is allowed.
        """
        kinds = len(sizes)
        parts = [np.atleast_1d(np.asarray(part, np.float64)) for part in sizes]
        made = cls(
            tuple(f"pe{kind}" for kind in range(kinds)) if names is None else tuple(names),
            np.ones(kinds, np.int64) if counts is None else np.asarray(counts, np.int64),
            np.full(kinds, MOST_UNITS) if limits is None else np.minimum(np.asarray(limits, np.int64), MOST_UNITS),
            np.zeros(kinds) if setups is None else np.asarray(setups, np.float64),
            np.concatenate(([0], np.cumsum([part.size for part in parts]))).astype(np.int64),
            np.concatenate(parts),
            np.concatenate([np.atleast_1d(np.asarray(part, np.float64)) for part in speeds]),
        )
        made.check()
        return made

    @classmethod
    def constant(cls, speeds: ArrayLike) -> "SpeedKinds":
        """One PE per speed, the same whatever it is given."""
        rates = np.atleast_1d(np.asarray(speeds, np.float64))
        return cls.of(np.ones((rates.size, 1)), rates[:, None])  # type: ignore[arg-type]

    def check(self) -> None:
        """Refuse what no partitioner could use, by the name of the first kind at fault.

        Raises
        ------
        ScenarioError
            See `of`.
        """
        if not self.names or self.sizes.shape != self.speeds.shape or np.any(np.diff(self.starts) < 1):
            raise ScenarioError("pes: give at least one kind, each with at least one size and one speed per size")
        kind_of = np.repeat(np.arange(len(self.names)), np.diff(self.starts))
        steps = np.diff(self.sizes, prepend=-np.inf)
        steps[self.starts[:-1]] = np.inf
        for bad, what in (
            (~(np.isfinite(self.sizes) & (self.sizes >= 0) & (steps > 0)), "sizes: give ascending numbers from 0"),
            (~(np.isfinite(self.speeds) & (self.speeds > 0)), "speeds: give numbers above 0"),
        ):
            if np.any(bad):
                raise ScenarioError(f"{self.names[kind_of[np.argmax(bad)]]}: {what}")
        for wrong, what in (
            (self.counts < 1, "count: give at least 1"),
            (self.limits < 0, "max_size: give at least 0"),
            (~(np.isfinite(self.setups) & (self.setups >= 0)), "setup_s: give at least 0"),
        ):
            if np.any(wrong):
                raise ScenarioError(f"{self.names[np.argmax(wrong)]}: {what}")

    def pe_names(self, most: int | None = None) -> list[str]:
        """The name of every PE in order, that of its kind; of the first ones only, if that is asked for."""
        counted = zip(self.names, self.counts.tolist(), strict=True)
        return list(islice(chain.from_iterable(repeat(name, count) for name, count in counted), most))

    def with_constant(self, speeds: Floats) -> "SpeedKinds":
        """The same PEs, each with one speed whatever it is given and no set-up cost; (K,)."""
        kinds = len(self.names)
        return replace(
            self, setups=np.zeros(kinds), starts=np.arange(kinds + 1), sizes=np.ones(kinds), speeds=speeds.copy()
        )

    @cached_property
    def pe_count(self) -> int:
        """PEs of all kinds."""
        return int(self.counts.sum())

    @cached_property
    def kind_of_pe(self) -> Ints:
        """Kind of each PE, (p,)."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    def total(self, units: NDArray[np.number]) -> float:
        """Sum over all PEs of what one PE of each kind has, (K,); exact up to 2**53."""
        # not `@`: its threads wait for each other on a busy machine
        return float((self.counts * units.astype(np.float64)).sum())

    def time_s(self, kind: Ints, units: Ints) -> Floats:
        """Seconds that PEs of some kinds take for some units, both (n,)."""
        x = units.astype(np.float64)
        pieces = self._pieces(kind, self._knots(kind, x))
        seconds: Floats = self.setups[kind] + x / (pieces.base + pieces.slope * (x - pieces.anchor))
        seconds[units == 0] = 0.0
        return seconds

    def table_s(self, kind: int, most: int) -> Floats:
        """Seconds of a PE of a kind for 0, 1, 2 ... units: the same numbers; (most + 1,)."""
        x, part = np.arange(most + 1.0), slice(self.starts[kind], self.starts[kind + 1])
        seconds: Floats = self.setups[kind] + x / np.interp(x, self.sizes[part], self.speeds[part])
        seconds[0] = 0.0
        return seconds

    def inverse(self, limit_s: float, *, first: bool = False) -> Floats:
        """Real units at which each kind's time reaches a limit; memory limits are not looked at; (K,).

        Where time grows with the units there is one such place. Elsewhere it is the last one, beyond which all takes
        longer, or with `first` the first one, before which nothing does.
        """
        knots_s = self._rising_s if first else self._lasting_s
        below = np.add.reduceat(knots_s <= limit_s, self.starts[:-1], dtype=np.int64)
        pieces = self._pieces(np.arange(below.size), self.starts[:-1] + below - 1)
        left_s = np.maximum(limit_s - self.setups, 0.0)
        # t = x / (c + g x)  =>  x = c t / (1 - g t); beyond the piece's ends rounding or the next knot decides
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = pieces.origin * left_s / (1.0 - pieces.slope * left_s)
        return np.clip(np.nan_to_num(x, nan=np.inf), pieces.lower, pieces.upper)

    def grows(self, units: int) -> bool:
        """Whether every kind's time, as float64 has it, surely grows with every unit up to `units` and its limit.

        Between two knots a time grows if it is greater at the second one; per unit, by no less than its mean step
        times the ratio of the two speeds. That must be more than rounding can hide.
        """
        if 4 * EPSILON * (3 * units + float(self.setups.max()) * float(self.speeds.max())) >= 1:
            return False  # on the pieces of one speed a unit more is lost in rounding
        step_s, size = np.diff(self._knot_s), np.diff(self.sizes)
        step_s[self.starts[1:-1] - 1], size[self.starts[1:-1] - 1] = np.inf, 1.0
        met = self.sizes < np.repeat(np.minimum(self.limits, units), np.diff(self.starts))
        spreads = np.maximum(self.speeds[:-1], self.speeds[1:]) / np.minimum(self.speeds[:-1], self.speeds[1:])
        return bool(np.all((step_s / size > 4 * EPSILON * self._knot_s[1:] * (4 + 2 * spreads) * spreads) | ~met[:-1]))

    @cached_property
    def _knot_s(self) -> Floats:
        times_s = self.sizes / self.speeds
        return times_s + np.repeat(self.setups, np.diff(self.starts)) if np.any(self.setups) else times_s

    @cached_property
    def _rising_s(self) -> Floats:
        """Times at knots, raised to the greatest before them."""
        return self._levelled(np.maximum.accumulate)

    @cached_property
    def _lasting_s(self) -> Floats:
        """Times at knots, lowered to the least after them."""
        return self._levelled(lambda part: np.minimum.accumulate(part[::-1])[::-1])

    def _levelled(self, level: Callable[[Floats], Floats]) -> Floats:
        """Times at knots, those of kinds whose times do not ascend levelled."""
        falls = self._knot_s[1:] < self._knot_s[:-1]
        falls[self.starts[1:-1] - 1] = False
        levelled = self._knot_s.copy() if np.any(falls) else self._knot_s
        for kind in np.unique(np.searchsorted(self.starts, np.flatnonzero(falls), "right") - 1).tolist():
            part = slice(self.starts[kind], self.starts[kind + 1])
            levelled[part] = level(levelled[part])
        return levelled

    def _knots(self, kind: Ints, x: Floats) -> Ints:
        """The knot at or below each of some units of some kinds, by bisection; one less than a kind's first if none."""
        low, high = self.starts[kind], self.starts[kind + 1]
        last = self.sizes.size - 1
        for _ in range(int(np.max(high - low, initial=0)).bit_length()):
            middle = (low + high) >> 1
            right = (low < high) & (self.sizes[np.minimum(middle, last)] <= x)
            low, high = np.where(right, middle + 1, low), np.where(right, high, middle)
        return low - 1

    def _pieces(self, kind: Ints, knot: Ints) -> "Pieces":
        """The pieces from some knots to the next ones; see `_knots`."""
        before = knot < self.starts[kind]
        knot = knot + before
        last = knot + 1 == self.starts[kind + 1]
        after = knot + ~(before | last)
        base, anchor, end = self.speeds[knot], self.sizes[knot], self.sizes[after]
        slope = np.zeros(knot.size)
        np.divide(self.speeds[after] - base, end - anchor, out=slope, where=after > knot)
        upper = np.where(last & ~before, np.inf, end)
        return Pieces(base, slope, anchor, np.where(before, 0.0, anchor), upper)


@dataclass(frozen=True)
class Pieces:
    """Pieces of speed functions: `speed = base + slope * (units - anchor)` from `lower` up to `upper`; all (n,)."""

    base: Floats
    slope: Floats
    anchor: Floats
    lower: Floats
    upper: Floats

    @property
    def origin(self) -> Floats:
        """The speed, continued to no units: time grows on the piece if this is above zero."""
        return self.base - self.slope * self.anchor

"""PEs as partitioners see them: kinds of identical PEs, each with a speed function, a set-up cost and a memory limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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

    The time of a PE is `setup + units / speed(units)`, 0 without units. Every method means this very float64 expression:
    `speed = base + slope * (units - knot)` with the knot at or below the units, as `numpy.interp` has it.
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
    def of(  # noqa: PLR0913 - a field each
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

        Raises
        ------
        ScenarioError
            If sizes do not ascend, lengths differ, or a number is outside what is allowed.
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
            raise ScenarioError("pes: at least one kind with at least one size, and one speed per size, allowed")
        kind_of = np.repeat(np.arange(len(self.names)), np.diff(self.starts))
        steps = np.diff(self.sizes, prepend=-np.inf)
        steps[self.starts[:-1]] = np.inf
        for bad, what in (
            (~(np.isfinite(self.sizes) & (self.sizes > 0) & (steps > 0)), "sizes: ascending numbers above 0 allowed"),
            (~(np.isfinite(self.speeds) & (self.speeds > 0)), "speeds: numbers above 0 allowed"),
        ):
            if np.any(bad):
                raise ScenarioError(f"{self.names[kind_of[np.argmax(bad)]]}: {what}")
        for wrong, what in (
            (self.counts < 1, "count: at least 1 allowed"),
            (self.limits < 0, "max_size: at least 0 allowed"),
            (~(np.isfinite(self.setups) & (self.setups >= 0)), "setup_s: at least 0 allowed"),
        ):
            if np.any(wrong):
                raise ScenarioError(f"{self.names[np.argmax(wrong)]}: {what}")

    def with_speeds(self, speeds: Floats) -> "SpeedKinds":
        """The same PEs with other speeds at the same knots."""
        return replace(self, speeds=speeds)

    def with_constant(self, speeds: Floats) -> "SpeedKinds":
        """The same PEs, each with one speed whatever it is given and no set-up cost; (K,)."""
        kinds = len(self.names)
        return replace(
            self, setups=np.zeros(kinds), starts=np.arange(kinds + 1), sizes=np.ones(kinds), speeds=speeds.copy()
        )

    @property
    def pe_count(self) -> int:
        """PEs of all kinds."""
        return int(self.counts.sum())

    @cached_property
    def kind_of_pe(self) -> Ints:
        """Kind of each PE, (p,)."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    def time_s(self, kind: Ints, units: Ints, *, near: Ints | None = None) -> Floats:
        """Seconds that PEs of some kinds take for some units, both (n,); `near` is where to begin looking for pieces."""
        x = units.astype(np.float64)
        piece = self._pieces(kind, x) if near is None else self._walk(near, x)
        speed = self._base[piece] + self._slope[piece] * (x - self._anchor[piece])
        return np.where(units > 0, self.setups[kind] + x / speed, 0.0)

    def times_s(self, units: Ints) -> Floats:
        """Seconds that each PE takes for its units, both (p,)."""
        return self.time_s(self.kind_of_pe, units)

    def speed_at(self, size: float) -> Floats:
        """Speed of each kind at one size, (K,)."""
        kinds = np.arange(len(self.names))
        x = np.full(kinds.size, size)
        piece = self._pieces(kinds, x)
        return self._base[piece] + self._slope[piece] * (x - self._anchor[piece])

    def inverse(self, limit_s: float, *, first: bool = False) -> tuple[Floats, Ints]:
        """Real units at which each kind's time reaches a limit, and their pieces; memory limits are not looked at.

        Where time grows with the units there is one such place. Elsewhere it is the last one, beyond which all takes
        longer, or with `first` the first one, before which nothing does.
        """
        knots_s = self._rising_s if first else self._lasting_s
        below = np.add.reduceat(knots_s <= limit_s, self.starts[:-1], dtype=np.int64)
        piece = self._first_piece + below
        left_s = np.maximum(limit_s - self.setups, 0.0)
        # t = x / (c + g x)  =>  x = c t / (1 - g t); beyond the piece's ends rounding or the next knot decides
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = self._origin[piece] * left_s / (1.0 - self._slope[piece] * left_s)
        x = np.where(np.isnan(x), np.inf, x)
        return np.clip(x, self._lower[piece], self._upper[piece]), piece

    def inverse_slope(self, limit_s: float, x: Floats, piece: Ints, free: NDArray[np.bool_]) -> Floats:
        """Units per second of the limit that `inverse` moves by, 0 where it is not free to; all (K,)."""
        left_s = np.maximum(limit_s - self.setups, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = self._origin[piece] / (1.0 - self._slope[piece] * left_s) ** 2
        inside = free & (x > self._lower[piece] * (1 - 1e-12)) & (left_s > 0) & np.isfinite(rate)
        return np.where(inside, rate, 0.0)

    def clear(self, units: int) -> NDArray[np.bool_]:
        """Kinds whose time as evaluated in float64 surely grows with every unit up to `units` and their limit; (K,)."""
        return self._all_pieces(self._growth(units) > 0)

    def falling(self, units: int) -> NDArray[np.bool_]:
        """Kinds whose time falls somewhere though the units grow, beyond rounding; (K,)."""
        met = self._lower < np.minimum(self.limits, units)[self._kind_of_piece]
        return ~self._all_pieces((self._origin >= -1e-12 * self._base) | ~met)

    def _all_pieces(self, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_and.reduceat(holds, self._first_piece)

    def _growth(self, units: int) -> Floats:
        """Least step of time per unit on each piece beyond what rounding may hide; infinite where no units come."""
        cap = np.minimum(self.limits, units)[self._kind_of_piece].astype(np.float64)
        end = np.minimum(self._upper, np.maximum(cap, self._lower))
        ends = np.array([self._base, self._base + self._slope * (end - self._anchor)])
        fastest, slowest = ends.max(axis=0), ends.min(axis=0)
        last_s = end / slowest
        rounding = EPSILON * (self.setups[self._kind_of_piece] + last_s * (3 + 2 * (fastest - slowest) / slowest))
        step = self._origin / fastest**2
        return np.where(self._lower >= cap, np.inf, step - 4 * rounding)

    # Pieces: kind i has one before its first knot, one from each knot to the next, one beyond its last.

    @cached_property
    def _first_piece(self) -> Ints:
        return self.starts[:-1] + np.arange(len(self.names))

    @cached_property
    def _kind_of_piece(self) -> Ints:
        return np.repeat(np.arange(len(self.names)), np.diff(self.starts) + 1)

    @cached_property
    def _inner(self) -> NDArray[np.bool_]:
        """Which pieces begin at a knot."""
        inner = np.ones(self.sizes.size + len(self.names), dtype=bool)
        inner[self._first_piece] = False
        return inner

    def _by_piece(self, before: Floats, from_knots: Floats) -> Floats:
        whole = np.empty(self._inner.size)
        whole[self._first_piece], whole[self._inner] = before, from_knots
        return whole

    @cached_property
    def _anchor(self) -> Floats:
        return self._by_piece(self.sizes[self.starts[:-1]], self.sizes)

    @cached_property
    def _base(self) -> Floats:
        return self._by_piece(self.speeds[self.starts[:-1]], self.speeds)

    @cached_property
    def _slope(self) -> Floats:
        slopes = np.zeros(self.sizes.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes[:-1] = np.diff(self.speeds) / np.diff(self.sizes)
        slopes[self.starts[1:] - 1] = 0.0
        return self._by_piece(np.zeros(len(self.names)), slopes)

    @cached_property
    def _origin(self) -> Floats:
        """Each piece's speed, continued to no units: time grows on it if this is above zero."""
        return self._base - self._slope * self._anchor

    @cached_property
    def _lower(self) -> Floats:
        return self._by_piece(np.zeros(len(self.names)), self.sizes)

    @cached_property
    def _upper(self) -> Floats:
        ends = np.empty(self.sizes.size)
        ends[:-1] = self.sizes[1:]
        ends[self.starts[1:] - 1] = np.inf
        return self._by_piece(self.sizes[self.starts[:-1]], ends)

    @cached_property
    def _knot_s(self) -> Floats:
        return np.repeat(self.setups, np.diff(self.starts)) + self.sizes / self.speeds

    @cached_property
    def _crooked(self) -> list[int]:
        """Kinds whose times at knots do not ascend."""
        falls = np.diff(self._knot_s) < 0
        falls[self.starts[1:-1] - 1] = False
        return np.unique(np.searchsorted(self.starts, np.flatnonzero(falls), "right") - 1).tolist()

    @cached_property
    def _rising_s(self) -> Floats:
        """Times at knots, raised to the greatest before them."""
        raised = self._knot_s.copy()
        for kind in self._crooked:
            part = slice(self.starts[kind], self.starts[kind + 1])
            raised[part] = np.maximum.accumulate(raised[part])
        return raised

    @cached_property
    def _lasting_s(self) -> Floats:
        """Times at knots, lowered to the least after them."""
        lowered = self._knot_s.copy()
        for kind in self._crooked:
            part = slice(self.starts[kind], self.starts[kind + 1])
            lowered[part] = np.minimum.accumulate(lowered[part][::-1])[::-1]
        return lowered

    def _pieces(self, kind: Ints, x: Floats) -> Ints:
        """Piece that each of some units of some kinds lies on, by bisection."""
        low, high = self.starts[kind], self.starts[kind + 1]
        last = self.sizes.size - 1
        for _ in range(int(np.max(high - low, initial=0)).bit_length()):
            middle = (low + high) >> 1
            right = (low < high) & (self.sizes[np.minimum(middle, last)] <= x)
            low, high = np.where(right, middle + 1, low), np.where(right, high, middle)
        return low + kind

    def _walk(self, piece: Ints, x: Floats) -> Ints:
        """The piece of each x, from one nearby."""
        while np.any(above := x >= self._upper[piece]):
            piece = piece + above
        while np.any(below := x < self._lower[piece]):
            piece = piece - below
        return piece

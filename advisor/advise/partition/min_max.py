"""The search that exact partitioners share: the least time limit within which all units fit, and who then takes them.

A limit T lets a PE of kind i take `c_i(T)` units, so it can be met if and only if `C(T) = sum count_i c_i(T)` reaches
all units, and the least such T is one of the times `t_i(k)`. Newton's method finds where the real inverse meets the
units; from there a bracket is narrowed until it holds few of the times `t_i(k)`, and a partial sort picks among them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from advisor.advise.partition.speed_kinds import MOST_UNITS, Floats, Ints, Pieces, SpeedKinds
from simulator import ScenarioError

Envelope = Literal["first", "last"]

EVENTS_PER_KIND = 4
FEW_EVENTS = 1000
"""A bracket holding no more times `t_i(k)` than this (or per kind, the above) is sorted, not narrowed."""


@dataclass(frozen=True)
class Shares:
    """Units of the PEs of each kind: some PEs take `top` units, then one may take `odd`, the others take `base`."""

    top: Ints
    base: Ints
    odd: Ints
    full: Ints
    """PEs that take `top`, (K,)."""
    counts: Ints

    @property
    def values(self) -> Ints:
        """Units of runs of PEs, three per kind in order, (3 K,)."""
        return np.stack((self.top, self.odd, self.base), axis=1).ravel()

    @property
    def repeats(self) -> Ints:
        """PEs in each run, (3 K,)."""
        odd = (self.full < self.counts).astype(np.int64)
        return np.stack((self.full, odd, self.counts - self.full - odd), axis=1).ravel()

    def units(self) -> Ints:
        """Units of every PE in order, (p,)."""
        return np.repeat(self.values, self.repeats)


@dataclass(frozen=True)
class Bracket:
    """Two limits: within `low_s` not all units fit, within `high_s` they do; and the units that fit per PE, (K,)."""

    low_s: float
    low: Ints
    high_s: float
    high: Ints
    pieces: Pieces
    """Where the units of one of the two lie."""


def check_units(units: int, pes: SpeedKinds) -> None:
    """Refuse what no partition could be made of.

    Raises ScenarioError if there is no unit, or all memory together holds fewer than all of them.
    """
    if units < 1:
        raise ScenarioError(f"units is {units}; give at least 1")
    if units > MOST_UNITS:
        raise ScenarioError(f"units is {units}, more than {MOST_UNITS}; make one unit larger")
    room = _total(pes, np.minimum(pes.limits, units))
    if room < units:
        raise ScenarioError(
            f"units is {units}, {units - room} more than fit the memory of all PEs (max_size, {room} in all); add PEs, "
            "raise max_size, or divide less"
        )


def least_limit(units: int, pes: SpeedKinds) -> tuple[float, Shares]:
    """The least makespan and a partition that has it, for times that grow with the units (`SpeedKinds.clear`)."""
    bracket = narrowed(units, pes)
    low, jump = bracket.low, bracket.high - bracket.low
    if np.nextafter(bracket.low_s, np.inf) >= bracket.high_s:  # all times between are the upper one
        return bracket.high_s, shared(pes, low, bracket.high, units)
    kind = np.repeat(np.arange(jump.size), jump)
    number = np.arange(kind.size) - np.repeat(np.cumsum(jump) - jump, jump)
    times_s = pes.time_s(kind, low[kind] + 1 + number, near=bracket.pieces.of(kind))
    limit_s = weighted_least(times_s, pes.counts[kind], units - _total(pes, low))
    base = low + np.bincount(kind[times_s < limit_s], minlength=jump.size)
    top = low + np.bincount(kind[times_s <= limit_s], minlength=jump.size)
    return limit_s, shared(pes, base, top, units)


def narrowed(units: int, pes: SpeedKinds, *, envelope: Envelope | None = None) -> Bracket:
    """A bracket around the least limit, narrowed until few of the times `t_i(k)` lie in it.

    With an envelope it is narrowed until no float lies between, for times that may fall while units grow: `first`
    counts units before which nothing takes longer than a limit, so what fits at `high_s` can be done; `last` counts
    units beyond which everything takes longer, so nothing can be done within `low_s`.

    `units`, `pes`: what is divided, and by whom.
    `envelope`: see above; without one, times grow with the units.
    """
    limits = np.minimum(pes.limits, units)
    guess_s, step_s = _real_root(units, pes, limits, first=envelope == "first")
    low_s, low, high_s, high = 0.0, np.zeros_like(limits), np.inf, limits
    few = 0 if envelope else max(FEW_EVENTS, EVENTS_PER_KIND * limits.size)
    while True:
        taken, pieces = most_within(guess_s, pes, limits, envelope)
        taken = np.clip(taken, low, high)
        if _total(pes, taken) >= units:
            high_s, high = guess_s, taken
        else:
            low_s, low = guess_s, taken
        middle_s = _next_guess(low_s, high_s, step_s)
        if (np.isfinite(high_s) and int((high - low).sum()) <= few) or not low_s < middle_s < high_s:
            return Bracket(low_s, low, high_s, high, pieces)
        guess_s, step_s = middle_s, 2 * step_s


def shared(pes: SpeedKinds, base: Ints, top: Ints, units: int) -> Shares:
    """Give each PE of a kind `base` units and what is left, up to `top`, to the first kinds that can take it."""
    left, jump = units - _total(pes, base), top - base
    room = np.minimum(pes.counts.astype(np.float64) * jump, left).astype(np.int64)
    extra = np.clip(left - (np.cumsum(room) - room), 0, room)
    full = extra // np.maximum(jump, 1)
    return Shares(top, base, base + (extra - full * jump), full, pes.counts)


def weighted_least(times_s: Floats, weights: Ints, wanted: int) -> float:
    """The least time up to which the weights add up to what is wanted."""
    if weights.max() == 1:
        return float(np.partition(times_s, wanted - 1)[wanted - 1])
    order = np.argsort(times_s, kind="stable")
    return float(times_s[order[np.searchsorted(np.cumsum(weights[order]), wanted)]])


def _next_guess(low_s: float, high_s: float, step_s: float) -> float:
    """From a guess by steps that double until there are two ends, then by halves."""
    if not np.isfinite(high_s):
        return low_s + step_s
    if low_s == 0.0:
        return max(high_s - step_s, high_s / 2)
    return (low_s + high_s) / 2


def _real_root(units: int, pes: SpeedKinds, limits: Ints, *, first: bool) -> tuple[float, float]:
    """Where the real inverse meets the units, by Newton's method within a bracket, and the step that adds one each."""
    target, close = min(float(units), float(pes.total(limits.astype(np.float64)))), max(0.25 * pes.pe_count, 0.5)
    guess_s, low_s, high_s = units / float(pes.total(pes.speeds[pes.starts[1:] - 1])), 0.0, np.inf
    slope = 0.0
    for _ in range(60):
        x, pieces = pes.inverse(guess_s, first=first)
        sum_x = float(pes.total(np.minimum(x, limits)))
        slope = float(pes.total(pes.inverse_slope(guess_s, x, pieces, x < limits)))
        low_s, high_s = (guess_s, high_s) if sum_x < target else (low_s, guess_s)
        if abs(sum_x - target) <= close or high_s <= np.nextafter(low_s, np.inf):
            break
        newton_s = guess_s + (target - sum_x) / slope if slope > 0 else np.nan
        if not low_s < newton_s < high_s:
            newton_s = (low_s + high_s) / 2 if np.isfinite(high_s) else 2 * guess_s
        guess_s = newton_s
    step_s = pes.pe_count / slope if slope > 0 else guess_s / 16
    return guess_s, max(step_s, guess_s * 1e-15)


def most_within(limit_s: float, pes: SpeedKinds, limits: Ints, envelope: Envelope | None) -> tuple[Ints, Pieces]:
    """The most units that one PE of each kind finishes within a limit, true to its times as float64 has them, (K,).

    The real inverse is off by rounding only where times grow by little per unit; what two steps do not mend is found
    by bisection.
    """
    x, pieces = pes.inverse(limit_s, first=envelope == "first")
    kinds = np.arange(limits.size)
    most = np.floor(np.minimum(x, limits)).astype(np.int64)
    late = early = np.zeros(limits.size, dtype=bool)
    for _ in range(2):
        late = (most > 0) & (pes.time_s(kinds, most, near=pieces) > limit_s)
        early = (most < limits) & (pes.time_s(kinds, np.minimum(most + 1, limits), near=pieces) <= limit_s) & ~late
        if not np.any(late | early):
            return most, pieces
        most = most - late + early
    if envelope == "last":  # bisection might end below the last crossing
        return np.where(early, np.minimum(most * 1.000001 + 1, limits).astype(np.int64), most), pieces
    wrong = np.flatnonzero(late | early)
    most[wrong] = _bisected(limit_s, pes, wrong, most[wrong], limits[wrong])
    return most, pieces


def _bisected(limit_s: float, pes: SpeedKinds, kinds: Ints, near: Ints, limits: Ints) -> Ints:
    """`most_within` for some kinds, from somewhere near, by steps that double and then by halves."""
    low, high = np.zeros(kinds.size, np.int64), limits + 1  # low can be done, high cannot
    step = 1
    while np.any(high - low > step):
        below, above = np.maximum(near - step, 0), np.minimum(near + step, limits)
        low = np.where(pes.time_s(kinds, below) <= limit_s, np.maximum(low, below), low)
        high = np.where(pes.time_s(kinds, above) > limit_s, np.minimum(high, above), high)
        step *= 4
    while np.any(high - low > 1):
        middle = (low + high) >> 1
        fits = pes.time_s(kinds, middle) <= limit_s
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def _total(pes: SpeedKinds, units: Ints) -> int:
    """Units of all PEs, exact where they fit 64 bits."""
    if pes.pe_count * int(units.max()) < 2**62:
        return int(pes.total(units))
    return int(pes.total(units.astype(np.float64)))

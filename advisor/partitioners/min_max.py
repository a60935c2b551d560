"""The search that exact partitioners share: the least time limit within which all units fit, and who then takes them.

A limit T lets a PE of kind i take `c_i(T)` units, so it can be met if and only if `C(T) = sum count_i c_i(T)` reaches all
units, and the least such T is one of the times `t_i(k)`. Newton's method finds where the real inverse meets the units;
from there a bracket is narrowed until it holds few of the times `t_i(k)`, and a partial sort picks among them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from advisor.partitioners.speed_kinds import MOST_UNITS, Floats, Ints, SpeedKinds
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


def check_units(units: int, pes: SpeedKinds) -> None:
    """Refuse what no partition could be made of.

    Raises
    ------
    ScenarioError
        If there is no unit, or all memory together holds fewer than all of them.
    """
    if units < 1:
        raise ScenarioError(f"units: {units} found, at least 1 allowed")
    if units > MOST_UNITS:
        raise ScenarioError(f"units: {units} found, at most {MOST_UNITS} allowed: make one unit larger")
    room = _total(pes.counts, np.minimum(pes.limits, units))
    if room < units:
        raise ScenarioError(
            f"units: {units} found, {room} fit the memory of all PEs (max_size): {units - room} too many; "
            "add PEs, raise max_size, or divide less"
        )


def least_limit(units: int, pes: SpeedKinds) -> tuple[float, Shares]:
    """The least makespan and a partition that has it, for times that grow with the units (`SpeedKinds.clear`)."""
    bracket = narrowed(units, pes)
    low, jump = bracket.low, bracket.high - bracket.low
    kind = np.repeat(np.arange(jump.size), jump)
    if np.nextafter(bracket.low_s, np.inf) >= bracket.high_s:  # all times between are the upper one
        return bracket.high_s, shared(pes.counts, low, bracket.high, units)
    number = np.arange(kind.size) - np.repeat(np.cumsum(jump) - jump, jump)
    times_s = pes.time_s(kind, low[kind] + 1 + number)
    limit_s = _weighted_least(times_s, pes.counts[kind], units - _total(pes.counts, low))
    base = low + np.bincount(kind[times_s < limit_s], minlength=jump.size)
    top = low + np.bincount(kind[times_s <= limit_s], minlength=jump.size)
    return limit_s, shared(pes.counts, base, top, units)


def narrowed(units: int, pes: SpeedKinds, *, envelope: Envelope | None = None) -> Bracket:
    """A bracket around the least limit, narrowed until few of the times `t_i(k)` lie in it.

    With an envelope it is narrowed until no float lies between, for times that may fall while units grow: `first` counts
    units before which nothing takes longer than a limit, so what fits at `high_s` can be done; `last` counts units
    beyond which everything takes longer, so nothing can be done within `low_s`.

    Parameters
    ----------
    units, pes
        What is divided, and by whom.
    envelope
        See above; without one, times grow with the units.
    """
    kinds, counts = np.arange(len(pes.names)), pes.counts
    limits = np.minimum(pes.limits, units)
    guess_s, step_s = _real_root(units, pes, limits, first=envelope == "first")
    bracket = Bracket(0.0, np.zeros_like(limits), np.inf, limits)
    few = 0 if envelope else max(FEW_EVENTS, EVENTS_PER_KIND * kinds.size)
    turn = 0
    while True:
        taken = _most_within(guess_s, pes, limits, envelope)
        taken = np.clip(taken, bracket.low, bracket.high)
        if _total(counts, taken) >= units:
            bracket = Bracket(bracket.low_s, bracket.low, guess_s, taken)
        else:
            bracket = Bracket(guess_s, taken, bracket.high_s, bracket.high)
        turn += 1
        if np.isfinite(bracket.high_s) and int((bracket.high - bracket.low).sum()) <= few:
            return bracket
        middle_s = _next_guess(bracket, step_s, turn)
        if not bracket.low_s < middle_s < bracket.high_s:
            return bracket
        guess_s, step_s = middle_s, 2 * step_s


def shared(counts: Ints, base: Ints, top: Ints, units: int) -> Shares:
    """Give each PE of a kind `base` units and what is left, up to `top`, to the first kinds that can take it."""
    left, jump = units - _total(counts, base), top - base
    room = np.minimum(counts.astype(np.float64) * jump, left).astype(np.int64)
    extra = np.clip(left - (np.cumsum(room) - room), 0, room)
    full = extra // np.maximum(jump, 1)
    return Shares(top, base, base + (extra - full * jump), full, counts)


def _next_guess(bracket: Bracket, step_s: float, turn: int) -> float:
    """From a guess by steps that double until there are two ends, then by halves."""
    if not np.isfinite(bracket.high_s):
        return bracket.low_s + step_s
    if bracket.low_s == 0.0 and turn < 60:
        return max(bracket.high_s - step_s, bracket.high_s / 2)
    return (bracket.low_s + bracket.high_s) / 2


def _real_root(units: int, pes: SpeedKinds, limits: Ints, *, first: bool) -> tuple[float, float]:
    """Where the real inverse meets the units, by Newton's method within a bracket, and the step that adds a unit each."""
    counts, caps = pes.counts.astype(np.float64), limits.astype(np.float64)
    target = min(float(units), float(counts @ caps))
    guess_s, low_s, high_s = units / float(counts @ pes.speeds[pes.starts[1:] - 1]), 0.0, np.inf
    slope = 0.0
    for _ in range(60):
        x, piece = pes.inverse(guess_s, first=first)
        free = x < caps
        sum_x = float(counts @ np.minimum(x, caps))
        slope = float(counts @ pes.inverse_slope(guess_s, x, piece, free))
        low_s, high_s = (guess_s, high_s) if sum_x < target else (low_s, guess_s)
        if abs(sum_x - target) <= max(0.25 * float(counts.sum()), 0.5) or high_s <= np.nextafter(low_s, np.inf):
            break
        newton_s = guess_s + (target - sum_x) / slope if slope > 0 else np.nan
        if not low_s < newton_s < high_s:
            newton_s = (low_s + high_s) / 2 if np.isfinite(high_s) else 2 * guess_s
        guess_s = newton_s
    step_s = float(counts.sum()) / slope if slope > 0 else guess_s / 16
    return guess_s, max(step_s, guess_s * 1e-15)


def _most_within(limit_s: float, pes: SpeedKinds, limits: Ints, envelope: Envelope | None) -> Ints:
    """The most units that one PE of each kind finishes within a limit, true to its times as float64 has them, (K,).

    The real inverse is off by rounding only where times grow by little per unit; what two steps do not mend is found
    by bisection.
    """
    x, piece = pes.inverse(limit_s, first=envelope == "first")
    kinds = np.arange(limits.size)
    most = np.floor(np.minimum(x, limits)).astype(np.int64)
    for _ in range(2):
        late = (most > 0) & (pes.time_s(kinds, most, near=piece) > limit_s)
        early = (most < limits) & (pes.time_s(kinds, np.minimum(most + 1, limits), near=piece) <= limit_s) & ~late
        if not np.any(late | early):
            return most
        most = most - late + early
    if envelope == "last":  # bisection might end below the last crossing
        return np.where(early, np.minimum(most * 1.000001 + 1, limits).astype(np.int64), most)
    wrong = np.flatnonzero(late | early)
    most[wrong] = _bisected(limit_s, pes, wrong, most[wrong], limits[wrong])
    return most


def _bisected(limit_s: float, pes: SpeedKinds, kinds: Ints, near: Ints, limits: Ints) -> Ints:
    """`_most_within` for some kinds, from somewhere near, by steps that double and then by halves."""
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


def _weighted_least(times_s: Floats, weights: Ints, wanted: int) -> float:
    """The least time up to which the weights add up to what is wanted."""
    if np.all(weights == 1):
        return float(np.partition(times_s, wanted - 1)[wanted - 1])
    order = np.argsort(times_s, kind="stable")
    return float(times_s[order[np.searchsorted(np.cumsum(weights[order]), wanted)]])


def _total(counts: Ints, units: Ints) -> int:
    """Units of all PEs, exact where they fit 64 bits."""
    about = float(counts.astype(np.float64) @ units)
    return int(counts @ units) if about < 2.0**62 else int(about)

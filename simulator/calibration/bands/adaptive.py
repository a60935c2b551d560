"""The adaptive builder: logarithmic sizes, next point by error reduction per second, a trend where points are dear."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.calibration.bands.session import Session, grid_sizes
from simulator.calibration.bench.campaign import BudgetSpentError
from simulator.calibration.bench.measurement import Measurement

NEAR, FAR = 2.0, 4.0
"""The trend's last and former slope span at least these factors in size."""
STEEPEST = 2.5
"""Greatest fall of speed that a trend may go on with, as a power of the size."""
HIDDEN_PER_OCTAVE = 0.006
"""Mean error that an octave without a point may hide although its ends fit their neighbours."""
GOES_ON, NEW_FALL = 3.0, 4.0
"""A fall at most so many times as steep as the one before goes on; a new one is a drop more often than a trend, and
only this part of it is carried on."""
STEADY = 0.06
"""Least doubt about the power of a trend that makes it unsteady."""
SLOPE_FLOOR = 0.02
"""Least doubt about the power of a trend."""
GRID_SHARE = 1 / 15.8
"""Share of the grid's predicted cost that may be spent."""
BELOW_LIMIT = 1 - 1 / 1024
"""How close to a memory limit speed still follows its trend; at the limit it is 0."""
VERIFIED_SHARE = 0.5
"""The same where b was measured as well."""
SWEEP_SHARE = 0.15
"""Share of what may be spent that the first sweep takes at most."""
THICKEN_SHARE, HALVINGS = 0.03, 2
"""Share of the rest that halving the sweep's intervals takes at most, each time."""
MIDDLE_SHARE, TOP_SHARE = 0.2, 0.9
"""Shares of the rest for the point on the way up, and of what is then left for the top one."""
RESERVE = 4
"""Cheapest points that are left over for intervals that turn out not to be straight."""
WIDE = 1.2 * np.log(2)
"""An interval is halved with what is left if it is wider, in log size."""
WIDEST_STEP = 2 * np.log(2)
"""The first sweep takes wider steps, up to this, where even its cheapest points are dear compared with the whole."""
LEAST_POINTS = 8
"""The sweep takes one point per octave, or more where a to b would have fewer than this many."""
LEAST_REACH = np.log(1.15)
"""A point further up is worth measuring from this distance in log size on."""
CLOSEST = np.log(1.015)
"""Points are never closer than this in log size."""
MOST_POINTS = 80
"""From this many points on nothing is refined; the first sweep takes no more either."""
WORST = 3.0
"""The greatest error may be this many times the accuracy asked for, which is the mean error's."""
AIM = 2.0
"""The greatest error that refining aims at, in the same terms: what is expected is not what is."""


@dataclass(frozen=True)
class Curve:
    """Measured points by ascending size; speeds follow straight lines in log-log between them."""

    x: Floats
    """Logarithms of sizes."""
    s: Floats
    """Logarithms of ideal speeds."""
    v: Floats
    """Logarithms of volumes."""
    cost_s: Floats
    """Experimental seconds of each point."""
    cost_of: Callable[[Floats], Floats]
    """What the source predicts for points whose single runs take so many seconds."""

    @classmethod
    def through(cls, points: Sequence[Measurement], cost_of: Callable[[Floats], Floats]) -> "Curve":
        """The curve through points in any order; of two of one size the later one counts."""
        by_size = {point.size: point for point in points}
        rows = [(np.log(p.size), np.log(p.speed), np.log(p.volume), p.cost_s) for _, p in sorted(by_size.items())]
        x, s, v, cost_s = np.array(rows, np.float64).T
        return cls(x, s, v, cost_s, cost_of)

    def speed(self, x: Floats) -> Floats:
        """Log speed at log sizes: straight between points, the trend above the last, constant below the first."""
        beyond = np.maximum(0.0, x - self.x[-1])
        return np.asarray(np.interp(x, self.x, self.s) + self.slope * beyond)

    def volume(self, x: Floats) -> Floats:
        """Log volume at log sizes; a power of the size above the last point."""
        power = 1.0 if self.x.size < 2 else (self.v[-1] - self.v[-2]) / (self.x[-1] - self.x[-2])
        return np.asarray(np.interp(x, self.x, self.v) + power * np.maximum(0.0, x - self.x[-1]))

    def cost(self, x: Floats, *, falling: bool = True) -> Floats:
        """Predicted experimental seconds of points at log sizes, never less than those of the cheapest so far.

        Unless `falling`, speed is taken to fall no further beyond the last point. A rise goes on for an octave only: it
        comes from overheads that fade, and taken as a power over all sizes it would predict that all is nearly free.
        """
        known = np.interp(x, self.x, self.s)
        speed = np.minimum(self.speed(x), known + max(0.0, self.slope) * np.log(2))
        speed = speed if falling else np.maximum(speed, known)
        times = np.exp(self.volume(x) - speed)
        return np.asarray(np.maximum(np.min(self.cost_s), self.dearness * self.cost_of(times)))

    @cached_property
    def dearness(self) -> float:
        """By what factor points cost more than predicted, as on a busy machine; least squares: dear ones count most."""
        predicted = self.cost_of(np.exp(self.v - self.s))
        return float(np.dot(self.cost_s, predicted) / np.dot(predicted, predicted))

    @cached_property
    def slopes(self) -> tuple[float, float]:
        """The power of the size that speed followed at the end, and just before."""
        last = self.x.size - 1
        near = self._below(last, np.log(NEAR))
        far = self._below(near, np.log(FAR / NEAR))
        late = self._slope(near, last)
        return late, self._slope(far, near) if far < near else late

    @cached_property
    def slope(self) -> float:
        """The power that the trend goes on with: the last one where it went on before, a part of it where it is new."""
        late, former = self.slopes
        goes_on = late <= 0 and former <= 0 and abs(late) <= GOES_ON * abs(former) + SLOPE_FLOOR
        return float(np.clip(late if goes_on else late / NEW_FALL, -STEEPEST, 0.3))

    @cached_property
    def trust(self) -> float:
        """How far costs may be predicted by the trend, 0 to 1: wholly where it is steady, half where it goes on."""
        if self.doubt <= STEADY:
            return 1.0
        return 0.5 if self.slope == self.slopes[0] < 0 else 0.0

    @cached_property
    def doubt(self) -> float:
        """How far the trend's power may be wrong."""
        late, former = self.slopes
        return max(SLOPE_FLOOR, abs(late - former) / 2)

    @cached_property
    def deviations(self) -> Floats:
        """By how much each inner point lies off the straight line through its neighbours, 0 at the ends."""
        d = np.zeros(self.x.size)
        if self.x.size > 2:
            share = (self.x[1:-1] - self.x[:-2]) / (self.x[2:] - self.x[:-2])
            d[1:-1] = self.s[1:-1] - (self.s[:-2] + share * (self.s[2:] - self.s[:-2]))
        return np.where(np.abs(d) > ties.SAME, d, 0.0)

    def errors(self) -> tuple[Floats, Floats]:
        """Mean and greatest relative error to expect in each interval between neighbours.

        A smooth bend leaves neighbours' deviations alike in sign, and halving an interval quarters its error; a drop
        inside an interval leaves them opposed, and only halves it.
        """
        d, octaves = self.deviations, np.diff(self.x) / np.log(2)
        left, right = d[:-1].copy(), d[1:].copy()
        if self.x.size > 2:
            left[0], right[-1] = right[0], left[-1]
        size = np.sqrt(np.abs(left * right))
        drop = left * right < 0
        hidden = HIDDEN_PER_OCTAVE * octaves
        return np.where(drop, size / 2, size / 6) + hidden, np.where(drop, 1.5 * size, size / 3) + 2 * hidden

    def top_error(self, largest: float) -> tuple[float, float]:
        """Mean and greatest relative error to expect of the trend up to a log size."""
        beyond = max(0.0, largest - self.x[-1])
        return self.doubt * beyond / 2, self.doubt * beyond

    def weights(self, largest: float) -> Floats:
        """Share of each interval, the one up to `largest` too, half by size and half by its logarithm."""
        knots = np.append(self.x, max(largest, self.x[-1]))
        whole = max(knots[-1] - knots[0], 1e-12)
        linear = np.diff(np.exp(knots)) / max(np.exp(knots[-1]) - np.exp(knots[0]), 1e-300)
        return np.asarray((np.diff(knots) / whole + linear) / 2)

    def _below(self, index: int, distance: float) -> int:
        """Index of the nearest point at least `distance` below one, else of the first."""
        return max(0, int(np.searchsorted(self.x, self.x[index] - distance * (1 - 1e-9), side="right")) - 1)

    def _slope(self, left: int, right: int) -> float:
        slope = float((self.s[right] - self.s[left]) / (self.x[right] - self.x[left])) if left < right else 0.0
        return slope if abs(slope) > ties.SAME else 0.0  # what is level but for rounding neither rises nor falls


@dataclass
class Adaptive:
    """The builder's state: a session, and what of its sizes turned out not to exist."""

    session: Session
    accuracy: float
    settled: list[float] = field(default_factory=list)
    """Log sizes that the source snapped to sizes already measured: asking again would tell nothing."""

    @property
    def curve(self) -> Curve:
        """What is known now."""
        return Curve.through(self.session.points, self.session.source.cost_s)

    @property
    def largest(self) -> float:
        """Largest size that may be measured: b, or just below it where b is the memory limit."""
        source = self.session.source
        return max(source.smallest, source.largest * (BELOW_LIMIT if source.largest_is_memory_limit else 1.0))

    @property
    def top(self) -> float:
        """Log of the largest size that may be measured."""
        return float(np.log(self.largest))

    def grid_s(self) -> float:
        """Predicted cost of the 20-point grid; what a fall of speed would add counts as far as the fall is trusted."""
        source = self.session.source
        sizes = np.log(grid_sizes(source.smallest, source.largest))
        curve = self.curve
        level, falling = (float(np.sum(curve.cost(sizes, falling=falls))) for falls in (False, True))
        return float(level ** (1 - curve.trust) * falling**curve.trust)

    def left_s(self, share: float = GRID_SHARE) -> float:
        """What may still be spent, of a share of the grid's cost and within the budget."""
        most = self.grid_s() * share
        return min(most, self.session.room_s) - self.session.spent_s

    def error(self) -> tuple[float, float]:
        """Mean and greatest relative error to expect over all sizes."""
        curve = self.curve
        mean, most = curve.errors()
        top_mean, top_most = curve.top_error(self.top)
        weights = curve.weights(self.top)
        return float(np.dot(weights, np.append(mean, top_mean))), float(max(np.max(most, initial=0.0), top_most))

    def cheap_points(self, share: float) -> float:
        """How many of the cheapest points a share of what may still be spent pays for."""
        return max(1.0, share * self.left_s() / self.cheapest_s)

    @property
    def cheapest_s(self) -> float:
        """Cost of the cheapest point so far: even a small one has to be made ready and repeated."""
        return min(point.cost_s for point in self.session.points)

    def needed_s(self) -> float:
        """Predicted cost of one point at b, which would put the trend to the test."""
        return float(self.curve.cost(np.array(self.top)))

    def measure(self, x: float, why: str) -> None:
        """Measure at a log size and say why."""
        ends = self.session.source.smallest, self.largest
        size = float(np.clip(np.exp(x), *ends))
        near = (end for end in ends if abs(size / end - 1) < 1e-9)
        before = len(self.session.points)
        self.session.measure(next(near, size))
        if len(self.session.points) == before:
            self.settled.append(x)
            return
        point = self.session.points[-1]
        self.session.say(f"{why}: {point.size:.6g} elements, {point.speed:.4g} per second, {point.cost_s:.3g} s")


def build_adaptive(session: Session, *, accuracy: float, verify_largest: bool = False) -> Adaptive:
    """Measure what the accuracy needs and the budget holds; the state tells the expected error."""
    state = Adaptive(session, accuracy)
    try:
        _sweep(state)
        _thicken(state)
        _reach_up(state)
        _refine(state, GRID_SHARE)
        _cover(state)
        if verify_largest and state.curve.x[-1] < state.top:
            state.measure(state.top, "b, as asked for")
            _refine(state, VERIFIED_SHARE)
        if session.budget_s is not None:
            _refine(state, np.inf)
    except BudgetSpentError:
        session.say("stopped: the next point does not fit the budget")
        session.ended_early()
    mean, most = state.error()
    if len(session.points) >= MOST_POINTS and max(mean, most / WORST) > accuracy:
        session.incomplete.append(
            f"points: nothing is refined from {MOST_POINTS} points on; an error of {100 * mean:.1f} % on average and "
            f"{100 * most:.0f} % at most is expected"
        )
    return state


def _sweep(state: Adaptive) -> None:
    """Points in equal steps of log size from a up, while they cost next to nothing."""
    source = state.session.source
    start = float(np.log(source.smallest))
    step = min(np.log(2), (state.top - start) / LEAST_POINTS)
    state.measure(start, "a")
    step = max(step, min(WIDEST_STEP, (state.top - start) / state.cheap_points(SWEEP_SHARE)))
    step = max(step, (state.top - start) / MOST_POINTS)
    x = start + step
    while x < state.top - step / 2:
        if len(state.session.points) > 1:
            spent = state.session.spent_s
            if spent + float(state.curve.cost(np.array(x))) > SWEEP_SHARE * (spent + state.left_s()):
                break
        state.measure(x, "sweep")
        x += step


def _thicken(state: Adaptive) -> None:
    """Halve the sweep's intervals, cheapest first and twice over, as long as that costs next to nothing."""
    for _ in range(HALVINGS):
        most = state.session.spent_s + THICKEN_SHARE * state.left_s()
        x = state.curve.x
        for middle in (x[:-1] + x[1:]) / 2:
            if state.session.spent_s + float(state.curve.cost(middle)) > most:
                break
            state.measure(float(middle), "half-way, cheap")


def _reach_up(state: Adaptive) -> None:
    """Two points as far up as the cost allows."""
    for share, reserve, why in (
        (MIDDLE_SHARE, 0, "on the way up"),
        (TOP_SHARE, RESERVE, "the top point that the cost allows"),
    ):
        x = _dearest(state, share * state.left_s() - reserve * state.cheapest_s)
        if x is not None:
            state.measure(x, why)


def _dearest(state: Adaptive, cost_s: float) -> float | None:
    """Log of the largest size above the last point that costs at most that; None if there is none worth it."""
    curve = state.curve
    x = np.linspace(curve.x[-1], state.top, 400)
    fitting = x[curve.cost(x) <= cost_s]
    if not fitting.size or fitting[-1] - curve.x[-1] < LEAST_REACH:
        return None
    return float(fitting[-1])


def _refine(state: Adaptive, share: float) -> None:
    """Halve intervals, the one with the greatest gain per second first, until the errors are as asked for."""
    while len(state.session.points) < MOST_POINTS:
        mean, most = state.error()
        doubt = state.curve.top_error(state.top)[1]
        if mean <= state.accuracy / 2 and most <= AIM * state.accuracy and doubt <= state.accuracy:
            return
        choice = _best(state, state.left_s(share))
        if choice is None:
            return
        state.measure(*choice)


def _cover(state: Adaptive) -> None:
    """Halve what is wider than an octave with what is left: few points cannot show how little they show."""
    while len(state.session.points) < MOST_POINTS:
        curve = state.curve
        widths = np.diff(curve.x)
        middle = curve.x[:-1] + widths / 2
        cost_s = curve.cost(middle)
        open_ones = (widths > (1 + ties.SAME) * WIDE) & (cost_s <= state.left_s()) & ~np.isin(middle, state.settled)
        if not np.any(open_ones):
            return
        gain = np.where(open_ones, curve.weights(state.top)[:-1] * widths**2 / cost_s, 0.0)
        state.measure(float(middle[ties.first_most(gain)]), "wider than an octave")


def _best(state: Adaptive, left_s: float) -> tuple[float, str] | None:
    """The next log size and why, or None if nothing that helps fits the cost."""
    curve = state.curve
    mean, most = curve.errors()
    top_mean, top_most = curve.top_error(state.top)
    weights = curve.weights(state.top)
    wide = np.diff(curve.x) >= 2 * (1 - ties.SAME) * CLOSEST
    excess = np.maximum(0.0, most - AIM * state.accuracy)
    gain = np.where(wide, weights[:-1] * (np.maximum(0.0, mean - state.accuracy / 4) + excess), 0.0)
    middle = curve.x[:-1] + np.diff(curve.x) / 2
    lower = curve.x[:-1] + np.diff(curve.x) / 4
    middle = np.where(curve.cost(middle) <= left_s, middle, lower)
    worth = np.where(curve.cost(middle) <= left_s, gain / curve.cost(middle), 0.0)
    worth[np.isin(middle, state.settled)] = 0.0
    best = ties.first_most(worth) if worth.size else 0
    x = _dearest(state, left_s)
    if x is not None and x not in state.settled and top_most > state.accuracy:
        top_gain = float(weights[-1] * top_mean) * (x - curve.x[-1]) / (state.top - curve.x[-1])
        if not worth.size or ties.is_less(float(worth[best]), top_gain / float(curve.cost(np.array(x)))):
            return x, "further up, where the trend is in doubt"
    if not worth.size or worth[best] <= 0:
        return None
    return float(middle[best]), f"an error of {100 * mean[best]:.1f} % is expected here"

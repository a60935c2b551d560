"""The adaptive builder: logarithmic sizes, the next point by error reduction per second, a trend where points are dear.

It spends at most a sixteenth of what the 20-point grid would cost by its own forecast. Small sizes cost next to nothing
and are measured densely; most goes to one point as far up as it buys: beyond it, speed follows the trend. What is left
goes where the curve's own misfit says that another point lowers the expected error most per second. Only where a budget
is stated and the error expected is not yet the accuracy asked for, more is spent.
"""

from dataclasses import dataclass, field

import numpy as np

from simulator.base import ties
from simulator.calibration.bands.curve import Curve
from simulator.calibration.bands.grid import grid_sizes
from simulator.calibration.bands.session import BudgetSpentError, Session

GRID_SHARE = 1 / 15.8
"""Share of the grid's foretold cost that may be spent."""
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
"""The first sweep takes wider steps, up to this, where even its cheapest points are not cheap beside the whole."""
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
        """Foretold cost of the 20-point grid; what a fall of speed would add counts as far as the fall is trusted."""
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
        """Foretold cost of one point at b, which would put the trend to the test."""
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

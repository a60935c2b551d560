"""Damped Gauss-Newton steps on the log coefficients, from point to point; what a point knows is worked out once."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from simulator.models.process_count.pooled.prior import Prior
from simulator.models.process_count.pooled.problem import Problem, seconds, slowest_of
from simulator.models.process_count.runs import Floats, Ints

NOISE_SD = 0.03
"""Prior guess of the relative noise of a cell."""
NOISE_WEIGHT = 3.0
"""Residuals that the prior guess is worth."""
TRIALS = 5
"""Most shorter steps that are tried where a step makes the fit worse."""
FAR = 2.0
"""Largest change of a log coefficient in one step."""


@dataclass(frozen=True)
class Point:
    """A problem at some log coefficients."""

    mode: Floats
    """Log coefficients, (kind, terms)."""
    factors: Floats
    """The coefficients."""
    of_kind: Floats
    """Seconds, (rows, kind)."""
    longest: Floats
    """Seconds of the slowest kind, (rows,)."""
    residuals: Floats
    """Of the log times, (rows,)."""


@dataclass(frozen=True)
class Picked:
    """The terms of the slowest kind of each row, laid out by group; they stay until another kind is the slowest."""

    slowest: Ints
    """(rows,)."""
    table: Floats
    """0 for the other kinds, (configurations, places, kind * terms)."""


@dataclass(frozen=True)
class State:
    """Where a solution stands."""

    point: Point
    picked: Picked
    variance: float = 0.3**2
    effective: float = 0.0
    damping: float = 0.1


@dataclass(frozen=True)
class Local:
    """A problem linearised at one point."""

    squares: float
    """Of the whitened residuals."""
    normal: Floats
    gradient: Floats


def state_at(problem: Problem, mode: Floats, variance: float = 0.3**2, effective: float = 0.0) -> State:
    """A start."""
    point = point_at(problem, mode)
    return State(point, _picked(problem, point, None), variance, effective)


def point_at(problem: Problem, mode: Floats) -> Point:
    """What the costs say at some log coefficients."""
    factors = np.exp(mode)
    of_kind = seconds(problem.terms, factors)
    longest = of_kind.max(axis=1)
    return Point(mode, factors, of_kind, longest, problem.log_time - np.log(longest))


def linearised(problem: Problem, root: Floats, state: State) -> Local:
    """Normal equations of the whitened residuals, by the log coefficients."""
    point, groups = state.point, problem.groups
    rest = _white(problem, root, point.residuals)
    # The slopes are terms * factors / longest: dividing the roots and scaling the products is less work.
    slopes = (root * groups.rows(1.0 / point.longest)[:, None, :]) @ state.picked.table
    slopes = slopes.reshape(len(rest), -1)
    factors = point.factors.ravel()
    normal = (slopes.T @ slopes) * (factors[:, None] * factors)
    return Local(float(rest @ rest), normal, (rest @ slopes) * factors)


def step(problem: Problem, prior: Prior, root: Floats, state: State) -> tuple[State, float]:
    """One step that does not make the fit worse, and what it gains in squared whitened residuals."""
    local, mode = linearised(problem, root, state), state.point.mode
    variance = noise_variance(problem, local.squares, state.effective)
    away = mode.ravel() - prior.mean
    pull = prior.precision @ away
    information = local.normal / variance + prior.precision
    gradient = local.gradient / variance - pull
    worth = local.squares / variance + away @ pull
    damping = state.damping
    own = information.diagonal().copy()
    effective = float((1.0 - prior.precision.diagonal() / own).sum())
    for _ in range(TRIALS):
        information.flat[:: len(own) + 1] = own * (1.0 + damping)
        move = np.minimum(np.maximum(dposv(information, gradient)[1], -FAR), FAR)
        there = away + move
        point = point_at(problem, mode + move.reshape(mode.shape))
        rest = _white(problem, root, point.residuals)
        gain = float(worth - rest @ rest / variance - there @ prior.precision @ there)
        if gain >= 0:
            picked = _picked(problem, point, state.picked)
            return State(point, picked, variance, effective, max(damping / 5.0, 1e-3)), gain
        damping *= 6.0
    return State(state.point, state.picked, variance, effective, damping), 0.0


def noise_variance(problem: Problem, squares: float, effective: float) -> float:
    """Of the noise, between its prior guess and what the residuals say."""
    free = NOISE_WEIGHT + max(len(problem.log_time) - effective, 0.0)
    return (NOISE_WEIGHT * NOISE_SD**2 + squares) / free


def _white(problem: Problem, root: Floats, residuals: Floats) -> Floats:
    """Whitened residuals, flat."""
    return np.asarray((root @ problem.groups.rows(residuals)[:, :, None]).ravel())


def _picked(problem: Problem, point: Point, before: Picked | None) -> Picked:
    slowest = slowest_of(point.of_kind)
    if before is not None and np.array_equal(slowest, before.slowest):
        return before
    rows = np.arange(len(slowest))
    table = np.zeros(problem.terms.shape)
    table[rows, slowest] = problem.terms[rows, slowest]
    return Picked(slowest, problem.groups.rows(table.reshape(len(rows), -1)))

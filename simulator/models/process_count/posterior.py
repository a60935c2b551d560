"""The fit of one program shape, once for each belief, and what a fitted structure says of configurations."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from simulator.base.arrays import Floats, Ints
from simulator.models.process_count.problem import (
    LIKENESS,
    Cells,
    Groups,
    Prior,
    Problem,
    amplitude,
    amplitude_of,
    choose_likeness,
    groups_of,
    inverse_roots,
    kernel,
    log_times,
    prior_of,
    problem_of,
    scales_of,
    seconds,
    slowest_of,
    used_columns,
)
from simulator.models.process_count.terms import BELIEFS, TERMS, WORK, Belief, Shape

ROUNDS = 3
"""Corrections of the guess."""
WIDTHS = np.exp(1.1 * np.sqrt([term.sd**2 + term.kind_sd**2 for term in TERMS]))
"""Standard deviation of a coefficient in the start's prior, relative to its centre."""


NOISE_SD = 0.03
"""Prior guess of the relative noise of a cell."""
NOISE_WEIGHT = 3.0
"""Residuals that the prior guess is worth."""
TRIALS = 5
"""Most shorter steps that are tried where a step makes the fit worse."""
FAR = 2.0
"""Largest change of a log coefficient in one step."""
PILOT_SD = 0.01
"""Relative residual that one such deviation is worth."""
LEAST = 0.3
"""Least coefficient, relative to the prior's centre."""
STEPS = 10
"""Most steps before, and after, outliers and what configurations keep of their own are judged."""
SETTLED, CLOSE = 3.0, 0.3
"""Gain in the squared whitened residuals below which the steps end, before and after."""
MEDIAN_SD = 0.6745
"""Median of the absolute value of a standard normal number."""
ROUGH_SD = 0.05
"""Least spread of the residuals before the fit by which outliers are judged."""
OUTLYING, GROSS = 3.0, 8.0
"""Standard deviations beyond which a cell loses weight, and nearly all of it."""
ADAPTED = 0.5
"""Part of the effective coefficients that adapts to configurations; the rest to the growth with the size."""
OWN_LEAST_SD = 0.01
"""Least standard deviation of what a configuration keeps of its own: closer ones are not distinguished."""
MOST_CAUTION = 1.0
"""Most that the mean may exceed the median, in log seconds."""


# Damped Gauss-Newton steps on the log coefficients, from point to point; what a point knows is worked out once.


@dataclass(frozen=True)
class Point:
    """A problem at some log coefficients."""

    mode: Floats
    """Log coefficients, (kind, terms)."""
    factors: Floats
    of_kind: Floats
    """Seconds, (rows, kind)."""
    longest: Floats
    """Seconds of the slowest kind, (rows,)."""
    residuals: Floats
    """Of the log times, (rows,)."""


@dataclass(frozen=True)
class State:
    """Where a solution stands."""

    point: Point
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
    return State(point_at(problem, mode), variance, effective)


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
    slowest, rows = slowest_of(point.of_kind), np.arange(len(point.longest))
    table = np.zeros(problem.terms.shape)
    table[rows, slowest] = problem.terms[rows, slowest]
    # The slopes are terms * factors / longest: dividing the roots and scaling the products is less work.
    slopes = (root * groups.rows(1.0 / point.longest)[:, None, :]) @ groups.rows(table.reshape(len(rows), -1))
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
            return State(point, variance, effective, max(damping / 5.0, 1e-3)), gain
        damping *= 6.0
    return State(state.point, variance, effective, damping), 0.0


def noise_variance(problem: Problem, squares: float, effective: float) -> float:
    """Of the noise, between its prior guess and what the residuals say."""
    free = NOISE_WEIGHT + max(len(problem.log_time) - effective, 0.0)
    return (NOISE_WEIGHT * NOISE_SD**2 + squares) / free


def _white(problem: Problem, root: Floats, residuals: Floats) -> Floats:
    """Whitened residuals, flat."""
    return np.asarray((root @ problem.groups.rows(residuals)[:, :, None]).ravel())


# Where a fit starts: non-negative least squares with the kind that is slowest in each run guessed and corrected.


def pilot(terms: Floats, weights: Floats, prior: Prior) -> Floats:
    """Log coefficients, shape (kind, terms).

    `terms`: scaled and divided by the measured times, shape (cells, kind, terms).
    `weights`: of each cell's relative residual, (cells,).
    """
    kinds, count = terms.shape[1:]
    centre = np.exp(prior.mean.reshape(kinds, count))
    wide = centre * WIDTHS
    used = terms.any(axis=2)
    alone = used.sum(axis=1) == 1
    found = centre.copy()
    slowest = np.where(alone, used.argmax(axis=1), -1)
    before = np.full_like(slowest, -1)
    for _ in range(ROUNDS):
        for kind in range(kinds):
            rows = slowest == kind
            if rows.any() and not np.array_equal(rows, before == kind):
                found[kind] = _solve(terms[rows, kind], weights[rows], centre[kind], wide[kind])
        if alone.all():
            break
        before, slowest = slowest, np.where(alone, slowest, slowest_of(seconds(terms, found)))
    return np.log(np.maximum(found, LEAST * centre))


def _solve(terms: Floats, weights: Floats, centre: Floats, wide: Floats) -> Floats:
    from scipy.optimize import nnls

    design = terms * weights[:, None]
    ridge = (PILOT_SD / wide) ** 2
    normal, right = design.T @ design, design.T @ weights + ridge * centre
    diagonal = np.arange(len(centre))
    normal[diagonal, diagonal] += ridge
    # Any root of the normal equations has the same solution as the rows, and is much smaller.
    root = np.linalg.cholesky(normal)
    return np.asarray(nnls(root.T, np.linalg.solve(root, right))[0])


@dataclass(frozen=True)
class Posterior:
    """A fitted structure."""

    shape: Shape
    prior: Prior
    mode: Floats
    """Log coefficients, (kind, terms)."""
    covariance: Floats
    """Of the log coefficients, (kind * terms, kind * terms)."""
    variance: float
    freedom: float
    """Degrees of freedom of that variance."""
    effective: float
    """Coefficients that the cells, not the prior, decide."""
    likeness: float
    """Variance of what a configuration keeps of its own, relative to `variance`."""
    amplitude: Floats
    """Of each cell's own part, (cells,)."""
    noise: Floats
    """Variance of each cell's noise relative to `variance`, (cells,)."""
    evidence: float
    """Logarithm of the Laplace approximation of the marginal likelihood, up to a constant of the kinds and runs."""


def fit_shape(shape: Shape, cells: Cells, beliefs: tuple[Belief, ...] = BELIEFS) -> list[Posterior]:
    """Fit all coefficients of one program shape, once for each belief."""
    scale = scales_of(shape, cells)
    problem = problem_of(shape, cells, scale)
    neutral = prior_of(len(cells.kinds), Belief("", 1.0), scale)
    relative = problem.terms / np.exp(problem.log_time)[:, None, None]
    state = state_at(problem, pilot(relative, 1.0 / np.sqrt(problem.noise), neutral))
    judged, state = _settled(problem, neutral, state, LIKENESS[1])
    return [_closed(shape, judged, prior_of(len(cells.kinds), belief, scale), state) for belief in beliefs]


def refit(posterior: Posterior, cells: Cells) -> Posterior:
    """The same structure from fewer cells, started from the fit of all."""
    problem = problem_of(posterior.shape, cells, posterior.prior.scale)
    state = state_at(problem, posterior.mode, posterior.variance, posterior.effective)
    judged, state = _settled(problem, posterior.prior, state, posterior.likeness)
    return _closed(posterior.shape, judged, posterior.prior, state)


@dataclass(frozen=True)
class _Judged:
    """A problem of which it is known what configurations keep of their own, and which rows are disturbed."""

    problem: Problem
    amplitude: Floats
    likeness: float

    @cached_property
    def root(self) -> Floats:
        """What whitens the residuals of each configuration, (configurations, places, places)."""
        return inverse_roots(self.problem.groups.covariance(self.problem.noise, self.likeness))


def _settled(problem: Problem, prior: Prior, state: State, likeness: float) -> tuple[_Judged, State]:
    """A rough fit, and what it says about the residuals."""
    point = state.point
    spread = amplitude(problem.terms, point.mode)
    # By their own noise: a small part of a short run is off by much and yet as expected.
    away = np.abs(point.residuals) / np.sqrt(problem.noise)
    far = away / (GROSS * max(float(np.median(away)) / MEDIAN_SD, ROUGH_SD))
    rough = _Judged(
        replace(problem, groups=problem.groups.scaled(spread), noise=problem.noise * np.maximum(far, 1.0) ** 2),
        spread,
        likeness,
    )
    for _ in range(STEPS):
        state, gain = step(rough.problem, prior, rough.root, state)
        if gain < SETTLED:
            break
    spread = amplitude(problem.terms, state.point.mode)
    problem = replace(problem, groups=problem.groups.scaled(spread))
    residuals = state.point.residuals
    likeness = choose_likeness(problem.groups, problem.noise, residuals)
    judged = _Judged(problem, spread, likeness)
    factor = _disturbance(judged, residuals, state.variance)
    if (factor > 1.0).any():
        judged = replace(judged, problem=replace(problem, noise=problem.noise * factor))
    return judged, state


def _closed(shape: Shape, judged: _Judged, prior: Prior, state: State) -> Posterior:
    """The fit itself."""
    for _ in range(STEPS):
        state, gain = step(judged.problem, prior, judged.root, state)
        if gain < CLOSE:
            break
    return _posterior(shape, judged, prior, state)


def _disturbance(judged: _Judged, residuals: Floats, variance: float) -> Floats:
    """Factor on the noise variance of each row: above 1 where its neighbours did not expect it at all."""
    groups, root = judged.problem.groups, judged.root
    away = root.transpose(0, 2, 1) @ (root @ groups.rows(residuals)[:, :, None])
    surprise = np.abs(away[:, :, 0]) / np.sqrt((root * root).sum(axis=1) * variance)
    factor = np.ones(len(residuals))
    there = groups.there > 0
    factor[groups.index[there]] = (
        np.maximum(surprise[there] / OUTLYING, 1.0) * np.maximum(surprise[there] / GROSS, 1.0)
    ) ** 2
    return factor


def _posterior(shape: Shape, judged: _Judged, prior: Prior, state: State) -> Posterior:
    problem, root, point = judged.problem, judged.root, state.point
    count = len(problem.log_time)
    local = linearised(problem, root, state)
    variance = noise_variance(problem, local.squares, state.effective)
    covariance, log_det = _inverse(local.normal / variance + prior.precision)
    effective = float((covariance * local.normal).sum() / variance)
    away = point.mode.ravel() - prior.mean
    evidence = -0.5 * (
        local.squares / variance
        + away @ prior.precision @ away
        + count * np.log(variance)
        + log_det
        - 2 * np.log(root.diagonal(axis1=1, axis2=2)).sum()
        + NOISE_WEIGHT * (NOISE_SD**2 / variance + np.log(variance))
    )
    return Posterior(
        shape=shape,
        prior=prior,
        mode=point.mode,
        covariance=covariance,
        variance=variance,
        freedom=NOISE_WEIGHT + max(count - effective, 0.0),
        effective=effective,
        likeness=judged.likeness,
        amplitude=judged.amplitude,
        noise=problem.noise,
        evidence=float(evidence),
    )


def _inverse(information: Floats) -> tuple[Floats, float]:
    """Of a positive definite matrix, and the logarithm of its determinant."""
    root = dpotrf(information, lower=1, clean=1)[0]
    lower = dpotri(root, lower=1)[0]
    found = lower + lower.T
    found.flat[:: len(found) + 1] = lower.diagonal()
    return np.asarray(found), 2.0 * float(np.log(root.diagonal()).sum())


# One fitted structure as a predictor: log times, their slopes, and what single configurations keep of their own.


@dataclass(frozen=True)
class Predicted:
    """What a structure says at n points."""

    of_kind: Floats
    """Log seconds of the PEs of each kind, minus infinity where it takes no part; (n, kind)."""
    parts: Floats
    """Share of each term in them, (n, kind, terms)."""
    shift: Floats
    """What the own runs of the configuration add to the log makespan, (n,)."""
    pull: Floats
    """By how much less the log makespan follows the log coefficients for that, (n, kind * terms)."""
    own: Floats
    """Variance of what else the configuration keeps of its own, (n,)."""
    caution: Floats
    """How much the mean of the seconds of a kind exceeds their median, in log seconds; (n, kind)."""

    @cached_property
    def slopes(self) -> Floats:
        """Of the log makespan by the log coefficients, (n, kind * terms)."""
        rows = np.arange(len(self.shift))
        found = np.zeros_like(self.parts)
        slowest = slowest_of(self.of_kind)
        found[rows, slowest] = self.parts[rows, slowest]
        found = found.reshape(len(rows), -1)
        found -= self.pull
        return found


@dataclass(frozen=True)
class Structure:
    """A posterior and the cells that it rests on."""

    posterior: Posterior
    cells: Cells

    @cached_property
    def groups(self) -> Groups:
        """The cells by configuration."""
        count = len(self.cells.size)
        return groups_of(self.cells.size, self.cells.configuration).scaled(self.posterior.amplitude[:count])

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        """Number of each measured configuration."""
        first = np.ascontiguousarray(self.cells.allocations[self.cells.first()], dtype=np.int64)
        return {row.tobytes(): number for number, row in enumerate(first)}

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Floats, Floats]:
        """By configuration: inverse covariance of the residuals, amplitudes, residuals, slopes."""
        fitted, groups = self.posterior, self.groups
        count = len(self.cells.size)
        inverse = np.asarray(np.linalg.inv(groups.covariance(fitted.noise[:count], fitted.likeness)), dtype=np.float64)
        mean, slopes = log_times(self.terms(self.cells.size, self.cells.allocations), fitted.mode)
        residuals = groups.rows(np.log(self.cells.time_s) - mean)
        return inverse, groups.rows(fitted.amplitude[:count]), residuals, groups.rows(slopes)

    def terms(self, size: Floats, allocations: Ints) -> Floats:
        """Scaled terms, (n, kind, terms)."""
        return used_columns(self.posterior.shape, size, allocations) * self.posterior.prior.scale

    def measured(self, allocations: Ints) -> Ints:
        """Number of each measured configuration, -1 for others."""
        rows = np.ascontiguousarray(allocations, dtype=np.int64)
        return np.array([self._numbers.get(row.tobytes(), -1) for row in rows], dtype=np.int64)

    def predict(self, size: float, terms: Floats, number: Ints) -> Predicted:
        """Everything about configurations at one problem size."""
        fitted = self.posterior
        parts = terms * np.exp(fitted.mode)
        seconds = parts.sum(axis=2)
        spread = amplitude_of(seconds, parts[:, :, :WORK].sum(axis=2))
        parts /= np.where(seconds > 0, seconds, 1.0)[:, :, None]
        with np.errstate(divide="ignore"):
            of_kind = np.log(seconds)
        own = fitted.likeness * spread**2
        shift, pull = np.zeros(len(own)), np.zeros((len(own), fitted.mode.size))
        # What was not measured may keep more of its own than what the fit has adapted to.
        count = float(self.cells.configuration[-1] + 1)
        own[number < 0] *= count / (count - min(ADAPTED * fitted.effective, 2.0 * count / 3.0))
        seen = np.flatnonzero(number >= 0)
        if len(seen):
            which = number[seen]
            inverse, amplitudes, residuals, slopes = self._known
            near = kernel(np.log(size), self.groups.logs[which]) * amplitudes[which]
            near *= fitted.likeness * spread[seen, None]
            gain = (near[:, None, :] @ inverse[which])[:, 0]
            shift[seen] = (gain * residuals[which]).sum(axis=1)
            pull[seen] = (gain[:, None, :] @ slopes[which])[:, 0]
            own[seen] = np.maximum(own[seen] - (gain * near).sum(axis=1), 0.0)
        own = np.maximum(own * fitted.variance, OWN_LEAST_SD**2)
        return Predicted(of_kind, parts, shift, pull, own, self.caution(parts))

    def caution(self, parts: Floats) -> Floats:
        """Half the variance of the log seconds of a kind, by the share of each of its terms, (..., kind, terms).

        It matters for kinds that were never the slowest of a run, or never ran: their median would look too good.
        """
        kinds, terms = self.posterior.mode.shape
        whole = self.posterior.covariance.reshape(kinds, terms, kinds, terms)
        found = [
            ((parts[..., kind, :] @ whole[kind, :, kind]) * parts[..., kind, :]).sum(axis=-1) for kind in range(kinds)
        ]
        return np.asarray(np.minimum(np.stack(found, axis=-1) / 2.0, MOST_CAUTION))

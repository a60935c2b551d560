"""The posterior mode of one program shape: damped Gauss-Newton steps on the log coefficients."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dposv

from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.prior import Prior, prior_of, scales_of
from simulator.models.process_count.pooled.problem import Problem, amplitude, log_times, problem_of, seconds
from simulator.models.process_count.pooled.residuals import LIKENESS, choose_likeness
from simulator.models.process_count.pooled.start import pilot
from simulator.models.process_count.pooled.terms import BELIEFS, Belief, Shape
from simulator.models.process_count.runs import Floats

NOISE_SD = 0.03
"""Prior guess of the relative noise of a cell."""
NOISE_WEIGHT = 3.0
"""Residuals that the prior guess is worth."""
STEPS = 10
"""Most steps before, and after, outliers and what configurations keep of their own are judged."""
SETTLED, CLOSE = 3.0, 0.3
"""Gain in the squared whitened residuals below which the steps end, before and after."""
TRIALS = 5
"""Most shorter steps that are tried where a step makes the fit worse."""
FAR = 2.0
"""Largest change of a log coefficient in one step."""
MEDIAN_SD = 0.6745
"""Median of the absolute value of a standard normal number."""
ROUGH_SD = 0.05
"""Least spread of the residuals before the fit by which outliers are judged."""
OUTLYING, GROSS = 3.0, 8.0
"""Standard deviations beyond which a cell loses weight, and nearly all of it."""


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
    """Of the noise of a long cell."""
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
    residuals: Floats
    """Log residuals of the cells."""
    evidence: float
    """Logarithm of the Laplace approximation of the marginal likelihood, up to a constant of the kinds and runs."""


def fit_shape(shape: Shape, cells: Cells, beliefs: tuple[Belief, ...] = BELIEFS) -> list[Posterior]:
    """Fit all coefficients of one program shape, once for each belief."""
    scale = scales_of(shape, cells)
    problem = problem_of(shape, cells, scale)
    neutral = prior_of(len(cells.kinds), Belief("neutral", "", 1.0), scale)
    relative = problem.terms / np.exp(problem.log_time)[:, None, None]
    state = _State(pilot(relative, 1.0 / np.sqrt(problem.noise), neutral))
    judged, state = _settled(problem, neutral, state, LIKENESS[1])
    return [_closed(shape, judged, prior_of(len(cells.kinds), belief, scale), state) for belief in beliefs]


def refit(posterior: Posterior, cells: Cells) -> Posterior:
    """The same structure from fewer cells, started from the fit of all."""
    problem = problem_of(posterior.shape, cells, posterior.prior.scale)
    state = _State(posterior.mode, posterior.variance, posterior.effective)
    judged, state = _settled(problem, posterior.prior, state, posterior.likeness)
    return _closed(posterior.shape, judged, posterior.prior, state)


@dataclass(frozen=True)
class _State:
    """Where a solution stands."""

    mode: Floats
    variance: float = 0.3**2
    effective: float = 0.0
    damping: float = 0.1


@dataclass(frozen=True)
class _Judged:
    """A problem of which it is known what configurations keep of their own, and which rows are disturbed."""

    problem: Problem
    amplitude: Floats
    likeness: float

    def root(self) -> Floats:
        """What whitens the residuals of each configuration, (configurations, places, places)."""
        covariance = self.problem.groups.covariance(self.problem.noise, self.likeness)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def _settled(problem: Problem, prior: Prior, state: _State, likeness: float) -> tuple[_Judged, _State]:
    """A rough fit, and what it says about the residuals."""
    spread = amplitude(problem.terms, state.mode)
    away = np.abs(problem.log_time - log_times(problem.terms, state.mode)[0])
    far = away / (GROSS * max(float(np.median(away)) / MEDIAN_SD, ROUGH_SD))
    rough = _Judged(
        replace(problem, groups=problem.groups.scaled(spread), noise=problem.noise * np.maximum(far, 1.0) ** 2),
        spread,
        likeness,
    )
    root = rough.root()
    for _ in range(STEPS):
        state, gain = _step(rough.problem, prior, root, state)
        if gain < SETTLED:
            break
    spread = amplitude(problem.terms, state.mode)
    problem = replace(problem, groups=problem.groups.scaled(spread))
    residuals = problem.log_time - log_times(problem.terms, state.mode)[0]
    likeness = choose_likeness(problem.groups, problem.noise, residuals)
    factor = _disturbance(problem, likeness, residuals, state.variance)
    return _Judged(replace(problem, noise=problem.noise * factor), spread, likeness), state


def _closed(shape: Shape, judged: _Judged, prior: Prior, state: _State) -> Posterior:
    """The fit itself."""
    root = judged.root()
    for _ in range(STEPS):
        state, gain = _step(judged.problem, prior, root, state)
        if gain < CLOSE:
            break
    return _posterior(shape, judged, prior, state, root)


@dataclass(frozen=True)
class _Local:
    """A problem linearised at one point."""

    squares: float
    normal: Floats
    gradient: Floats


def _white(problem: Problem, root: Floats, residuals: Floats) -> Floats:
    """Whitened residuals, flat."""
    return np.asarray((root @ problem.groups.rows(residuals)[:, :, None]).ravel())


def _linearised(problem: Problem, root: Floats, mode: Floats) -> _Local:
    predicted, jacobian = log_times(problem.terms, mode)
    rest = _white(problem, root, problem.log_time - predicted)
    slopes = (root @ problem.groups.rows(jacobian)).reshape(len(rest), -1)
    return _Local(float(rest @ rest), slopes.T @ slopes, slopes.T @ rest)


def _step(problem: Problem, prior: Prior, root: Floats, state: _State) -> tuple[_State, float]:
    """One step that does not make the fit worse, and what it gains in squared whitened residuals."""
    local = _linearised(problem, root, state.mode)
    variance = _variance(problem, local.squares, state.effective)
    away = state.mode.ravel() - prior.mean
    pull = prior.precision @ away
    information = local.normal / variance + prior.precision
    gradient = local.gradient / variance - pull
    worth = local.squares / variance + away @ pull
    damping = state.damping
    diagonal = np.arange(len(away))
    own = information[diagonal, diagonal]
    effective = float((1.0 - prior.precision[diagonal, diagonal] / own).sum())
    for _ in range(TRIALS):
        information[diagonal, diagonal] = own * (1.0 + damping)
        move = np.minimum(np.maximum(dposv(information, gradient)[1], -FAR), FAR)
        mode = state.mode + move.reshape(state.mode.shape)
        longest = seconds(problem.terms, np.exp(mode)).max(axis=1)
        rest = _white(problem, root, problem.log_time - np.log(longest))
        gain = float(worth - rest @ rest / variance - (away + move) @ prior.precision @ (away + move))
        if gain >= 0:
            return _State(mode, variance, effective, max(damping / 5.0, 1e-3)), gain
        damping *= 6.0
    return _State(state.mode, variance, effective, damping), 0.0


def _variance(problem: Problem, squares: float, effective: float) -> float:
    """Of the noise, between its prior guess and what the residuals say."""
    free = NOISE_WEIGHT + max(len(problem.log_time) - effective, 0.0)
    return (NOISE_WEIGHT * NOISE_SD**2 + squares) / free


def _disturbance(problem: Problem, likeness: float, residuals: Floats, variance: float) -> Floats:
    """Factor on the noise variance of each row: above 1 where its neighbours did not expect it at all."""
    groups = problem.groups
    inverse = np.linalg.inv(groups.covariance(problem.noise, likeness))
    places = np.arange(inverse.shape[1])
    own = inverse[:, places, places]
    surprise = np.abs((inverse @ groups.rows(residuals)[:, :, None])[:, :, 0]) / np.sqrt(own * variance)
    factor = np.ones(len(residuals))
    there = groups.there > 0
    factor[groups.index[there]] = (
        np.maximum(surprise[there] / OUTLYING, 1.0) * np.maximum(surprise[there] / GROSS, 1.0)
    ) ** 2
    return factor


def _posterior(shape: Shape, judged: _Judged, prior: Prior, state: _State, root: Floats) -> Posterior:
    problem = judged.problem
    count = len(problem.log_time)
    local = _linearised(problem, root, state.mode)
    variance = _variance(problem, local.squares, state.effective)
    covariance = np.asarray(np.linalg.inv(local.normal / variance + prior.precision), dtype=np.float64)
    effective = float((covariance * local.normal).sum() / variance)
    away = state.mode.ravel() - prior.mean
    places = np.arange(root.shape[1])
    evidence = -0.5 * (
        local.squares / variance
        + away @ prior.precision @ away
        + count * np.log(variance)
        - np.linalg.slogdet(covariance)[1]
        - 2 * np.log(root[:, places, places]).sum()
        + NOISE_WEIGHT * (NOISE_SD**2 / variance + np.log(variance))
    )
    return Posterior(
        shape=shape,
        prior=prior,
        mode=state.mode,
        covariance=covariance,
        variance=variance,
        freedom=NOISE_WEIGHT + max(count - effective, 0.0),
        effective=effective,
        likeness=judged.likeness,
        amplitude=judged.amplitude,
        noise=problem.noise,
        residuals=problem.log_time - log_times(problem.terms, state.mode)[0],
        evidence=float(evidence),
    )

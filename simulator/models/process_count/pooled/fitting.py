"""The posterior mode of one program shape, once for each belief, and what its residuals say of the noise."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.prior import Prior, prior_of, scales_of
from simulator.models.process_count.pooled.problem import Problem, amplitude, problem_of
from simulator.models.process_count.pooled.residuals import LIKENESS, choose_likeness, inverse_roots
from simulator.models.process_count.pooled.start import pilot
from simulator.models.process_count.pooled.steps import (
    NOISE_SD,
    NOISE_WEIGHT,
    State,
    linearised,
    noise_variance,
    state_at,
    step,
)
from simulator.models.process_count.pooled.terms import BELIEFS, Belief, Shape
from simulator.models.process_count.runs import Floats

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
        residuals=point.residuals,
        evidence=float(evidence),
    )


def _inverse(information: Floats) -> tuple[Floats, float]:
    """Of a positive definite matrix, and the logarithm of its determinant."""
    root = dpotrf(information, lower=1, clean=1)[0]
    lower = dpotri(root, lower=1)[0]
    found = lower + lower.T
    found.flat[:: len(found) + 1] = lower.diagonal()
    return np.asarray(found), 2.0 * float(np.log(root.diagonal()).sum())

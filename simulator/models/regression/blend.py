"""The default method: candidate cost structures weighted by how well they predict larger runs.

Candidates are fitted to the medians of the cells with the exponents as the formula says, with corrected ones, and with
residuals that are alike at neighbouring points too. Forward validation holds out the largest values of each parameter;
a weight is the prior odds times the geometric mean of its density and of the evidence of the full fit. Intervals are
quantiles of the mixture of Student distributions, their doubt widened by what forward validation found.

Outside of the hull of the runs there is a doubt of its own: it grows with the distance from the hull, at a rate that
the same validation has learnt, and the time may turn up behind the last run of a parameter, which no run can refuse.
Turns do not move points.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from simulator.base import ties
from simulator.base.arrays import Counts, Flags, Floats, Ints, Matrix, Vector
from simulator.base.documents import FLAT, Data, read, to_dict
from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula, parse
from simulator.models.choice import odds
from simulator.models.doubt import FEWEST_SPREADS, growth_of, rate_beyond
from simulator.models.file import rows_of
from simulator.models.regression.candidates import (
    NOISE_SD,
    NOISE_WEIGHT,
    PRIOR,
    Batch,
    Design,
    Extra,
    Posterior,
    fit_batch,
    log_predict,
    make_design,
    middle,
    prior_of,
)
from simulator.models.regression.runs import Cells, beyond_hull, resolution_s, share_of_median

LIKENESS = 3.0
"""Variance of the alike part of the residuals, relative to the independent part."""
LIKENESS_REACH = 0.5
"""Distance over which residuals are alike, relative to the trained range of each parameter's logarithm."""
FORWARD_WORTH = 3.0
"""Most observations that one forward split counts for: held-out cells of one split err together."""
CALIBRATION_WEIGHT = 4.0
"""Forward errors of unit size that the calibration starts from."""
EFFICIENCY = 0.37
"""What a robust spread of so many deviations is worth, as a share of them (that of a median absolute deviation)."""
MOST_DEGREES = 3.0
"""Of freedom that a range is worth."""
GROWS = float(np.log(4))
"""Logarithm of the time beyond the runs up to which the noise goes on growing."""
NEGLIGIBLE = 1e-4
"""Weight below which a candidate is left out."""
RATE = 0.02
"""Doubt of the log time per unit of log distance outside of the runs, of models written before it was learnt."""
MAX_CELLS = 256
"""More cells than this are thinned to representatives before the structures are weighed."""
_MEMBERS = ("extra", "alike", "weight", "mode", "covariance", "variance", "freedom", "inflation")
"""Arrays with an entry for each member."""


@dataclass(frozen=True)
class Blend:
    """A fitted default model of one response."""

    design: Design
    cells: Cells
    """The cells that it rests on, thinned if they were many."""
    step_s: float
    """Step in which the times were recorded."""
    extra: Ints
    """Index into `design.extras` of each member."""
    alike: Flags
    """Whether the member's residuals are alike at neighbouring points."""
    weight: Floats
    mode: Floats
    covariance: Floats
    variance: Floats
    freedom: Floats
    inflation: Floats
    """Factor on the member's predictive variance."""
    forward_error: float | None
    """Mean absolute relative error of the best candidate in the forward validation, None if too little to hold out."""

    rate: float = RATE
    """Standard deviation of the log time per unit of log distance from the hull of the runs."""
    growth: float = 0.0
    """Power of the time by which the relative noise goes with it."""
    training_error: float = 0.0
    """Median absolute log residual of the best candidate at the cells."""
    _known: tuple[Floats, Floats, Floats] | None = field(default=None, compare=False, repr=False)

    def members(self, values: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """By every member: log seconds, variance of their mean, variance of one run; (members, n) each."""
        mean, jacobian, local = self._located(values)
        spread = ((self.covariance @ jacobian) * jacobian).sum(axis=1)
        of_mean = (spread + self.variance[:, None] * local) * self.inflation[:, None]
        of_mean += self._extrapolation(values)
        noise = self.variance[:, None] * self._relative(mean) + self._single(mean)
        return mean, of_mean, of_mean + noise

    def causes(self, values: Mapping[str, Floats]) -> Floats:
        """Variance of the log mean at one target by what it comes from: sampling, the form, and extrapolation; (3,)."""
        mean, jacobian, local = self._located(values)
        sampling = ((self.covariance @ jacobian) * jacobian).sum(axis=1)[:, 0]
        widened = (sampling + self.variance * local[:, 0]) * self.inflation

        def whole(weight: Floats) -> float:
            return float(weight @ (widened + (mean[:, 0] - weight @ mean[:, 0]) ** 2))

        known, steady = float(self.steady @ sampling), whole(self.steady)
        beyond = float(self._extrapolation(values)[0]) + max(whole(self.weight) - steady, 0.0)
        # Where the forward validation narrows the doubt, the form adds none.
        return np.array([known, max(steady - known, 0.0), beyond])

    def _located(self, values: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """Log seconds, derivatives, and the alike residuals' variance, by every member."""
        design = self.design
        terms, lacking, logs = design.terms(values), design.lacking(values), design.logs(values)
        mean, jacobian = log_predict(terms, lacking[self.extra], logs, self.mode)
        local = np.zeros_like(mean)
        if self.alike.any():
            kernel = _kernel(logs, self._trained_logs(), design.span)
            inverse, trained, slopes = self._trained
            gain = kernel @ inverse  # (n, cells)
            which = np.flatnonzero(self.alike)
            mean[which] += trained @ gain.T
            jacobian[which] -= slopes @ gain.T
            local[which] = np.maximum(LIKENESS - (gain * kernel).sum(axis=1), 0.0)
        return mean, jacobian, local

    def _extrapolation(self, values: Mapping[str, Floats]) -> Floats:
        """Variance for what may change outside of the hull of the runs (caches, protocols), shape (n,)."""
        if not self.design.varying:
            return np.zeros(len(next(iter(values.values()))))
        return np.asarray((self.rate * beyond_hull(self._trained_logs(), self.design.logs(values))) ** 2)

    def noise_factor(self, logs: Floats) -> Floats:
        """Relative noise of runs of so many log seconds over that of a usual run; any shape."""
        return _grown(logs, self.cells.time_s, self.growth)

    def _relative(self, logs: Floats) -> Floats:
        """Variance of cells of so many log seconds relative to one with weight 1."""
        return np.asarray(_coarseness(np.exp(logs), self.step_s) * self.noise_factor(logs) ** 2)

    def _single(self, mean: Floats) -> Floats:
        """What one run scatters more than the median of a cell, whose scatter the residuals have; a variance."""
        share = 1.0 - float(np.mean(share_of_median(self.cells.runs)))
        return np.asarray(share * (self.cells.run_sd * self.noise_factor(mean)) ** 2)

    def freedom_of_run(self, mean: Floats, of_run: Floats) -> Floats:
        """Degrees of freedom of the variance of one run (Satterthwaite): repetitions give some; (members, n)."""
        repeated, single = max(float(np.sum(self.cells.runs - 1)) * EFFICIENCY, 1.0), self._single(mean)
        rest = np.maximum(of_run - single, 0.0)
        return np.asarray(of_run**2 / (rest**2 / self.freedom[:, None] + single**2 / repeated))

    def point(self, values: Mapping[str, Floats]) -> Floats:
        """Predicted seconds, shape (n,)."""
        return np.asarray(np.exp(self.steady @ self._located(values)[0]))

    @cached_property
    def steady(self) -> Floats:
        """Weights of members but those that turn, which the runs say nothing about; shape (members,)."""
        kept = np.array([self.design.extras[extra].kind != "turning" for extra in self.extra.tolist()])
        return np.asarray(np.where(kept, self.weight, 0.0) / self.weight[kept].sum())

    def _trained_logs(self) -> Floats:
        return self.design.logs(self.cells.columns())

    @cached_property
    def _trained(self) -> tuple[Floats, Floats, Floats]:
        """At the trained cells: inverse covariance of the residuals; residuals and derivatives of the alike members."""
        if self._known is not None:
            return self._known
        values, which, logs = self.cells.columns(), np.flatnonzero(self.alike), self._trained_logs()
        root = _whitening(logs, 1 / self._relative(np.log(self.cells.time_s)), self.design.span)
        lacking = self.design.lacking(values)[self.extra[which]]
        mean, jacobian = log_predict(self.design.terms(values), lacking, logs, self.mode[which])
        return root.T @ root, np.log(self.cells.time_s) - mean, jacobian


def fit_blend(formula: Formula, cells: Cells) -> Blend:
    """Fit the default model."""
    step, whole = resolution_s(np.concatenate([cells.low_s, cells.high_s])), cells
    weights = 1 / _coarseness(cells.time_s, step)
    if len(cells.time_s) > MAX_CELLS:
        cells = _thinned(make_design(formula, cells, weights)[0], cells)
        weights = 1 / _coarseness(cells.time_s, step)
    design, lacking = make_design(formula, cells, weights)
    independent, alike, root, seen = _candidates(design, lacking, cells, weights)
    extras = len(design.extras)
    kinds = 2 * extras
    best = ties.first_most(independent.evidence[:kinds])
    growth = _growth(whole, cells, independent.residuals[best] * np.sqrt(weights), float(independent.freedom[best]))
    if growth:
        weights = weights / _grown(np.log(cells.time_s), cells.time_s, growth) ** 2
        independent, alike, root, seen = _candidates(design, lacking, cells, weights)
    score, surprise, error = _forward(independent, seen, weights, kinds)
    prior = np.tile(np.log(_prior_odds(design.extras)), 3)
    evidence = [
        independent.evidence[:kinds] + 0.5 * np.log(weights).sum(),
        alike.evidence + np.log(np.diag(root)).sum(),
    ]
    weight = odds(prior + 0.5 * (np.concatenate(evidence) + np.concatenate([score, score[extras:]])))
    kept = weight > NEGLIGIBLE * weight.sum()

    def both(field: str) -> Any:
        return np.concatenate([getattr(independent, field)[:kinds], getattr(alike, field)])[kept]

    return Blend(
        design=design,
        cells=cells,
        step_s=step,
        extra=np.tile(np.arange(extras), 3)[kept],
        alike=np.repeat([False, False, True], extras)[kept],
        weight=weight[kept] / weight[kept].sum(),
        mode=both("mode"),
        covariance=both("covariance"),
        variance=both("variance"),
        freedom=both("freedom"),
        inflation=np.concatenate([surprise, np.sqrt(surprise[extras:])])[kept],
        forward_error=error,
        growth=growth,
        rate=_rate(independent, seen[::kinds], weights, prior[:kinds], design.logs(cells.columns())),
        training_error=float(middle(np.abs(independent.residuals[ties.first_most(weight[:kinds])]))),
        _known=(root.T @ root, alike.residuals[kept[kinds:]], alike.jacobian[kept[kinds:]]),
    )


def _candidates(
    design: Design, lacking: Floats, cells: Cells, weights: Floats
) -> tuple[Posterior, Posterior, Floats, Flags]:
    """Candidates with independent and with alike residuals, whitening of these, cells seen by those (batch, cells)."""
    # The former: for all cells, then for each forward split, exponents as written and then corrected.
    values = cells.columns()
    terms, logs = design.terms(values), design.logs(values)
    extras, count, masks = len(lacking), len(terms), _forward_masks(design, cells)
    means, precisions = prior_of(design, terms, cells.time_s)
    precision = np.repeat(precisions, extras, axis=0)
    seen = np.repeat(np.vstack([np.ones((1, count), bool), masks]), 2 * extras, axis=0)
    independent = fit_batch(
        Batch(
            columns=(terms, np.tile(lacking, (2 + 2 * len(masks), 1)), logs),
            log_times=np.log(cells.time_s),
            whitening=np.sqrt(weights) * seen,
            mean=np.tile(means, (2 + 2 * len(masks), 1)),
            precision=np.tile(precision, (1 + len(masks), 1)),
            counts=seen.sum(axis=1).astype(np.float64),
        )
    )
    root = _whitening(logs, weights, design.span)
    alike = fit_batch(
        Batch(
            columns=(terms, lacking, logs),
            log_times=np.log(cells.time_s),
            whitening=np.broadcast_to(root, (extras, *root.shape)),
            mean=means,
            precision=precision[extras:],
            counts=np.full(extras, float(count)),
        ),
        start=independent.mode[extras : 2 * extras],
        iterations=2,
    )
    return independent, alike, root, seen


def _coarseness(time_s: Floats, step_s: float) -> Floats:
    """Variance of a recorded time relative to one with the prior noise only: rounding to `step_s` adds to it."""
    rounding = step_s / 2 / np.sqrt(3.0)
    found: Floats = 1.0 + (rounding / (NOISE_SD * time_s)) ** 2
    return found


def _grown(logs: Floats, time_s: Floats, growth: float) -> Floats:
    """Factor on the relative noise at log seconds, 1 at the median of cells; it grows for `GROWS` beyond them."""
    known = np.log(time_s)
    there = np.clip(logs, known.min() - GROWS, known.max() + GROWS) - float(np.median(known))
    return np.asarray(np.exp(growth * there))


def _growth(whole: Cells, cells: Cells, residuals: Floats, freedom: float) -> float:
    """Power of the time by which relative noise goes with it, drawn towards 0; 0 where that may be chance.

    By the ranges of repetitions where there are enough, else by what a fit misses its cells by.

    `residuals`: standardised logarithms, (cells,).
    `freedom`: of their variance.
    """
    several = (whole.runs > 1) & (whole.high_s > whole.low_s) & (whole.low_s > 0)
    if np.count_nonzero(several) >= FEWEST_SPREADS:
        time_s, degrees = whole.time_s[several], np.minimum(whole.runs[several] - 1.0, MOST_DEGREES)
        squares = np.log(whole.high_s[several] / whole.low_s[several]) ** 2 / degrees
    else:
        time_s, squares = cells.time_s, residuals**2
        degrees = np.full(time_s.size, min(max(freedom - NOISE_WEIGHT, 0.0) / time_s.size, 1.0))
    return growth_of(np.log(time_s), squares, degrees)


def _forward_masks(design: Design, cells: Cells) -> Flags:
    """Cells that each forward split sees: all below the largest, or second largest, value of a parameter."""
    masks: list[Flags] = []
    values = cells.columns()
    for name in design.varying:
        levels = np.unique(values[name])
        for last in (1, 2):
            if len(levels) - last >= 2:
                mask = values[name] < levels[-last]
                if not any(np.array_equal(mask, other) for other in masks):
                    masks.append(mask)
    return np.array(masks, dtype=np.bool_).reshape(len(masks), len(cells.time_s))


def _forward(fitted: Posterior, seen: Flags, weights: Floats, kinds: int) -> tuple[Floats, Floats, float | None]:
    """Score, variance factor of each candidate, and the best mean error, from the splits after the first."""
    held = ~seen[kinds:]
    if not len(held):
        return np.zeros(kinds), np.ones(kinds), None
    jacobian = fitted.jacobian[kinds:]
    variance = ((fitted.covariance[kinds:] @ jacobian) * jacobian).sum(axis=1) + fitted.variance[kinds:, None] / weights
    freedom = fitted.freedom[kinds:, None]
    squared = fitted.residuals[kinds:] ** 2 / variance
    density = (
        gammaln((freedom + 1) / 2)
        - gammaln(freedom / 2)
        - 0.5 * np.log(freedom * np.pi * variance)
        - (freedom + 1) / 2 * np.log1p(squared / freedom)
    )
    number = held.sum(axis=1)
    score = (density * held).sum(axis=1) / number * np.minimum(number, FORWARD_WORTH)
    worth = np.minimum(number, 2.0)
    expected = freedom / np.maximum(freedom - 2.0, 0.5)  # of the squares of Student's t
    surprise = ((squared / expected * held).sum(axis=1) / number * worth).reshape(-1, kinds).sum(axis=0)
    weight = worth.reshape(-1, kinds).sum(axis=0)
    # Below 1 too: a factor that could only widen would hold too much where the form is right.
    factor = (CALIBRATION_WEIGHT + surprise) / (CALIBRATION_WEIGHT + weight)
    error = np.expm1((np.abs(fitted.residuals[kinds:]) * held).sum(axis=1) / number).reshape(-1, kinds).mean(axis=0)
    score = score.reshape(-1, kinds).mean(axis=0)
    return score, factor, float(error[ties.first_most(score)])


def _rate(fitted: Posterior, seen: Flags, weights: Floats, prior: Floats, logs: Floats) -> float:
    """How fast doubt grows outside of the runs, by what each forward split missed that it did not expect.

    `seen`: cells that all runs, then each split, see; (1 + splits, cells).
    `prior`: logarithms of the odds of the candidates of one split.
    """
    ends = []
    for split, inside in enumerate(seen[1:], start=1):
        mine = slice(split * len(prior), (split + 1) * len(prior))
        weight = odds(prior + 0.5 * fitted.evidence[mine])
        weight /= weight.sum()
        missed, slopes = fitted.residuals[mine][:, ~inside], fitted.jacobian[mine][:, :, ~inside]
        spread = ((fitted.covariance[mine] @ slopes) * slopes).sum(axis=1)
        middle = weight @ missed
        expected = weight @ (spread + fitted.variance[mine, None] / weights[~inside] + (missed - middle) ** 2)
        ends.append((middle, expected, beyond_hull(logs[inside], logs[~inside])))
    return rate_beyond(ends)


def _prior_odds(extras: tuple[Extra, ...]) -> Floats:
    kinds = [extra.kind for extra in extras]
    return np.array([PRIOR[kind] / (1 if kind == "turning" else kinds.count(kind)) for kind in kinds])


def _kernel(logs: Floats, others: Floats, span: tuple[float, ...]) -> Floats:
    """Covariance of the alike parts of the residuals (Matern 3/2), shape (n, others)."""
    reach = np.maximum(LIKENESS_REACH * np.array(span), 0.1)
    distance = np.sqrt(3.0 * ((logs[:, None] - others[None]) ** 2 / reach**2).sum(axis=2))
    found: Floats = LIKENESS * (1.0 + distance) * np.exp(-distance)
    return found


def _whitening(logs: Floats, weights: Floats, span: tuple[float, ...]) -> Floats:
    """Inverse Cholesky factor of the residuals' covariance, shape (n, n)."""
    found: Floats = np.linalg.inv(np.linalg.cholesky(_kernel(logs, logs, span) + np.diag(1.0 / weights)))
    return found


def _thinned(design: Design, cells: Cells) -> Cells:
    """At most `MAX_CELLS` representatives, each with its neighbours' median ratio to the pilot fit."""
    logs = design.logs(cells.columns())
    bins = max(2, int(MAX_CELLS ** (1.0 / max(1, logs.shape[1]))))
    low, high = logs.min(axis=0), logs.max(axis=0)
    # What lies on the border of two bins, up to rounding, is in the upper one.
    place = np.minimum(((logs - low) / np.maximum(high - low, 1e-12) * bins + ties.SAME).astype(np.int64), bins - 1)
    code = np.ravel_multi_index(tuple(place.T), (bins,) * logs.shape[1])
    _, group = np.unique(code, return_inverse=True)
    members = np.bincount(group)
    centre = np.column_stack([np.bincount(group, weights=logs[:, k]) / members for k in range(logs.shape[1])])
    away = ((logs - centre[group]) ** 2).sum(axis=1)
    chosen = np.lexsort((ties.levels(away, floor=ties.SAME), group))[np.concatenate(([0], np.cumsum(members)[:-1]))]
    pilot = design.pilot_time(cells.columns())
    ratio = cells.time_s / pilot
    order = np.lexsort((ratio, group))
    first = np.concatenate(([0], np.cumsum(members)[:-1]))
    centre_ratio = (ratio[order][first + (members - 1) // 2] + ratio[order][first + members // 2]) / 2
    time_s = pilot[chosen] * centre_ratio
    scatter = float(1.4826 * np.median(np.abs(np.log(ratio / centre_ratio[group]))))
    return replace(
        cells,
        values=cells.values[chosen],
        time_s=time_s,
        runs=members.astype(np.int64),
        low_s=time_s,
        high_s=time_s,
        mean_s=time_s,
        cell_of_run=group[cells.cell_of_run],
        run_sd=max(cells.run_sd, scatter),
    )


def blend_to_dict(blend: Blend) -> Data:
    """Plain data for JSON."""
    cells = to_dict(blend.cells)
    return {
        "step_s": blend.step_s,
        **blend.design.to_dict(),
        "forward_error": blend.forward_error,
        "rate": blend.rate,
        "growth": blend.growth,
        "cells": {name: cells[name] for name in ("names", "values", "time_s", "runs", "run_sd")},
        "members": rows_of({name: getattr(blend, name) for name in _MEMBERS}),
    }


@dataclass(frozen=True)
class _Cells:
    names: tuple[str, ...]
    values: Matrix
    time_s: Vector
    runs: Counts
    run_sd: float


@dataclass(frozen=True)
class _Member:
    extra: int
    alike: bool
    weight: float
    mode: Vector
    covariance: Matrix
    variance: float
    freedom: float
    inflation: float


@dataclass(frozen=True)
class _Plain:
    """A blend as a file says it."""

    step_s: float
    design: Design = field(metadata=FLAT)
    forward_error: float | None
    cells: _Cells
    members: tuple[_Member, ...]
    rate: float = RATE
    growth: float = 0.0


def blend_from_dict(document: Mapping[str, Any], formula_text: str) -> Blend:
    """The inverse of `blend_to_dict`; see `documents.read` for what is refused."""
    plain = read(_Plain, document, formula=parse(formula_text))
    cells = plain.cells
    times: Data = dict.fromkeys(("low_s", "high_s", "mean_s"), cells.time_s)
    if cells.values.shape != (cells.time_s.size, len(cells.names)) or cells.runs.size != cells.time_s.size:
        raise ScenarioError("cells: there is not one row of values and one number of runs for each time")
    columns: Data = {name: np.array([getattr(member, name) for member in plain.members]) for name in _MEMBERS}
    whole = Cells(**vars(cells), **times, cell_of_run=np.arange(cells.time_s.size))
    known: Data = {name: getattr(plain, name) for name in ("design", "step_s", "forward_error", "rate", "growth")}
    return Blend(cells=whole, **known, **columns)

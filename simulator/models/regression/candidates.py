"""Candidate cost structures around the user's formula, and the batched fit that serves them all at once.

A candidate says, for parameters x and terms g of the formula,

    T(x) = (sum_k exp(a_k) g_k(x) + exp(a_h) h(x)) * prod_j x_j**b_j * exp(noise)

so every coefficient is positive by construction, every residual is relative, the exponents b absorb a wrong scaling
exponent, and h is one cost that the formula may lack: nothing, a fixed overhead, a fixed cost in place of
the formula, the same cost with one parameter frozen (a serial share), or an overhead that grows with a parameter in
which the cost falls. All a and b have normal priors, so a fit exists for any number of runs; it is the posterior mode
with its Gaussian spread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.base.documents import NOT_WRITTEN, Record
from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.formula import Formula
from simulator.models.regression.runs import Cells

EXPONENT_SD = (0.01, 0.15)
"""Prior standard deviations of each correcting exponent: the formula scales as written, or it does not."""
TERM_SD = 1.0
"""Prior standard deviation of each log coefficient around the non-negative least-squares pilot."""
TERM_FLOOR = 0.001
"""Least share of the time at which the prior of a term's coefficient is centred."""
EXTRA_SHARE = 0.03
"""Share of the time at which the prior of the lacking cost is centred."""
EXTRA_SD = 1.5
"""Prior standard deviation of the log share of the lacking cost."""
NOISE_SD = 0.02
"""Prior guess of the relative noise of a cell."""
NOISE_WEIGHT = 3.0
"""Residuals that the prior guess of the noise is worth."""
ITERATIONS = 7
ALONE = -7.0
"""What is added to the prior log coefficients of the terms where the fixed cost stands alone."""
PRIOR = {"none": 1.0, "constant": 0.2, "alone": 0.05, "frozen": 0.2, "log": 0.05, "linear": 0.015, "turning": 0.03}
"""Prior odds of each kind of lacking cost, shared by the candidates of the kind but for turns, of a parameter each."""
TURN = 0.5
"""Where the prior of a turn is centred: 1 has the time of `1/P` stay beyond the last run as it was there."""


@dataclass(frozen=True)
class Extra:
    """One cost that the formula may lack."""

    kind: str
    """`none`, `constant`, `alone` (constant, and next to nothing else), `frozen`, `log` or `linear`; or `turning`,
    which adds time beyond the last run, so that no run can say."""
    name: str
    """The parameter it is about, empty for `none`, `constant` and `alone`."""
    at: float
    """Smallest trained value of that parameter: where it is frozen, or the logarithm starts; of a turn the largest."""
    scale: float
    """Divisor that makes the column as large as the times."""


@dataclass(frozen=True)
class Design(Record):
    """What turns parameters into the columns of every candidate."""

    formula: Formula = field(metadata=NOT_WRITTEN)
    groups: tuple[tuple[int, ...], ...]
    """Terms that share a coefficient: one each, but a negative term joins one that outweighs it."""
    scale: tuple[float, ...]
    """Largest trained value of each group, which divides it."""
    pilot: tuple[float, ...]
    """Non-negative relative least-squares coefficient of each scaled group."""
    varying: tuple[str, ...]
    """Parameters that take several positive values in training; they get an exponent each."""
    centre: tuple[float, ...]
    """Middle of the logarithm of each varying parameter."""
    span: tuple[float, ...]
    """Range of the logarithm of each varying parameter."""
    extras: tuple[Extra, ...]

    def terms(self, values: Mapping[str, Floats]) -> Floats:
        """Scaled groups, shape (n, groups), at least a billionth."""
        columns = self.formula.columns(values)
        grouped = np.column_stack([columns[:, list(group)].sum(axis=1) for group in self.groups]) / np.array(self.scale)
        if (grouped < 0).any():
            row, which = (int(i[0]) for i in np.nonzero(grouped < 0))
            text = " + ".join(self.formula.terms[i].text for i in self.groups[which])
            at = ", ".join(f"{name} = {values[name][row]:g}" for name in self.formula.names)
            raise FormulaError(f"formula: term {text} is negative at {at}; a cost has to be 0 or more")
        return np.asarray(np.maximum(grouped, 1e-9))

    def logs(self, values: Mapping[str, Floats]) -> Floats:
        """Centred logarithms of the varying parameters, shape (n, varying)."""
        columns = []
        for name, centre in zip(self.varying, self.centre, strict=True):
            if (values[name] <= 0).any():
                raise ScenarioError(f"target: {name} is {values[name].min():g}; give a number above 0")
            columns.append(np.log(values[name]) - centre)
        return np.column_stack(columns) if columns else np.empty((len(next(iter(values.values()))), 0))

    def lacking(self, values: Mapping[str, Floats]) -> Floats:
        """Columns of the lacking costs, shape (extras, n)."""
        return np.stack([_lacking(self, extra, values) / extra.scale for extra in self.extras])

    def pilot_time(self, values: Mapping[str, Floats]) -> Floats:
        """Seconds by the pilot fit, shape (n,)."""
        found: Floats = self.terms(values) @ np.array(self.pilot)
        return found


@dataclass(frozen=True)
class Posterior:
    """Posterior modes of a batch of candidates, each with its Gaussian spread."""

    mode: Floats
    """Shape (batch, groups + 1 + varying): log coefficients, log of the lacking cost, exponents."""
    covariance: Floats
    variance: Floats
    """Noise variance of a cell with weight 1, shape (batch,)."""
    freedom: Floats
    """Degrees of freedom of that variance."""
    residuals: Floats
    """Log residuals of all rows, held out or not, shape (batch, n)."""
    jacobian: Floats
    """Derivatives of the log prediction, shape (batch, parameters, n)."""
    evidence: Floats
    """Logarithm of the Laplace approximation of the marginal likelihood, up to a constant of the batch's rows."""


def make_design(formula: Formula, cells: Cells, weights: Floats) -> tuple[Design, Floats]:
    """Choose groups, scales, exponents and lacking costs, and evaluate these at the cells, shape (extras, cells).

    `weights`: weight of each cell's squared log residual, shape (cells,).
    """
    from scipy.optimize import nnls

    values = cells.columns()
    columns = formula.columns(values)
    groups = _groups(formula, columns)
    grouped = np.column_stack([columns[:, list(group)].sum(axis=1) for group in groups])
    most = np.abs(grouped).max(axis=0)
    scale = np.where(most > 0, most, 1.0)  # a term that is 0 in all runs, as log(P) where P is 1
    pilot, _ = nnls((grouped / scale) * (np.sqrt(weights) / cells.time_s)[:, None], np.sqrt(weights))
    ends = {name: (values[name].min(), values[name].max()) for name in formula.names}
    logs = {name: (np.log(low), np.log(high)) for name, (low, high) in ends.items() if 0 < low < high}
    centre = tuple(float(low + high) / 2 for low, high in logs.values())
    span = tuple(float(high - low) for low, high in logs.values())
    bare = Design(formula, groups, tuple(scale), tuple(pilot), tuple(logs), centre, span, ())
    extras, lacking = _extras(bare, cells)
    return replace(bare, extras=extras), lacking


def prior_of(design: Design, terms: Floats, time_s: Floats) -> tuple[Floats, Floats]:
    """Mean of the normal prior, shape (extras, groups + 1 + varying), and its precision for each `EXPONENT_SD`."""
    relative = terms / time_s[:, None]
    share = middle(relative * np.array(design.pilot))
    share = np.maximum(share / max(float(share.sum()), 1e-12), TERM_FLOOR)
    mean = np.log(share) - middle(np.log(relative))
    exponents = len(design.varying)
    precision = np.tile(np.concatenate([np.full(len(mean), TERM_SD**-2), [EXTRA_SD**-2], np.zeros(exponents)]), (2, 1))
    precision[:, len(mean) + 1 :] = np.array(EXPONENT_SD)[:, None] ** -2.0
    means = np.tile(np.concatenate([mean, [np.log(EXTRA_SHARE)], np.zeros(exponents)]), (len(design.extras), 1))
    for row, extra in zip(means, design.extras, strict=True):
        if extra.kind == "alone":
            row[: len(mean)] += ALONE
            row[len(mean)] = 0.0
        elif extra.kind == "turning":
            row[len(mean)] = np.log(TURN)
    return means, precision


def log_predict(terms: Floats, lacking: Floats, logs: Floats, mode: Floats) -> tuple[Floats, Floats]:
    """Log seconds, (batch, n), and their derivatives, (batch, parameters, n), for a batch of candidates.

    `terms`, `lacking`, `logs`: shapes (n, groups), (batch, n), (n, varying).
    `mode`: shape (batch, parameters).
    """
    groups = terms.shape[1]
    jacobian = np.empty((len(mode), mode.shape[1], len(terms)))
    shares = jacobian[:, : groups + 1]
    factors = np.exp(mode[:, : groups + 1])
    np.multiply(factors[:, :groups, None], terms.T, out=shares[:, :groups])
    np.multiply(factors[:, groups:], lacking, out=shares[:, groups])
    total = shares.sum(axis=1)
    shares /= total[:, None]
    jacobian[:, groups + 1 :] = logs.T
    return np.log(total) + mode[:, groups + 1 :] @ logs.T, jacobian


@dataclass(frozen=True)
class Batch:
    """The same runs as many candidates see them."""

    columns: tuple[Floats, Floats, Floats]
    """Terms, lacking costs and logs as in `log_predict`."""
    log_times: Floats
    """Shape (n,)."""
    whitening: Floats
    """Square root of each row's weight, shape (batch, n), 0 for rows held out; or a matrix, shape (batch, n, n)."""
    mean: Floats
    """Of the prior, shape (batch, parameters)."""
    precision: Floats
    """Of the prior, shape (batch, parameters)."""
    counts: Floats
    """Rows that each candidate sees, shape (batch,)."""


@dataclass(frozen=True)
class _Local:
    """A batch linearised at one point."""

    residuals: Floats
    jacobian: Floats
    squares: Floats
    variance: Floats
    covariance: Floats
    effective: Floats
    step: Floats


def fit_batch(batch: Batch, *, start: Floats | None = None, iterations: int = ITERATIONS) -> Posterior:
    """Posterior mode of every candidate of a batch by damped Gauss-Newton steps, noise variance included.

    `start`: where to start, shape (batch, parameters); the prior mean if None.
    """
    mode = batch.mean if start is None else start
    local = _linearised(batch, mode, None)
    for _ in range(iterations):
        mode = mode + np.clip(local.step, -1.5, 1.5)
        local = _linearised(batch, mode, local.effective)
    away = mode - batch.mean
    evidence = -0.5 * (
        local.squares / local.variance
        + (batch.precision * away * away - np.log(batch.precision)).sum(axis=1)
        + batch.counts * np.log(local.variance)
        - np.linalg.slogdet(local.covariance)[1]
        + NOISE_WEIGHT * (NOISE_SD**2 / local.variance + np.log(local.variance))
    )
    freedom = NOISE_WEIGHT + np.maximum(batch.counts - local.effective, 0.0)
    return Posterior(mode, local.covariance, local.variance, freedom, local.residuals, local.jacobian, evidence)


def _linearised(batch: Batch, mode: Floats, effective: Floats | None) -> _Local:
    """Residuals, noise variance (a wide guess before the first step), spread and the next step at a point."""
    predicted, jacobian = log_predict(*batch.columns, mode)
    residuals = batch.log_times - predicted
    if batch.whitening.ndim == 2:
        seen, rest = jacobian * batch.whitening[:, None], residuals * batch.whitening
    else:
        seen = jacobian @ batch.whitening.transpose(0, 2, 1)
        rest = (batch.whitening @ residuals[:, :, None])[:, :, 0]
    squares = (rest * rest).sum(axis=1)
    if effective is None:
        variance = np.full(len(mode), 2 * NOISE_SD**2)
    else:
        free = NOISE_WEIGHT + np.maximum(batch.counts - effective, 0.0)
        variance = (NOISE_WEIGHT * NOISE_SD**2 + squares) / free
    normal = seen @ seen.transpose(0, 2, 1)
    information = normal / variance[:, None, None]
    diagonal = np.arange(mode.shape[1])
    information[:, diagonal, diagonal] += batch.precision
    covariance = np.linalg.inv(information)
    gradient = (seen @ rest[:, :, None])[:, :, 0] / variance[:, None] - batch.precision * (mode - batch.mean)
    step = (covariance @ gradient[:, :, None])[:, :, 0]
    return _Local(
        residuals, jacobian, squares, variance, covariance, (covariance * normal).sum(axis=(1, 2)) / variance, step
    )


def middle(table: Floats) -> Floats:
    """Median along the first axis, many times faster than NumPy's on small arrays."""
    ordered = np.sort(table, axis=0)
    found: Floats = (ordered[(len(table) - 1) // 2] + ordered[len(table) // 2]) / 2
    return found


def _groups(formula: Formula, columns: Floats) -> tuple[tuple[int, ...], ...]:
    """Each term for itself; a term with negative values joins the first group that stays positive with it."""
    groups = [[k] for k in range(columns.shape[1]) if not (columns[:, k] < 0).any()]
    for k in np.flatnonzero((columns < 0).any(axis=0)).tolist():
        for group in groups:
            if (columns[:, [*group, k]].sum(axis=1) > 0).all():
                group.append(k)
                break
        else:
            raise FormulaError(
                f"formula: term {formula.terms[k].text} is negative at a run; this method takes costs of 0 or more, "
                "the method ols any"
            )
    return tuple(tuple(group) for group in groups)


def _extras(bare: Design, cells: Cells) -> tuple[tuple[Extra, ...], Floats]:
    """Lacking costs worth trying, none of them a multiple of another, and their columns."""
    values = cells.columns()
    wanted = [("constant", ""), ("alone", "")]
    for name, falls in zip(bare.varying, _falling(bare, values), strict=True):
        wanted += [("frozen", name)] if len(bare.varying) > 1 else []
        wanted += [("log", name), ("linear", name)] if falls else []
    extras, columns = [Extra("none", "", 0.0, 1.0)], list[Floats]()
    for kind, name in wanted:
        extra = Extra(kind, name, float(values[name].min()) if name else 0.0, 1.0)
        column = _lacking(bare, extra, values)
        if not (np.isfinite(column).all() and (column > 0).all()):
            continue
        scale = float(np.exp(middle(np.log(column / cells.time_s))))
        if kind != "alone" and any(np.abs(column / scale - other).max() <= 1e-6 * other.max() for other in columns):
            continue
        columns.append(column / scale)
        extras.append(Extra(kind, name, extra.at, scale))
    extras += [Extra("turning", name, float(values[name].max()), 1.0) for name in bare.varying]
    columns = [np.zeros(len(cells.time_s)), *columns, *[np.zeros(len(cells.time_s)) for _ in bare.varying]]
    return tuple(extras), np.stack(columns)


def _falling(bare: Design, values: Mapping[str, Floats]) -> list[bool]:
    """Whether the pilot time falls from the least to the largest value of each varying parameter, others at medians."""
    rows = 2 * len(bare.varying)
    points = {name: np.full(rows, middle(column)) for name, column in values.items()}
    for k, name in enumerate(bare.varying):
        points[name][2 * k : 2 * k + 2] = values[name].min(), values[name].max()
    ends = bare.pilot_time(points).reshape(-1, 2) if rows else np.empty((0, 2))
    return [ties.is_less(last, first) for first, last in ends.tolist()]


def _lacking(design: Design, extra: Extra, values: Mapping[str, Floats]) -> Floats:
    rows = len(next(iter(values.values())))
    match extra.kind:
        case "none":
            return np.zeros(rows)
        case "constant" | "alone":
            return np.ones(rows)
        case "frozen":
            return design.pilot_time({**values, extra.name: np.full(rows, extra.at)})
        case "log":
            return np.maximum(np.log(values[extra.name] / extra.at), 1e-3)
        case "turning":
            return design.pilot_time(values) * np.maximum(values[extra.name] / extra.at - 1.0, 0.0)
        case "linear":
            return np.asarray(values[extra.name], dtype=np.float64)
    raise AssertionError(extra.kind)

"""The fit of one program shape: the likeliest coefficients of its costs, and what configurations keep of their own.

The log coefficients have a normal prior; what the costs miss is `alike` at the sizes of a
configuration and, as far as the runs say so, among configurations of near counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.models.process_count.runs import AllocationRuns, processes_of
from simulator.models.process_count.terms import COMPUTATION, TERMS, WORK, Belief, Shape, columns, typical

JITTER_S, JITTER_SHARE, JITTER_SD = 0.002, 0.1, 0.04
"""Standard deviation of what start-up, clock ticks and the scheduler's credit add to a run, at most this share of the
median time; the relative noise to which it is compared."""
SIZE_REACH = 1.0
"""Distance in the log size at which what the terms miss adds as much variance as the noise."""
ALIKE = 1.3
"""Ratio of two repetitions above which the slower is taken for disturbed."""
SPREAD = 9.0
"""Times the median variance of repetitions from which that of others does not count further."""
LASTING, REACH = 0.6, 0.7
"""Part of a configuration's own variance that does not change with the size; log sizes over which the rest is alike."""
COUNT_REACH = 0.7
"""Log counts over which own parts of several configurations are alike."""
LIKENESS, PRIVATE = (0.1, 0.5, 2.0, 8.0), (1.0, 0.5, 0.1)
"""Tried variances of the own part, relative to the noise, and tried parts of them that no other configuration has."""
OWN_LEAST = 0.25
"""Amplitude of a configuration's own part where the work takes all the time."""
SPEED_SD = 1.5
"""Standard deviation of a kind's log speed."""
PHASE_DOUBT = 4.0
"""Variance of a phase measured apart, relative to that of a whole run: programs draw the line in different places."""
NOISE_SD, NOISE_WEIGHT = 0.03, 3.0
"""Prior guess of the relative noise of a cell, and how many residuals it is worth."""
FIRST_SD = 0.1
"""Noise that a first fit takes, before the residuals tell."""
OUTLYING, GROSS = 3.0, 8.0
"""Standard deviations beyond which a cell loses weight, and nearly all of it."""
ROUGH_SD = 0.05
"""Least spread of a first fit's residuals by which outliers are judged."""
TINY = 1e-12
WIDTHS = np.exp(1.1 * np.sqrt([term.sd**2 + term.kind_sd**2 for term in TERMS]))
"""Standard deviation of a coefficient in the start's prior, relative to its centre."""
BETTER, CLEARLY = 4.0, 20.0
"""Log evidence by which a fit from another start has to be better than the usual one to count beside it, and alone."""
PILOT_SD, LEAST, ROUNDS = 0.01, 0.3, 3
"""Of the start: relative residual that such a deviation is worth, least coefficient relative to the prior's centre,
and corrections of which kind is the slowest."""
MEDIAN_SD = 1.4826
"""Standard deviation of a normal number over the median of its absolute value."""


@dataclass(frozen=True)
class Cells:
    """Runs with repetitions joined: one row per configuration and size, by configuration and rising size."""

    kinds: tuple[str, ...]
    size: Floats
    allocations: Ints
    """As in `AllocationRuns`; (cells, kind, 2)."""
    time_s: Floats
    """Median of the repetitions; of two that differ much, the shorter."""
    comp_s: Floats
    """Median computation time of each kind, not a number where it was not measured; (cells, kind)."""
    comm_s: Floats
    """Median communication time likewise."""
    runs: Ints
    configuration: Ints
    """Number of each cell's configuration."""
    run_sd: float
    """Standard deviation of the log time of a repetition around its cell, 0 if nothing was repeated."""

    @cached_property
    def doubtfulness(self) -> Floats:
        """Variance of each cell's noise and lack of fit, relative to that of a long run at the largest size."""
        jitter = min(JITTER_S, JITTER_SHARE * float(np.median(self.time_s)))
        away = np.log(self.size.max() / self.size) / SIZE_REACH
        return np.asarray(1.0 + away**2 + (jitter / (JITTER_SD * self.time_s)) ** 2)

    def below(self, size: float) -> "Cells":
        """Only the cells of smaller sizes."""
        kept = self.size < size
        numbers = np.unique(self.configuration[kept], return_inverse=True)[1]
        names = ("size", "allocations", "time_s", "comp_s", "comm_s", "runs")
        return replace(self, configuration=numbers, **{name: getattr(self, name)[kept] for name in names})

    @cached_property
    def first(self) -> Ints:
        """Row of the first cell of each configuration."""
        return np.unique(self.configuration, return_index=True)[1]


def cells_of(runs: AllocationRuns) -> Cells:
    """Join repetitions."""
    keys = np.column_stack((runs.allocations.reshape(runs.size.size, -1), runs.size))
    found, cell, number = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    groups = np.split(np.argsort(cell.ravel(), kind="stable"), np.cumsum(number)[:-1])
    time_s = np.array([_typical(runs.time_s[group]) for group in groups])
    spread = np.array([np.var(np.log(runs.time_s[group]), ddof=1) for group in groups if group.size > 1])
    comp_s, comm_s = (np.array([_medians(part[group]) for group in groups]) for part in (runs.comp_s, runs.comm_s))
    return Cells(
        kinds=runs.kinds,
        size=found[:, -1].astype(np.float64),
        allocations=found[:, :-1].astype(np.int64).reshape(len(found), -1, 2),
        time_s=time_s,
        comp_s=comp_s,
        comm_s=comm_s,
        runs=number,
        configuration=np.unique(found[:, :-1], axis=0, return_inverse=True)[1].ravel(),
        run_sd=float(np.sqrt(np.minimum(spread, SPREAD * np.median(spread)).mean())) if spread.size else 0.0,
    )


def _typical(times_s: Floats) -> float:
    """The geometric median; of two that differ much, the shorter."""
    if times_s.size == 2 and times_s.max() > ALIKE * times_s.min():
        return float(times_s.min())
    return float(np.exp(np.median(np.log(times_s))))


def _medians(table: Floats) -> Floats:
    """Median of the measured entries of each column, not a number where there is none."""
    some = [column[np.isfinite(column)] for column in table.T]
    return np.array([np.median(column) if column.size else np.nan for column in some])


@dataclass(frozen=True)
class Prior:
    """Normal prior of the log coefficients of the scaled columns, kind by kind."""

    mean: Floats
    """(kinds * terms,)."""
    precision: Floats
    """(kinds * terms, kinds * terms)."""
    scale: Floats
    """Factor on each column that makes it as large as the times, (terms,)."""


def prior_of(shape: Shape, cells: Cells, belief: Belief) -> Prior:
    """Centre every term at its usual share of the measured times; kinds share a part and have one of their own."""
    kinds = len(cells.kinds)
    m = cells.allocations[:, :, 1].max(axis=1).astype(np.float64)
    sizes = typical(shape, cells.size, m, processes_of(cells.allocations).astype(np.float64))
    scale = np.exp(-np.log(sizes / cells.time_s[:, None]).mean(axis=0))
    factors = [belief.on(term.name) for term in TERMS]
    mean = np.tile(np.log([term.share * (factor or 1.0) for term, factor in zip(TERMS, factors, strict=True)]), kinds)
    doubt = np.array([0.0 if factor is None else belief.doubt for factor in factors])
    speed = (np.arange(len(TERMS)) < COMPUTATION).astype(np.float64)
    common = np.diag((np.array([term.sd for term in TERMS]) + doubt) ** 2)
    own = np.diag([term.kind_sd**2 for term in TERMS]) + SPEED_SD**2 * np.outer(speed, speed)
    covariance = np.kron(np.ones((kinds, kinds)), common) + np.kron(np.eye(kinds), own)
    return Prior(mean, np.asarray(np.linalg.inv(covariance), dtype=np.float64), scale)


def alike(sizes: Floats, allocations: Ints, other_sizes: Floats, others: Ints, private: float) -> Floats:
    """How alike the own parts of configurations are, 1 for the same at one size; (n, others).

    `private`: part that a configuration shares with no other one; what remains fades with the distance of the counts.
    """
    away = np.abs(np.log(sizes)[:, None] - np.log(other_sizes)) / REACH
    logs, other_logs = (np.log1p(each.reshape(len(each), -1)) for each in (allocations, others))
    counts = sum(np.abs(one[:, None] - other) for one, other in zip(logs.T, other_logs.T, strict=True))
    near = private * (counts < ties.SAME) + (1.0 - private) * np.exp(-counts / COUNT_REACH)
    return np.asarray(near * (LASTING + (1.0 - LASTING) * np.exp(-away)))


def used_columns(shape: Shape, size: Floats, allocations: Ints) -> Floats:
    """Terms of every kind, 0 where it takes no part, shape (n, kind, terms)."""
    each = allocations[:, :, 1].astype(np.float64)
    own = allocations[:, :, 0] * each
    found = columns(shape, size[:, None], np.maximum(each, 1.0), own.sum(axis=1)[:, None])
    found *= (own > 0)[:, :, None]
    return found


def seconds(terms: Floats, factors: Floats) -> Floats:
    """Seconds of the PEs of every kind, (n, kind)."""
    return np.asarray((terms * factors).sum(axis=2))


def slowest_of(of_kind: Floats) -> Ints:
    """The kind that takes longest, the first of equals, by the seconds of each, (n, kind); (n,)."""
    return np.asarray((of_kind >= (1 - ties.SAME) * of_kind.max(axis=1, keepdims=True)).argmax(axis=1))


def log_times(terms: Floats, mode: Floats) -> tuple[Floats, Floats]:
    """Log makespans, (n,), and their slopes by the log coefficients, (n, kind * terms).

    `mode`: log coefficients, (kind, terms).
    """
    parts = terms * np.exp(mode)
    of_kind = parts.sum(axis=2)
    rows, slowest = np.arange(len(terms)), slowest_of(of_kind)
    longest = of_kind[rows, slowest]
    slopes = np.zeros_like(terms)
    slopes[rows, slowest] = parts[rows, slowest] / longest[:, None]
    return np.log(longest), slopes.reshape(len(terms), -1)


def amplitude(terms: Floats, mode: Floats) -> Floats:
    """Size of what a configuration keeps of its own: large where more than the work itself takes time, (n,)."""
    of_kind, work = seconds(terms, np.exp(mode)), seconds(terms[:, :, :WORK], np.exp(mode[:, :WORK]))
    row = np.arange(len(terms)), slowest_of(of_kind)
    return np.asarray(OWN_LEAST + (1.0 - OWN_LEAST) * (1.0 - work[row] / of_kind[row]))


@dataclass(frozen=True)
class Rows:
    """What is fitted: the cells, and after them the phases that were measured apart."""

    terms: Floats
    """Scaled, of every kind, 0 where it takes no part; (rows, kind, terms)."""
    log_time: Floats
    size: Floats
    allocations: Ints
    part: Ints
    """What was measured: 0 for whole runs, then a number for each phase and kind; (rows,)."""
    noise: Floats
    """Variance of each row's noise relative to that of a long run, (rows,)."""
    amplitude: Floats
    """Of each row's own part, (rows,)."""
    likeness: float = 0.0
    """Variance of what a configuration keeps of its own, relative to the noise."""
    private: float = 1.0
    """See `alike`."""

    def some(self, kept: Flags) -> "Rows":
        """Only these rows."""
        names = ("terms", "log_time", "size", "allocations", "part", "noise", "amplitude")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    @cached_property
    def covariance(self) -> Floats:
        """Of the residuals, relative to the noise variance."""
        own = alike(self.size, self.allocations, self.size, self.allocations, self.private)
        own *= self.amplitude[:, None] * self.amplitude * (self.part[:, None] == self.part)
        return np.asarray(self.likeness * own + np.diag(self.noise))

    @cached_property
    def root(self) -> Floats:
        """What whitens residuals."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.covariance)), dtype=np.float64)

    def white(self, table: Floats) -> Floats:
        """A table of rows, whitened."""
        if self.likeness == 0.0:
            return np.asarray((table.T / np.sqrt(self.noise)).T)
        return np.asarray(self.root @ table)

    @property
    def log_det(self) -> float:
        """Of the covariance of all rows."""
        return -2.0 * float(np.log(self.root.diagonal()).sum())


def rows_of(shape: Shape, cells: Cells, scale: Floats) -> Rows:
    """The cells and their phases."""
    terms = used_columns(shape, cells.size, cells.allocations) * scale
    every = np.arange(cells.size.size)
    parts = [(terms, cells.time_s, every, 0 * every, cells.doubtfulness)]
    for kind, own, there, phase_s in _phases(terms, cells):
        part = np.zeros((len(there), *terms.shape[1:]))
        part[:, kind] = terms[there, kind] * own
        parts.append((part, phase_s, there, 0 * there + len(parts), PHASE_DOUBT * cells.doubtfulness[there]))
    table, time_s, cell, number, noise = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Rows(table, np.log(time_s), cells.size[cell], cells.allocations[cell], number, noise, np.ones(len(cell)))


def _phases(terms: Floats, cells: Cells) -> Iterator[tuple[int, Floats, Ints, Floats]]:
    """Kind, its terms in the phase, cells that have the phase, and its seconds."""
    speed = (np.arange(len(TERMS)) < COMPUTATION).astype(np.float64)
    # What a kind communicates holds its waiting for the others, so only the slowest one's counts.
    whole = cells.comp_s + cells.comm_s
    slowest = np.where(np.isnan(whole), -1.0, whole).argmax(axis=1)
    for phase_s, own in ((cells.comp_s, speed), (cells.comm_s, 1.0 - speed)):
        for kind in range(len(cells.kinds)):
            there = (phase_s[:, kind] > 0) & (terms[:, kind] @ own > 0)
            if own is not speed:
                there &= slowest == kind
            if there.any():
                yield kind, own, np.flatnonzero(there), phase_s[there, kind]


@dataclass(frozen=True)
class Posterior:
    """A fitted structure: one shape under one belief."""

    shape: Shape
    prior: Prior
    rows: Rows
    mode: Floats
    """Log coefficients, (kind, terms)."""
    covariance: Floats
    """Of the log coefficients, (kind * terms, kind * terms)."""
    variance: float
    """Of the noise of a long run's log time."""
    effective: float
    """Coefficients that the rows, not the prior, decide."""
    evidence: float
    """Logarithm of the Laplace approximation of the marginal likelihood, up to a constant of the kinds and runs."""

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance."""
        return NOISE_WEIGHT + max(self.rows.log_time.size - self.effective, 0.0)


def fit_shape(shape: Shape, cells: Cells, beliefs: Sequence[Belief]) -> list[Posterior]:
    """Fit one program shape, once for each belief, from one start or two that lead elsewhere."""
    prior = prior_of(shape, cells, Belief({}))
    rows = rows_of(shape, cells, prior.scale)
    starts = (prior.mean.reshape(len(cells.kinds), -1), _start(rows, prior))
    usual, other = (_rough(shape, rows, prior, start) for start in starts)
    apart = other.evidence - usual.evidence
    found = [usual] if apart < BETTER else [other] if apart > CLEARLY else [usual, other]
    settled = [
        [_settled(shape, rows, prior_of(shape, cells, belief), rough) for belief in beliefs]
        for rough in found
        for rows in [_judged(rough.rows, rough)]
    ]
    # Two fits of one structure count alike: what tells them apart is less than what the evidence leaves out.
    return [
        replace(one, evidence=first.evidence) for own in settled for one, first in zip(own, settled[0], strict=True)
    ]


def _start(rows: Rows, prior: Prior) -> Floats:
    """Log coefficients, (kind, terms), by non-negative least squares of relative times, rows by their slowest kind."""
    from scipy.optimize import nnls

    relative = rows.terms / np.exp(rows.log_time)[:, None, None]
    weight = 1.0 / np.sqrt(rows.noise)
    centre = np.exp(prior.mean.reshape(relative.shape[1:]))
    ridge = PILOT_SD / (centre * WIDTHS)
    used = relative.any(axis=2)
    alone = used.sum(axis=1) == 1
    slowest, found = np.where(alone, used.argmax(axis=1), -1), centre.copy()
    for _ in range(ROUNDS):
        for kind in range(len(centre)):
            own = slowest == kind
            design = np.vstack((relative[own, kind] * weight[own, None], np.diag(ridge[kind])))
            found[kind] = nnls(design, np.concatenate((weight[own], ridge[kind] * centre[kind])))[0]
        slowest = np.where(alone, slowest, slowest_of(seconds(relative, found)))
    return np.asarray(np.log(np.maximum(found, LEAST * centre)))


def _rough(shape: Shape, rows: Rows, prior: Prior, start: Floats) -> Posterior:
    """A fit without own parts, gross outliers aside."""
    found = _solved(shape, rows, prior, start, FIRST_SD**2)
    found = _solved(shape, _calmed(rows, found.mode), prior, found.mode, FIRST_SD**2)
    return _solved(shape, found.rows, prior, found.mode, found.variance)


def refit(posterior: Posterior, cells: Cells) -> Posterior:
    """The same structure from fewer cells, started from the fit of all."""
    rows = _judged(rows_of(posterior.shape, cells, posterior.prior.scale), posterior)
    return _settled(posterior.shape, rows, posterior.prior, posterior)


def _calmed(rows: Rows, mode: Floats) -> Rows:
    """Gross outliers lose their weight: judged by their own noise, as a small part of a short run is off by much."""
    away = np.abs(rows.log_time - log_times(rows.terms, mode)[0]) / np.sqrt(rows.noise)
    far = away / (GROSS * max(MEDIAN_SD * float(np.median(away)), ROUGH_SD))
    return replace(rows, amplitude=amplitude(rows.terms, mode), noise=rows.noise * np.maximum(far, 1.0) ** 2)


def _judged(rows: Rows, found: Posterior) -> Rows:
    """With the likeliest variance of own parts, and less weight where a row's neighbours did not expect it at all."""
    away = rows.log_time - log_times(rows.terms, found.mode)[0]
    rows = replace(rows, amplitude=amplitude(rows.terms, found.mode))
    whole = rows.some(rows.part == 0)
    tried = [replace(whole, likeness=likeness, private=private) for private in PRIVATE for likeness in LIKENESS]
    likely = tried[ties.first_least([_unlikely(one, away[rows.part == 0]) for one in tried])]
    rows = replace(rows, likeness=likely.likeness, private=likely.private)
    surprise = np.abs(rows.root.T @ rows.white(away)) / np.sqrt((rows.root**2).sum(axis=0) * found.variance)
    factors = (np.maximum(surprise / OUTLYING, 1.0) * np.maximum(surprise / GROSS, 1.0)) ** 2
    return replace(rows, noise=rows.noise * factors)


def _unlikely(rows: Rows, residuals: Floats) -> float:
    """Minus twice the log likelihood of residuals, whatever their noise."""
    count = residuals.size
    return float(count * np.log((rows.white(residuals) ** 2).sum() / count + TINY) + rows.log_det)


def _settled(shape: Shape, rows: Rows, prior: Prior, start: Posterior) -> Posterior:
    """The fit itself: the noise follows from the residuals, which follow from the noise."""
    found = _solved(shape, rows, prior, start.mode, start.variance)
    return _solved(shape, rows, prior, found.mode, found.variance)


def _solved(shape: Shape, rows: Rows, prior: Prior, mode: Floats, variance: float) -> Posterior:
    """The likeliest log coefficients under a noise variance, and what the residuals then say of that."""
    from scipy.optimize import least_squares

    root, sd = np.linalg.cholesky(prior.precision).T, np.sqrt(variance)

    def residuals(flat: Floats) -> Floats:
        away = rows.log_time - log_times(rows.terms, flat.reshape(mode.shape))[0]
        return np.concatenate((rows.white(away) / sd, root @ (prior.mean - flat)))

    def slopes(flat: Floats) -> Floats:
        table = log_times(rows.terms, flat.reshape(mode.shape))[1]
        return -np.concatenate((rows.white(table) / sd, root))

    found = least_squares(residuals, mode.ravel(), slopes, method="lm", xtol=1e-4, ftol=1e-5, max_nfev=60)
    count = rows.log_time.size
    squares = float((found.fun[:count] ** 2).sum()) * variance
    normal = found.jac[:count].T @ found.jac[:count] * variance
    effective = float(np.trace(np.linalg.solve(normal / variance + prior.precision, normal / variance)))
    variance = (NOISE_WEIGHT * NOISE_SD**2 + squares) / (NOISE_WEIGHT + max(count - effective, 0.0))
    covariance = np.linalg.inv(normal / variance + prior.precision)
    away = found.x - prior.mean
    evidence = -0.5 * (
        squares / variance
        + float(away @ prior.precision @ away)
        + count * np.log(variance)
        - float(np.linalg.slogdet(covariance)[1])
        + rows.log_det
        + NOISE_WEIGHT * (NOISE_SD**2 / variance + np.log(variance))
    )
    return Posterior(shape, prior, rows, found.x.reshape(mode.shape), covariance, variance, effective, float(evidence))

"""The least-squares problem of one program shape: what was measured, what is known before, and who is alike."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.models.process_count.runs import AllocationRuns, padded, processes_of, starts
from simulator.models.process_count.terms import COMPUTATION, TERMS, WORK, Belief, Shape, columns, typical

JITTER_S = 0.002
"""Standard deviation of what start-up, clock ticks and the scheduler's credit add to a run."""
JITTER_SHARE = 0.1
"""The same at most, relative to the median time."""
JITTER_SD = 0.04
"""Relative noise to which that jitter is compared."""
SIZE_REACH = 1.0
"""Distance in the log size at which what the terms miss adds as much variance as the noise."""
ALIKE = 1.3
"""Ratio of two repetitions above which the slower is taken for disturbed."""
LASTING = 0.6
"""Part of a configuration's own variance that does not change with the size."""
REACH = 0.7
"""Distance in the log size over which the rest is alike."""
LIKENESS = (0.1, 0.5, 2.0, 8.0)
"""Variances of the own part, relative to the noise, that are tried."""
SPEED_SD = 1.5
"""Standard deviation of a kind's log speed."""
PHASE_DOUBT = 4.0
"""Variance of a phase measured apart, relative to that of a whole run: programs draw the line in different places."""
OWN_LEAST = 0.25
"""Amplitude of a configuration's own part where the work takes all the time."""


# Measured runs as the model sees them: repetitions joined, sorted by configuration and size.


@dataclass(frozen=True)
class Cells:
    """One row per configuration and size; rows of one configuration are neighbours, by rising size."""

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

    @property
    def processes(self) -> Ints:
        """P of each cell."""
        return processes_of(self.allocations)

    @cached_property
    def doubtfulness(self) -> Floats:
        """Variance of each cell's noise and lack of fit, relative to that of a long run at the largest size."""
        jitter = min(JITTER_S, JITTER_SHARE * float(np.median(self.time_s)))
        away = np.log(self.size.max() / self.size) / SIZE_REACH
        return np.asarray(1.0 + away**2 + (jitter / (JITTER_SD * self.time_s)) ** 2)

    def below(self, size: float) -> "Cells":
        """Only the cells of smaller sizes."""
        kept = self.size < size
        _, configuration = np.unique(self.configuration[kept], return_inverse=True)
        return replace(
            self,
            size=self.size[kept],
            allocations=self.allocations[kept],
            time_s=self.time_s[kept],
            comp_s=self.comp_s[kept],
            comm_s=self.comm_s[kept],
            runs=self.runs[kept],
            configuration=configuration.astype(np.int64),
        )

    def first(self) -> Ints:
        """Row of the first cell of each configuration."""
        return np.flatnonzero(starts(self.configuration))


def cells_of(runs: AllocationRuns) -> Cells:
    """Join repetitions."""
    count = len(runs.size)
    flat = runs.allocations.reshape(count, -1)
    order = np.lexsort((runs.time_s, runs.size, *flat.T))
    size, time_s = runs.size[order], runs.time_s[order]
    other = starts(*flat[order].T)
    fresh = other | starts(size)
    start = np.flatnonzero(fresh)
    number = np.diff(start, append=count)
    middle = np.sqrt(time_s[start + (number - 1) // 2] * time_s[start + number // 2])
    two = (number == 2) & (time_s[start + number - 1] > ALIKE * time_s[start])
    middle = np.where(two, time_s[start], middle)
    which = np.cumsum(fresh) - 1
    repeated = number[which] > 1
    away = np.abs(np.log(time_s / middle[which]))[repeated]
    spread = float(1.4826 * np.sqrt(2.0) * np.median(away)) if len(away) else 0.0
    return Cells(
        kinds=runs.kinds,
        size=size[start],
        allocations=runs.allocations[order][start],
        time_s=middle,
        comp_s=_medians(runs.comp_s[order], start),
        comm_s=_medians(runs.comm_s[order], start),
        runs=number,
        configuration=np.cumsum(other[start]) - 1,
        run_sd=spread,
    )


def _medians(table: Floats, start: Ints) -> Floats:
    """Median of the measured entries of each group of rows."""
    found = np.full((len(start), table.shape[1]), np.nan)
    measured = np.isfinite(table)
    if not measured.any():
        return found
    if len(start) == len(table):
        return np.where(measured, table, np.nan)
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(table)))
    for kind, there in enumerate(measured.T):
        column = np.where(there, table[:, kind], np.inf)
        column = column[np.lexsort((column, group))]  # those that were not measured are last of their group
        number = np.add.reduceat(there.astype(np.int64), start)
        some = number > 0
        first, number = start[some], number[some]
        found[some, kind] = (column[first + (number - 1) // 2] + column[first + number // 2]) / 2.0
    return found


# What a configuration keeps of its own: residuals that are alike at all sizes of one configuration.


def kernel(logs: Floats, others: Floats) -> Floats:
    """Covariance of a configuration's own parts, relative to their variance, at broadcast log sizes."""
    distance = np.abs(logs - others) / REACH
    return np.asarray(LASTING + (1.0 - LASTING) * np.exp(-distance))


@dataclass(frozen=True)
class Groups:
    """Cells by configuration, padded to the longest one."""

    index: Ints
    """Cell of each place, (configurations, places); the configuration's first where there is none."""
    there: Floats
    """1 where there is a cell, else 0."""
    logs: Floats
    """Log size of each place."""
    alike: Floats
    """`kernel` between places of a configuration, 0 where one is missing; (configurations, places, places)."""

    def rows(self, table: Floats) -> Floats:
        """A table of cells, by configuration and place, 0 where there is no cell."""
        found = table[self.index]
        return np.asarray(found * self.there.reshape(self.there.shape + (1,) * (table.ndim - 1)))

    def scaled(self, amplitude: Floats) -> "Groups":
        """With own parts of an amplitude that varies, (cells,)."""
        rows = self.rows(amplitude)
        return replace(self, alike=self.alike * rows[:, :, None] * rows[:, None, :])

    def covariance(self, noise: Floats, likeness: float) -> Floats:
        """Of the residuals, relative to the noise variance; `noise` of each cell, (cells,)."""
        found = likeness * self.alike
        places = np.arange(self.index.shape[1])
        found[:, places, places] += self.rows(noise) + (1.0 - self.there)
        return found


def groups_of(size: Floats, configuration: Ints) -> Groups:
    """Lay cells out by configuration; those of one configuration are neighbours."""
    first = np.flatnonzero(starts(configuration))
    index, there = padded(first, np.append(first[1:], len(size)))
    logs = np.log(size)[index]
    both = there[:, :, None] & there[:, None, :]
    return Groups(index, there.astype(np.float64), logs, kernel(logs[:, :, None], logs[:, None, :]) * both)


def choose_likeness(groups: Groups, noise: Floats, residuals: Floats) -> float:
    """The tried value under which the residuals are likeliest."""
    count, rows, scores = float(groups.there.sum()), groups.rows(residuals)[:, :, np.newaxis], []
    for likeness in LIKENESS:
        root = np.linalg.cholesky(groups.covariance(noise, likeness))
        white = np.linalg.solve(root, rows)
        log_det = 2 * np.log(root.diagonal(axis1=1, axis2=2)).sum()
        scores.append(count * np.log((white**2).sum() / count + 1e-12) + log_det)
    return LIKENESS[ties.first_least(scores)]


def inverse_roots(covariance: Floats) -> Floats:
    """Inverses of the Cholesky factors of many small matrices, (..., n, n)."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), dtype=np.float64)


# What is known of the coefficients before any run: their size, and how alike the kinds are.


@dataclass(frozen=True)
class Prior:
    """Normal prior of the log coefficients of the scaled columns, kind by kind."""

    mean: Floats
    """(kinds * terms,)."""
    precision: Floats
    """(kinds * terms, kinds * terms)."""
    scale: Floats
    """Factor on each column that makes it as large as the times, (terms,)."""


def scales_of(shape: Shape, cells: Cells) -> Floats:
    """Factor on each column that makes it as large as the times, (terms,)."""
    m = cells.allocations[:, :, 1].max(axis=1).astype(np.float64)
    columns = typical(shape, cells.size, m, cells.processes.astype(np.float64))
    return np.asarray(np.exp(-np.log(columns / cells.time_s[:, None]).mean(axis=0)))


def prior_of(kinds: int, belief: Belief, scale: Floats) -> Prior:
    """Centre every term at its usual share of the measured times."""
    return Prior(_mean(kinds, belief), _precision(kinds), scale)


@cache
def _mean(kinds: int, belief: Belief) -> Floats:
    """Of the log coefficients of so many kinds."""
    factors = [belief.factor if term.name.endswith(belief.about) else 1.0 for term in TERMS]
    found = np.tile(np.log([term.share for term in TERMS]) + np.log(factors), kinds)
    found.setflags(write=False)
    return found


@cache
def _precision(kinds: int) -> Floats:
    """Of the log coefficients of so many kinds, which share a common part and have one of their own."""
    apart = np.array([term.kind_sd for term in TERMS]) ** 2
    speed = (np.arange(len(TERMS)) < COMPUTATION).astype(np.float64)
    common = np.diag(np.array([term.sd for term in TERMS]) ** 2)
    own = np.diag(apart) + SPEED_SD**2 * np.outer(speed, speed)
    covariance = np.kron(np.ones((kinds, kinds)), common) + np.kron(np.eye(kinds), own)
    found = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    found.setflags(write=False)
    return found


# The least-squares problem of one program shape: scaled terms of the measured cells and phases, log times, groups.


@dataclass(frozen=True)
class Problem:
    """Cells and phases."""

    terms: Floats
    """Scaled, of every kind, 0 where it takes no part; (rows, kind, terms)."""
    log_time: Floats
    noise: Floats
    """Variance of each row's noise relative to that of a long run, (rows,)."""
    groups: Groups


def used_columns(shape: Shape, size: Floats, allocations: Ints) -> Floats:
    """Terms of every kind, 0 where it takes no part, shape (n, kind, terms)."""
    each = allocations[:, :, 1].astype(np.float64)
    own = allocations[:, :, 0] * each
    found = columns(shape, size[:, None], np.maximum(each, 1.0), own.sum(axis=1)[:, None])
    found *= (own > 0)[:, :, None]
    return found


def log_times(terms: Floats, mode: Floats) -> tuple[Floats, Floats]:
    """Log makespans, (n,), and their slopes by the log coefficients, (n, kind * terms).

    `mode`: log coefficients, (kind, terms).
    """
    factors = np.exp(mode)
    of_kind = seconds(terms, factors)
    rows, slowest = np.arange(len(terms)), slowest_of(of_kind)
    longest = of_kind[rows, slowest]
    slopes = np.zeros_like(terms)
    slopes[rows, slowest] = terms[rows, slowest] * factors[slowest] / longest[:, None]
    return np.log(longest), slopes.reshape(len(terms), -1)


def seconds(terms: Floats, factors: Floats) -> Floats:
    """Seconds of the PEs of every kind, (n, kind)."""
    return np.asarray((terms.transpose(1, 0, 2) @ factors[:, :, None])[:, :, 0].T)


def slowest_of(of_kind: Floats) -> Ints:
    """The kind that takes longest, the first of equals, by the seconds of each, (n, kind); (n,)."""
    return np.asarray((of_kind >= (1 - ties.SAME) * of_kind.max(axis=1, keepdims=True)).argmax(axis=1))


def amplitude(terms: Floats, mode: Floats) -> Floats:
    """Size of what a configuration keeps of its own: large where more than the work itself takes time, (n,)."""
    factors = np.exp(mode)
    return amplitude_of(seconds(terms, factors), seconds(terms[:, :, :WORK], factors[:, :WORK]))


def amplitude_of(of_kind: Floats, work: Floats) -> Floats:
    """The same by the seconds of every kind and those of the work in them, (n, kind)."""
    row = np.arange(len(of_kind)), slowest_of(of_kind)
    rest = 1.0 - work[row] / of_kind[row]
    return np.asarray(OWN_LEAST + (1.0 - OWN_LEAST) * rest)


def problem_of(shape: Shape, cells: Cells, scale: Floats) -> Problem:
    """The cells, and after them the phases that were measured apart, with the variance of their noise."""
    terms = used_columns(shape, cells.size, cells.allocations)
    terms *= scale
    rows, size, configuration = [terms], [cells.size], [cells.configuration]
    time_s, noise = [cells.time_s], [cells.doubtfulness]
    last = int(cells.configuration[-1]) + 1
    for kind, own, there, phase_s in _phases(terms, cells):
        part = np.zeros((len(there), *terms.shape[1:]))
        part[:, kind] = terms[there, kind] * own
        rows.append(part)
        size.append(cells.size[there])
        configuration.append(cells.configuration[there] + last)
        time_s.append(phase_s)
        noise.append(PHASE_DOUBT * cells.doubtfulness[there])
        last = int(configuration[-1][-1]) + 1
    # In memory kind by kind, as the seconds of each kind are asked for most.
    table = np.concatenate([part.transpose(1, 0, 2) for part in rows], axis=1).transpose(1, 0, 2)
    groups = groups_of(np.concatenate(size), np.concatenate(configuration))
    return Problem(table, np.log(np.concatenate(time_s)), np.concatenate(noise), groups)


def _phases(terms: Floats, cells: Cells) -> Iterator[tuple[int, Flags, Ints, Floats]]:
    """Kind, its terms in the phase, cells that have the phase, and its seconds."""
    if not (np.isfinite(cells.comp_s).any() or np.isfinite(cells.comm_s).any()):
        return
    speed = np.arange(len(TERMS)) < COMPUTATION
    # What a kind communicates holds its waiting for the others, so only the slowest one's counts.
    whole = cells.comp_s + cells.comm_s
    slowest = np.where(np.isnan(whole), -1.0, whole).argmax(axis=1)
    for phase_s, own in ((cells.comp_s, speed), (cells.comm_s, ~speed)):
        for kind in range(len(cells.kinds)):
            there = (phase_s[:, kind] > 0) & terms[:, kind].any(axis=1)
            if own is not speed:
                there &= (slowest == kind) & (terms[:, kind, COMPUTATION:].sum(axis=1) > 0)
            if there.any():
                yield kind, own, np.flatnonzero(there), phase_s[there, kind]

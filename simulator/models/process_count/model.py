"""The process-count model: few structures, weighed by the evidence for each, as one predictor.

Every structure says: the makespan is the longest time of a kind in use, and the time of a kind is a sum of the costs of
`terms`, all positive, each with one coefficient for all m, P and N. A structure is a program shape (how the work grows)
and a belief about what makes several processes slow. What the costs miss about a configuration that was itself measured
is carried over to other sizes; at a size at which it was measured its time is what was measured.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.base import randomness, ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.models.choice import odds
from simulator.models.process_count.doubts import check_runs, doubts_of_estimates, doubts_of_runs, mixture_codes
from simulator.models.process_count.fit import (
    Cells,
    Posterior,
    alike,
    amplitude,
    cells_of,
    fit_shape,
    log_times,
    refit,
    slowest_of,
    used_columns,
)
from simulator.models.process_count.runs import AllocationRuns, Estimates, processes_of
from simulator.models.process_count.terms import BELIEFS, SHAPES, Shape
from simulator.models.regression.runtime_model import mixture_quantiles

DRIFT = 0.08
"""Standard deviation of the log time per unit of log distance beyond the measured sizes and process counts."""
UNMIXED_SD, UNPARTED_SD = 0.12, 0.5
"""Standard deviation of the log time of kinds that no run used together, of which each of their configurations that was
run leaves less; of a kind that no run used alone."""
MEMBERS = 64
"""Equally likely truths."""
CALIBRATION_WEIGHT, CALIBRATION_WORTH = 4.0, 8.0
"""Forward errors of expected size that the calibration starts from; most that the forward validation counts for, as
held-out cells of one size err together."""
SLOPE_SD, LEAST_APART = 0.05, 0.3
"""Of the steepest growth: relative error of a long run that it allows for, and distance of log sizes that counts."""
NEGLIGIBLE, TEMPER = 0.05, 0.3
"""Weight below which a structure is left out; power of the evidence that weighs them: none of them is quite true."""
ADAPTED = 0.5
"""Part of the effective coefficients that adapts to configurations; the rest to the growth with the size."""
OWN_LEAST_SD = 0.01
"""Least standard deviation of what a configuration keeps of its own: closer ones are not distinguished."""
MOST_CAUTION = 1.0
"""Most that the mean may exceed the median, in log seconds."""
RUN_WEIGHT = 3.0
"""Repetitions that the fit's own noise counts for."""
DISTURBED = 2.0
"""Factor on its noise from which a measured time says little."""


@dataclass(frozen=True)
class Predicted:
    """What a structure says of n configurations at one size."""

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
    def log_s(self) -> Floats:
        """Log makespans, (n,)."""
        return np.asarray(self.of_kind.max(axis=1) + self.shift)

    @cached_property
    def slopes(self) -> Floats:
        """Of the log makespan by the log coefficients, (n, kind * terms)."""
        rows, slowest = np.arange(len(self.shift)), slowest_of(np.exp(self.of_kind))
        found = np.zeros_like(self.parts)
        found[rows, slowest] = self.parts[rows, slowest]
        return found.reshape(len(rows), -1) - self.pull


@dataclass(frozen=True)
class Structure:
    """A posterior and the cells that it rests on."""

    posterior: Posterior
    cells: Cells

    def terms(self, size: Floats, allocations: Ints) -> Floats:
        """Scaled terms, (n, kind, terms)."""
        return used_columns(self.posterior.shape, size, allocations) * self.posterior.prior.scale

    def predict(self, size: float, allocations: Ints) -> Predicted:
        """Everything about configurations at one problem size."""
        fitted, sizes = self.posterior, np.full(len(allocations), float(size))
        terms = self.terms(sizes, allocations)
        parts = terms * np.exp(fitted.mode)
        of_kind = parts.sum(axis=2)
        parts /= np.where(of_kind > 0, of_kind, 1.0)[:, :, None]
        spread, rows = amplitude(terms, fitted.mode), fitted.rows
        residuals, slopes, inverse = self._cells
        own = self.cells.size, self.cells.allocations, rows.private
        near = rows.likeness * spread[:, None] * alike(sizes, allocations, *own) * rows.amplitude[: len(residuals)]
        gain = near @ inverse
        # What was not measured may keep more of its own than what the fit has adapted to.
        count = float(len(self.cells.first))
        more = count / (count - min(ADAPTED * fitted.effective, 2.0 * count / 3.0))
        left = np.maximum(rows.likeness * spread**2 - (gain * near).sum(axis=1), 0.0)
        left[~among(allocations, self.cells.allocations)] *= more
        with np.errstate(divide="ignore"):
            logs = np.log(of_kind)
        left = np.maximum(left * fitted.variance, OWN_LEAST_SD**2)
        return Predicted(logs, parts, gain @ residuals, gain @ slopes, left, self._caution(parts))

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats]:
        """Of the cells: residuals, slopes of what the costs say of them, inverse of the residuals' covariance."""
        rows, count = self.posterior.rows, self.cells.size.size
        mean, slopes = log_times(rows.terms[:count], self.posterior.mode)
        inverse = np.asarray(np.linalg.inv(rows.covariance[:count, :count]), dtype=np.float64)
        return rows.log_time[:count] - mean, slopes, inverse

    def _caution(self, parts: Floats) -> Floats:
        """Half the variance of the log seconds of a kind, by the share of each of its terms, (n, kind, terms).

        It matters for kinds that were never the slowest of a run, or never ran: their median would look too good.
        """
        kinds, terms = self.posterior.mode.shape
        whole = self.posterior.covariance.reshape(kinds, terms, kinds, terms)
        found = [((parts[:, kind] @ whole[kind, :, kind]) * parts[:, kind]).sum(axis=1) for kind in range(kinds)]
        return np.asarray(np.minimum(np.stack(found, axis=1) / 2.0, MOST_CAUTION))


@dataclass(frozen=True)
class ProcessCountModel:
    """A fitted model; see `fit_process_counts`."""

    cells: Cells
    structures: tuple[Structure, ...]
    weights: Floats
    """Of the structures, sum 1."""
    warnings: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return self.cells.kinds

    @property
    def _first(self) -> Structure:
        """The weightiest structure."""
        return self.structures[ties.first_most(self.weights)]

    @cached_property
    def inflation(self) -> float:
        """Factor on the variances: squared errors of the largest size, predicted from smaller ones, over expected."""
        sizes = np.unique(self.cells.size)
        if len(sizes) < 3:
            return 1.0
        top, best = float(sizes[-1]), self._first.posterior
        held, below = self.cells.size == top, self.cells.below(top)
        fitted = refit(best, below)
        found = Structure(fitted, below).predict(top, self.cells.allocations[held])
        spread = _variance(found, fitted)
        noise = fitted.variance * best.rows.noise[: held.size][held]
        drift = DRIFT**2 * float(np.log(top / sizes[-2])) ** 2
        away = np.log(self.cells.time_s[held]) - found.log_s
        surprise = np.minimum(away**2 / (spread + noise + drift), 25.0)
        worth = min(len(surprise) / 2.0, CALIBRATION_WORTH)
        factor = (CALIBRATION_WEIGHT + worth * float(surprise.mean())) / (CALIBRATION_WEIGHT + worth)
        return max(1.0, factor)

    def estimate(self, size: float, allocations: Ints, *, level: float = 0.9, measured: bool = True) -> Estimates:
        """Of allocations of shape (n, kind, 2), as in `AllocationRuns`.

        `measured`: whether what was measured at this very size is its own estimate.

        Raises ScenarioError if all runs have one size and another is asked for.
        """
        found = self._predict(size, allocations)
        mean, strange = self._mean(found), self._strange(allocations)
        drift = self._drift(size, allocations, strange)
        logs = np.stack([part.log_s for part in found])
        spreads = np.stack(
            [
                (_variance(part, structure.posterior) + structure.posterior.variance) * self.inflation + drift
                for structure, part in zip(self.structures, found, strict=True)
            ]
        )
        for row, cell in self._measured(size, allocations) if measured else ():
            mean[row] = logs[:, row] = np.log(self.cells.time_s[cell])
            spreads[:, row] = [self._run_variance(structure, cell) for structure in self.structures]
        freedom = np.array([structure.posterior.freedom for structure in self.structures])
        levels = ((1 - level) / 2, (1 + level) / 2)
        low, high = mixture_quantiles(self.weights, logs, spreads, freedom=freedom, levels=levels)
        low_s, high_s = np.exp(np.minimum(low, mean)), np.exp(np.maximum(high, mean))
        return Estimates(
            level, np.exp(mean), low_s, high_s, doubts_of_estimates(self.cells, size, allocations, strange)
        )

    def behind(self, size: float, allocations: Ints) -> tuple[Floats, Floats]:
        """How far configurations are behind the best of them by all runs together, and how surely: log ratios, (n,).

        Returns
        -------
        mean, sd
            Of the log of the makespan over that of the best.
        """
        found = self._predict(size, allocations)
        mean = self._mean(found)
        best = ties.first_least(mean, floor=ties.SAME)  # logs
        variance = np.zeros(len(mean))
        for weight, structure, part in zip(self.weights, self.structures, found, strict=True):
            slopes = part.slopes - part.slopes[best]
            own = ((slopes @ structure.posterior.covariance) * slopes).sum(axis=1) + part.own + part.own[best]
            apart = part.log_s - part.log_s[best] - (mean - mean[best])
            variance += weight * (own * self.inflation + apart**2)
        variance[best] = 0.0
        return np.asarray(mean - mean[best]), np.sqrt(variance)

    def members(self, size: float, allocations: Ints) -> Floats:
        """Equally likely truths, paired over the allocations: seconds of shape (member, n)."""
        share = np.floor(self.weights * MEMBERS + ties.SAME).astype(int)
        share[ties.first_most(self.weights)] += MEMBERS - int(share.sum())
        wide, draw = np.sqrt(self.inflation), randomness.stream(1, "process counts").standard_normal
        rows = []
        for number, structure, part in zip(share, self.structures, self._predict(size, allocations), strict=True):
            moved = draw((int(number), structure.posterior.mode.size)) @ _root(structure.posterior.covariance) * wide
            moves = moved.reshape(-1, *structure.posterior.mode.shape)
            of_kind = part.of_kind + np.einsum("nkt,dkt->dnk", part.parts, moves)
            own = draw((len(moved), len(allocations))) * np.sqrt(part.own) * wide
            rows.append(of_kind.max(axis=2) + part.shift - moved @ part.pull.T + own)
        # What changes beyond the measured sizes changes alike for all configurations of the same kinds.
        mixtures, mixture = np.unique(mixture_codes(allocations), return_inverse=True)
        drift = np.sqrt(self._drift(size, allocations, self._strange(allocations)))
        return np.asarray(np.exp(np.concatenate(rows) + draw((MEMBERS, mixtures.size))[:, mixture] * drift))

    def _predict(self, size: float, allocations: Ints) -> list[Predicted]:
        sizes = np.unique(self.cells.size)
        if sizes.size == 1 and not ties.near_least([float(sizes[0]), size]).all():
            advice = f"ask for --size {sizes[0]:g}, or add runs with another"
            raise ScenarioError(f"--size is {size:g} and all runs have N = {sizes[0]:g}; {advice}")
        return [structure.predict(size, allocations) for structure in self.structures]

    def _measured(self, size: float, allocations: Ints) -> list[tuple[int, int]]:
        """Rows that were measured at this very size and not disturbed there, and their cells."""
        rows = self._first.posterior.rows
        calm = rows.noise[: self.cells.size.size] <= DISTURBED * self.cells.doubtfulness
        cells = np.flatnonzero(calm & (np.abs(self.cells.size / size - 1) <= ties.SAME))
        return [(row, int(cells[place])) for row, place in _places(allocations, self.cells.allocations[cells])]

    def _run_variance(self, structure: Structure, cell: int) -> float:
        """Of the log time of a further run of a measured cell around the cell's own time."""
        repeated, fitted = int((self.cells.runs - 1).sum()), structure.posterior.variance
        noise = (repeated * self.cells.run_sd**2 + RUN_WEIGHT * fitted) / (repeated + RUN_WEIGHT)
        return float(noise * (1.0 + 1.0 / self.cells.runs[cell]))

    def _mean(self, found: list[Predicted]) -> Floats:
        """Log makespans over all structures, (n,)."""
        there = np.isfinite(found[0].of_kind)
        weighted = list(zip(self.weights, found, strict=True))
        of_kind = sum(weight * np.where(there, part.of_kind + part.caution, 0.0) for weight, part in weighted)
        shift = sum(weight * part.shift for weight, part in weighted)
        return np.asarray(np.where(there, of_kind, -np.inf).max(axis=1) + shift)

    def _strange(self, allocations: Ints) -> Flags:
        """Whether no run used these kinds together, or this one alone; (n,)."""
        return ~np.isin(mixture_codes(allocations), mixture_codes(self.cells.allocations))

    def _drift(self, size: float, allocations: Ints, strange: Flags) -> Floats:
        """Variance for what may change beyond the measured sizes, m and P; (n,)."""
        cells = self.cells
        beyond = max(np.log(size / cells.size.max()), np.log(cells.size.min() / size), 0.0)
        most = np.maximum(cells.allocations[:, :, 1].max(axis=0), 1)
        more = np.log(np.maximum(processes_of(allocations) / processes_of(cells.allocations).max(), 1.0))
        over = np.log(np.maximum(allocations[:, :, 1] / most, 1.0).max(axis=1))
        single = (allocations[:, :, 0] > 0).sum(axis=1) == 1
        # Each configuration of the same kinds that was run leaves less of it open.
        known, number = np.unique(mixture_codes(cells.allocations[cells.first]), return_counts=True)
        alike = (mixture_codes(allocations)[:, None] == known) @ number
        unseen = np.where(single, strange * UNPARTED_SD**2, UNMIXED_SD**2 / (1.0 + alike))
        return np.asarray(DRIFT**2 * (beyond**2 + more**2 + (2.0 * over) ** 2) + unseen)


def among(allocations: Ints, known: Ints) -> Flags:
    """Whether allocations are among known ones, (n,)."""
    both = np.concatenate((allocations, known)).reshape(len(allocations) + len(known), -1)
    number = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    return np.isin(number[: len(allocations)], number[len(allocations) :])


def _places(allocations: Ints, known: Ints) -> list[tuple[int, int]]:
    """Rows that are among known allocations, and their places there."""
    numbers = {one.tobytes(): number for number, one in enumerate(np.ascontiguousarray(known, dtype=np.int64))}
    rows = enumerate(np.ascontiguousarray(allocations, dtype=np.int64))
    return [(row, place) for row, one in rows if (place := numbers.get(one.tobytes())) is not None]


def _variance(found: Predicted, fitted: Posterior) -> Floats:
    """Of the log makespans, but for noise; (n,)."""
    return np.asarray(((found.slopes @ fitted.covariance) * found.slopes).sum(axis=1) + found.own)


def _root(covariance: Floats) -> Floats:
    """The symmetric root: there is but one, while eigenvectors have any sign, of equal values any direction."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def fit_process_counts(runs: AllocationRuns) -> ProcessCountModel:
    """Fit a model of a program that gives every process the same work.

    Raises ScenarioError if there are too few runs, with how many more are needed.

    `runs`: at least two process counts, and every kind in at least one run; of one size, estimates are of that size.
    """
    check_runs(runs)
    cells = cells_of(runs)
    every = [posterior for shape in plausible_shapes(cells) for posterior in fit_shape(shape, cells, BELIEFS)]
    chances = odds([posterior.evidence for posterior in every], power=TEMPER)
    kept = [posterior for posterior, chance in zip(every, chances, strict=True) if chance > NEGLIGIBLE]
    chances = chances[chances > NEGLIGIBLE]
    first = kept[ties.first_most(chances)]
    factors = first.rows.noise[: cells.size.size] / cells.doubtfulness
    scatter = float(np.sqrt(first.variance * (1.0 + first.rows.likeness * np.mean(first.rows.amplitude**2))))
    return ProcessCountModel(
        cells=cells,
        structures=tuple(Structure(posterior, cells) for posterior in kept),
        weights=chances / chances.sum(),
        warnings=doubts_of_runs(cells, factors, scatter),
    )


def plausible_shapes(cells: Cells) -> list[Shape]:
    """Shapes that grow at least as fast as the steepest growth that was surely seen, not of neighbouring sizes."""
    last = np.append(cells.first[1:], len(cells.size)) - 1
    end = last[cells.configuration]
    apart = np.log(cells.size[end] / cells.size)
    there = apart > LEAST_APART
    doubt = 2.0 * SLOPE_SD * np.sqrt(cells.doubtfulness + cells.doubtfulness[end])
    slope = (np.log(cells.time_s[end] / cells.time_s) - doubt)[there] / apart[there]
    steepest, top = float(slope.max(initial=0.0)), max(float(cells.size.max()), 3.0)
    if np.ptp(cells.size) <= 0:
        return [SHAPES[-1]]  # at one size all shapes are the same
    found = [shape for shape in SHAPES if not ties.is_less(shape.order + shape.logarithm / np.log(top), steepest)]
    return found or [SHAPES[-1]]

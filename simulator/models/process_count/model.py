"""The process-count model: few structures, weighed by the evidence for each, as one predictor.

Every structure says: the makespan is the longest time of a kind in use, and the time of a kind is a sum of the costs of
`terms`, all positive, each with one coefficient for all m, P and N. A structure is a program shape (how the work grows)
and a belief about what makes several processes slow. What the costs miss about a configuration that was itself measured
is carried over to larger sizes, as far as its sizes agree about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from simulator.base import ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.models.choice import odds
from simulator.models.process_count.doubts import (
    check_runs,
    doubts_of_estimates,
    doubts_of_runs,
    mixture_codes,
)
from simulator.models.process_count.posterior import (
    Predicted,
    Structure,
    fit_shape,
    refit,
)
from simulator.models.process_count.problem import Cells, cells_of
from simulator.models.process_count.runs import (
    AllocationRuns,
    Estimates,
    ShareTables,
    processes_of,
)
from simulator.models.process_count.terms import SHAPES, Shape, columns
from simulator.models.regression.runtime_model import mixture_quantiles

STEP = np.uint64(0x9E3779B97F4A7C15)
DRIFT = 0.08
"""Standard deviation of the log time per unit of log distance beyond the measured sizes and process counts."""
UNMIXED_SD, UNPARTED_SD = 0.12, 0.5
"""Standard deviation of the log time of kinds that no run used together, of which each of their configurations that was
run leaves less; of a kind that no run used alone."""
MEMBERS = 64
"""Equally likely truths."""
CALIBRATION_WEIGHT = 4.0
"""Forward errors of expected size that the calibration starts from."""
CALIBRATION_WORTH = 8.0
"""Most errors that the forward validation counts for: held-out cells of one size err together."""
SLOPE_SD = 0.05
"""Relative error of a long run that is allowed for when the steepest growth is looked for."""
LEAST_APART = 0.3
"""Distance of two log sizes from which growth between them counts."""
NEGLIGIBLE = 0.05
"""Weight below which a structure is left out."""
TEMPER = 0.3
"""Power of the evidence that weighs structures: none of them is quite true."""


# Fixed quasi-random normal numbers, so that the members of an ensemble are the same wherever they are asked for.


def coefficient_draws(covariance: Floats, number: int) -> Floats:
    """Draws around 0 with a covariance of shape (p, p), shape (number, p); the second half mirrors the first."""
    size = len(covariance)
    half = max((number + 1) // 2, 1)
    steps = np.sqrt(_primes(size))
    uniform = (0.5 + np.arange(1, half + 1)[:, None] * steps[None]) % 1.0
    normal = ndtri(np.clip(uniform, 1e-6, 1 - 1e-6))
    normal /= np.sqrt((normal**2).mean(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    # The symmetric root: there is but one, while eigenvectors have any sign, and any direction where values are equal.
    draws = normal @ ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
    return np.asarray(np.stack([draws, -draws], axis=1).reshape(-1, size)[:number])


def configuration_draws(allocations: Ints, number: int) -> Floats:
    """Standard normal draws that belong to each configuration, shape (number, n)."""
    code = np.zeros(len(allocations), dtype=np.uint64)
    for column in allocations.reshape(len(allocations), -1).T:
        code = _mixed_bits(code + column.astype(np.uint64) + STEP)
    member = _mixed_bits(np.arange(1, number + 1, dtype=np.uint64) * STEP)
    uniform = (_mixed_bits(code[None] ^ member[:, None]) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.asarray(ndtri(np.clip(uniform, 1e-6, 1 - 1e-6)))


def _mixed_bits(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits well mixed (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def _primes(number: int) -> Floats:
    """The first primes."""
    limit = max(16, int(number * (np.log(number + 2) + 3)))
    sieve = np.ones(limit, bool)
    sieve[:2] = False
    for k in range(2, int(limit**0.5) + 1):
        sieve[k * k :: k] = False
    return np.flatnonzero(sieve)[:number].astype(np.float64)


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

    @cached_property
    def inflation(self) -> float:
        """Factor on the variances: squared errors at the largest size, as the smaller ones predict it, over expected.

        Costs one more fit of the first structure, when it is first asked for.
        """
        best = self.structures[ties.first_most(self.weights)]
        sizes = np.unique(self.cells.size)
        if len(sizes) < 3:
            return 1.0
        top = float(sizes[-1])
        below = self.cells.below(top)
        held = self.cells.size == top
        fitted = refit(best.posterior, below)
        held_out = self.cells.allocations[held]
        smaller = Structure(fitted, below)
        terms = smaller.terms(np.full(len(held_out), top), held_out)
        found = smaller.predict(top, terms, smaller.measured(held_out))
        slopes = found.slopes
        spread = ((slopes @ fitted.covariance) * slopes).sum(axis=1) + found.own
        noise = fitted.variance * best.posterior.noise[: len(held)][held]
        drift = DRIFT**2 * float(np.log(top / sizes[-2])) ** 2
        away = np.log(self.cells.time_s[held]) - found.of_kind.max(axis=1) - found.shift
        surprise = np.minimum(away**2 / (spread + noise + drift), 25.0)
        worth = min(len(surprise) / 2.0, CALIBRATION_WORTH)
        factor = (CALIBRATION_WEIGHT + worth * float(surprise.mean())) / (CALIBRATION_WEIGHT + worth)
        return max(1.0, factor)

    def tables(self, size: float, most: Sequence[int], processes: int) -> ShareTables:
        """For up to `most[kind]` processes on a PE and up to so many processes in all."""
        largest = max(most)
        m = np.arange(1.0, largest + 1)[:, None]
        counts = np.arange(0.0, processes + 1)[None]
        allowed = (counts >= m)[None] & (m[None] <= np.array(most)[:, None, None])
        log_s = np.zeros((len(self.kinds), largest, processes + 1))
        for weight, structure in zip(self.weights, self.structures, strict=True):
            fitted = structure.posterior
            table = columns(fitted.shape, np.full((1, 1), float(size)), m, np.maximum(counts, 1.0))
            factors = np.exp(fitted.mode) * fitted.prior.scale
            parts = table[:, :, None] * factors
            seconds = parts.sum(axis=3)
            parts /= seconds[:, :, :, None]
            log_s += weight * (np.log(seconds) + structure.caution(parts)).transpose(2, 0, 1)
        pe_s = np.where(allowed, np.exp(log_s), np.inf)
        measured = self.cells.allocations[self.cells.first()]
        factor = np.exp(self._mixed(self._predict(size, measured))[1])
        return ShareTables(pe_s, measured, factor)

    def estimate(self, size: float, allocations: Ints, *, level: float = 0.9) -> Estimates:
        """Of allocations of shape (n, kind, 2), as in `AllocationRuns`."""
        found = self._predict(size, allocations)
        of_kind, shift = self._mixed(found)
        mean = of_kind.max(axis=1) + shift
        strange = self._strange(allocations)
        drift = self._drift(size, allocations, strange)
        logs, spreads = (np.empty((len(found), len(mean))) for _ in range(2))
        for row, (structure, part) in enumerate(zip(self.structures, found, strict=True)):
            slopes, fitted = part.slopes, structure.posterior
            own = ((slopes @ fitted.covariance) * slopes).sum(axis=1) + part.own + fitted.variance
            logs[row] = part.of_kind.max(axis=1) + part.shift
            spreads[row] = own * self.inflation + drift
        freedom = np.array([structure.posterior.freedom for structure in self.structures])
        levels = ((1 - level) / 2, (1 + level) / 2)
        low, high = mixture_quantiles(self.weights, logs, spreads, freedom=freedom, levels=levels)
        mean_s = np.exp(mean)
        low_s, high_s = np.exp(np.minimum(low, mean)), np.exp(np.maximum(high, mean))
        doubts = doubts_of_estimates(self.cells, size, allocations, strange)
        return Estimates(level, mean_s, low_s, high_s, doubts)

    def members(self, size: float, allocations: Ints) -> Floats:
        """Equally likely truths, paired over the allocations: seconds of shape (member, n)."""
        share = np.floor(self.weights * MEMBERS + ties.SAME).astype(int)
        share[ties.first_most(self.weights)] += MEMBERS - int(share.sum())
        wide = np.sqrt(self.inflation)
        drift = np.sqrt(self._drift(size, allocations, self._strange(allocations)))
        own = configuration_draws(allocations, MEMBERS)
        # What changes beyond the measured sizes changes alike for all configurations of the same kinds.
        common = configuration_draws((allocations[:, :, :1] > 0).astype(np.int64), MEMBERS) * drift
        rows, first = [], 0
        for number, structure, part in zip(share, self.structures, self._predict(size, allocations), strict=True):
            draws = coefficient_draws(structure.posterior.covariance, int(number)) * wide
            moves = draws.reshape(len(draws), *structure.posterior.mode.shape)
            of_kind = part.of_kind + np.einsum("nkt,dkt->dnk", part.parts, moves)
            shift = part.shift - draws @ part.pull.T
            mine = slice(first, first + number)
            rows.append(of_kind.max(axis=2) + shift + own[mine] * np.sqrt(part.own) * wide + common[mine])
            first += number
        return np.asarray(np.exp(np.concatenate(rows)))

    @cached_property
    def _shapes(self) -> tuple[Structure, ...]:
        """One structure of each shape."""
        return tuple({part.posterior.shape.name: part for part in self.structures}.values())

    def _predict(self, size: float, allocations: Ints) -> list[Predicted]:
        sizes = np.full(len(allocations), float(size))
        number = self.structures[0].measured(allocations)
        # Structures of one shape look at the same costs.
        terms = {part.posterior.shape.name: part.terms(sizes, allocations) for part in self._shapes}
        return [part.predict(size, terms[part.posterior.shape.name], number) for part in self.structures]

    def _strange(self, allocations: Ints) -> Flags:
        """Whether no run used these kinds together, or this one alone; (n,)."""
        return ~np.isin(mixture_codes(allocations), mixture_codes(self.cells.allocations))

    @cached_property
    def _most(self) -> tuple[int, Ints]:
        """Most processes that were measured: in all, and on a PE of each kind."""
        return int(self.cells.processes.max()), np.maximum(self.cells.allocations[:, :, 1].max(axis=0), 1)

    def _mixed(self, found: list[Predicted]) -> tuple[Floats, Floats]:
        """Log seconds of the kinds, and what the configuration's own runs add, over all structures."""
        there = np.isfinite(found[0].of_kind)
        of_kind = sum(
            w * np.where(there, part.of_kind + part.caution, 0.0) for w, part in zip(self.weights, found, strict=True)
        )
        shift = sum(w * part.shift for w, part in zip(self.weights, found, strict=True))
        return np.where(there, of_kind, -np.inf), np.asarray(shift)

    def _drift(self, size: float, allocations: Ints, strange: Flags) -> Floats:
        """Variance for what may change beyond the measured sizes, m and P; (n,)."""
        sizes = self.cells.size
        beyond = max(np.log(size / sizes.max()), np.log(sizes.min() / size), 0.0)
        most, most_each = self._most
        processes = processes_of(allocations)
        more = np.log(np.maximum(processes / most, 1.0))
        over = np.log(np.maximum(allocations[:, :, 1] / most_each, 1.0).max(axis=1))
        single = (allocations[:, :, 0] > 0).sum(axis=1) == 1
        # Each configuration of the same kinds that was run leaves less of it open.
        unseen = np.where(single, strange * UNPARTED_SD**2, UNMIXED_SD**2 / (1.0 + self._alike(allocations)))
        return np.asarray(DRIFT**2 * (beyond**2 + more**2 + (2.0 * over) ** 2) + unseen)

    def _alike(self, allocations: Ints) -> Floats:
        """How many configurations of the same kinds were run; (n,)."""
        known = mixture_codes(self.cells.allocations[self.cells.first()])
        return np.asarray((mixture_codes(allocations)[:, np.newaxis] == known).sum(axis=1), np.float64)


# From runs: which program shapes are worth a fit, and how much each structure counts.


def fit_process_counts(runs: AllocationRuns) -> ProcessCountModel:
    """Fit a model of a program that gives every process the same work.

    Raises ScenarioError if there are too few runs, with how many more are needed.

    `runs`: at least two sizes and two process counts; every kind in at least one run.
    """
    check_runs(runs)
    cells = cells_of(runs)
    shapes = plausible_shapes(cells)
    kept = [posterior for shape in shapes for posterior in fit_shape(shape, cells)]
    chances = odds([posterior.evidence for posterior in kept], power=TEMPER)
    kept = [posterior for posterior, chance in zip(kept, chances, strict=True) if chance > NEGLIGIBLE]
    chances = chances[chances > NEGLIGIBLE]
    first = kept[ties.first_most(chances)]
    factors = first.noise[: len(cells.size)] / cells.doubtfulness
    scatter = float(np.sqrt(first.variance * (1.0 + first.likeness * np.mean(first.amplitude**2))))
    return ProcessCountModel(
        cells=cells,
        structures=tuple(Structure(posterior, cells) for posterior in kept),
        weights=chances / chances.sum(),
        warnings=doubts_of_runs(cells, factors, scatter),
    )


def plausible_shapes(cells: Cells) -> list[Shape]:
    """Shapes that grow at least as fast as the steepest growth that was surely seen."""
    last = np.append(cells.first()[1:], len(cells.size)) - 1
    end = last[cells.configuration]
    apart = np.log(cells.size[end] / cells.size)
    # Not from neighbouring sizes, where noise makes any slope.
    there = apart > LEAST_APART
    doubt = 2.0 * SLOPE_SD * np.sqrt(cells.doubtfulness + cells.doubtfulness[end])
    slope = (np.log(cells.time_s[end] / cells.time_s) - doubt)[there] / apart[there]
    steepest = float(slope.max(initial=0.0))
    top = max(float(cells.size.max()), 3.0)
    found = [shape for shape in SHAPES if not ties.is_less(shape.order + shape.logarithm / np.log(top), steepest)]
    return found or [SHAPES[-1]]

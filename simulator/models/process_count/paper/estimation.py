"""The paper's model as fitted: total time is the longest computation + communication of the kinds that take part."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.models.process_count.estimates import Estimates, ShareTables
from simulator.models.process_count.paper import documents
from simulator.models.process_count.paper.assembly import (
    ALONE,
    BY_1_P,
    BY_P,
    CONSTANT,
    Built,
    Options,
    build,
)
from simulator.models.process_count.paper.curves import LEAST_SIZES, fit_curves, powers
from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

# Fixed standard normal scores: the same spread-out numbers everywhere, without a generator.


def normal_scores(pairs: int, count: int) -> Floats:
    """Rows of independent-looking normal scores, each followed by its mirror image; (2*pairs, count).

    Counters mixed by splitmix64, then Box and Muller's transform; mirrored, so that what is linear keeps its mean.
    """
    even = count + count % 2
    mixed = np.arange(1, pairs * even + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    uniform = ((mixed >> np.uint64(11)).astype(float) + 0.5) / 2.0**53
    radius, angle = uniform.reshape(2, -1)
    radius = np.sqrt(-2 * np.log(radius))
    scores = np.concatenate((radius * np.cos(2 * np.pi * angle), radius * np.sin(2 * np.pi * angle)))
    scores = scores.reshape(pairs, even)[:, :count]
    return np.asarray(np.concatenate((scores, -scores)))


# What the paper's model says of itself: what was left out, composed or assumed.


def notes(runs: AllocationRuns, one: Configurations, built: Built) -> tuple[str, ...]:
    """One line each."""
    lines = []
    few = one.sizes < LEAST_SIZES
    for kind, name in enumerate(runs.kinds):
        mine = few & (one.kind == kind)
        if mine.any():
            at = int(np.flatnonzero(mine)[0])
            first = f"the first: {one.pes[at]} PEs, m = {one.m[at]}, {one.sizes[at]} sizes"
            left_out = f"{mine.sum()} configurations with fewer than {LEAST_SIZES} problem sizes left out"
            lines.append(f"{name}: {left_out}, {first}")
        several = np.isfinite(built.roles[0, 0, kind, ..., BY_P, 0]).any(axis=1)
        if not several.any():
            lines.append(f"{name}: no P-T model and none to compose from: only one PE alone can be estimated")
    for made in built.compositions:
        factors = ", ".join(f"{factor:.3g}" for factor in made.factors[0])
        how = "fitted" if made.fitted else "given"
        target, source = runs.kinds[made.target], runs.kinds[made.source]
        lines.append(f"{target}: P-T models are those of {source} times {factors} ({how})")
    if built.borrowed.any():
        lines.append("a memory regime without enough runs takes the models of the nearest that has them")
    return tuple(lines)


MEMBERS = 64
CHUNK = 4096
"""Allocations estimated at once, to bound memory."""
ASSUMED_NOISE = 0.03
"""Relative noise of a run where no fit has a run to spare."""


@dataclass(frozen=True)
class PaperModel:
    """A `ProcessCountModel` by Kishimoto and Ichikawa's equations.

    What it cannot estimate is infinitely long. Estimates of 0 and less occur and are left as they are: four problem
    sizes carry a cubic no further than they reach.
    """

    runs: AllocationRuns
    one: Configurations
    options: Options
    built: Built

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return self.runs.kinds

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the runs cannot tell, what was composed, left out or assumed."""
        return notes(self.runs, self.one, self.built)

    @cached_property
    def noise(self) -> Floats:
        """Relative standard deviation of one run's times around the fits; (part,).

        What is left over is set against what a relative error of 1 would leave, so that fits of absolute times do not
        let short runs speak for long ones.
        """
        misfit = fit_curves(self.one, self.one.seconds[np.newaxis], misfit=True).misfit
        left, expected, freedom = np.moveaxis(misfit, -1, 0)
        counts = (freedom > 0.5) & (expected > 0)
        weight = np.where(counts, freedom, 0.0)
        share = np.where(counts, left / np.where(counts, expected, 1.0), 0.0)
        total = weight.sum(axis=1)
        mean = (weight * share).sum(axis=1) / np.where(total > 0, total, 1.0)
        return np.asarray(np.where(total > 0, np.sqrt(mean), ASSUMED_NOISE))

    @cached_property
    def _curves(self) -> Floats:
        return np.asarray(self.built.roles[0].sum(axis=0))

    @cached_property
    def _member_curves(self) -> Floats:
        """Fits to the times with noise of the size found; (member, kind, m - 1, regime, role, power)."""
        parts, count = len(self.noise), len(self.one.size) + len(self.runs.size)
        scores = normal_scores(MEMBERS // 2, parts * count).reshape(MEMBERS, parts, count)
        draws = 1.0 + self.noise[:, np.newaxis] * scores
        return np.asarray(build(self.runs, self.one, self.options, draws=draws).roles.sum(axis=1))

    def tables(self, size: float, most: Sequence[int], processes: int) -> ShareTables:
        """For up to `most[kind]` processes on a PE and up to so many processes in all."""
        widest = max(most, default=0)
        kind, m, p = np.ogrid[: len(self.kinds), 1 : widest + 1, : processes + 1]
        p = np.maximum(p, 1)
        kinds, ms, ps = np.broadcast_arrays(kind, m, p)
        pe_s = self._times(self._curves[np.newaxis], size, kinds, ms, ps)[0]
        allowed = (m <= np.asarray(most, int)[:, np.newaxis, np.newaxis]) & (m <= np.arange(processes + 1))
        return ShareTables(np.where(allowed, pe_s, np.inf), np.zeros(processes + 1))

    def estimate(self, size: float, allocations: Ints, *, level: float = 0.9) -> Estimates:
        """Of allocations of shape (n, kind, 2), as in `AllocationRuns`.

        Intervals hold one run: the spread of the members and the noise of a run.
        """
        mean = self._makespans(self._curves[np.newaxis], size, allocations)[0]
        spread = np.empty(len(allocations))
        for start in range(0, len(allocations), CHUNK):
            own = slice(start, start + CHUNK)
            members = self._makespans(self._member_curves, size, allocations[own])
            spread[own] = np.where(np.isfinite(mean[own]), members, 0.0).std(axis=0)
        of_a_run = self.noise.max() * np.where(np.isfinite(mean), mean, 0.0)
        half = NormalDist().inv_cdf((1 + level) / 2) * np.hypot(spread, of_a_run)
        low = np.where(mean > 0, np.maximum(mean - half, 0.0), mean - half)
        return Estimates(level, mean, low, mean + half, self._warn(size, allocations, mean))

    def members(self, size: float, allocations: Ints) -> Floats:
        """Models of the runs with noise drawn anew, as seconds of shape (member, n)."""
        return np.concatenate(
            [
                self._makespans(self._member_curves, size, allocations[start : start + CHUNK])
                for start in range(0, max(len(allocations), 1), CHUNK)
            ],
            axis=1,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the runs and options that make the model, and its coefficients to read."""
        return {
            "kind": "process_count",
            "method": "paper",
            "kinds": list(self.kinds),
            "runs": documents.runs_document(self.runs),
            "options": documents.options_document(self.options),
            "coefficients": documents.coefficients(self.kinds, self.one, self.built),
            "noise": self.noise.tolist(),
            "warnings": list(self.warnings),
        }

    def _makespans(self, curves: Floats, size: float, allocations: Ints) -> Floats:
        """(variant, n): the longest of the kinds that take part."""
        m = allocations[..., 1]
        p = np.broadcast_to((allocations[..., 0] * m).sum(axis=1)[:, np.newaxis], m.shape)
        kinds = np.broadcast_to(np.arange(len(self.kinds)), m.shape)
        times = self._times(curves, size, kinds, np.maximum(m, 1), p)
        return np.asarray(np.where(m > 0, times, -np.inf).max(axis=-1))

    def _times(self, curves: Floats, size: float, kind: Ints, m: Ints, p: Ints) -> Floats:
        """Of PEs of a kind that run m of P processes: (variant, ...), infinite where there is no model."""
        at_size = curves @ powers(size, self.built.curves.scale)
        regimes = self.options.regimes
        regime: Ints | int = 0 if regimes is None else regimes.regime(size, kind, m / p)
        known = m <= curves.shape[2]
        role = at_size[:, kind, np.minimum(m, curves.shape[2]) - 1, regime]
        several = role[..., BY_P] * p + role[..., BY_1_P] / p + role[..., CONSTANT]
        found = np.where(p == m, role[..., ALONE], several)
        return np.asarray(np.where(known & ~np.isnan(found), found, np.inf))

    def _warn(self, size: float, allocations: Ints, mean: Floats) -> tuple[tuple[str, ...], ...]:
        common = []
        if not self.runs.size.min() <= size <= self.runs.size.max():
            common.append(
                f"N = {size:g} is outside the measured {self.runs.size.min():g} to {self.runs.size.max():g}: "
                "cubics fitted to few sizes go astray there"
            )
        processes = np.prod(allocations, axis=2).sum(axis=1)
        most = int(self.one.processes.max())
        lines: list[tuple[str, ...]] = [tuple(common)] * len(allocations)
        for mask, text in (
            (np.isinf(mean), "no model: not measured with so many processes per PE, and nothing to compose from"),
            (processes > most, f"more processes than the {most} of the largest run of one kind"),
            (mean <= 0, "an estimate of 0 or less: the fitted curves do not reach there"),
            (self._borrows(size, allocations), "a memory regime that was not measured"),
        ):
            for i in np.flatnonzero(mask):
                lines[i] = (*lines[i], text)
        return tuple(lines)

    def _borrows(self, size: float, allocations: Ints) -> NDArray[np.bool_]:
        regimes = self.options.regimes
        if regimes is None or not self.built.borrowed.any():
            return np.zeros(len(allocations), bool)
        m = allocations[..., 1]
        p = (allocations[..., 0] * m).sum(axis=1)[:, np.newaxis]
        kinds = np.broadcast_to(np.arange(len(self.kinds)), m.shape)
        regime = regimes.regime(size, kinds, m / p)
        at = np.clip(m, 1, self.built.borrowed.shape[1]) - 1
        return np.asarray((self.built.borrowed[kinds, at, regime, (p > m).astype(int)] & (m > 0)).any(axis=1))

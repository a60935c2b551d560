"""The paper's model as fitted: total time is the longest computation + communication of the kinds that take part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Vector
from simulator.base.documents import Array, read
from simulator.base.errors import ScenarioError
from simulator.models.process_count.paper.fits import (
    ALONE,
    BY_1_P,
    BY_P,
    CONSTANT,
    LEAST_PROCESS_COUNTS,
    LEAST_PROCESSES,
    LEAST_SIZES,
    Built,
    Composed,
    Configurations,
    MemoryRegimes,
    Options,
    build,
    check_composed,
    configurations,
    fit_curves,
    powers,
)
from simulator.models.process_count.runs import (
    AllocationRuns,
    Estimates,
    Floats,
    Ints,
    ShareTables,
    mixed_bits,
    row_faults,
)

# Its coefficients, to read.


def coefficients(kinds: tuple[str, ...], one: Configurations, built: Built) -> dict[str, Any]:
    """k0 to k11 under the paper's names; of the whole time, where it alone is known, k0 to k3, and k8, k7, k9."""
    curves = built.curves
    unit = curves.scale ** np.arange(4)
    nt = [
        {**_configuration(kinds, one, at), "pes": int(one.pes[at]), **_nt(curves.nt[0, :, i] / unit)}
        for i, at in enumerate(curves.at.tolist())
    ]
    pt = [
        {**_configuration(kinds, one, at), "reference_pes": int(one.pes[at]), **_pt(curves.pt[0, :, i])}
        for i, at in enumerate(curves.group_at.tolist())
    ]
    composed = [
        {
            "kind": kinds[made.target],
            "source": kinds[made.source],
            "factors": made.factors[0].tolist(),
            "fitted": made.fitted,
        }
        for made in built.compositions
    ]
    adjusted = [
        {"kind": kinds[line.kind], "size": line.size, "runs": line.runs, "a": line.slope[0], "b_s": line.offset_s[0]}
        for line in built.adjustments
    ]
    return {"nt": nt, "pt": pt, "composed": composed, "adjusted": adjusted}


def _configuration(kinds: tuple[str, ...], one: Configurations, at: int) -> dict[str, Any]:
    return {"kind": kinds[one.kind[at]], "procs": int(one.m[at]), "regime": int(one.regime[at])}


def _nt(rows: Floats) -> dict[str, float]:
    names = dict(zip(("k3", "k2", "k1", "k0"), rows[0].tolist(), strict=True))
    if len(rows) > 1:
        names |= dict(zip(("k6", "k5", "k4"), rows[1].tolist(), strict=False))
    return dict(sorted(names.items()))


def _pt(rows: Floats) -> dict[str, float]:
    if len(rows) == 1:
        return dict(zip(("k8", "k7", "k9"), rows[0].tolist(), strict=True))
    return {
        **dict(zip(("k8", "k7"), rows[0].tolist(), strict=False)),
        **dict(zip(("k11", "k10", "k9"), rows[1].tolist(), strict=True)),
    }


# Fixed standard normal scores: the same spread-out numbers everywhere, without a generator.


def normal_scores(pairs: int, count: int) -> Floats:
    """Rows of independent-looking normal scores, each followed by its mirror image; (2*pairs, count).

    Counters mixed by splitmix64, then Box and Muller's transform; mirrored, so that what is linear keeps its mean.
    """
    even = count + count % 2
    mixed = mixed_bits(np.arange(1, pairs * even + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
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
        spread = np.where(np.isfinite(mean), self.members(size, allocations), 0.0).std(axis=0)
        of_a_run = self.noise.max() * np.where(np.isfinite(mean), mean, 0.0)
        half = NormalDist().inv_cdf((1 + level) / 2) * np.hypot(spread, of_a_run)
        low = np.where(mean > 0, np.maximum(mean - half, 0.0), mean - half)
        return Estimates(level, mean, low, mean + half, self._warn(size, allocations, mean))

    def members(self, size: float, allocations: Ints) -> Floats:
        """Models of the runs with other draws of noise, as seconds of shape (member, n)."""
        return np.concatenate(
            [
                self._makespans(self._member_curves, size, allocations[start : start + CHUNK])
                for start in range(0, max(len(allocations), 1), CHUNK)
            ],
            axis=1,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the runs and options that make the model, and its coefficients to read."""
        runs, options, regimes = vars(self.runs).copy(), self.options, self.options.regimes
        del runs["kinds"]
        for phase in ("comp_s", "comm_s"):
            runs[phase] = np.where(np.isnan(runs[phase]), None, runs[phase].astype(object))
        return {
            "kind": "process_count",
            "method": "paper",
            "kinds": list(self.kinds),
            "runs": {name: values.tolist() for name, values in runs.items()},
            "options": {
                "compose": {name: vars(composed) for name, composed in options.compose.items()},
                "regimes": regimes and {**vars(regimes), "thresholds_bytes": list(regimes.thresholds_bytes)},
                "adjust": options.adjust,
                "adjust_size": options.adjust_size,
            },
            "coefficients": coefficients(self.kinds, self.one, self.built),
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


# From runs, or a document that holds them.


def fit_paper(
    runs: AllocationRuns,
    *,
    compose: Mapping[str, Composed] | None = None,
    regimes: MemoryRegimes | None = None,
    adjust: bool = True,
    adjust_size: float | None = None,
) -> PaperModel:
    """Fit N-T and P-T models of every kind and number of processes per PE, by ordinary least squares.

    Runs of one kind alone teach N-T and P-T models; mixed runs serve the factors of composition and the adjustment.
    Where computation and communication are known (`comp_s`, `comm_s`) each has its own form; where only `time_s` is
    known, the whole time is fitted with the sum of both forms: `N^3, N^2, N, 1`, and `curve/P, P*curve, 1`.

    Parameters
    ----------
    runs
        At least 4 problem sizes of a configuration and, for several PEs, 3 PE counts above one of some kind.
    compose
        Kind -> where its P-T models come from; by default kinds without any take another kind's with fitted factors.
    regimes
        Bins of their own by memory in use.
    adjust
        Whether to correct communication linearly for 3 processes per PE and more, where mixed runs allow it.
    adjust_size
        Problem size of the runs to adjust to, by default the largest with any.

    Raises
    ------
    ScenarioError
        If the runs are too few, with how many more are needed, or a kind has none and nothing to be composed from.

    Notes
    -----
    Kishimoto and Ichikawa, sections 3.2 to 3.5 and 4.1; the reference of a P-T model is the smallest measured P > m.
    """
    if faults := row_faults(runs):
        raise ScenarioError(faults)
    options = Options(dict(compose or {}), regimes, adjust, adjust_size)
    check_composed(options.compose, runs.kinds)
    if regimes is not None and len(regimes.thresholds_bytes) != len(runs.kinds):
        found = len(regimes.thresholds_bytes)
        raise ScenarioError(f"regimes: there are thresholds of {found} kinds; give those of all {len(runs.kinds)}")
    one = configurations(runs, regimes)
    built = build(runs, one, options)
    _require(runs, one, built)
    if adjust_size is not None and adjust and not built.adjustments:
        wanted = f"two mixed runs of a kind with {LEAST_PROCESSES} processes per PE and more"
        raise ScenarioError(f"adjust_size: N = {adjust_size:g} does not have {wanted}; name a size that has")
    return PaperModel(runs, one, options, built)


def from_dict(document: Mapping[str, Any]) -> PaperModel:
    """The model of a document that `to_dict` gave: the same runs, fitted again.

    Raises
    ------
    ScenarioError
        If it is none; see `documents.read`.
    """
    plain = read(_Plain, document)
    runs, count, kinds = plain.runs, len(plain.runs.size), len(plain.kinds)
    columns = [_with_gaps(rows) for rows in (runs.comp_s, runs.comm_s)]
    shapes = tuple(x.shape for x in (runs.size, runs.allocations, runs.time_s, *columns))
    if shapes != ((count,), (count, kinds, 2), (count,), (count, kinds), (count, kinds)):
        raise ScenarioError("runs have lists of unequal length; each needs one entry per run")
    known = AllocationRuns(plain.kinds, runs.size, runs.allocations, runs.time_s, *columns)
    return fit_paper(known, **vars(plain.options))


def _with_gaps(rows: tuple[tuple[float | None, ...], ...]) -> Floats:
    """Times by run and kind; NaN where one was not measured."""
    try:
        return np.array(rows, np.float64)
    except ValueError:
        raise ScenarioError("runs have rows of unequal length; each needs one entry per kind") from None


@dataclass(frozen=True)
class _Runs:
    size: Vector
    allocations: Annotated[Ints, Array("int64", 3)]
    time_s: Vector
    comp_s: tuple[tuple[float | None, ...], ...]
    comm_s: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class _Plain:
    """A model as a file says it; coefficients and noise are there to be read by people."""

    kind: Literal["process_count"]
    method: Literal["paper"]
    kinds: tuple[str, ...]
    runs: _Runs
    options: Options
    coefficients: dict[str, Any]
    noise: Any
    warnings: tuple[str, ...]


def _require(runs: AllocationRuns, one: Configurations, built: Built) -> None:
    """Refuse runs that are too few, with how many more of what."""
    known = np.any(np.isfinite(built.roles[0, 0, ..., 0]), axis=(1, 2)).reshape(len(runs.kinds), -1)
    alone, several = known[:, ALONE], known[:, BY_P]
    faults = []
    for kind, name in enumerate(runs.kinds):
        if alone[kind] or several[kind]:
            continue
        mine = one.kind == kind
        if not mine.any():
            faults.append(f"{name}: no run uses this kind alone; add some, or a kind to compose it from")
            continue
        most = int(one.sizes[mine].max())
        if most < LEAST_SIZES:
            faults.append(
                f"{name}: runs at {most} problem sizes are too few; add {LEAST_SIZES - most} more of one configuration"
            )
        else:
            faults.append(f"{name}: no run is on one PE, and {_missing_counts(one, kind)}")
    if not faults and not several.any() and (len(runs.kinds) > 1 or one.most_pes > 1):
        best = min(range(len(runs.kinds)), key=lambda kind: LEAST_PROCESS_COUNTS - _counts(one, kind))
        faults.append(f"{runs.kinds[best]}: {_missing_counts(one, best)}")
    if faults:
        raise ScenarioError(faults)


def _counts(one: Configurations, kind: int) -> int:
    """Most PE counts above one with enough sizes, of one m of this kind."""
    usable = (one.kind == kind) & (one.pes > 1) & (one.sizes >= LEAST_SIZES)
    return int(np.bincount(one.group[usable]).max(initial=0)) if usable.any() else 0


def _missing_counts(one: Configurations, kind: int) -> str:
    found = _counts(one, kind)
    more = f"add {LEAST_PROCESS_COUNTS - found} more, with the same processes on each"
    return f"{found} PE counts above one have {LEAST_SIZES} problem sizes, too few; {more}"

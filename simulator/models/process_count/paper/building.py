"""`fit_paper`: the paper's model from runs, with what the runs lack said in numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.models.process_count.paper import documents
from simulator.models.process_count.paper.adjustment import LEAST_PROCESSES
from simulator.models.process_count.paper.assembly import ALONE, BY_P, Built, Options, build
from simulator.models.process_count.paper.composition import Composed, check
from simulator.models.process_count.paper.curves import LEAST_PROCESS_COUNTS, LEAST_SIZES
from simulator.models.process_count.paper.estimation import PaperModel
from simulator.models.process_count.paper.regimes import MemoryRegimes
from simulator.models.process_count.paper.runs_of_one_kind import Configurations, configurations
from simulator.models.process_count.runs import AllocationRuns


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
    _check(runs)
    options = Options(dict(compose or {}), regimes, adjust, adjust_size)
    check(options.compose, runs.kinds)
    if regimes is not None and len(regimes.thresholds_bytes) != len(runs.kinds):
        found = len(regimes.thresholds_bytes)
        raise ScenarioError(f"regimes: thresholds of {found} kinds found, of {len(runs.kinds)} allowed")
    one = configurations(runs, regimes)
    built = build(runs, one, options)
    _require(runs, one, built)
    if adjust_size is not None and adjust and not built.adjustments:
        allowed = f"a size with two mixed runs of a kind with {LEAST_PROCESSES} processes per PE and more allowed"
        raise ScenarioError(f"adjust_size: {adjust_size:g} found, {allowed}")
    return PaperModel(runs, one, options, built)


def from_dict(document: Mapping[str, Any]) -> PaperModel:
    """The model of a document that `to_dict` gave: the same runs, fitted again.

    Raises
    ------
    ScenarioError
        If the document lacks something.
    """
    return fit_paper(documents.parse_runs(document), **documents.parse_options(document))


def _check(runs: AllocationRuns) -> None:
    """Refuse what is no run; files name their lines before."""
    if not len(runs.size):
        raise ScenarioError("runs: none found, at least one allowed")
    pes, m = runs.allocations[..., 0], runs.allocations[..., 1]
    some = np.einsum("rk,rk->r", pes, m) > 0
    if runs.allocations.min(initial=0) < 0:
        some &= runs.allocations.min(axis=(1, 2)) >= 0
    for name, good, allowed in (
        ("size", (runs.size > 0) & (runs.size < np.inf), "above 0"),
        ("time_s", (runs.time_s > 0) & (runs.time_s < np.inf), "above 0"),
        ("allocations", some, "at least one process"),
    ):
        if not good.all():
            row = int(np.argmin(good))
            found = getattr(runs, name)[row].tolist()
            raise ScenarioError(f"runs: row {row + 1}: {name}: {found} found, {allowed} allowed")


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
            faults.append(f"{name}: no run of this kind alone found, some, or a kind to compose it from, allowed")
            continue
        most = int(one.sizes[mine].max())
        if most < LEAST_SIZES:
            more = f"({LEAST_SIZES - most} more of one configuration)"
            faults.append(f"{name}: {most} problem sizes found, at least {LEAST_SIZES} allowed {more}")
        else:
            faults.append(f"{name}: no run on one PE found, and {_missing_counts(one, kind)}")
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
    more = f"({LEAST_PROCESS_COUNTS - found} more, with the same processes on each)"
    least = f"at least {LEAST_PROCESS_COUNTS} allowed {more}"
    return f"{found} PE counts above one with {LEAST_SIZES} problem sizes found, {least}"

"""All fits put into one table of curves: N-T and P-T models, composition, memory regimes, adjustment."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.models.process_count.paper.adjustment import Adjustment, fit_adjustments
from simulator.models.process_count.paper.composition import Composed, Composition, fit_compositions
from simulator.models.process_count.paper.curves import POWERS, Curves, fit_curves, powers
from simulator.models.process_count.paper.regimes import MemoryRegimes
from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

ALONE, BY_P, BY_1_P, CONSTANT, ROLES = 0, 1, 2, 3, 4
"""What a curve is: seconds on one PE alone; what P and 1/P are multiplied with, and what stands alone, on several."""


@dataclass(frozen=True)
class Options:
    """What a fit takes beside the runs."""

    compose: Mapping[str, Composed]
    regimes: MemoryRegimes | None
    adjust: bool
    adjust_size: float | None


@dataclass(frozen=True)
class Built:
    """All that was fitted; arrays begin with the variant."""

    curves: Curves
    roles: Floats
    """By (variant, part, kind, m - 1, regime, role, power)."""
    borrowed: NDArray[np.bool_]
    """Where the curves are another regime's: (kind, m - 1, regime, 2), of one PE alone and of several."""
    compositions: tuple[Composition, ...]
    adjustments: tuple[Adjustment, ...]


def build(runs: AllocationRuns, one: Configurations, options: Options, *, draws: Floats | None = None) -> Built:
    """Fit everything, also to times multiplied by draws of their noise.

    Parameters
    ----------
    runs, one
        All runs; those of one kind, in order.
    options
        What to do.
    draws
        Factors of the times (variant, part, runs of one kind) and, after these, of all runs: (variant, part, ...).
    """
    count = len(one.size)
    if draws is None:
        seconds, factors = one.seconds[np.newaxis], np.ones((1, len(runs.size)))
    else:
        seconds, factors = one.seconds * draws[..., :count], draws[:, -1, count:]
    curves = fit_curves(one, seconds)
    count_regimes = 1 if options.regimes is None else options.regimes.count
    most_m = max(int(runs.allocations[..., 1].max(initial=1)), 1)
    shape = (*seconds.shape[:2], len(runs.kinds), most_m, count_regimes, ROLES, POWERS)
    roles = np.full(shape, np.nan)
    alone = one.pes[curves.at] == 1
    at = curves.at[alone]
    roles[:, :, one.kind[at], one.m[at] - 1, one.regime[at], ALONE] = curves.nt[:, :, alone]
    kind, m, regime = one.kind[curves.group_at], one.m[curves.group_at] - 1, one.regime[curves.group_at]
    roles[:, :, kind, m, regime, BY_P] = curves.pt[..., 2, np.newaxis] * curves.reference
    roles[:, :, kind, m, regime, BY_1_P] = curves.pt[..., 1, np.newaxis] * curves.reference
    roles[:, :, kind, m, regime, CONSTANT] = 0.0
    roles[:, :, kind, m, regime, CONSTANT, 0] = curves.pt[..., 0]
    compositions = fit_compositions(runs, one, seconds, roles=roles, given=options.compose)
    borrowed = _borrow(roles)
    adjustments: tuple[Adjustment, ...] = ()
    if options.adjust and len(one.size) < len(runs.size):

        def times(kind: int, rows: Ints) -> Floats:
            return part_times(runs, roles, kind=kind, rows=rows, scale=curves.scale, regimes=options.regimes)

        adjustments = fit_adjustments(runs, times, roles=roles, draws=factors, size=options.adjust_size)
    return Built(curves, roles, borrowed, compositions, adjustments)


def part_times(
    runs: AllocationRuns, roles: Floats, *, kind: int, rows: Ints, scale: float, regimes: MemoryRegimes | None
) -> Floats:
    """Times of one kind's PEs in some mixed runs, by part; (variant, part, rows)."""
    p, m = runs.processes[rows], runs.allocations[rows, kind, 1]
    regime = np.zeros_like(m) if regimes is None else regimes.regime(runs.size[rows], np.full_like(m, kind), m / p)
    curves = (roles[:, :, kind, m - 1, regime] * powers(runs.size[rows], scale)[:, np.newaxis]).sum(axis=-1)
    return np.asarray(curves[..., BY_P] * p + curves[..., BY_1_P] / p + curves[..., CONSTANT])


def _borrow(roles: Floats) -> NDArray[np.bool_]:
    """Fill regimes without models from the nearest that has one, the lower first."""
    regimes = roles.shape[4]
    known = np.isfinite(roles[0, 0, ..., :2, 0])
    borrowed = np.zeros(known.shape, bool)
    for regime in range(regimes) if regimes > 1 else ():
        missing = ~known[:, :, regime]
        for other in sorted(range(regimes), key=lambda x: (abs(x - regime), x)):
            for several, own in ((0, slice(ALONE, ALONE + 1)), (1, slice(BY_P, ROLES))):
                kind, m = np.nonzero(missing[..., several] & known[:, :, other, several])
                roles[:, :, kind, m, regime, own] = roles[:, :, kind, m, other, own]
                borrowed[kind, m, regime, several] = True
                missing[kind, m, several] = False
    return borrowed

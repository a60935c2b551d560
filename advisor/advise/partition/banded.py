"""Partitions for speeds known as bands: the worst case exactly, the mean and the tail by simulation of the band.

The bands are those of Lastovetsky, Reddy and Higgins, "Building the Functional Performance Model of a Processor"
(2006). For the worst case over independent intervals every PE runs on its lower curve, so `functional` is exact there.
For the mean and for CVaR (the mean of the worst 5 %; Rockafellar and Uryasev, "Optimization of Conditional
Value-at-Risk", 2000) one parameter is searched: the level of the band that `functional` plans on, all levels judged on
the same draws.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.partition.functional import functional
from advisor.advise.partition.min_max import check_units
from advisor.advise.partition.result import Partition, bound_s, of_units
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from simulator import ScenarioError, describe, partitions, randomness, ties

# The partition with the least worst regret when each PE's one speed lies anywhere in an interval.
#
# Regret is the makespan minus what the best partition would have taken, had the speeds been known (Kouvelis and Yu,
# "Robust Discrete Optimization and Its Applications", 1997). With constant speeds it is greatest at a corner: one PE
# slow and the rest fast (all fast is worse for a PE only where its regret is below 0). At each corner PE i's part grows
# with its units, so `by_times` finds the least maximum.


def least_regret(units: int, pes: SpeedKinds, *, low: Floats, high: Floats) -> Partition:
    """The partition whose worst regret is least; its makespan and bound are those of the middle speeds.

    The best partition of a corner is taken with parts of units: `units / sum of speeds`.

    Raises ScenarioError if a speed is not constant, or a PE has a set-up cost or a memory limit.

    `units`, `pes`: what is divided, and by whom: the middle speeds.
    `low`, `high`: lower and upper speeds at the knots of `pes`, the same at all knots of a kind.
    """
    first = pes.starts[:-1]
    for curve in (low, pes.speeds, high):
        changes = curve != np.repeat(curve[first], np.diff(pes.starts))
        if np.any(changes):
            kind = int(np.searchsorted(pes.starts, np.argmax(changes), "right")) - 1
            raise ScenarioError(
                f"{pes.names[kind]}: speeds differ by size; give one speed for objective regret, or another objective"
            )
    limited = (pes.setups > 0) | (pes.limits < units)
    if np.any(limited):
        name = pes.names[int(np.argmax(limited))]
        raise ScenarioError(f"{name} has setup_s or max_size, which objective regret cannot use; leave them out")
    slow, fast = low[first][pes.kind_of_pe], high[first][pes.kind_of_pe]
    best_s = units / (fast.sum() - fast + slow)

    def regrets_s(counts: Ints) -> Floats:
        return np.asarray(counts / slow - best_s + best_s.max())

    found = np.array(partitions.by_times(units, pes.pe_count, regrets_s), np.int64)
    worst_s = float((regrets_s(found) - best_s.max()).max())
    details = {"objective": "regret", "worst_regret_s": worst_s}
    return of_units("banded", pes, found, functional(units, pes).lower_bound_s, details=details)


OBJECTIVES = ("mean", "cvar", "worst", "regret")
LEVELS = np.linspace(0.0, 1.0, 21)
"""Where in the band to plan: 0 on the lower curve, 1/2 on the middle one, 1 on the upper one."""
TAIL = 0.05
DRAWS_AT_ONCE = 4_000_000


def banded(
    units: int,
    pes: SpeedKinds,
    *,
    low: Floats,
    high: Floats,
    objective: str = "mean",
    correlation: float = 0.0,
    replications: int = 400,
    seed: int = 0,
) -> Partition:
    """The partition with the least mean, tail or worst makespan, or the least regret, when speeds lie in bands.

    In a replication each PE runs at one place in its band, uniform across it (half of them below the middle curve). The
    level is chosen on some draws, and its makespans are those of others.

    Raises ScenarioError if an option is outside what is allowed, a lower speed is 0, there is no unit, or not all fit
    the memory.

    `units`, `pes`: what is divided, and by whom: the middle curves.
    `low`, `high`: lower and upper speeds at the knots of `pes`.
    `objective`: `mean`; `cvar`, the mean of the worst 5 %; `worst`, on the lower curves; `regret`, see `least_regret`.
    `correlation`: of the PEs' places in their bands, from 0 to below 1: what they have in common (a normal copula).
    `replications`, `seed`: how many draws, and which.
    """
    _check(objective, correlation, low, pes)
    check_units(units, pes)
    if objective == "regret":
        return least_regret(units, pes, low=low, high=high)
    edges = (replace(pes, speeds=low), pes, replace(pes, speeds=high))

    shown = _places(pes, "told", correlation, replications, seed)
    if objective == "worst":
        worst = functional(units, edges[0])
        return _stated(worst, 0.0, _makespans_s(worst.units, edges, shown), objective, pes, worst.lower_bound_s)
    measure = np.mean if objective == "mean" else _tail
    planned = [functional(units, replace(pes, speeds=_across(low, pes.speeds, high, level))) for level in LEVELS]
    places = _places(pes, "chosen", correlation, replications, seed)
    values = [float(measure(_makespans_s(plan.units, edges, places))) for plan in planned]
    at = ties.first_least(values)
    best, makespans_s = planned[at], _makespans_s(planned[at].units, edges, shown)
    return _stated(best, float(LEVELS[at]), makespans_s, objective, pes, bound_s(units, edges[2]))


def _stated(
    plan: Partition, level: float, makespans_s: Floats, objective: str, pes: SpeedKinds, lower_bound_s: float
) -> Partition:
    """The plan with its makespan as the objective has it; its times are those of the middle curves."""
    simulated = {f"{name}_s": value for name, value in describe(makespans_s).items()}
    simulated["cvar95_s"] = _tail(makespans_s)
    details = {"objective": objective, "level": level, "simulated": simulated}
    value = {"mean": simulated["mean_s"], "cvar": simulated["cvar95_s"], "worst": plan.makespan_s}[objective]
    return replace(plan, method="banded", pes=pes, makespan_s=value, lower_bound_s=lower_bound_s, details=details)


def _check(objective: str, correlation: float, low: Floats, pes: SpeedKinds) -> None:
    if objective not in OBJECTIVES:
        raise ScenarioError(f"objective {objective!r} is not known; give {', '.join(OBJECTIVES)}")
    if not 0 <= correlation < 1:
        raise ScenarioError(f"correlation is {correlation:g}; give a number from 0 to below 1")
    if np.any(low <= 0):
        kind = int(np.searchsorted(pes.starts, np.argmax(low <= 0), "right")) - 1
        raise ScenarioError(
            f"{pes.names[kind]}: low has speed 0, so that no partition has a worst case; give speeds above 0"
        )


def _across(low: Floats, mid: Floats, high: Floats, place: NDArray[np.float64] | np.float64) -> Floats:
    """Speed at a place across the band, as `SpeedBand.speed` has it."""
    below, above = np.minimum(2 * place, 1.0), np.maximum(2 * place - 1, 0.0)
    return np.asarray(low + below * (mid - low) + above * (high - mid))


def _places(pes: SpeedKinds, use: str, correlation: float, replications: int, seed: int) -> Floats:
    """Places across the bands, uniform on (0, 1), (replication, PE); those of a PE do not change with the others."""
    places = np.concatenate(
        [
            randomness.stream(seed, name, use).random((replications, count))
            for name, count in zip(pes.names, pes.counts.tolist(), strict=True)
        ],
        axis=1,
    )
    if correlation == 0:
        return places
    from scipy.special import ndtr, ndtri

    common = ndtri(randomness.stream(seed, "common", use).random((replications, 1)))
    return np.asarray(ndtr(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * ndtri(places)))


def _makespans_s(units: Ints, edges: tuple[SpeedKinds, SpeedKinds, SpeedKinds], places: Floats) -> Floats:
    """Makespan of each replication, (R,)."""
    busy = np.flatnonzero(units)
    kind = edges[1].kind_of_pe[busy]
    low, mid, high = (edge.speed_of(kind, units[busy]) for edge in edges)
    rows = max(1, DRAWS_AT_ONCE // busy.size)
    parts = [
        (edges[1].setups[kind] + units[busy] / _across(low, mid, high, part[:, busy])).max(axis=1)
        for part in np.split(places, range(rows, places.shape[0], rows))
    ]
    return np.concatenate(parts)


def _tail(makespans_s: Floats) -> float:
    """Mean of the worst 5 %, at least one."""
    worst = max(1, round(TAIL * makespans_s.size))
    return float(np.sort(makespans_s)[-worst:].mean())

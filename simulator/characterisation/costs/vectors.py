"""From observed runs to the hardware model: cost vectors by every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.base.errors import CalibrationError
from simulator.characterisation.costs.guesses import HIGH_LEVEL, INSTRUCTIONS, INTERMEDIATE, design_vector, guess_cycles
from simulator.characterisation.costs.memory_term import MemoryTimesByWorkingSet
from simulator.characterisation.costs.observations import KERNEL, MICRO, Observation, counted, operations
from simulator.models.cost_fit import CostFit, fit_costs
from simulator.models.resource import FLOP_WEIGHTS, Cost, CostVector, HardwareModel, Method

GUESSES: Mapping[Method, Mapping[str, float]] = {"hllc": HIGH_LEVEL, "intcc": INTERMEDIATE, "icc": INSTRUCTIONS}
TAUGHT_BY: Mapping[Method, tuple[str, ...]] = {"hllc": (MICRO,), "intcc": (MICRO, KERNEL), "icc": (MICRO, KERNEL)}
"""Roles of the runs that a method's costs are fitted to."""
FLOP_RATE_OF = ("float dot product", "float polynomial, apart", "float multiply and add, chained")
"""Micro-benchmarks whose flops over time make R of equation 6."""
OWN_SHRINKAGE = 1e-3
"""Where a program's own runs teach: weak."""
NOT_OVERLAPPED = 1 / 3
"""Guess: share of the words that are not found in the nearest cache after all, and are waited for."""
_NOMINAL_HZ = 3e9


@dataclass(frozen=True)
class Vector:
    """A method's cost vector, and how well it fits what it was fitted to."""

    costs: CostVector
    quality: Mapping[str, Any]


def fitted_vector(
    observations: Sequence[Observation],
    method: Method,
    *,
    memory: MemoryTimesByWorkingSet | None = None,
    leave_out: str | None = None,
    own: str | None = None,
    shrinkage: float | None = None,
) -> Vector:
    """Fit HLLC, IntCC or ICC to runs; of ICC, a memory term as well.

    Micro-benchmarks and kernels weigh alike.

    Parameters
    ----------
    leave_out
        A program whose runs teach nothing.
    own
        A program whose runs weigh as much as all other kernels together: the one that is to be foretold.
    shrinkage
        Strength that is known already; None to choose it.

    Raises
    ------
    CalibrationError
        If no run is left.
    """
    roles = TAUGHT_BY[method]
    runs = [
        seen
        for seen in observations
        if seen.role in roles and seen.program != leave_out and sum(seen.counts.get(method, {}).values()) > 0
    ]
    if not runs:
        raise CalibrationError(f"{method}: no run to fit its costs to")
    names = operations(observations, method)
    used = counted(runs, method, names)
    guesses = np.array([guess_cycles(name, GUESSES[method]) / _NOMINAL_HZ for name in names])
    if memory is not None:
        waits = [memory.wait_s(seen.counts[method], seen.working_set_bytes) for seen in runs]
        used, guesses = np.column_stack([used, waits]), np.append(guesses, NOT_OVERLAPPED)
    fit = fit_costs(
        used,
        [seen.time_s for seen in runs],
        [seen.program for seen in runs],
        guesses_s=guesses,
        classes=["own" if seen.program == own else seen.role for seen in runs],
        **({} if shrinkage is None else {"shrinkages": (shrinkage,)}),
    )
    costs = {name: Cost.exactly(float(cost)) for name, cost in zip(names, fit.costs_s, strict=False)}
    term = None if memory is None else memory.term(names, factor=float(fit.costs_s[-1]))
    return Vector(CostVector(method, costs, term, _notes(runs, fit, leave_out)), _quality(runs, fit, names))


def refitted(
    hardware: HardwareModel, method: Method, *, leave_out: str | None = None, own: str | None = None
) -> CostVector | None:
    """A model's costs without one program's runs, or for one whose runs at other sizes are known.

    None where it has no runs, or that program taught nothing anyway. A program's own runs are fitted more closely: what
    few operations it uses, they determine.
    """
    rests_on, program = hardware.provenance, leave_out or own
    if method not in GUESSES or "runs" not in rests_on:
        return None
    runs = [Observation.from_dict(run) for run in rests_on["runs"]]
    if not any(run.program == program and run.role in TAUGHT_BY[method] for run in runs):
        return None
    memory = MemoryTimesByWorkingSet.from_dict(rests_on["memory"]) if method == "icc" else None
    shrinkage = OWN_SHRINKAGE if own else float(rests_on["fits"][method]["shrinkage"])
    return fitted_vector(runs, method, memory=memory, leave_out=leave_out, own=own, shrinkage=shrinkage).costs


def with_guesses(hardware: HardwareModel, vector: CostVector, missing: Sequence[str]) -> CostVector:
    """A vector with guesses for operations that none of its runs used, in cycles as long as its runs make them."""
    cycle_s = (
        hardware.provenance.get("fits", {}).get(vector.method, {}).get("second_per_guessed_cycle", 1 / _NOMINAL_HZ)
    )
    table = GUESSES.get(vector.method, {})
    guessed = {name: Cost.exactly(guess_cycles(name, table) * cycle_s) for name in missing}
    return replace(vector, costs={**vector.costs, **guessed})


def flop_vector(observations: Sequence[Observation]) -> CostVector:
    """POC: R is the geometric mean of the flop rates of three stated micro-benchmarks.

    A dot product (one sum that waits), a polynomial (vectors) and Horner's rule in a chain: from code that nothing can
    overlap to code that the compiler vectorises.

    Raises
    ------
    CalibrationError
        If they were not run.
    """
    rates = [_flops(seen) / seen.time_s for seen in observations if seen.program in FLOP_RATE_OF]
    if len(rates) < len(FLOP_RATE_OF):
        raise CalibrationError(
            f"poc: {len(rates)} of the micro-benchmarks {', '.join(FLOP_RATE_OF)} were run, all needed"
        )
    rate = float(np.exp(np.mean(np.log(rates))))
    note = f"R = {rate:.4g} flops per second: geometric mean of " + ", ".join(
        f"{name} {found:.3g}" for name, found in zip(FLOP_RATE_OF, rates, strict=True)
    )
    return replace(CostVector.principal(rate), notes=(note,))


def _flops(seen: Observation) -> float:
    """Weighted flops of a run."""
    return sum(FLOP_WEIGHTS[name] * count for name, count in seen.counts["poc"].items())


def hardware_model(
    name: str,
    observations: Sequence[Observation],
    memory: MemoryTimesByWorkingSet,
    *,
    clock_hz: float | None,
    provenance: Mapping[str, Any],
    warnings: Sequence[str] = (),
    leave_out: str | None = None,
    shrinkages: Mapping[str, float] | None = None,
) -> HardwareModel:
    """All cost vectors; what they rest on is in its provenance, so that they can be fitted again without a program."""
    vectors: dict[Method, CostVector] = {"dbc": design_vector(clock_hz), "poc": flop_vector(observations)}
    quality: dict[str, Any] = {}
    for method in GUESSES:
        if operations(observations, method):
            found = fitted_vector(
                observations,
                method,
                memory=memory if method == "icc" else None,
                leave_out=leave_out,
                shrinkage=(shrinkages or {}).get(method),
            )
            vectors[method], quality[method] = found.costs, found.quality
    vectors["ct"] = CostVector.timed()
    rests_on = dict(provenance) | {
        "fits": quality,
        "memory": memory.to_dict(),
        "clock_hz": clock_hz,
        "runs": [seen.to_dict() for seen in observations],
    }
    return HardwareModel(name, vectors, rests_on, tuple(warnings))


def _notes(runs: Sequence[Observation], fit: CostFit, leave_out: str | None) -> tuple[str, ...]:
    programs = len({seen.program for seen in runs})
    said = f"fitted to {len(runs)} runs of {programs} programs, shrinkage {fit.shrinkage:g}"
    return (said,) if leave_out is None else (said, f"{leave_out} taught nothing")


def _quality(runs: Sequence[Observation], fit: CostFit, names: Sequence[str]) -> dict[str, Any]:
    """How far the fit is off, in percent."""
    held = fit.held_out[np.isfinite(fit.held_out)]
    return {
        "runs": len(runs),
        "operations": len(names),
        "shrinkage": fit.shrinkage,
        "second_per_guessed_cycle": fit.common / _NOMINAL_HZ,
        "mean_error_percent": float(100 * np.abs(fit.errors).mean()),
        "held_out_mean_error_percent": float(100 * np.abs(held).mean()) if held.size else None,
        "held_out_median_error_percent": float(100 * np.median(np.abs(held))) if held.size else None,
    }

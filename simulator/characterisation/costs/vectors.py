"""From observed runs to the hardware model: runs, what memory takes beyond the nearest cache, and cost vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import CalibrationError
from simulator.characterisation.costs.guesses import HIGH_LEVEL, INSTRUCTIONS, INTERMEDIATE, design_vector, guess_cycles
from simulator.models.cost_fit import CostFit, fit_costs
from simulator.models.memory.levels import WORD_BYTES
from simulator.models.resource import FLOP_WEIGHTS, Cost, CostVector, HardwareModel, MemoryTerm, Method

Counts = Mapping[Method, Mapping[str, float]]
"""Method -> operation -> how often one run uses it."""

MICRO, KERNEL, STREAM = "micro", "kernel", "stream"
"""Roles: a micro-benchmark; a kernel of the study at a training size; words read in order, for the memory term."""
Words = NDArray[np.int64]
_GATHERED = ("load", "store")
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
class Observation:
    """One function at one size."""

    program: str
    """Name of the micro-benchmark or kernel; runs of one program are left out of a fit together."""
    role: str
    n: int
    """Size; words for a stream."""
    time_s: float
    """Median CPU seconds of one run."""
    half_interval: float | None
    """Half width of the 95 % interval of the median, as a share; None below six samples."""
    working_set_bytes: float
    counts: Counts


def operations(observations: Sequence[Observation], method: Method) -> tuple[str, ...]:
    """Every operation that a run uses, by one method, in order of first use."""
    return tuple(dict.fromkeys(name for seen in observations for name in seen.counts.get(method, {})))


def counted(observations: Sequence[Observation], method: Method, names: Sequence[str]) -> Floats:
    """How often each run used each operation; (runs, operations)."""
    return np.array([[seen.counts[method].get(name, 0.0) for name in names] for seen in observations])


def bytes_of(arguments: Sequence[Any]) -> float:
    """Bytes of the arrays among a function's arguments."""
    return float(sum(value.nbytes for value in arguments if isinstance(value, np.ndarray)))


# Memory beyond the nearest cache, by working set, from a quick sweep.


SWEEP_BYTES = tuple(2**k for k in range(14, 27, 2))
"""Working sets of the quick sweep, 16 KiB to 64 MiB."""


@dataclass(frozen=True)
class MemoryTimesByWorkingSet:
    """Seconds of a word by the working set."""

    source: str
    working_sets_bytes: tuple[float, ...]
    word_s: tuple[float, ...]

    def beyond_nearest(self) -> NDArray[np.float64]:
        """Seconds of a word beyond one in the nearest cache, never falling; (working sets,)."""
        times = np.array(self.word_s)
        return np.maximum.accumulate(times - times[0])

    def wait_s(self, counts: Mapping[str, float], working_set_bytes: float) -> float:
        """Seconds that a run waits for memory if nothing overlaps."""
        words = sum(words_of(name) * count for name, count in counts.items())
        at = np.log(max(working_set_bytes, 1.0))
        return float(words * np.interp(at, np.log(self.working_sets_bytes), self.beyond_nearest()))

    def term(self, operations: Sequence[str], *, factor: float) -> MemoryTerm:
        """The term of a cost vector; the factor is the share of the wait that nothing overlaps."""
        accesses = {name: words_of(name) for name in operations if words_of(name)}
        waits = tuple(float(wait) for wait in factor * self.beyond_nearest())
        return MemoryTerm(accesses, tuple(self.working_sets_bytes), waits)


def words_of(operation: str) -> float:
    """Words of 8 bytes that an instruction of a class reads or writes."""
    what, _, bits = operation.partition("_")
    if what not in _GATHERED:
        return 0.0
    return float(bits) / (8 * WORD_BYTES) if bits.isdigit() else 1.0


def times_of_streams(observations: Sequence[Observation]) -> MemoryTimesByWorkingSet:
    """By the quick sweep."""
    streams = sorted((seen for seen in observations if seen.role == STREAM), key=lambda seen: seen.working_set_bytes)
    sets = tuple(seen.working_set_bytes for seen in streams)
    return MemoryTimesByWorkingSet("words read in order, quick sweep", sets, tuple(s.time_s / s.n for s in streams))


def read_words(words: Words) -> int:
    """Words added in vectors, for Numba to compile: nothing but memory keeps it from four words per cycle."""
    total = 0
    for k in range(words.size):
        total ^= words[k]
    return total


# Cost vectors.


@dataclass(frozen=True)
class Quality:
    """How far a fit is off."""

    runs: int
    operations: int
    shrinkage: float
    second_per_guessed_cycle: float
    mean_error_percent: float
    held_out_mean_error_percent: float | None
    """Of programs left out of the fit."""


@dataclass(frozen=True)
class Vector:
    """A method's cost vector, and how well it fits what it was fitted to."""

    costs: CostVector
    quality: "Quality"


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

    `leave_out`: a program whose runs teach nothing.
    `own`: a program whose runs weigh as much as all other kernels together: the one that is to be predicted.
    `shrinkage`: strength that is known already; None to choose it.
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
    runs = [Observation(**run) for run in rests_on["runs"]]
    if not any(run.program == program and run.role in TAUGHT_BY[method] for run in runs):
        return None
    memory = MemoryTimesByWorkingSet(**rests_on["memory"]) if method == "icc" else None
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
    """
    rates = [_flops(seen) / seen.time_s for seen in observations if seen.program in FLOP_RATE_OF]
    if len(rates) < len(FLOP_RATE_OF):
        raise CalibrationError(
            f"poc: {len(rates)} of the micro-benchmarks {', '.join(FLOP_RATE_OF)} were run; run them all"
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
) -> HardwareModel:
    """All cost vectors; what they rest on is in its provenance, so that they can be fitted again without a program."""
    vectors: dict[Method, CostVector] = {"dbc": design_vector(clock_hz), "poc": flop_vector(observations)}
    quality = dict[str, Quality]()
    for method in GUESSES:
        if operations(observations, method):
            found = fitted_vector(observations, method, memory=memory if method == "icc" else None)
            vectors[method], quality[method] = found.costs, found.quality
    vectors["ct"] = CostVector.timed()
    rests_on = dict(provenance) | {
        "fits": {method: asdict(own) for method, own in quality.items()},
        "memory": asdict(memory),
        "clock_hz": clock_hz,
        "runs": [asdict(seen) for seen in observations],
    }
    return HardwareModel(name, vectors, rests_on, tuple(warnings))


def _notes(runs: Sequence[Observation], fit: CostFit, leave_out: str | None) -> tuple[str, ...]:
    programs = len({seen.program for seen in runs})
    said = f"fitted to {len(runs)} runs of {programs} programs, shrinkage {fit.shrinkage:g}"
    return (said,) if leave_out is None else (said, f"{leave_out} taught nothing")


def _quality(runs: Sequence[Observation], fit: CostFit, names: Sequence[str]) -> Quality:
    held = fit.held_out[np.isfinite(fit.held_out)]
    return Quality(
        runs=len(runs),
        operations=len(names),
        shrinkage=fit.shrinkage,
        second_per_guessed_cycle=fit.common / _NOMINAL_HZ,
        mean_error_percent=float(100 * np.abs(fit.errors).mean()),
        held_out_mean_error_percent=float(100 * np.abs(held).mean()) if held.size else None,
    )

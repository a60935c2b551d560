"""Calibrating costs on this machine: count and time micro-benchmarks and kernels, then fit every method's vector."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import machine as machines
from simulator.base.errors import CalibrationError
from simulator.base.provenance import provenance
from simulator.base.randomness import stream
from simulator.calibration.kernels.sized import compiled
from simulator.characterisation.costs import micro_floats, micro_ints, micro_memory
from simulator.characterisation.costs.memory_term import (
    SWEEP_BYTES,
    MemoryTimesByWorkingSet,
    read_words,
    times_of_streams,
)
from simulator.characterisation.costs.micro import Micro
from simulator.characterisation.costs.observations import KERNEL, MICRO, STREAM, Counts, Observation, bytes_of
from simulator.characterisation.costs.run_store import RunStore, fingerprint
from simulator.characterisation.costs.timing import Timed, Times, time_in_turns
from simulator.characterisation.costs.vectors import FLOP_RATE_OF, hardware_model
from simulator.characterisation.derive.arguments import of_sizes
from simulator.characterisation.derive.derivation import Derived, derive_seg
from simulator.characterisation.kernels import STUDY_KERNELS
from simulator.models.memory.levels import WORD_BYTES
from simulator.models.resource import HardwareModel
from simulator.programs.graphs.evaluate import total_ruv, used_methods
from simulator.programs.graphs.nodes import Seg

# All micro-benchmarks: of fractions, of whole numbers and tests, of loads and stores.


SUITE: tuple[Micro, ...] = (*micro_floats.MICROS, *micro_ints.MICROS, *micro_memory.MICROS)
"""None of them is a kernel of the study, and none of their parts was chosen by what those need."""


# How often a function of ours uses each operation, by every method: its graph evaluated at sizes.


PROFILE_LIMIT_S = 20.0
"""Longest that one profiled run may take."""


def derive_sized(
    function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], *, n: int, points: Sequence[int]
) -> Derived:
    """The graph of a function of ours whose arguments one n gives, counted at some n."""
    return derive_seg(function, of_sizes(make, n, points=points), limit_s=PROFILE_LIMIT_S, here=True)


def counts_at(seg: Seg, values: Mapping[str, float]) -> Counts:
    """Total amounts of every operation at one set of values, by each method that the graph has."""
    found = {}
    for method in used_methods(seg):
        totals = total_ruv(seg, method, values)
        found[method] = {
            name: float(amount) for name, amount in zip(totals.operations, totals.amounts, strict=True) if amount
        }
    return found


OnProgress = Callable[[str, float], None]
COUNTING_SHARE = 0.7
"""Of the budget, at most, goes into compiling and counting; what is counted is kept."""
LEAST_S = 30e-9
"""Runs that take less cannot be told from their call and teach nothing."""
_KEEP_EVERY_S = 5.0


@dataclass(frozen=True)
class Program:
    """A function at one size: what is counted and timed."""

    label: str
    program: str
    role: str
    n: int
    function: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    overwrites: bool = False


def programs() -> list[Program]:
    """Streams for memory; micro-benchmarks, those of R first; among them the kernels at their training sizes."""
    found = [
        Program(f"read {size} bytes", "read", STREAM, size // WORD_BYTES, read_words, _words(size))
        for size in SWEEP_BYTES
    ]
    micros = sorted(SUITE, key=lambda micro: micro.name not in FLOP_RATE_OF)
    kernels = list(STUDY_KERNELS.values())
    part = -(-len(micros) // len(kernels))
    for number, kernel in enumerate(kernels):  # mixed, so that a budget that ends early leaves out some of both
        found += [
            Program(m.name, m.name, MICRO, 1, m.function, m.arguments, m.overwrites)
            for m in micros[number * part : (number + 1) * part]
        ]
        for n in kernel.training_sizes:
            make = _made(kernel.arguments, n)
            label = f"{kernel.name} {n}"
            found.append(Program(label, kernel.name, KERNEL, n, kernel.function, make, kernel.overwrites))
    return found


def calibrate_resource(
    *,
    budget_s: float,
    seed: int,
    store: Path | None = None,
    memory: MemoryTimesByWorkingSet | None = None,
    on_progress: OnProgress = lambda _stage, _share: None,
) -> HardwareModel:
    """Calibrate the costs of this machine's PE; what was counted and timed before in the store is used again.

    Parameters
    ----------
    budget_s
        Soft limit in seconds. Micro-benchmarks that cannot be counted within their part of it are left out, said in
        the warnings: the next call counts on.
    memory
        Seconds of a word by working set; None to measure them here.

    Raises
    ------
    CalibrationError
        If too little could be counted, or this is not Linux.
    """
    machines.require_linux()
    begin = time.monotonic()
    machine = machines.this_machine()
    kept = RunStore(store, key=fingerprint(machine))
    wanted = programs()
    try:
        _count(wanted, kept, limit_s=COUNTING_SHARE * budget_s, on_progress=on_progress)
        counted = [one for one in wanted if one.role == STREAM or kept.counts.get(one.label)]
        left_s = max(1.0, budget_s - (time.monotonic() - begin))
        times = _time(counted, kept, budget_s=left_s, seed=seed, on_progress=on_progress)
    finally:
        kept.close()
    seen = observations(counted, kept.counts, times)
    warnings = [*kept.warnings, *_warnings(wanted, counted, times, machine)]
    facts = provenance(seed=seed, machine=machine) | {
        "control_s": times.control_s,
        "control_spread": times.control_spread,
    }
    known = memory or times_of_streams(seen)
    name = f"{machine.host}, {machine.cpu_model}"
    return hardware_model(name, seen, known, clock_hz=machines.clock_hz(), provenance=facts, warnings=warnings)


def observations(counted: Sequence[Program], counts: Mapping[str, Counts], times: Times) -> list[Observation]:
    """Counts and times together."""
    medians, halves = times.median_s, times.half_interval
    found = []
    for one in counted:
        place = times.labels.index(one.label)
        half = float(halves[place])
        if medians[place] < LEAST_S:
            continue
        found.append(
            Observation(
                one.program,
                one.role,
                one.n,
                float(medians[place]),
                half if np.isfinite(half) else None,
                bytes_of(one.make()),
                counts.get(one.label, {}),
            )
        )
    return found


def _count(wanted: Sequence[Program], kept: RunStore, *, limit_s: float, on_progress: OnProgress) -> None:
    """Derive the graph of every program that is not counted yet, kernels once for all sizes."""
    begin = time.monotonic()
    open_programs = [one for one in wanted if one.role != STREAM and one.label not in kept.counts]
    total = max(1, len(open_programs))
    for done, one in enumerate(open_programs):
        if time.monotonic() - begin > limit_s:
            break
        if one.label in kept.counts:
            continue  # a kernel's other size brought it
        on_progress(f"counting {one.program}", 0.6 * done / total)
        if one.role == MICRO:
            derived = derive_sized(one.function, lambda _n, one=one: one.make(), n=1, points=(1,))  # type: ignore[misc]
            kept.keep_counts({one.label: counts_at(derived.seg, {"n": 1})})
        else:
            kernel = STUDY_KERNELS[one.program]
            sizes = kernel.training_sizes
            derived = derive_sized(kernel.function, kernel.arguments, n=sizes[-1], points=sizes)
            kept.keep_counts({f"{kernel.name} {n}": counts_at(derived.seg, {"n": n}) for n in sizes})


def _time(counted: Sequence[Program], kept: RunStore, *, budget_s: float, seed: int, on_progress: OnProgress) -> Times:
    """Time all that is counted; earlier rounds of the same programs stay."""
    begin = time.monotonic()
    labels = tuple(one.label for one in counted)
    earlier = kept.times if kept.times is not None and kept.times.labels == labels else None
    timed = []
    for done, one in enumerate(counted):
        on_progress(f"compiling {one.program}", 0.6 + 0.2 * done / len(counted))
        timed.append(Timed(one.label, compiled(one.function), one.make(), one.overwrites))
        timed[-1].function(*one.make())
    last = time.monotonic()

    def told(found: Times, share: float) -> None:
        nonlocal last
        on_progress("timing in turns", 0.8 + 0.2 * share)
        if time.monotonic() - last > _KEEP_EVERY_S:
            last = time.monotonic()
            kept.keep_times(found.after(earlier))

    left_s = max(1.0, budget_s - (time.monotonic() - begin))
    found = time_in_turns(timed, budget_s=left_s, generator=stream(seed, "costs"), on_round=told).after(earlier)
    kept.keep_times(found)
    return found


def _warnings(
    wanted: Sequence[Program], counted: Sequence[Program], times: Times, machine: machines.Machine
) -> list[str]:
    if sum(one.role == MICRO for one in counted) < len(FLOP_RATE_OF):
        raise CalibrationError(
            "--budget: too short to count the first micro-benchmarks; what was counted is kept, run it again"
        )
    found = []
    if len(counted) < len(wanted):
        found.append(
            f"{len(wanted) - len(counted)} of {len(wanted)} programs not counted within the budget: "
            "run it again, it goes on"
        )
    if times.control_spread > 0.1:
        found.append(f"the control varied by +-{times.control_spread:.0%}: others were running, costs hold that")
    if machine.load_average[0] > 0.5:
        found.append(
            f"load {machine.load_average[0]:.1f} when it began, an idle machine is needed for costs to be trusted"
        )
    return found


def _words(size_bytes: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (np.arange(size_bytes // WORD_BYTES),)


def _made(arguments: Callable[[int], tuple[Any, ...]], n: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: arguments(n)

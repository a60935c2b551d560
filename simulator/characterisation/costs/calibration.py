"""Calibrating costs on this machine: count and time micro-benchmarks and kernels, then fit every method's vector."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base import machine as machines
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.provenance import provenance
from simulator.base.randomness import stream
from simulator.calibration.kernels.sized import compiled
from simulator.characterisation.costs.micro import ENTRY, SUITE, Program
from simulator.characterisation.costs.timing import RunStore, Timed, Times, fingerprint, time_in_turns
from simulator.characterisation.costs.vectors import (
    FLOP_RATE_OF,
    KERNEL,
    MICRO,
    STREAM,
    SWEEP_BYTES,
    Counts,
    Observation,
    bytes_of,
    hardware_model,
    read_words,
    times_of_streams,
)
from simulator.characterisation.derive.arguments import Arguments, Values, of_sizes
from simulator.characterisation.derive.derivation import Derived, derive_seg, ruvs_at
from simulator.characterisation.derive.source import source_of
from simulator.characterisation.kernels import STUDY_KERNELS
from simulator.models.memory.levels import WORD_BYTES
from simulator.models.resource import HardwareModel, load_resource_model
from simulator.programs.graphs.nodes import used_methods

OnProgress = Callable[[str, float], None]
COUNTING_SHARE = 0.7
"""Of the budget, at most, goes into compiling and counting; what is counted is kept."""
LEAST_S = 30e-9
"""Runs that take less cannot be distinguished from their call and teach nothing."""
_KEEP_EVERY_S = 5.0


def counts_at(derived: Derived, values: Values) -> Counts:
    """Total amounts of every operation at one set of values, by each method that the graph has."""
    return {
        method: {name: amount for name, amount in ruvs_at(derived, method, values).items() if amount}
        for method in used_methods(derived.seg)
    }


def programs() -> list[Program]:
    """Streams for memory; micro-benchmarks, those of R first; among them the kernels at their training sizes."""
    streams = [size // WORD_BYTES for size in SWEEP_BYTES]
    found = [Program("read", read_words, partial(_words, words), role=STREAM, n=words) for words in streams]
    micros = sorted(SUITE, key=lambda micro: micro.name not in FLOP_RATE_OF)
    kernels = list(STUDY_KERNELS.values())
    part = -(-len(micros) // len(kernels))
    for number, kernel in enumerate(kernels):  # mixed, so that a budget that ends early leaves out some of both
        found += micros[number * part : (number + 1) * part]
        found += [
            Program(kernel.name, kernel.function, partial(kernel.arguments, n), kernel.overwrites, KERNEL, n)
            for n in kernel.training_sizes
        ]
    return found


def calibrate_resource(
    *,
    budget_s: float,
    seed: int,
    store: Path | None = None,
    on_progress: OnProgress = lambda _stage, _share: None,
) -> HardwareModel:
    """Calibrate the costs of this machine's PE; what was counted and timed before in the store is used again.

    `budget_s`: soft limit in seconds. Micro-benchmarks that cannot be counted within their part of it are left out,
    said in the warnings: the next call counts on.
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
        kept.journal.close()
    seen = observations(counted, kept.counts, times)
    warnings = [*kept.journal.warnings, *_warnings(wanted, counted, times, machine)]
    facts = provenance(seed=seed, machine=machine) | {
        "control_s": times.control_s,
        "control_spread": times.control_spread,
    }
    name, memory = f"{machine.host}, {machine.cpu_model}", times_of_streams(seen)
    return hardware_model(name, seen, memory, clock_hz=machines.clock_hz(), provenance=facts, warnings=warnings)


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
                one.name,
                one.role,
                one.n,
                float(medians[place]),
                half if np.isfinite(half) else None,
                bytes_of(one.arguments()),
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
        on_progress(f"counting {one.name}", 0.6 * done / total)
        kernel = STUDY_KERNELS.get(one.name)
        if kernel is None:
            alone = Arguments({"n": 1}, lambda _values, one=one: one.arguments(), ({"n": 1},))  # type: ignore[misc]
            derived = derive_seg(source_of(one.text, Path(__file__), ENTRY), alone, here=True)
            kept.keep_counts({one.label: counts_at(derived, {"n": 1})})
        else:
            sizes = kernel.training_sizes
            derived = derive_seg(kernel.function, of_sizes(kernel.arguments, sizes[-1], points=sizes), here=True)
            kept.keep_counts({f"{kernel.name} {n}": counts_at(derived, {"n": n}) for n in sizes})


def _time(counted: Sequence[Program], kept: RunStore, *, budget_s: float, seed: int, on_progress: OnProgress) -> Times:
    """Time all that is counted; earlier rounds of the same programs stay."""
    begin = time.monotonic()
    labels = tuple(one.label for one in counted)
    earlier = kept.times if kept.times is not None and kept.times.labels == labels else None
    timed = []
    for done, one in enumerate(counted):
        on_progress(f"compiling {one.name}", 0.6 + 0.2 * done / len(counted))
        timed.append(Timed(one.label, compiled(one.function), one.arguments(), one.overwrites))
        timed[-1].function(*one.arguments())
    last = time.monotonic()

    def keep(found: Times, share: float) -> None:
        nonlocal last
        on_progress("timing in turns", 0.8 + 0.2 * share)
        if time.monotonic() - last > _KEEP_EVERY_S:
            last = time.monotonic()
            kept.keep_times(found.after(earlier))

    left_s = max(1.0, budget_s - (time.monotonic() - begin))
    found = time_in_turns(timed, budget_s=left_s, generator=stream(seed, "costs"), on_round=keep).after(earlier)
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
            f"load {machine.load_average[0]:.1f} when it began: calibrate on an idle machine for costs to be trusted"
        )
    return found


def _words(words: int) -> tuple[Any, ...]:
    return (np.arange(words),)


# Where this machine's model is kept if nobody names a file: in the user's cache, by machine and compiler.


def kept_here() -> Path:
    """Path of the model of this machine, its compiler and these sources; it may not be there yet."""
    return _folder() / f"{fingerprint(machines.this_machine(), fitted=True)}.json"


def runs_beside(path: Path | None) -> Path:
    """Path of the counts and times that a model at a path (None: the one kept for this machine) is made from."""
    if path is not None:
        return path.with_suffix(".runs.json")
    return _folder() / f"{fingerprint(machines.this_machine())}.runs.json"


def _folder() -> Path:
    found = files.user_cache()
    if found is None:
        raise ScenarioError(
            "resource model: there is no folder that only you can write to keep it in; set XDG_CACHE_HOME to one, "
            "or write the model to a file by `apportion lab resource -o FILE`"
        )
    return found / "resource"


def known_here() -> HardwareModel | None:
    """The model kept for this machine, None if there is none yet."""
    if files.user_cache() is None:
        return None
    path = kept_here()
    return load_resource_model(path) if path.exists() else None

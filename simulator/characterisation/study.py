"""One function by every method: its graph, what each predicts at the sizes judged, what was measured, the errors."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import formula
from simulator.base.documents import SPARE
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.randomness import stream
from simulator.calibration.kernels.sized import compiled
from simulator.characterisation.costs.timing import Timed, Times, time_in_turns
from simulator.characterisation.costs.vectors import bytes_of, refitted, with_guesses
from simulator.characterisation.derive.arguments import (
    Arguments,
    Values,
    from_mapping,
    of_sizes,
    parse_arguments,
)
from simulator.characterisation.derive.derivation import Derived, derive_seg, runnable, ruvs_at
from simulator.characterisation.derive.source import read_source
from simulator.characterisation.kernels import StudyKernel, study_kernel
from simulator.models.error_summary import ErrorStatistics, error_statistics
from simulator.models.resource import CostVector, Guess, HardwareModel, Method, Ruv
from simulator.models.resource import Times as Range
from simulator.programs.graphs.nodes import expected_time, timing_formula

OnProgress = Callable[[str, float], None]
MOST_DRIFT = 0.05
"""A control that differs by more than this share from that of the calibration gives a warning."""
MOST_SIZES = 20
_SHARES = (0.5, 0.7, 1.4)
"""Of a user's sizes, where component timing looks: the two below the smallest, and beyond the largest."""
_DESIGN_SHARE = 0.25
"""How far a designer's amounts may be off, as a share."""


@dataclass(frozen=True)
class Subject:
    """What is characterised."""

    name: str
    meaning: str
    kernel: StudyKernel | None
    """None for a user's function."""
    target: Path | Callable[..., Any]
    function: str | None
    """Name in the file; None for a kernel."""
    arguments: Arguments
    """Of the largest size judged, with the points that are counted."""
    judged: tuple[Values, ...]
    taught: tuple[Values, ...]
    """Values at which component timing looks, none of them judged."""
    varied: str
    design: Mapping[str, formula.Formula] = field(default_factory=dict)
    """Operation -> formula of the parameters; empty for a user's function."""

    def design_ruv(self, values: Values) -> dict[str, Guess]:
        """What a designer expects, each a quarter more or less."""
        found = {name: float(amount.evaluate(values)) for name, amount in self.design.items()}
        return {name: Guess(n, n * (1 - _DESIGN_SHARE), n * (1 + _DESIGN_SHARE)) for name, n in found.items()}


def make_subject(text: str, *, args: Sequence[str] = (), sizes: Sequence[int] = ()) -> Subject:
    """A subject from what a user names.

    `text`: a kernel's name, or `FILE.py:FUNCTION`.
    `args`: `n=1000` and the like; see `parse_arguments`. Kernels know n only.
    `sizes`: values of n (of the first whole number among the arguments, if none is called n) that are judged.
    """
    given = parse_arguments(args, "--args")
    if len(sizes) > MOST_SIZES or any(size < 1 for size in sizes):
        raise ScenarioError(f"--sizes is {','.join(map(str, sizes))}; give 1 to {MOST_SIZES} whole numbers above 0")
    if ".py" in text or "/" in text:
        return _of_file(text, given, sizes)
    kernel = study_kernel(text)
    stray = [name for name, value in given.items() if name != "n" or not isinstance(value, int) or value < 1]
    if stray:
        raise ScenarioError(f"--args: {stray[0]}={given[stray[0]]} given, but kernel {text} takes n=NUMBER alone")
    judged = tuple(dict.fromkeys(sizes or [int(n) for n in given.values()] or kernel.sizes))
    _check_power(kernel, judged)
    taught = tuple(n for n in kernel.training_sizes if n not in judged)
    return Subject(
        kernel.name,
        kernel.meaning,
        kernel,
        kernel.function,
        None,
        of_sizes(kernel.arguments, max(judged), points=kernel.training_sizes),
        tuple({"n": n} for n in judged),
        tuple({"n": n} for n in taught),
        "n",
        {name: formula.parse(one) for name, one in kernel.design.items()},
    )


def _of_file(text: str, given: Mapping[str, float | str], sizes: Sequence[int]) -> Subject:
    name, mark, function = text.rpartition(":")
    if not mark or not function.isidentifier():
        raise ScenarioError(f"{text} names no function; write FILE.py:FUNCTION")
    path = Path(name)
    source = read_source(path, function)
    numbers = {key: value for key, value in given.items() if not isinstance(value, str)}
    whole = [key for key, value in numbers.items() if isinstance(value, int)]
    varied = "n" if "n" in whole else next(iter(whole), "")
    if sizes and not varied:
        raise ScenarioError("--sizes needs a whole number among the arguments; add --args 'n=1000'")
    judged_n = list(dict.fromkeys(sizes)) or ([int(numbers[varied])] if varied else [])
    largest = dict(given) | ({varied: max(judged_n)} if varied else {})
    arguments = from_mapping(largest, source.parameters)
    base = dict(arguments.parameters)
    judged = tuple(base | {varied: n} for n in judged_n) if varied else (base,)
    taught = tuple(base | {varied: n} for n in _around(judged_n)) if varied else ()
    return Subject(
        f"{path.name}:{function}",
        f"function {function} of {path}",
        None,
        path,
        function,
        arguments,
        judged,
        taught,
        varied,
    )


def _around(judged: Sequence[int]) -> list[int]:
    """Sizes around those judged: powers of two for powers of two."""
    if all(n & (n - 1) == 0 for n in judged):
        found = [min(judged) // 4, min(judged) // 2, 2 * max(judged)]
        found += [n for n in (2**k for k in range(64)) if min(judged) < n < max(judged)]
    else:
        low, middle, high = _SHARES
        found = [round(low * min(judged)), round(middle * min(judged)), round(high * max(judged))]
        ordered = sorted(judged)
        found += [round((a * b) ** 0.5) for a, b in itertools.pairwise(ordered)]
    return sorted({n for n in found if n >= 1 and n not in judged})


def _check_power(kernel: StudyKernel, judged: Sequence[int]) -> None:
    if all(n & (n - 1) == 0 for n in kernel.sizes) and any(n & (n - 1) for n in judged):
        shown = ", ".join(map(str, judged))
        raise ScenarioError(f"--sizes is {shown}, and kernel {kernel.name} takes powers of two")


@dataclass(frozen=True)
class Prediction:
    """What one method predicts at one size."""

    ruv: Ruv
    time: Range
    left_out_s: float | None = None
    """By costs that this kernel taught nothing; None where it taught nothing anyway."""


@dataclass(frozen=True)
class Judged:
    """A method at a size that was measured."""

    name: Method
    arguments: Values
    ruv: Ruv
    predicted_s: float
    predicted_low_s: float
    predicted_high_s: float
    measured_s: float
    error_percent: float
    resource_model_error_percent: float | None
    left_out_error_percent: float | None = field(default=None, metadata=SPARE)
    """By costs that no run of this kernel taught."""


@dataclass(frozen=True)
class Characterised:
    """A function by every method, beside what was measured."""

    subject: Mapping[str, str]
    timing_formula: tuple[str, ...]
    hardware: Mapping[str, str]
    methods: tuple[Judged, ...]
    statistics: Mapping[str, ErrorStatistics | None]
    warnings: tuple[str, ...]


def characterise(
    subject: Subject,
    hardware: HardwareModel,
    *,
    methods: Sequence[Method],
    budget_s: float,
    seed: int,
    on_progress: OnProgress = lambda _stage, _share: None,
) -> Characterised:
    """Derive, predict, measure and compare one function.

    `methods`: those wanted; component timing is always taken, since errors are compared with its own.
    `budget_s`: seconds that analysis, compilation and timing may take; the least number of rounds is made in any case.
    """
    begin_s = time.monotonic()
    on_progress(f"graph of {subject.name}", 0.0)
    ours = subject.kernel is not None
    derived = derive_seg(subject.target, subject.arguments, function=subject.function, here=ours)
    times = time_in_turns(
        _timed(subject, derived),
        budget_s=max(0.0, budget_s - (time.monotonic() - begin_s)),
        generator=stream(seed, "study", subject.name),
        on_round=lambda _times, share: on_progress("measuring", 0.5 + 0.5 * share),
    )
    short = [label for label, median in zip(times.labels, times.median_s, strict=True) if median <= 0]
    if short:
        raise CalibrationError(f"{short[0]}: the run is too short to be timed; give larger --sizes")
    return _compared(subject, derived, hardware, methods, times)


def _timed(subject: Subject, derived: Derived) -> list[Timed]:
    """The sizes judged, then those around them."""
    found = []
    for values in [*subject.judged, *subject.taught]:
        if subject.kernel is None:
            function, arguments = runnable(derived, values)
            overwrites = any(isinstance(value, np.ndarray) for value in arguments)
        else:
            function, arguments = compiled(subject.kernel.function), subject.arguments.make(values)
            overwrites = subject.kernel.overwrites
            function(*subject.arguments.make(values))
        size = ", ".join(f"{name} = {value:g}" for name, value in values.items())
        found.append(Timed(f"{subject.name} {size}", function, arguments, overwrites))
    return found


def _compared(
    subject: Subject, derived: Derived, hardware: HardwareModel, methods: Sequence[Method], times: Times
) -> Characterised:
    """Predictions of every method with what was measured."""
    warnings = [*derived.warnings, *hardware.warnings, *_warnings(times, hardware)]
    judged_s = times.median_s.tolist()[: len(subject.judged)]
    timed = _component_timing(subject, derived, times)
    errors: list[float | None] = [None] * len(subject.judged)
    if timed:
        errors = [_error(float(one.time.s), real_s) for one, real_s in zip(timed, judged_s, strict=True)]
    entries = list[Judged]()
    for method in sorted(methods, key=lambda name: name == "ct"):
        try:
            found = timed if method == "ct" else _predict(subject, derived, hardware, method, warnings)
        except ScenarioError as error:
            warnings += [f"{method}: {line}" for line in error.lines]
            continue
        sizes = zip(found, subject.judged, judged_s, errors, strict=False)
        entries += [_judged(method, *size) for size in sizes]
    return Characterised(
        subject={"name": subject.name, "meaning": subject.meaning},
        timing_formula=tuple(timing_formula(derived.seg).splitlines()),
        hardware={"name": hardware.name},
        methods=tuple(entries),
        statistics=statistics(entries),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _predict(
    subject: Subject, derived: Derived, hardware: HardwareModel, method: Method, warnings: list[str]
) -> list[Prediction]:
    """One method at all sizes."""
    vector = hardware.vector(method)
    if method == "dbc":
        return [_designed(subject, vector, values) for values in subject.judged]
    other = refitted(hardware, method, leave_out=subject.name) if subject.kernel is not None else None
    own = refitted(hardware, method, own=subject.name) if subject.kernel is not None else None
    vector = _completed(derived, hardware, own or vector, subject, warnings)
    if other is not None:
        other = with_guesses(hardware, other, [name for name in vector.costs if name not in other.costs])
    found = []
    for values in subject.judged:
        held = bytes_of(subject.arguments.make(values))
        time = expected_time(derived.seg, values, vector, working_set_bytes=held)
        apart = None if other is None else expected_time(derived.seg, values, other, working_set_bytes=held)
        ruv = {name: amount for name, amount in ruvs_at(derived, method, values).items() if amount}
        found.append(Prediction(ruv, time, None if apart is None else float(apart.s)))
    return found


def _completed(
    derived: Derived, hardware: HardwareModel, vector: CostVector, subject: Subject, warnings: list[str]
) -> CostVector:
    """The costs, with guesses for operations that calibration never met."""
    used = ruvs_at(derived, vector.method, subject.judged[-1])
    missing = vector.lacking(used)
    if not missing:
        return vector
    warnings.append(f"{vector.method}: {', '.join(missing)}: used by no calibration run, their costs are guesses")
    return with_guesses(hardware, vector, missing)


def _designed(subject: Subject, vector: CostVector, values: Values) -> Prediction:
    """By its design."""
    if not subject.design:
        raise ScenarioError("no design is known of a function of yours; name other methods")
    ruv = subject.design_ruv(values)
    return Prediction(ruv, vector.time(ruv, used_by="design"))


def _component_timing(subject: Subject, derived: Derived, times: Times) -> list[Prediction]:
    """Time per construct counted, measured at other sizes and interpolated between them, times the constructs."""
    if not subject.taught:
        return []
    sizes = np.array([values[subject.varied] for values in subject.taught], dtype=np.float64)
    work = np.array([_work(derived, values) for values in subject.taught])
    order = np.argsort(sizes)
    each = np.log(times.median_s[len(subject.judged) :] / work)[order]
    found = []
    for values in subject.judged:
        at = float(values[subject.varied])
        time = np.asarray(np.exp(np.interp(np.log(at), np.log(sizes[order]), each)) * _work(derived, values))
        found.append(Prediction({"seconds": float(time)}, Range(time, time, time)))
    return found


def _work(derived: Derived, values: Values) -> float:
    """Constructs that one run uses."""
    return max(1.0, sum(ruvs_at(derived, "hllc", values).values()))


def _warnings(times: Times, hardware: HardwareModel) -> list[str]:
    found = []
    before = hardware.provenance.get("control_s")
    drift = None if not before else times.control_s / float(before) - 1
    if drift is not None and abs(drift) > MOST_DRIFT:
        slower = "slower" if drift > 0 else "faster"
        found.append(f"the PE is {abs(drift):.0%} {slower} than when costs were calibrated: errors hold that")
    if times.control_spread > 2 * MOST_DRIFT:
        found.append(f"the control varied by +-{times.control_spread:.0%} while measuring: others were running")
    return found


def _judged(method: Method, one: Prediction, values: Values, measured_s: float, timing_error: float | None) -> Judged:
    s, low_s, high_s = (float(time_s) for time_s in (one.time.s, one.time.low_s, one.time.high_s))
    error = _error(s, measured_s)
    own = None if timing_error is None else error - timing_error
    left_out = None if one.left_out_s is None else _error(one.left_out_s, measured_s)
    return Judged(method, dict(values), one.ruv, s, low_s, high_s, measured_s, error, own, left_out)


def statistics(entries: Sequence[Judged]) -> dict[str, ErrorStatistics | None]:
    """Method -> statistics of the sizes of its errors due to the resource model alone; None without such errors."""
    sizes: dict[str, list[float]] = {entry.name: [] for entry in entries}
    for entry in entries:
        if entry.resource_model_error_percent is not None:
            sizes[entry.name].append(abs(entry.resource_model_error_percent))
    return {method: error_statistics(own) if own else None for method, own in sizes.items()}


def _error(predicted_s: float, measured_s: float) -> float:
    """Signed, in percent."""
    return 100 * (predicted_s - measured_s) / measured_s

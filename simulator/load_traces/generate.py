"""Load traces drawn from models: constant, on-off, and blocks of a recorded trace."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Protocol

import numpy as np

from simulator.base import units
from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, TraceError
from simulator.models.load import LoadTrace
from simulator.models.load_functions import regular_step

MOST_VALUES = 10_000_000
"""Most values of a generated trace: four months of seconds, in a file of some 200 MB."""
BLOCKS = 10
"""Blocks of a truth of a load: each is a tenth of the record, so what hangs together for less stays together."""


class Generator(Protocol):
    """A model of load that traces are drawn from."""

    def draw(self, duration_s: float, step_s: float, generator: np.random.Generator) -> LoadTrace:
        """A trace of `duration_s`, in equal steps unless the model has changes of its own."""


@dataclass(frozen=True)
class Constant:
    """The same load at all times."""

    load: float

    def __post_init__(self) -> None:
        _require(load=(self.load, 0.0, math.inf))

    def draw(self, duration_s: float, step_s: float, generator: np.random.Generator) -> LoadTrace:  # noqa: ARG002
        """A constant trace; draws nothing."""
        times = _grid(duration_s, step_s)
        return LoadTrace(times, np.full(times.size, self.load), times.size * step_s)


@dataclass(frozen=True)
class OnOff:
    """Two levels in turn, for exponential times; each change lies at its exact time, so steps are not equal."""

    load: float
    mean_on_s: float
    mean_off_s: float
    off_load: float = 0.0

    def __post_init__(self) -> None:
        _require(
            load=(self.load, 0.0, math.inf),
            off_load=(self.off_load, 0.0, math.inf),
            mean_on_s=(self.mean_on_s, 1e-9, math.inf),
            mean_off_s=(self.mean_off_s, 1e-9, math.inf),
        )

    def draw(self, duration_s: float, step_s: float, generator: np.random.Generator) -> LoadTrace:  # noqa: ARG002
        """A stationary trace: it begins as a random instant would find it, within a stay."""
        cycle_s = self.mean_on_s + self.mean_off_s
        _check_number(2 * duration_s / cycle_s)
        begins_on = bool(generator.random() < self.mean_on_s / cycle_s)
        means = np.array([self.mean_off_s, self.mean_on_s])
        stays, count, reached = list[Floats](), 0, 0.0
        while reached < duration_s:
            more = 2 * math.ceil(max(8.0, (duration_s - reached) / cycle_s))
            kinds = (int(begins_on) + count + np.arange(more)) % 2
            stays.append(means[kinds] * generator.exponential(1.0, more))
            count, reached = count + more, reached + float(np.sum(stays[-1]))
        times = np.concatenate(([0.0], np.cumsum(np.concatenate(stays))))
        times = times[: int(np.searchsorted(times, duration_s, side="left"))]
        values = np.where((int(begins_on) + np.arange(times.size)) % 2 == 1, self.load, self.off_load)
        distinct = np.concatenate((np.diff(times) > 0, [True]))  # a stay may vanish in rounding
        return LoadTrace(times[distinct], values[distinct], duration_s)


@dataclass(frozen=True)
class BlockBootstrap:
    """Blocks of a recorded trace in random order (circular block bootstrap, Politis and Romano 1992)."""

    trace: LoadTrace
    """Recorded in equal steps, which the drawn traces have too."""
    block_s: float

    def __post_init__(self) -> None:
        step_s = regular_step(self.trace)
        _require(block_s=(self.block_s, step_s, self.trace.end_s))

    def draw(self, duration_s: float, step_s: float, generator: np.random.Generator) -> LoadTrace:
        """Blocks that begin anywhere in the recording, each with equal probability."""
        recorded_s = regular_step(self.trace)
        if abs(step_s - recorded_s) > 1e-6 * recorded_s:
            raise TraceError(
                f"generate: the step is {step_s:g} s; give {recorded_s:g} s as recorded, or resample the recording"
            )
        times = _grid(duration_s, step_s)
        length = max(1, round(self.block_s / step_s))
        starts = generator.integers(self.trace.values.size, size=math.ceil(times.size / length))
        picked = (starts[:, None] + np.arange(length)).ravel()[: times.size] % self.trace.values.size
        return LoadTrace(times, self.trace.values[picked], times.size * step_s)


def resampled_blocks(trace: LoadTrace, generator: np.random.Generator) -> LoadTrace:
    """What the record of a load might have been: as long, of blocks that begin anywhere in it, end joined to start.

    Circular block bootstrap (Politis and Romano 1992), over time, so that steps need not be equal; blocks are a tenth
    of the record (`BLOCKS`).
    """
    block_s, count = trace.end_s / BLOCKS, trace.values.size
    laps = np.concatenate((trace.times_s, trace.times_s + trace.end_s))
    times, values = [], []
    for number, start_s in enumerate((generator.random(BLOCKS) * trace.end_s).tolist()):
        first = int(np.searchsorted(trace.times_s, start_s, side="right")) - 1
        last = int(np.searchsorted(laps, start_s + block_s, side="left"))
        times.append(np.maximum(laps[first:last] - start_s, 0.0) + number * block_s)
        values.append(trace.values[np.arange(first, last) % count])
    joined = np.concatenate(times)
    after = np.append(joined[1:], trace.end_s)
    kept = after > joined  # a piece that rounding left no time
    return LoadTrace(joined[kept], np.concatenate(values)[kept], trace.end_s, trace.after_end)


GENERATORS: dict[str, type[Generator]] = {
    "constant": Constant,
    "on-off": OnOff,
    "bootstrap": BlockBootstrap,
}
"""Name -> model."""


def make_generator(kind: str, settings: Mapping[str, str], *, recorded: LoadTrace | None = None) -> Generator:
    """A generator from settings as people write them: `{"mean_on": "10s", "load": "1"}`; durations carry units.

    `kind`: one of `GENERATORS`.
    `settings`: parameter name, without `_s` for durations -> its value.
    `recorded`: what `bootstrap` takes its blocks from.
    """
    if kind not in GENERATORS:
        raise ScenarioError(f"generate: kind is {kind!r}; give one of {', '.join(GENERATORS)}")
    known = {parameter.name.removesuffix("_s"): parameter for parameter in fields(GENERATORS[kind])}  # type: ignore[arg-type]
    known.pop("trace", None)
    needed = [name for name, parameter in known.items() if parameter.default is MISSING]
    faults = [f"generate: {kind} has no {name}; set one of {', '.join(known)}" for name in settings.keys() - known]
    faults += [f"generate: {kind} needs {name}; set it" for name in needed if name not in settings]
    if kind == "bootstrap" and recorded is None:
        faults.append("generate: bootstrap needs a recording; name one")
    if faults:
        raise ScenarioError(faults)
    values: Data = {} if recorded is None or kind != "bootstrap" else {"trace": recorded}
    for name, text in settings.items():
        values[known[name].name] = _value(known[name].name, text)
    return GENERATORS[kind](**values)


def _value(name: str, text: str) -> float:
    if name.endswith("_s"):
        return units.parse_duration(text, field=f"generate: {name.removesuffix('_s')}", positive=False)
    value = units.to_number(text)
    if value is None:
        raise ScenarioError(f"generate: {name} is {text!r}; give a number")
    return value


def _check_number(values: float) -> None:
    """Refuse traces of more values than are any use, before any is drawn."""
    if values > MOST_VALUES:
        allowed = f"give at most {MOST_VALUES}: a shorter trace, or longer steps or stays"
        raise TraceError(f"generate: the trace would have {values:.3g} values; {allowed}")


def _grid(duration_s: float, step_s: float) -> Floats:
    _require(step_s=(step_s, 1e-9, math.inf), duration_s=(duration_s, step_s, math.inf))
    _check_number(duration_s / step_s)
    return np.asarray(np.arange(max(1, round(duration_s / step_s))) * step_s, np.float64)


def _require(**bounds: tuple[float, float, float]) -> None:
    """Refuse parameters outside their bounds, all at once."""
    faults = [
        f"generate: {name} is {value:g}; give {f'{low:g} to {high:g}' if high < math.inf else f'at least {low:g}'}"
        for name, (value, low, high) in bounds.items()
        if not (low <= value <= high and math.isfinite(value))
    ]
    if faults:
        raise TraceError(faults)

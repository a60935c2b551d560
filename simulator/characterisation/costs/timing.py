"""Times of compiled functions, taken in turns: medians of CPU seconds, with a control that shows how fast the PE is."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats, Matrix
from simulator.base.documents import Record, read_keys
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.calibration.bench.campaign import Budget, run_campaign, shuffled
from simulator.calibration.bench.journal import IDENTITY, Entry, Journal, plain, read_entries
from simulator.calibration.bench.measurement import half_interval_of_median
from simulator.characterisation.costs.vectors import Counts
from simulator.characterisation.derive.running import signature

SAMPLE_S = 1e-3
"""A sample repeats its function until it lasts about this long."""
LEAST_ROUNDS = 3
MOST_ROUNDS = 31
PRECISION = 0.01
"""Rounds end when the median interval of all functions is this narrow, as a share; half of it to either side."""
_CONTROL_STEPS = 20_000
_MOST_INNER = 10**5
_CALLS = 300
FORMAT = 2
KIND = "cost runs"
_RUN = (
    "characterisation/costs/micro*.py",
    "characterisation/costs/timing.py",
    "characterisation/derive/**/*.py",
    "characterisation/kernels.py",
    "calibration/kernels/*.py",
)
"""What decides counts and times; below `simulator/`."""
_FITTED = (*_RUN, "characterisation/costs/*.py", "models/cost_fit.py", "models/resource.py")
"""What decides the model that is made of them."""
_COMPILERS = ("numba", "llvmlite")


@dataclass(frozen=True)
class Timed:
    """A compiled function with the arguments that it is timed on."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    overwrites: bool = False
    """Whether its arguments are made again before each run; that is not timed."""


@dataclass(frozen=True)
class Times(Record):
    """What n functions took, round by round."""

    labels: tuple[str, ...]
    raw_s: Matrix
    """CPU seconds of one run, the call from Python taken off; (n, rounds)."""
    controls_s: Matrix
    """Those of the control just before; (n, rounds)."""

    @property
    def control_s(self) -> float:
        """Median of the control: two calibrations compare by it."""
        return float(np.median(self.controls_s))

    @property
    def control_spread(self) -> float:
        """Half of the range that holds nine tenths of the control's times, as a share of the median."""
        low, high = np.quantile(self.controls_s, (0.05, 0.95))
        return float(high - low) / 2 / self.control_s

    @property
    def samples_s(self) -> Floats:
        """CPU seconds of one run, scaled by the control; (n, rounds)."""
        return np.asarray(self.raw_s * (self.control_s / self.controls_s))

    @property
    def median_s(self) -> Floats:
        """Not above 0 where a run is too short to be distinguished from its call; (n,)."""
        return np.asarray(np.median(self.samples_s, axis=1))

    @property
    def half_interval(self) -> Floats:
        """Half width of the 95 % interval of each median as a share of it, infinite below six rounds; (n,)."""
        return np.array([half_interval_of_median(row) for row in self.samples_s])

    def after(self, earlier: "Times | None") -> "Times":
        """These rounds after earlier ones of the same functions."""
        if earlier is None:
            return self
        raw, controls = np.hstack([earlier.raw_s, self.raw_s]), np.hstack([earlier.controls_s, self.controls_s])
        return Times(self.labels, raw, controls)


class _Sampler:
    """One function with its pristine arguments and its number of inner runs."""

    def __init__(self, timed: Timed) -> None:
        self._timed = timed
        self._kept = [np.array(x) if isinstance(x, np.ndarray) else x for x in timed.arguments]
        self._empty = _empty(*signature(timed.arguments))
        once, inner = self._run(1), 1
        while once * inner < SAMPLE_S and inner < _MOST_INNER:
            inner = min(_MOST_INNER, max(inner + 1, int(1.1 * SAMPLE_S / max(once, 1e-7))))
            once = self._run(inner)
        self._inner = inner

    def sample(self) -> float:
        """CPU seconds of one run, its call taken off, in single runs the reading of the clock too."""
        call_s = _cpu_s(self._empty, self._timed.arguments, _CALLS) / _CALLS
        return self._run(self._inner) - call_s - (_grain_s() if self._timed.overwrites else 0.0)

    def _run(self, inner: int) -> float:
        if not self._timed.overwrites:
            return _cpu_s(self._timed.function, self._timed.arguments, inner) / inner
        spent = 0.0
        for _ in range(inner):
            for argument, kept in zip(self._timed.arguments, self._kept, strict=True):
                if isinstance(argument, np.ndarray):
                    np.copyto(argument, kept)
            spent += _cpu_s(self._timed.function, self._timed.arguments, 1)
        return spent / inner


def time_in_turns(
    functions: Sequence[Timed],
    *,
    budget_s: float,
    generator: np.random.Generator,
    on_round: Callable[[Times, float], None] = lambda _times, _share: None,
) -> Times:
    """Time compiled functions in turns until their medians are known well enough or the budget is spent.

    `budget_s`: soft limit in seconds: after it, rounds go on only up to the least number.
    `generator`: for the order within each round.
    `on_round`: called after each round with what was found so far, and which share of the budget or of the rounds is
    done.
    """
    budget = Budget(budget_s)
    control = _control()
    control(_CONTROL_STEPS)
    samplers = [_Sampler(timed) for timed in functions]
    labels = tuple(timed.label for timed in functions)
    raw, controls = np.zeros((2, MOST_ROUNDS, len(samplers)))
    rounds = 0

    def passes() -> Iterator[tuple[int, list[int]]]:
        nonlocal rounds
        for number in budget.passes(least=LEAST_ROUNDS, most=MOST_ROUNDS):
            yield number, shuffled(range(len(samplers)), generator)
            rounds = number + 1
            times = so_far()
            on_round(times, min(1.0, max(budget.share, rounds / MOST_ROUNDS)))
            if rounds >= 2 * LEAST_ROUNDS and times.half_interval.max() <= PRECISION / 2:
                return

    def sample(place: int, number: int) -> None:
        controls[number, place] = _cpu_s(control, (_CONTROL_STEPS,), 1)
        raw[number, place] = samplers[place].sample()

    def so_far() -> Times:
        return Times(labels, raw[:rounds].T.copy(), controls[:rounds].T.copy())

    run_campaign(passes(), sample)
    return so_far()


def _cpu_s(function: Callable[..., Any], arguments: tuple[Any, ...], inner: int) -> float:
    """CPU seconds of this thread for some runs in a row."""
    turns = range(inner)
    begin = time.thread_time()
    for _ in turns:
        function(*arguments)
    return time.thread_time() - begin


@cache
def _grain_s() -> float:
    """What reading the clock costs."""
    return float(np.median([_cpu_s(_nothing, (), 1) for _ in range(101)]))


def _nothing() -> None:
    """Takes no time."""


@cache
def _empty(*types: Any) -> Callable[..., Any]:
    """A compiled function that does nothing, one of its own for each signature: choosing among several costs time."""
    import numba

    nothing = eval(f"lambda {', '.join(f'_{k}' for k in range(len(types)))}: None")  # noqa: S307 - names of ours
    compiled: Callable[..., Any] = numba.njit(numba.void(*types))(nothing) if types else numba.njit(nothing)
    return compiled


@cache
def _control() -> Callable[[int], float]:
    """A chain of additions, compiled: nothing but the PE's clock and who shares its pipelines can change its time."""
    import numba

    compiled: Callable[[int], float] = numba.njit("float64(int64)")(_chain)
    return compiled


def _chain(steps: int) -> float:
    total = 0.0
    for k in range(steps):
        total += 1.0 / 3.0 if k & 1 else 0.25
    return total


# What a calibration has counted and timed so far, on disk: interrupted or short of time, the next one goes on.


def fingerprint(machine: Machine, *, fitted: bool = False) -> str:
    """Hash of the machine, of the compiler and of all that is run and counted; or of the fits as well."""
    found = hashlib.sha256()
    described = plain(machine.to_dict())
    found.update(repr([described.get(name) for name in IDENTITY]).encode())
    found.update("\n".join(version(name) for name in _COMPILERS).encode())
    house = Path(__file__).parents[2]
    for pattern in _FITTED if fitted else _RUN:
        for path in sorted(house.glob(pattern)):
            found.update(path.name.encode() + b"\0" + files.read_bytes(path))
    return found.hexdigest()[:32]


class RunStore:
    """Counts by program and size, and times of all programs; without a path they are kept in memory only.

    `path`: file of a line for each piece, read if it holds runs of the same fingerprint, else begun again; see
    `Journal`.
    """

    def __init__(self, path: Path | None, *, key: str) -> None:
        self.counts: dict[str, Counts] = {}
        """Label -> counts; empty for what could not be counted."""
        self.times: Times | None = None
        if path is not None:
            head = next(read_entries(path), {})
            if head.get("kind") == KIND and head.get("key") != key:
                files.remove(path)
        what, belongs = "runs for costs", {"key": key}
        self.journal = Journal(path, kind=KIND, version=FORMAT, what=what, take=self._take, belongs=belongs)

    def keep_counts(self, counts: Mapping[str, Counts]) -> None:
        """Remember what was counted, by label."""
        self.counts |= counts
        self.journal.keep({"counts": dict(counts)})

    def keep_times(self, times: Times) -> None:
        """Remember the times of all rounds so far; only the rounds since the last call are written."""
        known = 0 if self.times is None or self.times.labels != times.labels else self.times.raw_s.shape[1]
        self.times = times
        if times.raw_s.shape[1] > known:
            self.journal.keep(
                {"times": Times(times.labels, times.raw_s[:, known:], times.controls_s[:, known:]).to_dict()}
            )

    def _take(self, entry: Entry) -> None:
        if "counts" in entry:
            self.counts |= read_keys(entry, counts=dict[str, Counts])["counts"]
        else:
            found: Times = read_keys(entry, times=Times)["times"]
            if not len(found.labels) == len(found.raw_s) == len(found.controls_s):
                raise ScenarioError("times: a row for each label belongs here")
            self.times = found.after(self.times if self.times and self.times.labels == found.labels else None)

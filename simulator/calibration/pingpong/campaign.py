"""A measuring campaign: sizes and patterns in passes of random order, within a budget, every sample kept at once."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Protocol

import numpy as np

from simulator.base import documents, units
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import Machine
from simulator.base.randomness import stream
from simulator.calibration.bench.campaign import Budget, Progress, run_campaign, shuffled
from simulator.calibration.bench.journal import Entry, PointStore
from simulator.calibration.pingpong.ends import MAX_BATCHES, MAX_BYTES, MAX_ROUNDS

SAMPLE_S = 0.005
"""A sample goes on for about this long, or for one round."""
BATCH_S = 0.00025
"""It times as many rounds in one go as last about this long, far above the clock's grain, and takes their median."""
WARM_UP = 20
"""Messages before anything is timed: connections, buffers and clocks are at work then."""
LEAST_SAMPLES = 3
"""Fewest samples behind a median."""
MOST_SAMPLES = 40
ASKING_S = 0.01
"""What a sample costs besides its messages: commands, answers, keeping it."""
MARGIN = 1.3
"""What is predicted is exceeded by so much on a busy machine."""
EVERY_OTHER = 3
"""Once each pattern has its least samples, the first has so many more for each of the others': it is what is fitted."""
BUSY_LOAD = 0.5
"""Load average from which others are said to use the machine."""
_GRANTED = 3.0
"""A campaign that was thought to fit may take so many budgets before it gives up."""


def message_sizes(max_bytes: int) -> tuple[int, ...]:
    """Powers of two from 1 byte and the middle between them, up to `max_bytes`."""
    if not 1 <= max_bytes <= MAX_BYTES:
        raise ScenarioError(f"largest message is {max_bytes} bytes; give 1 to {MAX_BYTES}")
    powers = [2**power for power in range(max_bytes.bit_length())]
    return tuple(size for size in sorted({*powers, *(3 * power // 2 for power in powers[1:])}) if size <= max_bytes)


@dataclass(frozen=True)
class SizePoint:
    """All samples of one message size."""

    size_bytes: int
    samples_s: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Seconds per message, by pattern, in the order measured."""
    wanted: int = LEAST_SAMPLES
    """Samples of each pattern that a finished point has."""

    @property
    def key(self) -> float:
        """The size."""
        return self.size_bytes

    @property
    def finished(self) -> bool:
        """Whether each pattern has its least samples; more may follow."""
        return all(len(samples) >= self.wanted for samples in self.samples_s.values())

    def count(self, pattern: str) -> int:
        """How many samples a pattern has."""
        return len(self.samples_s.get(pattern, ()))

    def median_s(self, pattern: str) -> float:
        """Median seconds per message."""
        return float(np.median(self.samples_s[pattern]))

    def quartiles_s(self, pattern: str) -> tuple[float, float]:
        """The spread: lower and upper quartile."""
        low, high = np.quantile(self.samples_s[pattern], (0.25, 0.75))
        return float(low), float(high)

    def with_sample(self, pattern: str, value_s: float) -> "SizePoint":
        """With one more."""
        more = {pattern: (*self.samples_s[pattern], value_s)}
        return SizePoint(self.size_bytes, {**self.samples_s, **more}, self.wanted)

    def row(self) -> Entry:
        """What a journal keeps."""
        return {"size_bytes": self.size_bytes, "samples_s": {name: list(s) for name, s in self.samples_s.items()}}


class Sampler(Protocol):
    """What measures one sample: seconds per message."""

    def __call__(self, pattern: str, size_bytes: int, *, rounds: int, batches: int) -> float:
        """Time so many rounds in one go, so many times."""


@dataclass(frozen=True)
class Plan:
    """What a campaign measures."""

    sizes: Sequence[int]
    patterns: Sequence[str]
    budget_s: float
    seed: int
    further_sizes: frozenset[int] | None = None
    """Where the patterns but the first are measured; None for all sizes."""
    firm: bool = True
    """Whether a budget too small is refused; otherwise the least samples are taken however long that is."""

    @property
    def keys(self) -> list[tuple[str, int]]:
        """Every pattern at each of its sizes, ascending sizes."""
        return [(pattern, size) for size in self.sizes for pattern in self.patterns_at(size)]

    def patterns_at(self, size: int) -> Sequence[str]:
        """What is measured at a size."""
        return self.patterns if self.further_sizes is None or size in self.further_sizes else self.patterns[:1]


def open_store(
    path: Path | None, plan: Plan, *, subject: Mapping[str, object], machine: Machine | None
) -> PointStore[SizePoint]:
    """The points of a campaign on disk, those measured before among them; see `PointStore`."""

    def read(entry: Entry) -> SizePoint:
        found = documents.read(SizePoint, entry, wanted=LEAST_SAMPLES)
        if not all(0 < one < np.inf for one in itertools.chain(*found.samples_s.values())):
            raise ScenarioError("samples_s: give times above 0")
        patterns = plan.patterns_at(found.size_bytes)  # those of this plan, which may be another one
        return replace(found, samples_s={name: found.samples_s.get(name, ()) for name in patterns})

    return PointStore(path, read=read, subject=dict(subject) | {"patterns": list(plan.patterns)}, machine=machine)


def measure_sizes(
    plan: Plan, sampler: Sampler, store: PointStore[SizePoint], *, on_progress: Progress
) -> list[SizePoint]:
    """Measure within the budget, as often as it allows; what the store holds counts.

    Sizes and patterns are visited in a new random order in each pass, so that drift and bursts hit no size alone.
    """
    budget = Budget(plan.budget_s)
    points = {size: _known(store, size, plan.patterns_at(size)) for size in plan.sizes}
    once_s = _first_pass(plan, sampler, budget)
    _check_budget(plan, points, once_s, budget)

    def passes() -> Iterator[tuple[int, list[tuple[str, int]]]]:
        for number in range(MOST_SAMPLES):
            keys = shuffled(_keys(plan, number), stream(plan.seed, "ping-pong", number))
            missing = [key for key in keys if points[key[1]].count(key[0]) <= _earlier(plan, key[0], number)]
            yield number, missing  # the others were measured before an interruption

    def sample(key: tuple[str, int], number: int) -> None:
        pattern, size = key
        if plan.firm and budget.share > _GRANTED:
            raise CalibrationError(
                f"--budget: {units.show_duration(budget.spent_s)} spent of {units.show_duration(plan.budget_s)} with "
                "samples missing; end other work on this machine, or give a larger budget"
            )
        on_progress(f"{pattern.replace('_', ' ')}, pass {number + 1}", budget.share)
        rounds, batches = _batches(once_s[key])
        taken_s = sampler(pattern, size, rounds=rounds, batches=batches)
        once_s[key] = min(once_s[key], _round_s(pattern, taken_s))  # the first may have been slow
        points[size] = points[size].with_sample(pattern, taken_s)
        store.keep(points[size])

    run_campaign(
        passes(),
        sample,
        budget=budget,
        least=LEAST_SAMPLES,
        cost_s=lambda key: _cost_s(once_s[key]),
        journal=store.journal,
    )
    return list(points.values())


def _keys(plan: Plan, number: int) -> list[tuple[str, int]]:
    """Patterns and sizes of one pass."""
    return [key for key in plan.keys if _earlier(plan, key[0], number + 1) > _earlier(plan, key[0], number)]


def _earlier(plan: Plan, pattern: str, number: int) -> int:
    """How many samples of a pattern the passes before this one take."""
    if pattern == plan.patterns[0] or number <= LEAST_SAMPLES:
        return number
    return LEAST_SAMPLES + (number - LEAST_SAMPLES) // EVERY_OTHER


def machine_warnings(machine: Machine) -> list[str]:
    """A line where others use the machine, as it was looked at before measuring."""
    load = machine.load_average[0]
    if load <= BUSY_LOAD:
        return []
    return [f"busy machine: load average {load:.2f} on {len(machine.cores)} cores before the run, best run when idle"]


def _known(store: PointStore[SizePoint], size: int, patterns: Sequence[str]) -> SizePoint:
    return store.get(size) or SizePoint(size, dict.fromkeys(patterns, ()))


def _first_pass(plan: Plan, sampler: Sampler, budget: Budget) -> dict[tuple[str, int], float]:
    """Seconds that one round of each takes, ascending sizes: buffers, pages and clocks are warm afterwards."""
    once_s: dict[tuple[str, int], float] = {}
    sampler(plan.patterns[0], plan.sizes[0], rounds=1, batches=WARM_UP)
    ready_s = budget.spent_s  # the processes are up
    for index, size in enumerate(plan.sizes):
        for pattern in plan.patterns_at(size):
            message_s = sampler(pattern, size, rounds=1, batches=1)
            if message_s < SAMPLE_S / 10:
                message_s = min(message_s, sampler(pattern, size, rounds=1, batches=9))
            once_s[pattern, size] = _round_s(pattern, message_s)
        if plan.firm and not budget.holds() and index >= min(5, len(plan.sizes) - 1):
            per_byte_s = max(1e-9, once_s[plan.patterns[0], size] / size if size >= 2**20 else 0.0)
            rest = plan.sizes[index + 1 :]
            each_s = (budget.spent_s - ready_s) / (index + 1)
            pass_s = len(plan.sizes) * each_s + 2 * len(plan.patterns) * per_byte_s * sum(rest)
            raise _too_small(plan, budget, ready_s + (1 + MARGIN * LEAST_SAMPLES) * pass_s)
    return once_s


def _batches(round_s: float) -> tuple[int, int]:
    """How many rounds are timed in one go, and how often."""
    rounds = min(MAX_ROUNDS, max(1, ceil(BATCH_S / round_s)))
    return rounds, min(MAX_BATCHES, max(1, round(SAMPLE_S / (rounds * round_s))))


def _cost_s(round_s: float) -> float:
    """What a sample takes in all."""
    rounds, batches = _batches(round_s)
    return ASKING_S + rounds * batches * round_s


def _round_s(pattern: str, message_s: float) -> float:
    """A ping-pong is two messages, an exchange one in each direction at once."""
    return message_s if pattern == "exchange" else 2 * message_s


def _check_budget(
    plan: Plan, points: Mapping[int, SizePoint], once_s: Mapping[tuple[str, int], float], budget: Budget
) -> None:
    missing = {key: max(0, LEAST_SAMPLES - points[key[1]].count(key[0])) for key in once_s}
    rest_s = MARGIN * sum(missing[key] * _cost_s(seconds) for key, seconds in once_s.items())
    if plan.firm and not budget.holds(rest_s):
        raise _too_small(plan, budget, budget.spent_s + rest_s)


def _too_small(plan: Plan, budget: Budget, needed_s: float) -> ScenarioError:
    purpose = f"{LEAST_SAMPLES} samples of {len(plan.sizes)} sizes up to {units.show_size(plan.sizes[-1])}"
    return budget.refusal(needed_s, purpose, "; a smaller --max-bytes needs less")

"""A measuring campaign: message sizes in passes of random order, within a budget, every sample kept at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Protocol

import numpy as np

from simulator.base import units
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import Machine
from simulator.calibration.bench import visits
from simulator.calibration.bench.campaign import Budget, Progress, run_campaign
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
_GRANTED = 3.0
"""A campaign that was thought to fit may take so many budgets before it gives up."""


def message_sizes(max_bytes: int) -> tuple[int, ...]:
    """Powers of two from 1 byte and the middle between them, up to `max_bytes`."""
    if not 1 <= max_bytes <= MAX_BYTES:
        raise ScenarioError(f"largest message is {max_bytes} bytes; give 1 to {MAX_BYTES}")
    powers = [2**power for power in range(max_bytes.bit_length())]
    return tuple(size for size in sorted({*powers, *(3 * power // 2 for power in powers[1:])}) if size <= max_bytes)


@dataclass(frozen=True)
class Sample(visits.Visit):
    """One sample of one size."""

    message_s: float
    """Seconds one way."""

    @property
    def times_s(self) -> tuple[float, ...]:
        """See `visits.Visit`."""
        return (self.message_s,)


Samples = visits.Visits[Sample]


class Sampler(Protocol):
    """What measures one sample, of a size or of a cell by its place: seconds one way."""

    def __call__(self, which: int, /, *, rounds: int, batches: int) -> float:
        """Time so many round trips in one go, so many times."""


@dataclass(frozen=True)
class Plan:
    """What a campaign measures."""

    sizes: Sequence[int]
    """Of each cell; the same again where there is more to measure of it than one thing."""
    budget_s: float
    seed: int
    firm: bool = True
    """Whether a budget too small is refused; otherwise the least samples are taken however long that is."""


def open_store(path: Path | None, plan: Plan, *, subject: Mapping[str, object], machine: Machine | None) -> Samples:
    """The samples of a campaign on disk, those taken before among them; see `Visits`."""
    of = dict(subject) | {"sizes": list(plan.sizes)}
    return Samples(path, Sample, name="ping-pong", subject=of, machine=machine)


def measure_sizes(plan: Plan, sampler: Sampler, store: Samples, *, on_progress: Progress) -> dict[int, list[float]]:
    """Samples by size, as many as the budget allows; what the store holds counts."""
    found = measure_cells(plan, partial(_of_size, plan, sampler), store, on_progress=on_progress)
    return dict(zip(plan.sizes, found, strict=True))


def _of_size(plan: Plan, sampler: Sampler, cell: int, *, rounds: int, batches: int) -> float:
    return sampler(plan.sizes[cell], rounds=rounds, batches=batches)


def measure_cells(plan: Plan, sampler: Sampler, store: Samples, *, on_progress: Progress) -> list[list[float]]:
    """The same of what may have several cells of one size: samples of each, by a sampler that takes its place."""
    budget, count = Budget(plan.budget_s), len(plan.sizes)
    round_s = _first_pass(plan, sampler, budget)
    missing = np.maximum(0, LEAST_SAMPLES - store.done(count))
    rest_s = MARGIN * sum(often * _cost_s(each) for often, each in zip(missing.tolist(), round_s, strict=True))
    if plan.firm and not budget.holds(rest_s):
        raise _too_small(plan, budget, budget.spent_s + rest_s)

    def sample(cell: int, number: int) -> None:
        if plan.firm and budget.share > _GRANTED:
            raise CalibrationError(
                f"--budget: {units.show_duration(budget.spent_s)} spent of {units.show_duration(plan.budget_s)} with "
                "samples missing; end other work on this machine, or give a larger budget"
            )
        on_progress(f"messages, pass {number + 1}", budget.share)
        rounds, batches = _batches(round_s[cell])
        taken_s = sampler(cell, rounds=rounds, batches=batches)
        store.keep(Sample(number, cell, _cost_s(round_s[cell]), taken_s))
        round_s[cell] = min(round_s[cell], 2 * taken_s)  # the first may have been slow

    run_campaign(
        store.passes(count, most=MOST_SAMPLES, seed=plan.seed),
        sample,
        budget=budget,
        least=LEAST_SAMPLES,
        cost_s=lambda cell: _cost_s(round_s[cell]),
        journal=store.journal,
    )
    found: list[list[float]] = [[] for _ in plan.sizes]
    for one in store.made:
        found[one.cell].append(one.message_s)
    return found


def _first_pass(plan: Plan, sampler: Sampler, budget: Budget) -> list[float]:
    """Seconds of a round trip of each, ascending sizes: buffers, pages and clocks are warm afterwards."""
    found: list[float] = []
    sampler(0, rounds=1, batches=WARM_UP)
    ready_s = budget.spent_s  # the processes are up
    for index, size in enumerate(plan.sizes):
        message_s = sampler(index, rounds=1, batches=1)
        if message_s < SAMPLE_S / 10:
            message_s = min(message_s, sampler(index, rounds=1, batches=9))
        found.append(2 * message_s)
        if plan.firm and not budget.holds() and index >= min(5, len(plan.sizes) - 1):
            per_byte_s = max(1e-9, found[-1] / size if size >= 2**20 else 0.0)
            each_s = (budget.spent_s - ready_s) / (index + 1)
            pass_s = len(plan.sizes) * each_s + 2 * per_byte_s * sum(plan.sizes[index + 1 :])
            raise _too_small(plan, budget, ready_s + (1 + MARGIN * LEAST_SAMPLES) * pass_s)
    return found


def _batches(round_s: float) -> tuple[int, int]:
    """How many rounds are timed in one go, and how often."""
    rounds = min(MAX_ROUNDS, max(1, ceil(BATCH_S / round_s)))
    return rounds, min(MAX_BATCHES, max(1, round(SAMPLE_S / (rounds * round_s))))


def _cost_s(round_s: float) -> float:
    """What a sample takes in all."""
    rounds, batches = _batches(round_s)
    return ASKING_S + rounds * batches * round_s


def _too_small(plan: Plan, budget: Budget, needed_s: float) -> ScenarioError:
    purpose = f"{LEAST_SAMPLES} samples of {len(plan.sizes)} sizes up to {units.show_size(plan.sizes[-1])}"
    return budget.refusal(needed_s, purpose, "; a smaller --max-bytes needs less")

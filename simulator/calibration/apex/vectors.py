"""Vector loops over the memory that Apex-MAP reads: what a swept word takes, from the first cache to past the last."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from simulator.base.machine import Machine
from simulator.calibration.apex.plan import SweepPlan
from simulator.calibration.apex.sweep import readers_of
from simulator.calibration.bench.campaign import Budget, Progress, no_progress, run_campaign
from simulator.models.memory.sweeps import Sweeps

PASSES = 5
"""Visits to each size; the median counts."""
LEAST_SIZES = 8
"""Sizes that are visited whatever the budget."""
WORDS = 2**23
"""Words that a visit reads at least, in whole sweeps."""
PAST_CACHE = 2
"""The largest M in last-level caches: beyond it nothing new is met."""
LEAST_SHARE = 0.1
"""Of the time of a pair of words, one read and one written, the least that writing is taken for."""


def measure_vectors(
    plan: SweepPlan, machine: Machine, *, budget_s: float, on_progress: Progress = no_progress
) -> Sweeps | None:
    """Sweep memory of 8 KiB to two last-level caches by vector loops; None where several processes read memory.

    Sizes are visited up and down in turn. Of a first pass that goes on beyond the budget, larger sizes are left out.

    Raises
    ------
    CalibrationError
        If the process ends.
    """
    if plan.over != "shared" or len(plan.cpus) > 1:
        return None
    sizes = _sizes(plan, machine)
    seen: dict[int, list[tuple[float, float]]] = {}

    def passes() -> Iterator[tuple[int, Sequence[int]]]:
        yield 0, sizes[:LEAST_SIZES]
        yield 1, sizes[LEAST_SIZES:]
        for number in range(1, PASSES):
            yield number, sorted(seen, reverse=number % 2 == 1)

    with readers_of(replace(plan, m_words=(plan.m_words[0], sizes[-1])), machine) as readers:
        budget = Budget(budget_s)

        def sample(m_words: int, _number: int) -> None:
            on_progress("vector loops", min(1.0, budget.share))
            seen.setdefault(m_words, []).append(readers.vectors(m_words, times=max(1, WORDS // m_words)))

        run_campaign(passes(), sample, budget=budget, least=1)
    return _sweeps(seen)


def _sizes(plan: SweepPlan, machine: Machine) -> list[int]:
    """Half octaves up to the largest M of the plan, and not far past the last cache."""
    most = plan.m_words[-1]
    if machine.last_level_cache_bytes:
        most = min(most, max(plan.m_words[0], PAST_CACHE * machine.last_level_cache_bytes // 8))
    return [m for power in plan.m_words for m in (power, 3 * power // 2) if m <= most]


def _sweeps(seen: dict[int, list[tuple[float, float]]]) -> Sweeps:
    sizes = sorted(seen)
    read_s, pair_s = np.array([np.median(seen[m], axis=0) for m in sizes]).T
    return Sweeps(np.array(sizes, dtype=np.float64), read_s, np.maximum(pair_s - read_s, LEAST_SHARE * pair_s))

"""Vector loops over the memory that Apex-MAP reads: what a swept word takes, from the first cache to past the last."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.base.machine import Machine
from simulator.calibration.apex.plan import SweepPlan
from simulator.calibration.apex.sweep import readers_of
from simulator.models.memory.model import Sweeps

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

Progress = Callable[[str, float], None]


def measure_vectors(
    plan: SweepPlan, machine: Machine, *, budget_s: float, on_progress: Progress | None = None
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
    with readers_of(replace(plan, m_words=(plan.m_words[0], sizes[-1])), machine) as readers:
        begin = time.monotonic()
        for number in range(PASSES):
            for m_words in sizes if number % 2 == 0 else sizes[::-1]:
                spent = time.monotonic() - begin
                if spent > budget_s and (len(seen) >= LEAST_SIZES or number):
                    break
                seen.setdefault(m_words, []).append(readers.vectors(m_words, times=max(1, WORDS // m_words)))
                if on_progress is not None:
                    on_progress("vector loops", min(1.0, spent / budget_s))
            sizes = sorted(seen)
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

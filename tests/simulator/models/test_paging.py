"""The level past RAM, by hand."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.memory import MemoryLevel, MemoryUse
from simulator.models.memory.levels import (
    ASSUMED,
    SwapTimes,
    levels_with_swap,
    paged_time_s,
    resident_levels,
    swap_on_disk,
)

CACHE = MemoryLevel("L3", 1000, 1e-9, 0.0, shared=True)
MEMORY = MemoryLevel("RAM", np.inf, 1e-8, 0.0)
SWAP = MemoryLevel("swap", np.inf, 1e-4, 1e-8)


def test_ram_gets_its_capacity_and_swap_behind_it():
    levels = levels_with_swap((CACHE, MEMORY), SwapTimes(1e-4, 1e-8), memory_bytes=4000)
    assert [(level.name, level.capacity_bytes, level.shared) for level in levels] == [
        ("L3", 1000, True),
        ("RAM", 4000, True),
        ("swap", np.inf, False),
    ]
    assert (levels[-1].latency_s, levels[-1].gap_s) == (1e-4, 1e-8)


def test_no_cache_holds_more_than_ram():
    levels = levels_with_swap((CACHE, MEMORY), ASSUMED, memory_bytes=400)
    times = paged_time_s(levels, MemoryUse(1.0, 1.0), [800])
    assert times.tolist() == pytest.approx([0.5 * 1e-9 + 0.5 * 1e-4])


def test_a_part_of_the_footprint_is_in_ram_as_often_as_the_whole():
    """Two of 4000 on 4000 of RAM: half of everything is in swap, also of the 1000 that are accessed."""
    levels = levels_with_swap((CACHE, MEMORY), ASSUMED, memory_bytes=4000)
    times = paged_time_s(levels, MemoryUse(1.0, 1.0, footprint_share=0.25), [4000, 4000])
    assert times.tolist() == pytest.approx([0.5 * 1e-9 + 0.5 * 1e-4] * 2)


def test_levels_that_name_swap_stay_and_speeds_were_measured_without_it():
    given = (CACHE, MemoryLevel("RAM", 4000, 1e-8, 0.0), SWAP)
    assert levels_with_swap(given, ASSUMED, memory_bytes=4000) == given
    assert resident_levels(given) == (CACHE, MEMORY)
    assert resident_levels((CACHE, MEMORY)) == (CACHE, MEMORY)


def test_swap_on_a_disk_brings_a_page_first():
    times = swap_on_disk(1e-3, 4.096e6)
    assert (times.latency_s, times.gap_s) == pytest.approx((2e-3, 8 / 4.096e6))
    with pytest.raises(ScenarioError, match="times of at least 0"):
        SwapTimes(-1.0, 0.0)

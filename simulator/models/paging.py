"""The level past RAM: what a page costs that was moved out to swap, and when processes meet it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from simulator.base.errors import ScenarioError
from simulator.models.memory.levels import WORD_BYTES, Floats, MemoryLevel, MemoryUse, shared_access_time_s

SWAP = "swap"
"""A last level of this name is the one past RAM; without it the last level is RAM itself."""
PAGE_BYTES = 4096
ASSUMED_LATENCY_S = 100e-6
"""Of a page from swap where nothing is known: one page read from a solid-state disk."""
ASSUMED_BYTES_PER_S = 500e6
RAM = MemoryLevel("RAM", math.inf, 0.0, 0.0, shared=True)
"""Where no levels are known: its own times are nothing beside those of swap."""


@dataclass(frozen=True)
class SwapTimes:
    """Latency and gap of the level past RAM."""

    latency_s: float
    """Seconds until the first word of a run is there: its page has been read."""
    gap_s: float
    """Seconds for each further word."""

    def __post_init__(self) -> None:
        if not (0 <= self.latency_s < math.inf and 0 <= self.gap_s < math.inf):
            found = f"platform: swap: latency {self.latency_s:g}, gap {self.gap_s:g} found"
            raise ScenarioError(f"{found}, at least 0 allowed")


ASSUMED = SwapTimes(ASSUMED_LATENCY_S, WORD_BYTES / ASSUMED_BYTES_PER_S)


def swap_on_disk(latency_s: float, bandwidth_bytes_per_s: float) -> SwapTimes:
    """Swap on a disk: a page for the first word of a run, then words as fast as the disk gives them."""
    return SwapTimes(latency_s + PAGE_BYTES / bandwidth_bytes_per_s, WORD_BYTES / bandwidth_bytes_per_s)


def resident_levels(levels: Sequence[MemoryLevel]) -> tuple[MemoryLevel, ...]:
    """The levels up to RAM, which here holds everything: those that speeds are measured on."""
    if len(levels) > 1 and levels[-1].name == SWAP:
        return (*levels[:-2], replace(levels[-2], capacity_bytes=math.inf))
    return tuple(levels)


def levels_with_swap(
    levels: Sequence[MemoryLevel], swap: SwapTimes, *, memory_bytes: float | None
) -> tuple[MemoryLevel, ...]:
    """The levels with RAM of a given capacity, which the processes of a node share, and swap behind it.

    Parameters
    ----------
    levels
        Where the last one is named `swap` they stay as they are; where there are none, RAM alone is taken.
    memory_bytes
        None: nothing is known of RAM's capacity, and the levels stay as they are.
    """
    if memory_bytes is None or (levels and levels[-1].name == SWAP):
        return tuple(levels)
    *nearer, ram = levels or (RAM,)
    full = replace(ram, capacity_bytes=float(memory_bytes), shared=True)
    return (*nearer, full, MemoryLevel(SWAP, math.inf, swap.latency_s, swap.gap_s))


def paged_time_s(levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
    """Seconds per word of processes on one node whose RAM does not hold them all; (process,).

    What a process accesses is in RAM as often as anything it holds: where `use` goes through a part of the footprint, a
    like part of its RAM is for that. What is in a cache is in RAM too, so no nearer level holds more.

    Parameters
    ----------
    levels
        The last but one is RAM, the last one swap.
    """
    held = use.footprint_share * levels[-2].capacity_bytes
    within = [replace(level, capacity_bytes=min(level.capacity_bytes, held)) for level in levels[:-1]]
    return shared_access_time_s((*within, levels[-1]), use, footprints_bytes)[1]

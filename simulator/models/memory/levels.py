"""Memory levels: how long an access takes on average, for any number of levels (Apex-MAP)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError

WORD_BYTES = 8
"""Of the words that Apex-MAP counts in: float64."""
SWEEP_WORDS = 4096.0
"""Runs of so many words, every place as likely as any other, stand for memory that is swept from end to end."""
SWAP = "swap"
"""A last level of this name is the one past RAM; without it the last level is RAM itself."""
PAGE_BYTES = 4096
ASSUMED_LATENCY_S = 100e-6
"""Of a page from swap where nothing is known: one page read from a solid-state disk."""
ASSUMED_BYTES_PER_S = 500e6


@dataclass(frozen=True)
class MemoryLevel:
    """A cache, main memory or swap, with given constants."""

    name: str
    capacity_bytes: float
    """Not looked at in the last level, which holds what is left."""
    latency_s: float
    """Seconds until the first word of a run is there."""
    gap_s: float
    shared: bool = False
    """Whether the PEs of a node have it together; otherwise each has its own."""

    def __post_init__(self) -> None:
        given = {"capacity": self.capacity_bytes, "latency": self.latency_s, "gap": self.gap_s}
        for field, value in given.items():
            if not value >= 0 or (field != "capacity" and math.isinf(value)):
                raise ScenarioError(f"platform: level {self.name}: {field}: {value:g} is not a number of at least 0")


@dataclass(frozen=True)
class MemoryUse:
    """How a kernel uses memory: accesses and their locality (Apex-MAP)."""

    accesses_per_unit: float
    """Words read or written per unit of volume."""
    alpha: float
    """Temporal locality: 1 is uniformly random, towards 0 the same places again and again."""
    run_words: float = 1.0
    """L: consecutive words of one access."""
    footprint_share: float = 1.0
    """M as a part of the whole footprint: what these accesses go through, where the rest is seldom touched."""
    written_per_unit: float = 0.0
    """Words that are written without being read. Each is two of the accesses: its line is fetched before and written
    back later. Looked at only where a memory model knows how long swept words take."""

    def __post_init__(self) -> None:
        if not (self.accesses_per_unit >= 0 and 0 < self.alpha <= 1 and self.run_words >= 1):
            said = f"accesses {self.accesses_per_unit:g}, alpha {self.alpha:g}, runs {self.run_words:g}"
            wanted = "accesses of at least 0, alpha above 0 and up to 1, runs of at least 1 word"
            raise ScenarioError(f"application: memory: {said}; give {wanted}")
        if not 0 < self.footprint_share <= 1:
            share = self.footprint_share
            raise ScenarioError(f"application: memory: footprint_share: {share:g} is not above 0 and up to 1")
        if not 0 <= 2 * self.written_per_unit <= self.accesses_per_unit:
            most = f"half the {self.accesses_per_unit:g} accesses_per_unit"
            raise ScenarioError(
                f"application: memory: written_per_unit: {self.written_per_unit:g} is not 0 up to {most}"
            )

    @property
    def swept(self) -> bool:
        """Whether memory is swept from end to end."""
        return self.alpha == 1.0 and self.run_words >= SWEEP_WORDS

    @property
    def read_per_unit(self) -> float:
        """Words read per unit of volume."""
        return self.accesses_per_unit - 2 * self.written_per_unit


def access_time_s(
    levels: Sequence[MemoryLevel], use: MemoryUse, footprint_bytes: ArrayLike, *, capacities_bytes: ArrayLike
) -> Floats:
    """Average seconds per word: `sum over k of (P_k - P_(k-1)) * (l_k + g_k*(L-1)) / L`, `P_k = min(1, c_k/M)^alpha`.

    Apex-MAP's model 3 for any number of levels (apex-map-memory-models; EQUATIONS section 5).

    `footprint_bytes`: of the process; M is `use.footprint_share` of it; any shape.
    `capacities_bytes`: c of all levels but the last for each footprint, a level further in counted where it is larger;
    shape of `footprint_bytes`, then (levels - 1).
    """
    footprint = use.footprint_share * np.asarray(footprint_bytes, dtype=np.float64)[..., np.newaxis]
    capacities = np.maximum.accumulate(np.asarray(capacities_bytes, dtype=np.float64), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(footprint > 0, np.minimum(1.0, capacities / footprint), 1.0) ** use.alpha
    edge = np.ones((*footprint.shape[:-1], 1))
    shares = np.diff(np.concatenate((0 * edge, inside, edge), axis=-1), axis=-1)
    run = use.run_words
    word_s = np.array([(level.latency_s + level.gap_s * (run - 1)) / run for level in levels])
    return np.asarray(shares @ word_s)


def shared_access_time_s(
    levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike
) -> tuple[Floats, Floats]:
    """Seconds per word of processes on one node, each alone and all together.

    Alone a process has every level; together each has of a shared level the part that its footprint is of all.

    `footprints_bytes`: of the processes on the node; (process,).
    """
    footprints = np.asarray(footprints_bytes, dtype=np.float64)
    whole = np.array([level.capacity_bytes for level in levels[:-1]])
    alone = np.broadcast_to(whole, (footprints.size, whole.size))
    part = footprints / footprints.sum() if footprints.sum() > 0 else np.ones(footprints.size)
    shared = np.array([level.shared for level in levels[:-1]], dtype=bool)
    together = np.where(shared, part[:, np.newaxis] * whole, whole)
    times = (access_time_s(levels, use, footprints, capacities_bytes=c) for c in (alone, together))
    alone_s, together_s = times
    return alone_s, together_s


RAM = MemoryLevel("RAM", math.inf, 0.0, 0.0, shared=True)
"""Where no levels are known: its own times are nothing against those of swap."""


@dataclass(frozen=True)
class SwapTimes:
    """Latency and gap of the level past RAM."""

    latency_s: float
    """Seconds until the first word of a run is there: its page has been read."""
    gap_s: float

    def __post_init__(self) -> None:
        if not (0 <= self.latency_s < math.inf and 0 <= self.gap_s < math.inf):
            said = f"latency {self.latency_s:g} s, gap {self.gap_s:g} s"
            raise ScenarioError(f"platform: swap: {said}; give finite times of at least 0")


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

    `memory_bytes`: none: nothing is known of RAM's capacity, and the levels stay as they are.
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
    """
    held = use.footprint_share * levels[-2].capacity_bytes
    within = [replace(level, capacity_bytes=min(level.capacity_bytes, held)) for level in levels[:-1]]
    return shared_access_time_s((*within, levels[-1]), use, footprints_bytes)[1]

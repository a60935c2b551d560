"""Speed predicted from memory levels: a unit of volume takes its compute part plus accesses as slow as Apex-MAP says.

`t(M) = c + w * T(M, alpha, L)`, with `w` words per unit and `T` of `memory.access_time_s`. The compute part `c` is
what a unit takes beyond the words it touches. Where it is not given, it is inferred from one speed: that at a size
whose data lie in the nearest level (`w * T` of that level is then part of the time known).

How the built-in kernels use memory:

- `triad` (a = b + s c, 2 operations for each element): b and c are read, and the line of a is fetched before it is
  written and written back later: 4 words for 2 operations. The vectors are swept from end to end: every place is as
  likely as any other (alpha 1), and one access is as long as a vector. L = 4096 words stands for that, the longest run
  that a calibration reads.
- `matmul`, also called `naive_matmul` (i, k, j: c[i, j] += a[i, k] b[k, j]): B is swept from end to end for each i, 1
  word for 2 operations; one row of C stays in the nearest level for a whole sweep, and A passes once: both belong to
  the compute part. So M is B alone, a third of what is stored (more of it where a process has few rows: then say so in
  the scenario); alpha 1 and L = 4096 as above. No column is accessed with a stride here: the loop over j is innermost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.errors import ScenarioError
from simulator.models.memory.levels import WORD_BYTES, Floats, MemoryLevel, MemoryUse, access_time_s
from simulator.models.speed import SpeedBand

LONG_RUN_WORDS = 4096.0
_MATMUL = MemoryUse(0.5, 1.0, LONG_RUN_WORDS, footprint_share=1 / 3)
KERNEL_USES: Mapping[str, MemoryUse] = MappingProxyType(
    {"matmul": _MATMUL, "naive_matmul": _MATMUL, "triad": MemoryUse(2.0, 1.0, LONG_RUN_WORDS)}
)
"""How kernels of ours use memory; per floating point operation."""
UNKNOWN_USE = MemoryUse(1.0, 1.0, LONG_RUN_WORDS)
"""Assumed, with a warning, where processes page and nothing is known of their accesses: a word per unit, swept."""
PER_OCTAVE = 4


def alone_s(levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
    """Seconds per word of a process that has every level for itself; of the shape of `footprints_bytes`."""
    footprints = np.asarray(footprints_bytes, dtype=np.float64)
    whole = np.array([level.capacity_bytes for level in levels[:-1]])
    return access_time_s(
        levels, use, footprints, capacities_bytes=np.broadcast_to(whole, (*footprints.shape, whole.size))
    )


def compute_part_s(
    levels: Sequence[MemoryLevel], use: MemoryUse, footprint_bytes: float, *, speed: float
) -> tuple[float, bool]:
    """Seconds of a unit beyond its accesses, from a speed at one footprint, at least 0; and whether 0 cut it off.

    Cut off, the accesses alone are said to take longer than all was measured to take: the kernel overlaps them.
    """
    rest = 1 / speed - use.accesses_per_unit * float(alone_s(levels, use, footprint_bytes))
    return max(0.0, rest), rest < 0


def predicted_speeds(
    levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike, *, flop_rate: float
) -> Floats:
    """Speed at footprints from the speed with all data in the nearest level; of the shape of `footprints_bytes`.

    Time per unit is `1 / flop_rate + w (T(M) - T(nearest level))`: the compute part is what the flop rate leaves.

    Parameters
    ----------
    flop_rate
        Units per second with data in the nearest level.

    Raises
    ------
    ScenarioError
        If there are no levels.
    """
    if not levels:
        raise ScenarioError("platform: levels: none found, memory levels of the node allowed for a predicted speed")
    farther_s = alone_s(levels, use, footprints_bytes) - alone_s(levels, use, 0.0)
    return np.asarray(1 / (1 / flop_rate + use.accesses_per_unit * farther_s))


def speeds_from(word_s: Floats, use: MemoryUse, *, reference: int, speed: float) -> Floats:
    """Speeds where accesses take `word_s` each, from the speed at one of these places, and none above that; (n,).

    The speed known is the fastest: accesses that are nearer than there are hidden behind computing, as it shows.

    Parameters
    ----------
    word_s
        Seconds per word at n footprints.
    reference
        Which of them the speed is known at.
    """
    return np.asarray(1 / (1 / speed + use.accesses_per_unit * np.maximum(0.0, word_s - word_s[reference])))


def predicted_band(levels: Sequence[MemoryLevel], use: MemoryUse, *, flop_rate: float, half_width: float) -> SpeedBand:
    """A band around predicted speeds, over sizes from a quarter of the nearest level to four times the farthest edge.

    Parameters
    ----------
    half_width
        Its ends are this share of the middle away from it.
    """
    sizes = _grid(levels, use)
    mid = predicted_speeds(levels, use, WORD_BYTES * sizes, flop_rate=flop_rate)
    return SpeedBand(sizes, mid * (1 - half_width), mid, mid * (1 + half_width))


@dataclass(frozen=True)
class Rescaled:
    """A measured band taken to other levels, and how far that goes."""

    band: SpeedBand
    compute_part_s: float
    """Seconds of a unit beyond its accesses, as inferred at the fastest measured size."""
    cut_off: bool
    """Whether the compute part came out below 0 and was taken as 0."""
    factors: Floats
    """New speed over measured speed at the sizes of `band`."""
    memory_shares: Floats
    """Part of the predicted time on the new levels that accesses take, at the sizes of `band`."""


def rescaled(
    band: SpeedBand, use: MemoryUse, *, measured: Sequence[MemoryLevel], changed: Sequence[MemoryLevel]
) -> Rescaled:
    """A band measured on some levels, on others: at each size times (predicted time there) / (predicted time here).

    Knots are added between the band's own and out to four times the farthest edge of a level, where straight lines
    would miss what the levels do.
    """
    fastest = int(np.argmax(band.mid))
    compute_s, cut_off = compute_part_s(
        measured, use, WORD_BYTES * float(band.sizes[fastest]), speed=float(band.mid[fastest])
    )
    grid = _grid((*measured[:-1], *changed[:-1], changed[-1]), use)
    if band.sizes.size > 1:
        grid = grid[(grid >= band.sizes[0]) & ((grid <= band.sizes[-1]) | (band.mid[-1] > 0))]
        grid = np.union1d(grid, band.sizes)
    before, after = (
        compute_s + use.accesses_per_unit * alone_s(levels, use, WORD_BYTES * grid) for levels in (measured, changed)
    )
    factors = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    low, mid, high = (np.interp(grid, band.sizes, curve) * factors for curve in (band.low, band.mid, band.high))
    memory_s = after - compute_s
    shares = np.divide(memory_s, after, out=np.zeros_like(after), where=after > 0)
    return Rescaled(SpeedBand(grid, low, mid, high), compute_s, cut_off, factors, shares)


def _grid(levels: Sequence[MemoryLevel], use: MemoryUse) -> Floats:
    """Problem sizes across the edges of levels, and the edges themselves."""
    edges = np.array([level.capacity_bytes for level in levels[:-1] if 0 < level.capacity_bytes < np.inf])
    edges = edges / (WORD_BYTES * use.footprint_share)
    if not edges.size:
        return np.ones(1)
    first, last = max(1.0, edges.min() / 4), max(4.0, 4 * edges.max())
    count = int(np.ceil(PER_OCTAVE * np.log2(last / first))) + 1
    return np.unique(np.round(np.concatenate((np.geomspace(first, last, count), np.maximum(1.0, edges)))))

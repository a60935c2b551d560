"""Speed predicted from memory: a unit of volume takes its compute part and accesses as slow as Apex-MAP says.

`t(M) = c + w * T(M, alpha, L)`, with `w` words per unit and `T` of `memory.access_time_s`. The compute part `c` is
what a unit takes beyond the words it touches, inferred from one speed where it is not given. Where a whole memory model
is known, its correction belongs to `T`; memory that is swept takes what the model's sweeps took, and overlaps with
computing: `t = (c^p + m^p)^(1/p)` with m for its words and p = `OVERLAP`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt
from simulator.models.memory.levels import (
    SWEEP_WORDS,
    WORD_BYTES,
    MemoryLevel,
    MemoryUse,
    access_time_s,
)
from simulator.models.neighbours import KernelUses
from simulator.models.speed import SpeedBand

if TYPE_CHECKING:
    from simulator.models.memory.model import MemoryModel

_MATMUL = MemoryUse(0.5, 1.0, SWEEP_WORDS, footprint_share=1 / 3)
KERNEL_USES: Mapping[str, MemoryUse] = MappingProxyType(
    {"matmul": _MATMUL, "naive_matmul": _MATMUL, "triad": MemoryUse(2.0, 1.0, SWEEP_WORDS, written_per_unit=0.5)}
)
"""How kernels of ours use memory; per floating point operation.

`triad` sweeps its vectors from end to end (alpha 1, L = 4096 words, the longest run that a calibration reads): b and c
are read, the line of a is fetched before it is written back. `matmul` (i, k, j) sweeps B for each i, a third of what is
stored; a row of C stays in the nearest level and A passes once: both belong to the compute part.
"""
UNKNOWN_USE = MemoryUse(1.0, 1.0, SWEEP_WORDS)
"""Assumed, with a warning, where processes page and nothing is known of their accesses: a word per unit, swept."""
PER_OCTAVE = 4
_HARDLY_MORE = 1 + 1e-9
"""What the capacity of a level that holds nothing is over that of the level before it."""
_FAR = 100.0
"""Logarithm of a factor that no size is beyond."""
OVERLAP = 3.0
"""Exponent p with which computing and the words of a sweep overlap: 1 is one after the other, 64 the longer of both."""


def alone_s(levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
    """Seconds per word of a process that has every level for itself; of the shape of `footprints_bytes`."""
    footprints = np.asarray(footprints_bytes, dtype=np.float64)
    whole = np.array([level.capacity_bytes for level in levels[:-1]])
    return access_time_s(
        levels, use, footprints, capacities_bytes=np.broadcast_to(whole, (*footprints.shape, whole.size))
    )


def accesses_s(
    levels: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: ArrayLike, model: "MemoryModel | None" = None
) -> Floats:
    """Seconds of a unit's accesses, alone: by the model where it says more than levels; shape of `footprints_bytes`."""
    if model is not None and model.knows_more(use):
        return model.unit_s(use, footprints_bytes)
    return use.accesses_per_unit * alone_s(levels, use, footprints_bytes)


def exponent_of(use: MemoryUse, model: "MemoryModel | None") -> float:
    """How a unit's accesses and its compute part add up: 1, or `OVERLAP` where what sweeps take was measured."""
    return OVERLAP if model is not None and model.knows_sweeps(use) else 1.0


def compute_part_s(accesses: float, *, speed: float, exponent: float = 1.0) -> tuple[float, bool]:
    """Seconds of a unit without its accesses, from a speed and theirs there, at least 0; and whether 0 cut it off.

    Cut off, the accesses alone are said to take longer than all was measured to take: the kernel overlaps them.
    """
    rest = (1 / speed) ** exponent - accesses**exponent
    return max(0.0, rest) ** (1 / exponent), rest < 0


def unit_times_s(footprints_bytes: ArrayLike, accesses: Floats, *, at: int, known_s: float, exponent: float) -> Floats:
    """Seconds of a unit at footprints from those at one of them, none of them less; (n,).

    The time known is the shortest: accesses that are nearer than there are hidden behind computing, as it shows.

    `accesses`: seconds of a unit's accesses at the footprints; (n,).
    """
    if exponent == 1.0:
        return np.asarray(known_s + np.maximum(0.0, accesses - accesses[at]))
    footprints = np.asarray(footprints_bytes, dtype=np.float64)
    compute, _ = compute_part_s(float(accesses[at]), speed=1 / known_s, exponent=exponent)
    times_s = np.maximum(known_s, (compute**exponent + accesses**exponent) ** (1 / exponent))
    return np.where(footprints <= footprints[at], known_s, times_s)


def predicted_speeds(
    levels: Sequence[MemoryLevel],
    use: MemoryUse,
    footprints_bytes: ArrayLike,
    *,
    flop_rate: float,
    model: "MemoryModel | None" = None,
) -> Floats:
    """Speed at footprints from the speed with all data in the nearest level; of the shape of `footprints_bytes`.

    Time per unit is `1 / flop_rate + w (T(M) - T(nearest level))`: the compute part is what the flop rate leaves. Where
    a model says more of these accesses than its levels, `w T` is what it says, and sweeps overlap with computing.

    `flop_rate`: units per second with data in the nearest level.
    """
    if not levels:
        raise ScenarioError("platform: a predicted speed needs the memory levels of the node; give some")
    if model is not None and model.knows_more(use):
        flat = np.asarray(footprints_bytes, dtype=np.float64)
        every = np.concatenate(([0.0], flat.reshape(-1)))
        accesses, exponent = model.unit_s(use, every), exponent_of(use, model)
        times_s = unit_times_s(every, accesses, at=0, known_s=1 / flop_rate, exponent=exponent)
        return np.asarray(1 / times_s[1:].reshape(flat.shape))
    farther_s = alone_s(levels, use, footprints_bytes) - alone_s(levels, use, 0.0)
    return np.asarray(1 / (1 / flop_rate + use.accesses_per_unit * farther_s))


def predicted_band(
    levels: Sequence[MemoryLevel],
    use: MemoryUse,
    *,
    flop_rate: float,
    half_width: float,
    model: "MemoryModel | None" = None,
) -> SpeedBand:
    """A band around predicted speeds, over sizes from a quarter of the nearest level to four times the farthest edge.

    `half_width`: its ends are this share of the middle away from it.
    """
    sizes = _grid(levels, use, model)
    mid = predicted_speeds(levels, use, WORD_BYTES * sizes, flop_rate=flop_rate, model=model)
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
    band: SpeedBand,
    use: MemoryUse,
    *,
    measured: Sequence[MemoryLevel],
    changed: Sequence[MemoryLevel],
    model: "MemoryModel | None" = None,
) -> Rescaled:
    """A band measured on some levels, on others: at each size times (predicted time there) / (predicted time here).

    Knots are added between the band's own and out to four times the farthest edge of a level, where straight lines
    would miss what the levels do.
    """
    fastest, exponent = int(np.argmax(band.mid)), exponent_of(use, model)
    known_s = float(accesses_s(measured, use, WORD_BYTES * float(band.sizes[fastest]), model))
    compute_s, cut_off = compute_part_s(known_s, speed=float(band.mid[fastest]), exponent=exponent)
    grid = _grid((*measured[:-1], *changed[:-1], changed[-1]), use, model)
    if band.sizes.size > 1:
        grid = grid[(grid >= band.sizes[0]) & ((grid <= band.sizes[-1]) | (band.mid[-1] > 0))]
        grid = np.union1d(grid, band.sizes)
    footprints = WORD_BYTES * grid
    memory_s = accesses_s(measured, use, footprints, model), moved_s(measured, changed, use, footprints, model)
    before, after = ((compute_s**exponent + seconds**exponent) ** (1 / exponent) for seconds in memory_s)
    factors = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    low, mid, high = (np.interp(grid, band.sizes, curve) * factors for curve in (band.low, band.mid, band.high))
    shares = np.divide(memory_s[1], after, out=np.zeros_like(after), where=after > 0)
    moved = SpeedBand(grid, low, mid, high, doubt=band.doubt, noise=band.noise, source=band.source)
    if moved.stated and model is not None and model.doubt is not None:
        moved = _doubting_memory(moved, use, model.doubt, np.abs(np.log(factors)), shares)
    return Rescaled(moved, compute_s, cut_off, factors, shares)


def _doubting_memory(band: SpeedBand, use: MemoryUse, memory: Doubt, changed: Floats, shares: Floats) -> SpeedBand:
    """With the doubt of accesses, by their share of the time, where changed levels changed the speed."""
    words = use.footprint_share * band.sizes
    added = memory.at(words) * shares * np.minimum(1.0, changed / np.log(2))
    known = np.zeros(band.sizes.size) if band.doubt is None else band.doubt.at(band.sizes)
    sd = np.hypot(known, added)
    rows = band.sizes.size > 0 and sd > 0
    part = float(np.mean(np.divide(added**2, sd**2, out=np.zeros_like(sd), where=rows)))
    sources = {} if band.doubt is None else {name: share * (1 - part) for name, share in band.doubt.sources.items()}
    common = 1.0 if band.doubt is None else band.doubt.common
    sources |= {"memory": part} if part else {}
    return replace(band, doubt=Doubt(band.sizes, sd, common * (1 - part) + part, sources)).shown()


def moved_s(
    measured: Sequence[MemoryLevel],
    changed: Sequence[MemoryLevel],
    use: MemoryUse,
    footprints_bytes: Floats,
    model: "MemoryModel | None",
) -> Floats:
    """Seconds of a unit's accesses on changed levels; (n,).

    What a model says beyond its levels belongs to places between their edges, and moves with them: it is asked at the
    footprint that lies between the old edges where this one lies between the new ones, on logarithms. Latencies and
    gaps that changed come in as the levels' own time here over that there.
    """
    if model is None or not model.knows_more(use):
        return accesses_s(changed, use, footprints_bytes)
    there = _between_old_edges(measured, changed, use, footprints_bytes)
    here_s, there_s = alone_s(changed, use, footprints_bytes), alone_s(measured, use, there)
    return model.unit_s(use, there) * np.divide(here_s, there_s, out=np.ones_like(here_s), where=there_s > 0)


def cache_uses(
    band: SpeedBand,
    use: MemoryUse,
    *,
    measured: Sequence[MemoryLevel],
    changed: Sequence[MemoryLevel],
    model: "MemoryModel | None" = None,
) -> KernelUses:
    """What a kernel takes of the shared caches among levels, and what its time grows by without one, over problem size.

    It goes through its working set; without a cache, what that held is as far as the level behind it.
    """
    sizes = _grid(changed, use)
    speeds = np.asarray(band.speed(sizes))
    sizes, speeds = sizes[speeds > 0], speeds[speeds > 0]
    footprints, exponent = WORD_BYTES * sizes, exponent_of(use, model)
    memory_s = moved_s(measured, changed, use, footprints, model)
    rest = np.maximum(0.0, (1 / speeds) ** exponent - memory_s**exponent)
    alone_unit_s = (rest + memory_s**exponent) ** (1 / exponent)
    demands, sensitivities = {}, {}
    for place, level in enumerate(changed[:-1]):
        if level.shared and 0 < level.capacity_bytes < np.inf:
            nearer = changed[place - 1].capacity_bytes if place else WORD_BYTES
            none = replace(level, capacity_bytes=nearer * _HARDLY_MORE)
            without = (*changed[:place], none, *changed[place + 1 :])
            farther_s = np.maximum(memory_s, moved_s(measured, without, use, footprints, model))
            demands[level.name] = use.footprint_share * footprints
            sensitivities[level.name] = (rest + farther_s**exponent) ** (1 / exponent) / alone_unit_s - 1
    return KernelUses(sizes, demands, sensitivities)


def _between_old_edges(
    measured: Sequence[MemoryLevel], changed: Sequence[MemoryLevel], use: MemoryUse, footprints_bytes: Floats
) -> Floats:
    """Footprints that lie between the old edges as these between the new; these where edges have no counterparts."""
    old, new = (np.array([level.capacity_bytes for level in levels[:-1]]) for levels in (measured, changed))
    paired = old.size == new.size > 0 and all(c[0] > 0 and np.all(np.diff(c) > 0) for c in (old, new))
    if not paired or np.array_equal(old, new):
        return footprints_bytes
    old, new = (np.log(edges / use.footprint_share) for edges in (old, new))
    # Beyond the outer edges all is as far from them as it is here.
    old, new = (np.concatenate(([edges[0] - _FAR], edges, [edges[-1] + _FAR])) for edges in (old, new))
    return np.asarray(np.exp(np.interp(np.log(np.maximum(footprints_bytes, 1.0)), new, old)))


def _grid(levels: Sequence[MemoryLevel], use: MemoryUse, model: "MemoryModel | None" = None) -> Floats:
    """Problem sizes across the edges of levels, and the edges themselves; and those at which sweeps were measured."""
    edges = np.array([level.capacity_bytes for level in levels[:-1] if 0 < level.capacity_bytes < np.inf])
    edges = edges / (WORD_BYTES * use.footprint_share)
    if not edges.size:
        return np.ones(1)
    first, last = max(1.0, edges.min() / 4), max(4.0, 4 * edges.max())
    count = int(np.ceil(PER_OCTAVE * np.log2(last / first))) + 1
    sizes = [np.geomspace(first, last, count), np.maximum(1.0, edges)]
    if model is not None and use.swept and model.sweeps is not None:
        sizes.append(np.maximum(1.0, model.sweeps.m_words / use.footprint_share))
    return np.unique(np.round(np.concatenate(sizes)))

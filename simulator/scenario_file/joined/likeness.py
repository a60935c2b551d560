"""Which calibrated nodes are of one kind, by the speed bands that were measured on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.models.doubt import Doubt, Noise
from simulator.models.speed import SpeedBand
from simulator.scenario_file.joined.inputs import CalibratedNode

Floats = NDArray[np.float64]

RULE = (
    "two nodes are alike if they have as many PEs, the same kernels, memory within 10 %, and for each kernel, at nine"
    " tenths of the sizes that both cover, bands that overlap about their middles (distance at most 1) and middles at"
    " most 20 % apart; a kind holds nodes that are all alike each other, taken in the order given"
)
LARGEST_DISTANCE = 1.0
LARGEST_APART = 0.20
"""Bands measured under load are wide, and overlap with nearly anything: middles may not lie further apart."""
MEMORY_APART = 0.10
COMPARED_SIZES = 64
SHARE = 0.9
LEAST_HALF_WIDTH = 0.01
"""Uncertainty that a curve without width is given."""
MOST_KNOTS = 96


@dataclass(frozen=True)
class Likeness:
    """How far two nodes are apart."""

    distance: float
    """Difference of the logarithms of the middles over the sum of the bands' half widths; infinite without common
    sizes or kernels."""
    apart: float
    """How many times faster the faster one is, minus 1."""
    reason: str | None
    """Why they are not alike; None if they are."""

    @property
    def alike(self) -> bool:
        """Whether they may be of one kind."""
        return self.reason is None


def likeness(first: CalibratedNode, second: CalibratedNode) -> Likeness:
    """Compare two nodes by `RULE`."""
    kernels = sorted(first.speeds.keys() & second.speeds.keys())
    pairs = [band_distance(first.speeds[kernel], second.speeds[kernel]) for kernel in kernels]
    distance = max((pair[0] for pair in pairs), default=float("inf"))
    apart = max((pair[1] for pair in pairs), default=float("inf"))
    return Likeness(distance, apart, _reason(first, second, distance, apart))


def _reason(first: CalibratedNode, second: CalibratedNode, distance: float, apart: float) -> str | None:
    """The first part of `RULE` that two nodes break."""
    pes = first.pe_count or 1, second.pe_count or 1
    memory = first.memory_bytes or 0, second.memory_bytes or 0
    known = all(memory)
    checks = (
        (first.speeds.keys() != second.speeds.keys(), "different kernels"),
        (pes[0] != pes[1], f"{pes[0]} and {pes[1]} PEs"),
        (known and max(memory) > (1 + MEMORY_APART) * min(memory), f"{memory[0]} and {memory[1]} bytes of memory"),
        (distance == float("inf"), "no problem size that both cover"),
        (distance > LARGEST_DISTANCE, f"bands do not overlap: distance {distance:.2g}, {LARGEST_DISTANCE:g} allowed"),
        (apart > LARGEST_APART, f"middles {apart:.0%} apart, {LARGEST_APART:.0%} allowed"),
    )
    return next((reason for breaks, reason in checks if breaks), None)


def band_distance(first: SpeedBand, second: SpeedBand) -> tuple[float, float]:
    """Distance of two bands, and how far their middles are apart, each undercut at nine tenths of the common sizes.

    At one size the distance is `|ln m1 - ln m2| / (h1 + h2)`, with `h` half of `ln high - ln low`, at least 0.01. Where
    a speed is 0, at the memory limit, nothing is compared. Infinite without a common range.
    """
    low, high = max(first.sizes[0], second.sizes[0]), min(first.sizes[-1], second.sizes[-1])
    if first.sizes.size == 1 or second.sizes.size == 1:  # a constant speed covers every size
        low, high = _constant_range(first, second)
    if low > high:
        return float("inf"), float("inf")
    sizes = np.geomspace(low, high, COMPARED_SIZES)
    curves = [
        (band.speed(sizes, position=0.0), band.speed(sizes), band.speed(sizes, position=1.0))
        for band in (first, second)
    ]
    known = np.all([curve[0] > 0 for curve in curves], axis=0)
    if not np.any(known):
        return float("inf"), float("inf")
    halves = [np.maximum(LEAST_HALF_WIDTH, np.log(top[known] / bottom[known]) / 2) for bottom, _, top in curves]
    middles = np.abs(np.log(curves[0][1][known] / curves[1][1][known]))
    distance = float(np.quantile(middles / (halves[0] + halves[1]), SHARE))
    return distance, float(np.expm1(np.quantile(middles, SHARE)))


def _constant_range(first: SpeedBand, second: SpeedBand) -> tuple[float, float]:
    """The range of the band that is none of one size; that size where both are."""
    wide = max((first, second), key=lambda band: band.sizes.size)
    return float(wide.sizes[0]), float(wide.sizes[-1])


def kinds_of(nodes: Sequence[CalibratedNode]) -> list[list[int]]:
    """Indices of the nodes of each kind: a node joins the first kind whose nodes it is all alike."""
    kinds: list[list[int]] = []
    for number, node in enumerate(nodes):
        for kind in kinds:
            if all(likeness(nodes[other], node).alike for other in kind):
                kind.append(number)
                break
        else:
            kinds.append([number])
    return kinds


def common_band(bands: Sequence[SpeedBand]) -> SpeedBand:
    """The band of a kind: at each size from the lowest to the highest speed measured there, and the middles' mean.

    A band counts only where it was measured; knots are those of all, at most 96 of them. Where all say noise and
    doubt apart, by how much their middles differ is doubt of each PE by itself.
    """
    if len(bands) == 1:
        return bands[0]
    limits = [band.sizes[-1] for band in bands if band.mid[-1] == 0]  # where the first node's memory ends
    sizes = np.unique(np.concatenate([band.sizes for band in bands]))
    sizes = sizes[sizes <= min(limits, default=np.inf)]
    if sizes.size > MOST_KNOTS:
        sizes = sizes[np.unique(np.linspace(0, sizes.size - 1, MOST_KNOTS).astype(int))]
    inside = np.array([(sizes >= band.sizes[0]) & (sizes <= band.sizes[-1]) for band in bands])
    low, mid, high = (
        np.where(inside, [band.speed(sizes, position=position) for band in bands], np.nan)
        for position in (0.0, 0.5, 1.0)
    )
    common = SpeedBand(sizes, np.nanmin(low, axis=0), np.nanmean(mid, axis=0), np.nanmax(high, axis=0))
    return replace(common, doubt=_common_doubt(bands, sizes, mid), noise=_common_noise(bands))


def _common_doubt(bands: Sequence[SpeedBand], sizes: Floats, middles: Floats) -> Doubt | None:
    """Doubt of any PE of a kind: that of its nodes in the mean, and how their middles (band, size) differ."""
    doubts = [band.doubt for band in bands if band.doubt is not None]
    if len(doubts) < len(bands):
        return None
    several = np.sum(middles > 0, axis=0) > 1
    if not np.any(several):
        return doubts[0]
    own = np.mean([np.square(one.at(sizes)) for one in doubts], axis=0)
    logs = np.log(np.where(middles > 0, middles, np.nan)[:, several])
    apart = np.full(sizes.size, float(np.mean(np.nanvar(logs, axis=0, ddof=1))))
    whole = float(np.mean(own + apart))
    shared = float(np.mean(own)) * float(np.mean([one.common for one in doubts]))
    names = dict.fromkeys(name for one in doubts for name in one.sources)
    kept = float(np.mean(own)) / whole if whole else 0.0
    shares = {name: kept * float(np.mean([one.sources.get(name, 0.0) for one in doubts])) for name in names}
    return Doubt(sizes, np.sqrt(own + apart), shared / whole if whole else 0.0, shares | {"node": 1 - kept})


def _common_noise(bands: Sequence[SpeedBand]) -> Noise | None:
    """Noise of any PE of a kind: each node's factors are as likely."""
    noises = [band.noise for band in bands if band.noise is not None]
    if len(noises) < len(bands):
        return None
    count = max(one.factors.size for one in noises)
    places = (np.arange(count) + 0.5) / count
    return Noise(np.quantile([one.at(places) for one in noises], places))

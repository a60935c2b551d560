"""Which calibrated nodes are of one kind, what the PEs of a kind share, and why a joined platform is doubtful."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.machine import Machine
from simulator.base.names import counted
from simulator.models.doubt import Doubt, Noise
from simulator.models.levels import Levels
from simulator.models.load import DAY_S
from simulator.models.speed import SpeedBand
from simulator.scenario_file.caches import cache_entries, counted_groups
from simulator.scenario_file.joined.inputs import CalibratedNode, Calibration, LinkFile

RULE = (
    "two nodes are alike if they have as many PEs, the same quota and kernels, memory within 10 %, and for each kernel,"
    " at nine tenths of the sizes that both cover, bands that overlap about their middles (distance at most 1) and"
    " middles at most 20 % apart; a kind holds nodes that are all alike each other, taken in the order given"
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
LARGEST_LOAD = 0.5
"""Mean runnable processes of others over the minute before a calibration above which it is doubted."""
COMPARED_VERSIONS = ("apportion", "numpy", "blas", "scipy", "numba", "python")


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
        (first.quota != second.quota, "different quotas"),
        (known and max(memory) > (1 + MEMORY_APART) * min(memory), f"{memory[0]} and {memory[1]} bytes of memory"),
        (distance == float("inf"), "no problem size that both cover"),
        (distance > LARGEST_DISTANCE, f"bands do not overlap: distance {distance:.2g}, more than {LARGEST_DISTANCE:g}"),
        (apart > LARGEST_APART, f"middles {apart:.0%} apart, more than {LARGEST_APART:.0%}"),
    )
    return next((reason for breaks, reason in checks if breaks), None)


def band_distance(first: SpeedBand, second: SpeedBand) -> tuple[float, float]:
    """Distance of two bands, and how far their middles are apart, each undercut at nine tenths of the common sizes.

    At one size the distance is `|ln m1 - ln m2| / (h1 + h2)`, with `h` half of `ln high - ln low`, at least 0.01. Where
    a speed is 0, at the memory limit, nothing is compared. Infinite without a common range.
    """
    low, high = max(first.sizes[0], second.sizes[0]), min(first.sizes[-1], second.sizes[-1])
    if first.sizes.size == 1 or second.sizes.size == 1:  # a constant speed covers every size
        wide = max((first, second), key=lambda band: band.sizes.size)
        low, high = float(wide.sizes[0]), float(wide.sizes[-1])
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


def kinds_of(count: int, alike: Callable[[int, int], bool]) -> list[list[int]]:
    """Indices of the nodes of each kind: a node joins the first kind whose nodes it is all alike."""
    kinds: list[list[int]] = []
    for number in range(count):
        for kind in kinds:
            if all(alike(other, number) for other in kind):
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
    own = np.mean([np.square(doubt.at(sizes)) for doubt in doubts], axis=0)
    logs = np.log(np.where(middles > 0, middles, np.nan)[:, several])
    apart = np.full(sizes.size, float(np.mean(np.nanvar(logs, axis=0, ddof=1))))
    whole = float(np.mean(own + apart))
    shared = float(np.mean(own)) * float(np.mean([doubt.common for doubt in doubts]))
    names = dict.fromkeys(name for doubt in doubts for name in doubt.sources)
    kept = float(np.mean(own)) / whole if whole else 0.0
    shares = {name: kept * float(np.mean([doubt.sources.get(name, 0.0) for doubt in doubts])) for name in names}
    return Doubt(sizes, np.sqrt(own + apart), shared / whole if whole else 0.0, shares | {"node": 1 - kept})


def _common_noise(bands: Sequence[SpeedBand]) -> Noise | None:
    """Noise of any PE of a kind: each node's factors are as likely."""
    noises = [band.noise for band in bands if band.noise is not None]
    if len(noises) < len(bands):
        return None
    count = max(noise.factors.size for noise in noises)
    places = (np.arange(count) + 0.5) / count
    levels = [noise.levels for noise in noises if noise.levels is not None]
    common = Levels.mixed(levels) if len(levels) == len(bands) else None
    pooled = Noise(np.quantile([noise.at(places) for noise in noises], places), common)
    return pooled.spread_as(noises, np.full(len(noises), 1 / len(noises)))


def shared_by(members: Sequence[CalibratedNode]) -> tuple[CalibratedNode | None, tuple[Data, ...], Data]:
    """The node whose domains and uses hold for nodes that are alike, and these; None where nothing is known."""
    of = next((node for node in members if node.neighbours is not None), None)
    if of is not None and of.neighbours is not None:
        return of, tuple(of.neighbours["domains"]), of.neighbours["uses"]
    of = next((node for node in members if node.groups or (node.levels and node.caches)), None)
    if of is None or (of.pe_count or 1) == 1:
        return None, (), {}
    labels = counted("{node}-core", of.pe_count)
    levels = next((node.levels for node in members if node.levels), ())
    entries = cache_entries(of.groups or counted_groups(of.caches, len(labels)), of.caches, levels, labels)
    return (of, tuple(entries), {}) if entries else (None, (), {})


def doubts(
    nodes: Sequence[CalibratedNode], links: Sequence[LinkFile], *, now: datetime, most_days: float
) -> tuple[str, ...]:
    """One line for each reason to doubt, those of the models themselves first.

    `most_days`: age from which a calibration is called old, and a difference of ages too.
    """
    calibrations = [entry for node in nodes for entry in node.calibrations] + [link.calibration for link in links]
    return (
        *(line for node in nodes for line in node.warnings),
        *(line for link in links for line in link.warnings),
        *_ages(calibrations, now, most_days),
        *_versions(calibrations),
        *_kernels(nodes),
        *_machines(nodes),
        *_loads(calibrations),
        *_levels(nodes),
    )


def _ages(calibrations: Sequence[Calibration], now: datetime, most_days: float) -> Iterator[str]:
    dated = [(entry.made.when, entry) for entry in calibrations]
    ages = [((now - when).total_seconds() / DAY_S, entry) for when, entry in dated if when is not None]
    for age, entry in ages:
        if age > most_days:
            yield f"{entry.source}: {entry.what} is {age:.0f} days old, more than {most_days:g}"
        elif age < -1:
            yield f"{entry.source}: {entry.what} is dated in the future: {entry.made.when}"
    undated = [entry.source for when, entry in dated if when is None]
    if undated:
        yield f"{_some(undated)}: it has no date, so the age is not known"
    if ages:
        (young, youngest), (old, oldest) = (pick(ages, key=lambda item: item[0]) for pick in (min, max))
        if old - young > most_days:
            between = f"{old - young:.0f} days lie between them, more than {most_days:g}"
            yield f"{oldest.source} and {youngest.source}: {between}"


def _versions(calibrations: Sequence[Calibration]) -> Iterator[str]:
    for name in COMPARED_VERSIONS:
        found: dict[str, list[str]] = {}
        for entry in calibrations:
            if name in entry.made.versions:
                found.setdefault(entry.made.versions[name], []).append(entry.source)
        if len(found) > 1:
            said = "; ".join(f"{version} in {_some(sources)}" for version, sources in found.items())
            yield f"different versions of {name}: {said}"


def _kernels(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    everywhere = set.intersection(*(set(node.speeds) for node in nodes)) if nodes else set()
    for kernel in dict.fromkeys(kernel for node in nodes for kernel in node.speeds):
        if kernel not in everywhere:
            having = [node.source for node in nodes if kernel in node.speeds]
            lacking = [node.source for node in nodes if kernel not in node.speeds]
            yield f"different kernels: {kernel} was measured in {_some(having)}, not in {_some(lacking)}"


def _machines(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    """Unlike machines under one host's name, and models of several machines in one node."""
    by_host: dict[str, dict[tuple[object, ...], str]] = {}
    for node in nodes:
        for entry in node.calibrations:
            machine = entry.made.machine
            if machine is None:
                continue
            if machine.host:
                by_host.setdefault(machine.host, {}).setdefault(
                    (machine.cpu_model, machine.pe_count, machine.memory_bytes), entry.source
                )
            if (other := _other_machine(node, machine)) is not None:
                yield f"{entry.source}: {entry.what} was measured on another machine than its node: {other}"
    for host, found in by_host.items():
        if len(found) > 1:
            said = "; ".join(
                f"{source} ({', '.join(str(part) for part in identity)})" for identity, source in found.items()
            )
            yield f"different machines under the name {host}: {said}"


def _other_machine(node: CalibratedNode, machine: Machine) -> str | None:
    if node.host and machine.host and machine.host != node.host:
        return f"{machine.host}, not {node.host}"
    if node.cpu_model and machine.cpu_model and machine.cpu_model != node.cpu_model:
        return f"{machine.cpu_model}, not {node.cpu_model}"
    return None


def _loads(calibrations: Sequence[Calibration]) -> Iterator[str]:
    for entry in calibrations:
        load = 0.0 if entry.made.machine is None else entry.made.machine.load_average[0]
        if load > LARGEST_LOAD:
            yield f"{entry.source}: {entry.what} was measured under load: {load:.2f} in the minute before"


def _levels(nodes: Sequence[CalibratedNode]) -> Iterator[str]:
    having = [node.source for node in nodes if node.levels]
    if having and len(having) < len(nodes):
        yield f"memory levels are known of {_some(having)} only"


def _some(sources: Sequence[str]) -> str:
    """Up to three names, and how many more."""
    unique = list(dict.fromkeys(sources))
    rest = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
    return f"{', '.join(unique[:3])}{rest}"

"""What a process takes of one sharing domain: as its kernel was measured, or derived from how it uses memory."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.engines.costs.ticks import Floats
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel, MemoryUse, access_time_s, resident_levels
from simulator.models.neighbours import BUSY, NO_USE, Bandwidth, Occupancy, ShareTable, SharingDomain, Use
from simulator.platform.nodes import Node
from simulator.programs.columns import Columns, Kind
from simulator.scenario_file.scenario import Scenario


@dataclass(frozen=True)
class Mix:
    """The problem sizes of a process's computations."""

    computes: bool
    sizes: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    """Parts of its volume; they sum to 1."""


def mixes(columns: Columns) -> list[Mix]:
    """Of each process; of a farm every one of its processes has an equal part."""
    volumes: list[dict[float, float]] = [{} for _ in range(columns.processes)]
    rows, process = np.flatnonzero(columns.kind == Kind.COMPUTE), columns.process
    sizes, place = columns.size[rows][:1], np.zeros(1, dtype=np.int64)
    if np.any(columns.size[rows] != sizes):
        sizes, place = np.unique(columns.size[rows], return_inverse=True)
    pairs = process[rows].astype(np.int64) * max(1, sizes.size) + (place if rows.size else 0)
    sums, keys = np.bincount(pairs, columns.amount[rows]), np.flatnonzero(np.bincount(pairs))
    for key, volume in zip(keys.tolist(), sums[keys].tolist(), strict=True):
        number, size = divmod(key, max(1, sizes.size))
        volumes[number][float(sizes[size])] = volume
    for table in columns.farms.tolist():
        farm = columns.farm_tables[table]
        for number in farm.processes:
            mine = volumes[number]
            mine[farm.size] = mine.get(farm.size, 0.0) + float(farm.volumes.sum()) / len(farm.processes)
    own = {int(number) for number in process[columns.kind == Kind.CUSTOM].tolist()}
    return [_mix(mine, own=number in own) for number, mine in enumerate(volumes)]


def _mix(volumes: dict[float, float], *, own: bool) -> Mix:
    if not volumes:
        return Mix(own)
    whole = math.fsum(volumes.values())
    weights = [volume / whole if whole > 0 else 1 / len(volumes) for volume in volumes.values()]
    return Mix(computes=True, sizes=tuple(volumes), weights=tuple(weights))


@dataclass(frozen=True)
class CacheUse:
    """A process in a cache level of known access times: of all that is there it holds the part that is its own."""

    demand: float
    """Bytes that it goes through."""
    place: int
    """Of the level among the node's."""
    law_capacity: float
    levels: tuple[MemoryLevel, ...]
    use: MemoryUse
    footprint_bytes: float
    unit_s: float
    """Seconds of a unit of volume alone, mean over its computations."""

    def part(self, others: float) -> float:
        """Of the level, beside others' bytes."""
        return self.demand / (self.demand + others) if self.demand > 0 else 1.0

    def kept(self, others: Floats, nearer: Mapping[int, tuple[float, float]]) -> Floats:
        """Share beside others' bytes, of the speed that the nearer levels leave: by place, capacity and part held."""
        if self.demand == 0:
            return np.ones(others.shape)
        capacities = np.array([level.capacity_bytes for level in self.levels[:-1]], dtype=np.float64)
        for place, (capacity, _) in nearer.items():
            capacities[place] = capacity
        capacities[self.place] = self.law_capacity
        alone = self._time_s(capacities)
        for place, (capacity, part) in nearer.items():
            capacities[place] = capacity * part
        before = self._time_s(capacities)
        beside = np.repeat(capacities[np.newaxis], others.size, axis=0)
        beside[:, self.place] *= self.demand / (self.demand + others)
        accesses = self.use.accesses_per_unit
        base, after = self.unit_s + accesses * (before - alone), self.unit_s + accesses * (self._time_s(beside) - alone)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(after > base, base / after, 1.0)

    def _time_s(self, capacities: Floats) -> Floats:
        footprints = np.full(capacities.shape[:-1], self.footprint_bytes)
        return access_time_s(self.levels, self.use, footprints, capacities_bytes=capacities)


ProcessUse = Use | CacheUse


class Uses:
    """What the processes of one program take of domains, on whichever PE they are."""

    def __init__(self, scenario: Scenario, columns: Columns) -> None:
        self._platform, self._kernel = scenario.platform, scenario.application.kernel
        self._memory = scenario.application.memory
        self._footprints = columns.footprints_bytes.tolist()
        self._nodes = [scenario.platform.known_nodes[number] for number in scenario.platform.node_of.tolist()]
        self._measured: dict[tuple[int, str, Mix], Use] = {}

    def of(self, process: int, pe: int, domain: SharingDomain, mix: Mix) -> ProcessUse:
        """The use of one domain by a process on one of its PEs."""
        if isinstance(domain.law, ShareTable):
            return BUSY
        if not mix.sizes:
            return NO_USE
        node = self._nodes[pe]
        kernel = node.uses.get(self._kernel)
        if kernel is not None and domain.level in kernel.demands:
            key = id(kernel), domain.level, mix
            if key not in self._measured:
                self._measured[key] = _mean([kernel.at(domain.level, size) for size in mix.sizes], mix)
            return self._measured[key]
        if self._memory is None:
            return NO_USE
        speeds = self._platform.pes[pe].speed_of(self._kernel).speed(np.array(mix.sizes)).tolist()
        if isinstance(domain.law, Bandwidth):
            return self._of_memory(process, node, domain.law, mix, speeds)
        return self._of_cache(process, node, domain, mix, speeds)

    def _of_memory(self, process: int, node: Node, law: Bandwidth, mix: Mix, speeds: Sequence[float]) -> Use:
        memory = self._memory
        if memory is None:
            return NO_USE
        levels, reach = resident_levels(node.levels), 1.0
        if len(levels) > 1:
            bytes_ = memory.footprint_share * self._footprints[process]
            nearest = max(level.capacity_bytes for level in levels[:-1])
            reach = 1 - (min(1.0, nearest / bytes_) ** memory.alpha if bytes_ > 0 else 1.0)
        words = memory.accesses_per_unit * reach
        found = []
        for speed in speeds:
            demand = WORD_BYTES * words * speed
            waits = demand / (law.lone or law.capacity)
            if levels:
                waits = words * speed * _word_s(levels[-1], memory)
            found.append(Use(demand, min(1.0, waits)))
        return _mean(found, mix)

    def _of_cache(
        self, process: int, node: Node, domain: SharingDomain, mix: Mix, speeds: Sequence[float]
    ) -> ProcessUse:
        levels = resident_levels(node.levels)
        places = {level.name: place for place, level in enumerate(levels[:-1])}
        known = self._memory is not None and domain.level in places and min(speeds) > 0
        if not known or self._memory is None or not isinstance(domain.law, Occupancy):
            return NO_USE
        footprint = float(self._footprints[process])
        unit_s = math.fsum(weight / speed for weight, speed in zip(mix.weights, speeds, strict=True))
        place, demand = places[domain.level], self._memory.footprint_share * footprint
        return CacheUse(demand, place, domain.law.capacity, levels, self._memory, footprint, unit_s)


def _word_s(level: MemoryLevel, memory: MemoryUse) -> float:
    return (level.latency_s + level.gap_s * (memory.run_words - 1)) / memory.run_words


def _mean(uses: Sequence[Use], mix: Mix) -> Use:
    """By volume."""
    if len(uses) == 1:
        return uses[0]
    pairs = list(zip(mix.weights, uses, strict=True))
    demand = math.fsum(weight * use.demand for weight, use in pairs)
    return Use(demand, math.fsum(weight * use.sensitivity for weight, use in pairs))

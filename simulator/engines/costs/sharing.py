"""What processes keep of their speed next to others, as integers: demands and tables of shares by sharing domain.

The rules are in `simulator/DESIGN.md` (What a simulated program means: Sharing domains). Shares count 2^-30, background
loads whole 1/1024ths.
"""

import math
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Flags, Floats
from simulator.engines.costs.ticks import LAST_TICK, Ticks, rounded
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel, MemoryUse, access_time_s, resident_levels
from simulator.models.neighbours import BUSY, KINDS, NO_USE, Bandwidth, Occupancy, ShareTable, SharingDomain, Use
from simulator.platform.nodes import PE, Node
from simulator.programs.columns import Columns, Kind
from simulator.scenario_file.scenario import Scenario

PARTS = 1024
"""A load of 1."""
FULL = 2**30
"""The whole of a lone speed."""
ONE = 16
"""Units of one that computes, where a law counts how many do: background loads lie between."""
UNITS = 1024
"""Units of all that can meet in a domain whose law is of bytes."""
CACHE, MEMORY = KINDS.index("cache"), KINDS.index("memory")
"""Places in `KINDS`."""


@dataclass(frozen=True)
class Pressing:
    """A load over the ticks of its trace; after the end it cycles, or holds its last value (a trace that ends too)."""

    knots: Ticks
    """First tick of each value, each unlike the one before; (K,)."""
    values: Ticks
    """In `PARTS`; (K,)."""
    end: int
    cycles: bool

    def at(self, tick: int) -> int:
        """The load at a tick of the trace's time."""
        return int(self.values[self._piece(tick)])

    def _piece(self, tick: int) -> int:
        return bisect_right(self.knots, tick % self.end if self.cycles else tick) - 1

    def changes_after(self, tick: int) -> int | None:
        """The first tick after one at which it may be another; None if it stays."""
        following = self._piece(tick) + 1
        passed = tick // self.end * self.end if self.cycles else 0
        if following < self.knots.size:
            return passed + int(self.knots[following])
        return passed + self.end if self.cycles and self.knots.size > 1 else None


def pressing(pe: PE, *, tick_s: float) -> Pressing | None:
    """How the load of a PE presses, in ticks from the trace's start; None without load."""
    if pe.load is None or not pe.load.presses:
        return None
    trace = pe.load.trace
    values = np.asarray(trace.values, dtype=np.float64)
    loads = np.maximum(0.0, 1 - values) * pe.cores if pe.load.rule == "given" else np.maximum(0.0, values)
    counts = np.rint(np.minimum(loads * PARTS, LAST_TICK >> 30)).astype(np.int64)
    knots = rounded(np.asarray(trace.times_s, dtype=np.float64), tick_s)
    last = np.append(knots[1:] > knots[:-1], True)  # of values at one tick the last holds
    knots, counts = knots[last], counts[last]
    new = np.append(True, counts[1:] != counts[:-1])
    end = int(rounded(np.asarray(trace.end_s), tick_s))
    return Pressing(knots[new], counts[new], max(end, 1), trace.after_end == "cycle")


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
    place: int
    law_capacity: float
    levels: tuple[MemoryLevel, ...]
    use: MemoryUse
    footprint_bytes: float
    unit_s: float
    """Seconds of a unit of volume alone, mean over its computations."""

    def part(self, others: float) -> float:
        """Of the level that others' bytes leave."""
        return self.demand / (self.demand + others) if self.demand > 0 else 1.0

    def kept(self, others: Floats, nearer: Mapping[int, tuple[float, float]]) -> Floats:
        """Share that others' bytes leave of the speed that nearer levels leave: by place, capacity and part held."""
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
        shared = np.repeat(capacities[np.newaxis], others.size, axis=0)
        shared[:, self.place] *= self.demand / (self.demand + others)
        accesses = self.use.accesses_per_unit
        base, after = self.unit_s + accesses * (before - alone), self.unit_s + accesses * (self._time_s(shared) - alone)
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


@dataclass(frozen=True)
class Sharing:
    """Who shares what in some configurations; a slot is a place in the order in which a PE's shares are multiplied."""

    domains: tuple[SharingDomain, ...]
    kinds: Ticks
    """Place of each domain's kind in `KINDS`; (domain,)."""
    slots: Ticks
    """Domain of each slot of a PE, -1 for none; (PE, K)."""
    demands: Ticks
    """Units that each process presses with while it computes; (configuration, process, K)."""
    tables: Ticks
    """Number of its table, -1 where it loses nothing; (configuration, process, K)."""
    first: Ticks
    """Where each table begins in `shares`, and the end."""
    shares: NDArray[np.int32]
    """By the pressure of the others in units; the last entry of a table holds for more."""
    load_demands: Ticks
    """Units that a load of 1 presses with; (configuration, PE, K)."""
    loads: tuple[Pressing | None, ...]
    """Of PEs in domains; (PE,)."""

    biting: Flags
    """Domains in which anybody loses anything; (configuration, domain)."""

    @cached_property
    def inside(self) -> Flags:
        """PEs in domains that matter; (configuration, PE)."""
        bites = np.concatenate((self.biting, np.zeros((len(self.biting), 1), dtype=np.bool_)), axis=1)
        return np.asarray(bites[:, self.slots].any(axis=2))

    @cached_property
    def presses(self) -> Flags:
        """PEs in domains that matter that have load; (configuration, PE)."""
        return np.asarray(self.inside & np.array([load is not None for load in self.loads]))

    def of(self, places: Sequence[int]) -> "Sharing":
        """Of some of the configurations."""
        chosen = list(places)
        return replace(
            self,
            demands=self.demands[chosen],
            tables=self.tables[chosen],
            load_demands=self.load_demands[chosen],
            biting=self.biting[chosen],
        )

    def table(self, number: int) -> NDArray[np.int32]:
        """The shares of one table."""
        return self.shares[self.first[number] : self.first[number + 1]]


def sharing_of(
    scenario: Scenario, columns: Columns, placement: Ticks, paging: Flags, *, tick_s: float
) -> Sharing | None:
    """The sharing of configurations with one program; None where nobody loses anything.

    `placement`: PE of each process; (configuration, process).
    `paging`: nodes whose shared levels are in what paging costs; (configuration, node).
    """
    every = all_domains(scenario)
    if not every:
        return None
    maker = _Maker(scenario, columns, every)
    for row, pes in enumerate(placement):
        maker.add(pes, paging[row])
    return maker.made(tick_s)


def all_domains(scenario: Scenario) -> tuple[SharingDomain, ...]:
    """The platform's domains, and one for each shared level of a node that no domain names for its PEs."""
    platform = scenario.platform
    if scenario.application.memory is None or not any(node.levels for node in platform.nodes):
        return platform.domains
    named = {(pe, domain.level) for domain in platform.domains for pe in domain.pes}
    found = list(platform.domains)
    for number, node in enumerate(platform.known_nodes):
        for level in resident_levels(node.levels)[:-1]:
            if level.shared and 0 < level.capacity_bytes < math.inf:
                here = np.flatnonzero(platform.node_of == number).tolist()
                pes = tuple(pe for pe in here if (pe, level.name) not in named)
                if pes:
                    law = Occupancy(float(level.capacity_bytes))
                    found.append(SharingDomain("cache", f"{level.name} of {node.name}", level.name, pes, law))
    return tuple(found)


class _Maker:
    """Puts the rows of configurations together."""

    def __init__(self, scenario: Scenario, columns: Columns, domains: tuple[SharingDomain, ...]) -> None:
        self._platform, self._columns, self._domains = scenario.platform, columns, domains
        self._uses = Uses(scenario, columns)
        self._mixes = mixes(columns)
        self._kinds = np.array([KINDS.index(domain.kind) for domain in domains], dtype=np.int64)
        self._own = len(scenario.platform.domains)
        self.slots = self._slots()
        self._place = {
            (pe, int(number)): slot for pe, row in enumerate(self.slots.tolist()) for slot, number in enumerate(row)
        }
        self._known: dict[Hashable, int] = {}
        self._tables: list[NDArray[np.int32]] = []
        self._rows: list[tuple[Ticks, Ticks, Ticks, tuple[bool, ...]]] = []

    def _slots(self) -> Ticks:
        found: list[list[int]] = [[] for _ in self._platform.pes]
        for number, domain in enumerate(self._domains):
            for pe in domain.pes:
                found[pe].append(number)
        ordered = [sorted(numbers, key=partial(self._order, pe)) for pe, numbers in enumerate(found)]
        most = max(map(len, ordered), default=0)
        return np.array([numbers + [-1] * (most - len(numbers)) for numbers in ordered], dtype=np.int64)

    def _order(self, pe: int, number: int) -> tuple[int, int, float, str]:
        """Core, caches from the nearest on, memory, clock."""
        domain = self._domains[number]
        node = self._platform.known_nodes[self._platform.node_of[pe]]
        names = [level.name for level in node.levels]
        place = names.index(domain.level) if domain.kind == "cache" and domain.level in names else len(names)
        capacity = domain.law.capacity if isinstance(domain.law, Occupancy) else 0.0
        return int(self._kinds[number]), place, capacity, domain.name

    def add(self, pes: Ticks, paging: Flags) -> None:
        """One configuration."""
        shape = (pes.size, self.slots.shape[1])
        demands, tables = np.zeros(shape, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
        loads = np.zeros((len(self._platform.pes), shape[1]), dtype=np.int64)
        on = _by_pe(pes)
        held: dict[int, dict[int, tuple[float, float]]] = {}  # by process: what it holds of nearer caches
        order = sorted(range(len(self._domains)), key=self._rank)
        biting = [False] * len(self._domains)
        for number in order:
            domain = self._domains[number]
            if number >= self._own and paging[self._platform.node_of[domain.pes[0]]]:
                continue
            here = [process for pe in domain.pes for process in on.get(pe, ())]
            if here and (len(here) > 1 or self._loaded(domain)):
                biting[number] = self._meet(number, here, pes, (demands, tables, loads), held)
        for number, bites in enumerate(biting):
            if not bites:
                for pe in self._domains[number].pes:
                    slot = self._place[pe, number]
                    demands[list(on.get(pe, ())), slot] = 0
                    tables[list(on.get(pe, ())), slot] = -1
                    loads[pe, slot] = 0
        self._rows.append((demands, tables, loads, tuple(biting)))

    def _rank(self, number: int) -> tuple[int, int, float, str]:
        return self._order(self._domains[number].pes[0], number)

    def _loaded(self, domain: SharingDomain) -> bool:
        loads = (self._platform.pes[pe].load for pe in domain.pes)
        return any(load is not None and load.presses for load in loads)

    def _meet(
        self,
        number: int,
        here: list[int],
        pes: Ticks,
        into: tuple[Ticks, Ticks, Ticks],
        held: dict[int, dict[int, tuple[float, float]]],
    ) -> bool:
        """Demands and tables of one domain; whether anybody loses anything there."""
        demands, tables, loads = into
        domain = self._domains[number]
        counts = isinstance(domain.law, ShareTable)
        uses = {p: self._uses.of(p, int(pes[p]), domain, self._mixes[p]) for p in here if self._mixes[p].computes}
        pressed = self._load_uses(domain, counts=counts)
        unit = 1 / ONE
        if not counts:
            most = [peak * demand for peak, demand in pressed.values()]
            unit = math.fsum([*(use.demand for use in uses.values()), *most]) / UNITS
            if unit == 0:
                return False
        for pe, (_, demand) in pressed.items():
            loads[pe, self._place[pe, number]] = round(demand / unit)
        units = {p: ONE if counts else round(use.demand / unit) for p, use in uses.items()}
        beyond = 0 if counts else sum(math.ceil(peak * round(demand / unit)) for peak, demand in pressed.values())
        whole, total = math.fsum(use.demand for use in uses.values()), sum(units.values())
        bites = False
        for p, use in uses.items():
            slot = self._place[int(pes[p]), number]
            others, rest = total - units[p], whole - use.demand
            scale = rest / others if others > 0 and not counts else unit
            demands[p, slot] = units[p]
            made = self._table(domain, use, scale, others + beyond, held.setdefault(p, {}), rest)
            tables[p, slot] = made
            bites |= made >= 0
        return bites

    def _load_uses(self, domain: SharingDomain, *, counts: bool) -> dict[int, tuple[float, float]]:
        """Greatest load and demand of a load of 1, of PEs of a domain whose load presses there."""
        found = {}
        for pe in domain.pes:
            load, cores = self._platform.pes[pe].load, self._platform.pes[pe].cores
            if load is None or not load.presses:
                continue
            demand = 1.0 if domain.kind in ("core", "clock") else load.demands.get(domain.level, 0.0)
            if demand > 0:
                peak = load.trace.values.max() if load.rule != "given" else cores * (1 - load.trace.values.min())
                found[pe] = max(0.0, round(float(peak) * PARTS) / PARTS), 1.0 if counts else demand
        return found

    def _table(
        self,
        domain: SharingDomain,
        use: ProcessUse,
        scale: float,
        most: int,
        held: dict[int, tuple[float, float]],
        rest: float,
    ) -> int:
        """The number of a table of shares over 0 to `most` units; -1 if it holds nothing below `FULL`."""
        truth = () if domain.loss_doubt is None else (domain.deviate, id(domain.loss_doubt))
        if isinstance(domain.law, ShareTable):
            most = ONE * (len(domain.law.shares) - 1)  # more press alike: loads, and processes that poll
            key: Hashable = (domain.law, most, *truth)
        elif isinstance(use, CacheUse):
            key = (domain.law, use, scale, most, tuple(sorted(held.items())), *truth)
        else:
            key = (domain.law, use, scale, most, *truth)
        nearer = dict(held)
        if isinstance(use, CacheUse):
            held[use.place] = use.law_capacity, use.part(rest)
        if key in self._known:
            return self._known[key]
        others = np.arange(most + 1, dtype=np.float64) * scale
        kept = use.kept(others, nearer) if isinstance(use, CacheUse) else domain.law.kept(use, others)
        table = np.clip(np.rint(domain.truly(kept) * FULL), 1, FULL).astype(np.int32)
        self._known[key] = -1
        if np.any(table < FULL):
            self._known[key] = len(self._tables)
            self._tables.append(table)
        return self._known[key]

    def made(self, tick_s: float) -> Sharing | None:
        """All configurations."""
        if not self._tables:
            return None
        demands, tables, load_demands = (np.array(rows) for rows in list(zip(*self._rows, strict=True))[:3])
        edges = np.cumsum([0, *(table.size for table in self._tables)])
        biting = np.array([row[3] for row in self._rows], dtype=np.bool_)
        ever = np.atleast_1d(biting.any(axis=0)).tolist()
        loads = tuple(
            pressing(pe, tick_s=tick_s) if any(number >= 0 and ever[number] for number in numbers) else None
            for pe, numbers in zip(self._platform.pes, self.slots.tolist(), strict=True)
        )
        return Sharing(
            self._domains, self._kinds, self.slots, demands, tables, edges, np.concatenate(self._tables), load_demands,
            loads, biting,
        )  # fmt: skip


def _by_pe(pes: Ticks) -> dict[int, list[int]]:
    """Processes on each PE."""
    found: dict[int, list[int]] = {}
    for process, pe in enumerate(pes.tolist()):
        found.setdefault(pe, []).append(process)
    return found

"""What processes keep of their speed beside others, as integers: demands and tables of shares by sharing domain.

The rules are in `simulator/DESIGN.md` (What a simulated program means: Sharing domains). Shares count 2^-30.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from simulator.engines.costs.pressing import PARTS, Pressing, pressing
from simulator.engines.costs.ticks import Ticks
from simulator.engines.costs.uses import CacheUse, ProcessUse, Uses, mixes
from simulator.models.memory.levels import resident_levels
from simulator.models.neighbours import KINDS, Occupancy, ShareTable, SharingDomain
from simulator.programs.columns import Columns
from simulator.scenario_file.scenario import Scenario

FULL = 2**30
"""The whole of a lone speed."""
ONE = 16
"""Units of one that computes, where a law counts how many do: background loads lie between."""
UNITS = 1024
"""Units of all that can meet in a domain whose law is of bytes."""
CACHE, MEMORY = KINDS.index("cache"), KINDS.index("memory")
"""Places in `KINDS`."""


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

    biting: NDArray[np.bool_]
    """Domains in which anybody loses anything; (configuration, domain)."""

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """PEs in domains that matter; (configuration, PE)."""
        bites = np.concatenate((self.biting, np.zeros((len(self.biting), 1), dtype=np.bool_)), axis=1)
        return np.asarray(bites[:, self.slots].any(axis=2))

    @cached_property
    def presses(self) -> NDArray[np.bool_]:
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
    scenario: Scenario, columns: Columns, placement: Ticks, paging: NDArray[np.bool_], *, tick_s: float
) -> Sharing | None:
    """The sharing of configurations with one program; None where nobody loses anything.

    Parameters
    ----------
    placement
        PE of each process; (configuration, process).
    paging
        Nodes whose shared levels are in what paging costs; (configuration, node).
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

    def add(self, pes: Ticks, paging: NDArray[np.bool_]) -> None:
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
        return any(self._platform.pes[pe].load is not None for pe in domain.pes)

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
            if load is None:
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

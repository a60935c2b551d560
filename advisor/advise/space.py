"""The space of a search: what a scenario lets one vary, and configurations made from the PEs of their processes.

A placement names the PE of each process in the order of ranks. The units of its processes follow from a model: those
with which all end together. Processes that are alike get alike.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from advisor.advise.kinds import Kind, Order, kinds_of
from advisor.advise.objectives import Objective
from simulator import PE, Configuration, Exchanged, LoadTrace, Scenario, ScenarioError, availability, partitions, ties

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Placement = tuple[int, ...]
NAME = "joint"
"""The name of what a search finds."""
FINE, SETTLING, CLOSE = 20, 16, 1e-4
"""Units for each process from which on shares settle by their rates, in so many rounds at most, to so near."""
FILLED = 12
"""Rounds in which units leave nodes whose memory does not hold them, at most."""
MOST_GROUPS = 12
"""Groups of alike processes up to which those at the edge of a node are groups of their own."""


@dataclass(frozen=True)
class Space:
    """A scenario with what may vary."""

    scenario: Scenario
    most: int | None = None
    """Most processes on one PE; its cores if None."""
    unequal: bool = True
    """Whether processes may have unequal units."""
    objective: Objective = "mean"
    """What is to be least."""
    _runs_as: dict[int, bool] = field(default_factory=dict, repr=False, compare=False)
    _balanced: dict[Placement, tuple[Configuration, float]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def order(self) -> Order:
        """The PEs in an order of their own."""
        return Order(self.scenario)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """PEs that are alike."""
        return kinds_of(self.scenario, most=self.most)

    @cached_property
    def kind_of(self) -> dict[int, int]:
        """Number of the kind of each PE."""
        return {pe: number for number, kind in enumerate(self.kinds) for pe in kind.pes}

    @cached_property
    def across(self) -> tuple[Kind, ...]:
        """The kinds with their PEs dealt out over the nodes, where these have several."""
        node_of, kinds = self.scenario.platform.node_of, kinds_of(self.scenario, most=self.most, across=True)
        found = []
        for kind in kinds:
            turns: Counter[int] = Counter()
            turn_of = {}
            for pe in kind.pes:
                node = int(node_of[pe])
                turn_of[pe] = turns[node]
                turns[node] += 1
            found.append(Kind(kind.name, tuple(sorted(kind.pes, key=turn_of.__getitem__)), kind.most))
        return tuple(found)

    @cached_property
    def units(self) -> int:
        """How many units are divided."""
        return self.scenario.application.work.units

    @cached_property
    def by_rank(self) -> bool:
        """Whether units are ranks that are like no others: only where they run may vary."""
        return self.scenario.application.work.by_rank

    @cached_property
    def exchanged(self) -> Exchanged:
        """What ranks compute and send each other, wherever they are."""
        return Exchanged.of(self.scenario.program(Configuration(NAME, (1,) * self.units)))

    @cached_property
    def led(self) -> bool:
        """Whether the first process is a master."""
        return self.scenario.application.work.has_master

    def limit(self, pe: int) -> int:
        """Most processes on a PE."""
        return self.most or self.scenario.platform.pes[pe].cores

    def takes(self, processes: int) -> bool:
        """Whether the application runs as so many processes."""
        if processes not in self._runs_as:
            self._runs_as[processes] = runs_as(self.scenario, processes)
        return self._runs_as[processes]

    def sorted(self, placement: Sequence[int]) -> Placement:
        """Processes in the order of the PEs, those of one PE side by side."""
        return tuple(sorted(placement, key=self.order.rank.__getitem__))

    def in_order(self, configuration: Configuration) -> Configuration:
        """The same with ranks in the order of the PEs: how a file orders them must not decide where a search begins."""
        placed, parts = configuration.placement, configuration.partition
        ranks = sorted(range(len(placed)), key=lambda rank: self.order.rank[placed[rank]])
        if configuration.grid is not None or self.by_rank or not self.takes(len(placed)):
            return configuration
        return replace(
            configuration, placement=tuple(placed[at] for at in ranks), partition=tuple(parts[at] for at in ranks)
        )

    def groups(self, placement: Sequence[int], *, edges: bool = False) -> list[list[int]]:
        """Processes that are alike, by their ranks; a master is alone.

        `edges`: those with a neighbour on another node are not like those without.
        """
        crowded, busy = crowds(self.scenario, placement), Counter(placement)
        apart = self.apart(placement) if edges else [0] * len(placement)
        members: dict[tuple[object, ...], list[int]] = {}
        for rank, pe in enumerate(placement):
            key = self.kind_of[pe], busy[pe], self.led and rank == 0, crowded.get(pe), apart[rank]
            members.setdefault(key, []).append(rank)
        return list(members.values())

    @cached_property
    def worst(self) -> "Space | None":
        """The same under the most load of each PE all the time: units by what is left always; None without loads."""
        platform = self.scenario.platform
        if not any(pe.load is not None and pe.load.trace.values.size > 1 for pe in platform.pes):
            return None
        pes = tuple(_busiest(pe) for pe in platform.pes)
        return replace(self, scenario=replace(self.scenario, platform=replace(platform, pes=pes)), _balanced={})

    def apart(self, placement: Sequence[int]) -> list[int]:
        """How many of its two neighbours in the order of ranks each process has on other nodes."""
        node_of, last = self.scenario.platform.node_of, len(placement) - 1
        nodes = [int(node_of[pe]) for pe in placement]
        beside = [(nodes[max(rank - 1, 0)], nodes[min(rank + 1, last)]) for rank in range(len(nodes))]
        return [(left != mine) + (right != mine) for mine, (left, right) in zip(nodes, beside, strict=True)]

    def divided(self, placement: Sequence[int]) -> Configuration:
        """The configuration with the units with which all processes end together by the model, or equal ones."""
        return self.balanced(placement)[0]

    def balanced(self, placement: Sequence[int]) -> tuple[Configuration, float]:
        """The same, and the seconds that the model says; see `partitions.process_times`.

        Where memory does not hold it, the nodes that hold most come first: a first process may have to hold everything.
        """
        placed, node_of = self.beside_gpus(tuple(placement)), self.scenario.platform.node_of
        if self.by_rank:
            return Configuration(NAME, (1,) * self.units, tuple(placement)), 0.0
        if placed not in self._balanced:
            made = self._by_model(placed)
            if len(made[0].placement) < len(placed) or self.scenario.lacking_bytes(made[0]) > 0:
                turned = tuple(sorted(placed, key=lambda pe: -self.room_bytes[int(node_of[pe])]))
                made = self._by_model(turned) if turned != placed else made
            self._balanced[placed] = made
        return self._balanced[placed]

    @cached_property
    def room_bytes(self) -> list[float]:
        """What each node holds, infinite where it does not say; (node,)."""
        return [
            math.inf if node.memory_bytes is None or node.swap_bytes is None else node.memory_bytes + node.swap_bytes
            for node in self.scenario.platform.known_nodes
        ]

    def _by_model(self, placed: Placement) -> tuple[Configuration, float]:
        groups = self.groups(placed)
        process_s = partitions.process_times(self.scenario, placed, led=self.led)

        def times_s(counts: Ints) -> Floats:
            each = [-(-count // len(group)) for group, count in zip(groups, counts.tolist(), strict=True)]
            return np.array(
                [process_s(group[0], units) if units else 0.0 for group, units in zip(groups, each, strict=True)]
            )

        if not self.unequal:
            parts = partitions.even_split(self.units, len(placed))
            shares = np.array([sum(parts[rank] for rank in group) for group in groups])
            return self.configured(placed, parts, rule="equal"), float(times_s(shares).max())
        sizes = np.array([len(group) for group in groups], dtype=np.float64)
        fine = self.units >= FINE * len(placed)
        counts = _settled(self.units, sizes, times_s) if fine else partitions.by_times(self.units, len(groups), times_s)
        made = self.shared(placed, groups, counts)
        if made.placement == placed:  # memory may not have held what the model wants
            counts = [sum(made.partition[rank] for rank in group) for group in groups]
        return made, float(times_s(np.array(counts)).max())

    def shared(self, placement: Placement, groups: Sequence[Sequence[int]], counts: Sequence[int]) -> Configuration:
        """The units of each group divided evenly among its processes."""
        partition = np.zeros(len(placement), dtype=np.int64)
        for group, units in zip(groups, counts, strict=True):
            partition[list(group)] = partitions.even_split(int(units), len(group))
        return self.configured(placement, tuple(partition.tolist()))

    def configured(
        self,
        placement: Placement,
        partition: Sequence[int],
        *,
        grid: tuple[int, int] | None = None,
        rule: str = "",
    ) -> Configuration:
        """A configuration as near to a partition as the application can use, without processes that do nothing."""
        if (beside := self.beside_gpus(placement)) != placement:
            return self.divided(beside)
        parts = self.scenario.application.work.fitting(tuple(partition), grid)
        made = Configuration(NAME, parts, placement, grid, rule=rule)
        return self.without_idle(self.within_memory(made) if self.unequal else made)

    def within_memory(self, configuration: Configuration) -> Configuration:
        """The same with fewer units on nodes whose memory does not hold them, and more on all others in proportion.

        It is unchanged where no node says what it holds, or all nodes are full.
        """
        platform, work = self.scenario.platform, self.scenario.application.work
        room_bytes = np.array(self.room_bytes)
        node_of, wanted = platform.node_of[list(configuration.placement)], evened(configuration)
        found, full = configuration, np.zeros(room_bytes.size, dtype=np.bool_)
        before: tuple[Floats, Floats] = np.zeros(room_bytes.size), np.zeros(room_bytes.size)
        for _ in range(FILLED if np.isfinite(room_bytes).any() else 0):
            parts = np.array(found.partition)
            held, totals = (
                np.bincount(node_of, weights=of_process, minlength=full.size).astype(np.float64)
                for of_process in (self.scenario.program(found).footprints_bytes, parts)
            )
            full |= held > room_bytes
            free = ~full[node_of]
            if not np.any(held > room_bytes):
                return found
            if not wanted[free].any():
                break
            each = (held - before[0]) / np.where(totals == before[1], np.inf, totals - before[1])  # bytes of a unit
            before = held, totals
            for node in np.flatnonzero(held > room_bytes).tolist():
                gone = max(1.0, np.ceil((held[node] - room_bytes[node]) / max(each[node], 1e-9)))
                here = node_of == node
                parts[here] = whole_units(parts[here] + 1e-9, max(0, int(totals[node] - gone)))
            parts[free] = whole_units(wanted[free], self.units - int(parts[~free].sum()))
            found = replace(found, partition=work.fitting(tuple(parts.tolist()), found.grid), rule="")
        return configuration

    def without_idle(self, configuration: Configuration) -> Configuration:
        """The same without processes that have no units, where the application runs so; a master stays."""
        parts, pes = configuration.partition, configuration.placement
        kept = [rank for rank, units in enumerate(parts) if units or (self.led and rank == 0)]
        if configuration.grid is not None or len(kept) == len(parts) or not self.takes(len(kept)):
            return configuration
        partition, placement = (tuple(some[rank] for rank in kept) for some in (parts, pes))
        return Configuration(configuration.name, partition, placement, repartition=configuration.repartition)

    def beside_gpus(self, placement: Placement) -> Placement:
        """The same without processes on cores that those on GPUs occupy."""
        occupied = {self.scenario.platform.gpu_hosts.get(pe) for pe in placement}
        return tuple(pe for pe in placement if pe not in occupied)

    def trimmed(self, placement: Placement) -> Placement:
        """With as many processes as the application runs as, at most; the last ones go first."""
        placement = self.beside_gpus(placement)
        count = min(len(placement), self.units)
        while count and not self.takes(count):
            count -= 1
        return placement[:count]


def _busiest(pe: PE) -> PE:
    """A PE under the load that leaves least of it, but something, all the time."""
    load = pe.load
    if load is None:
        return pe
    left = availability(load.trace.values, load.rule, processes=pe.cores, cores=pe.cores)
    left = np.where(left > 0, left, np.inf)
    most = load.trace.values[[int(np.argmin(left))]]
    if not np.isfinite(left.min()):
        return pe
    return replace(pe, load=replace(load, trace=LoadTrace(np.zeros(1), most, load.trace.end_s, load.trace.after_end)))


def _settled(units: int, sizes: Floats, times_s: partitions.Times) -> list[int]:
    """Units of groups that end together, but for rounding: shares follow the rates that they show; (group,)."""
    shares, best, best_s = units * sizes / sizes.sum(), np.zeros(sizes.size, np.int64), np.inf
    for _ in range(SETTLING):
        counts = whole_units(shares, units)
        each_s = times_s(counts)
        if ties.is_less(float(each_s.max()), best_s):
            best, best_s = counts, float(each_s.max())
        rates = np.maximum(counts, 1) / np.maximum(each_s, 1e-300)
        moved = units * rates / rates.sum()
        if np.allclose(moved, shares, rtol=CLOSE):
            break
        shares = np.maximum(moved, sizes)  # a unit each
    return [int(count) for count in best]


def evened(configuration: Configuration) -> Floats:
    """The units of each process, as parts of a unit where those of one PE differ by no more than one; (process,)."""
    placement, units = np.array(configuration.placement), np.array(configuration.partition, dtype=np.float64)
    for pe in np.unique(placement).tolist():
        if np.ptp(units[placement == pe]) <= 1:
            units[placement == pe] = units[placement == pe].mean()
    return units


def runs_as(scenario: Scenario, processes: int) -> bool:
    """Whether an application runs as so many processes: grids and powers of two have their own numbers."""
    work = scenario.application.work
    if not 1 <= processes <= work.units:
        return False
    try:
        parts = work.fitting(partitions.even_split(work.units, processes))
        work.program(Configuration("asked", parts, (0,) * processes))
    except ScenarioError:
        return False
    return True


def crowds(scenario: Scenario, placement: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """How many processes there are in each sharing domain of a PE, by PE; empty without domains."""
    busy, found = Counter(placement), dict[int, tuple[int, ...]]()
    for domain in scenario.platform.domains:
        here = sum(busy[pe] for pe in domain.pes)
        for pe in domain.pes:
            found[pe] = (*found.get(pe, ()), here)
    return found


def whole_units(shares: Floats, units: int) -> Ints:
    """Whole numbers that add up to all units, by largest remainders; each above 0 where its share is."""
    wanted = shares * (units / shares.sum())
    whole = np.floor(wanted).astype(np.int64)
    rest = units - int(whole.sum())
    order = ties.in_order(whole - wanted, floor=64 * np.spacing(wanted.max(initial=1.0)))
    whole[order[:rest]] += 1
    return np.asarray(whole)


def over_all(scenario: Scenario, configuration: Configuration) -> Configuration:
    """One process on some PEs written as one on each, those of the others without units, as partitions are."""
    pes, count = configuration.placement, len(scenario.platform.pes)
    if configuration.grid is not None or scenario.application.work.by_rank:
        return configuration
    if list(pes) != sorted(set(pes)) or (scenario.application.work.has_master and pes[0] != 0):
        return configuration
    partition = np.zeros(count, dtype=np.int64)
    partition[list(pes)] = configuration.partition
    try:
        parts = scenario.application.work.fitting(tuple(partition.tolist()))
    except ScenarioError:  # of a grid that so many processes do not fill
        return configuration
    whole = Configuration(configuration.name, parts, tuple(range(count)))
    return whole if parts == tuple(partition.tolist()) else configuration

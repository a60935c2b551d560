"""The best that can be done in a changed scenario: placements near the advised one, balanced by a model, simulated.

What simulation taught the search about an advice is kept: each PE's units over those that the model gave it (`factors`)
hold for other placements and changed scenarios too. So a question needs a few runs, not a search of its own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from advisor.advise.explanation.simulations import Floats, Seen, Simulations, pes_of
from advisor.advise.kinds import kinds_of
from advisor.advise.problem import Kind
from advisor.advise.space import crowds, over_all, runs_as, whole_units
from advisor.advise.strategies import EQUAL_WORK
from simulator import Configuration, Scenario, ScenarioError, partitions, ties

ROUNDS = 12
"""Of moves, at most."""
STEPS = (1 / 25, 1 / 100, 1 / 400, 1 / 2000)
"""Shares of all units that a move takes from some processes to others."""
LEVELLED = (0.25, 0.5, 1.0)
"""Parts of the way to ends at one time that a move of all processes goes."""
SETTLING = 12
"""Rounds in which shares follow the times they take."""
OTHERS = 2
"""Further placements that a search simulates: those that the model finds best; one of large ones."""
NEAR = 1.2
"""Placements that the model finds so many times as slow as the advised one are not simulated."""
MOST_NEAR = 8
"""Placements near the advised one that a question looks at by the model: the best of all in the unchanged scenario."""
MOST_MOVES = 8
"""Kinds whose PEs are left out or taken in as a whole by a search."""

Placement = tuple[int, ...]
"""PEs of the processes that take part, ascending but for a master without units, which stays the first."""


@dataclass(frozen=True)
class Advised:
    """The configuration that is asked about, and what it tells of others."""

    scenario: Scenario
    configuration: Configuration
    varied: tuple[str, ...] = ("partition", "allocation")

    @property
    def equal(self) -> bool:
        """Whether all processes get equal shares."""
        return "partition" not in self.varied or self.scenario.application.name in EQUAL_WORK

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of PEs, and the most processes on one PE of each."""
        return kinds_of(self.scenario, most=None if "allocation" in self.varied else 1)

    @cached_property
    def placement(self) -> Placement:
        """Of the processes that have units, and of the master."""
        return tuple(self.configuration.placement[place] for place in self._busy)

    @cached_property
    def counts(self) -> Counter[int]:
        """Processes on each PE that takes part."""
        return Counter(self.placement)

    @property
    def pes(self) -> frozenset[int]:
        """PEs that have units."""
        return pes_of(self.configuration)

    @cached_property
    def _busy(self) -> list[int]:
        master = self.scenario.application.work.has_master
        return [place for place, units in enumerate(self.configuration.partition) if units or (master and place == 0)]

    @cached_property
    def rests(self) -> bool:
        """Whether the first process is a master without units."""
        return self.scenario.application.work.has_master and not self.configuration.partition[0]

    @cached_property
    def factors(self) -> tuple[Floats, float]:
        """Units over those of the model, by PE, and of a master; PEs that have none as others of their kind, else 1."""
        units = np.array([self.configuration.partition[place] for place in self._busy], dtype=np.float64)
        model = balanced(self.scenario, self.placement, rests=self.rests).shares
        ratio = np.divide(units, model, out=np.ones_like(units), where=(model > 0) & (units > 0))
        leads = float(ratio[0]) if self.scenario.application.work.has_master else 1.0
        by_pe = np.ones(len(self.scenario.platform.pes))
        start = int(self.scenario.application.work.has_master)
        places = np.array(self.placement)[start:]
        for kind in self.kinds:
            mine = np.isin(places, kind.pes)
            if mine.any():
                by_pe[list(kind.pes)] = ratio[start:][mine].mean()
                for pe in set(places[mine].tolist()):
                    by_pe[pe] = ratio[start:][places == pe].mean()
        return by_pe, leads

    @cached_property
    def near(self) -> tuple[Placement, ...]:
        """The advised placement, then all PEs, the fastest one, and other numbers of PEs or processes of one kind."""
        found = [self.placement, self.over(range(len(self.scenario.platform.pes)))]
        found += [self.over([fastest_first(self)[0]])]
        used = set(self.counts)
        for kind in sorted(self.kinds, key=lambda one: -one.count)[:MOST_MOVES]:
            mine, free = used.intersection(kind.pes), [pe for pe in kind.pes if pe not in used]
            if mine and len(used) > 1:
                found += [self.over(used - {max(mine)}), self.over(used - mine)]
            if free:
                found += [self.over(used | {free[0]}), self.over(used | set(free))]
            if mine and max(self.counts[pe] for pe in mine) > 1:
                found.append(self.with_counts({pe: max(1, self.counts[pe] - 1) for pe in mine}))
            if any(self.counts[pe] < kind.most for pe in mine):
                found.append(self.with_counts({pe: min(kind.most, self.counts[pe] + 1) for pe in mine}))
        found = [one for one in dict.fromkeys(found) if one]
        first, *rest = found
        if len(rest) > MOST_NEAR:
            known = [(one, self.model(self.scenario, one)) for one in rest]
            order = ties.in_order([np.inf if model is None else model.seconds for _, model in known])
            rest = [rest[place] for place in order[:MOST_NEAR].tolist()]
        return first, *rest

    def over(self, pes: Sequence[int] | set[int] | frozenset[int] | range) -> Placement:
        """As many processes as advised on each of some PEs, on others as many as their kind usually has there."""
        counts: dict[int, int] = {}
        for kind in self.kinds:
            usual = Counter(self.counts[pe] for pe in kind.pes if pe in self.counts).most_common(1)
            counts |= {pe: self.counts.get(pe, usual[0][0] if usual else kind.most) for pe in kind.pes if pe in pes}
        return _placed(counts, self.rests)

    def with_counts(self, changed: dict[int, int]) -> Placement:
        """The advised placement with other numbers of processes on some PEs; 0 takes a PE out."""
        counts = {**self.counts, **changed}
        return _placed({pe: count for pe, count in counts.items() if count}, self.rests)

    def model(self, scenario: Scenario, placement: Placement, *, rests: bool | None = None) -> "Balanced | None":
        """What the model says of a placement; None where the application does not run as so many processes.

        Parameters
        ----------
        rests
            Whether the first process is a master without units; by default as in the advice.
        """
        if not placement or not runs_as(scenario, len(placement)):
            return None
        rests = (self.rests and placement[0] == 0 if rests is None else rests) and len(placement) > 1
        return balanced(scenario, placement, rests=rests)

    def divided(self, scenario: Scenario, found: "Balanced | None") -> list[Configuration]:
        """Ways to divide the units among a placement in a scenario, the likeliest first; those that memory holds."""
        if found is None:
            return []
        work, placement = scenario.application.work, found.placement
        if self.equal:
            whole = [np.array(partitions.even_split(work.units, len(placement)))]
        else:
            by_pe, leads = self.factors
            factor = by_pe[list(placement)]
            factor[:1] = leads if work.has_master else factor[:1]
            whole = [
                _whole(scenario, found.groups, found.shares * factor),
                _whole(scenario, found.groups, found.shares),
            ]
        made = [_made(scenario, placement, parts) for parts in whole]
        return [one for one in dict.fromkeys(made) if not lacks(scenario, one)]


def _placed(counts: dict[int, int], rests: bool) -> Placement:  # noqa: FBT001 - of one caller
    if rests and counts and min(counts) != 0:
        counts = {0: 1, **counts}
    return tuple(pe for pe in sorted(counts) for _ in range(counts[pe]))


@dataclass(frozen=True)
class Balanced:
    """A placement with the units with which all its processes end together by the model."""

    placement: Placement
    groups: list[NDArray[np.int64]]
    """Processes that are alike."""
    shares: Floats
    """(process,); not whole."""
    seconds: float


def alike(scenario: Scenario, placement: Placement) -> list[NDArray[np.int64]]:
    """Processes that are alike, by their places: on PEs of a kind with as many processes on each and in its domains.

    A master is alone.
    """
    kind_of = {pe: number for number, kind in enumerate(kinds_of(scenario)) for pe in kind.pes}
    counts, leads = Counter(placement), scenario.application.work.has_master
    members: dict[tuple[object, ...], list[int]] = {}
    crowded = crowds(scenario, placement)
    for process, pe in enumerate(placement):
        key = kind_of[pe], counts[pe], leads and process == 0, crowded.get(pe)
        members.setdefault(key, []).append(process)
    return [np.array(processes) for processes in members.values()]


def balanced(scenario: Scenario, placement: Placement, *, rests: bool = False) -> Balanced:
    """Units with which all processes of a placement end together by the model.

    A fixed point of shares in proportion to the rates that they show, which needs a few evaluations for each kind.

    Parameters
    ----------
    rests
        Whether the first process, a master, has no units.
    """
    work = scenario.application.work
    every = alike(scenario, placement)
    groups = [group for group in every if not (rests and group[0] == 0)]
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    process_s = partitions.process_times(scenario, placement, led=work.has_master)

    def seconds(shares: Floats) -> Floats:
        counts = np.maximum(1, np.rint(shares)).astype(np.int64).tolist()
        return np.array([process_s(int(group[0]), units) for group, units in zip(groups, counts, strict=True)])

    shares = np.full(sizes.size, work.units / sizes.sum())
    best, best_s = shares, np.inf
    for _ in range(SETTLING):
        each_s = seconds(shares)
        if ties.is_less(float(each_s.max()), best_s):
            best, best_s = shares, float(each_s.max())
        rates = np.maximum(1, np.rint(shares)) / each_s
        moved = work.units * rates / float((rates * sizes).sum())
        if np.allclose(moved, shares, rtol=1e-4):
            break
        shares = moved
    found = np.zeros(len(placement))
    for group, share in zip(groups, best.tolist(), strict=True):
        found[group] = share
    return Balanced(placement, every, found, best_s)


def model_s(scenario: Scenario, configuration: Configuration) -> float:
    """Seconds of the slowest process by the model, of those that are alike the one with most units."""
    process_s = partitions.process_times(scenario, configuration.placement, led=scenario.application.work.has_master)
    units = np.array(configuration.partition)
    slowest = [int(group[np.argmax(units[group])]) for group in alike(scenario, configuration.placement)]
    return max(process_s(process, int(units[process])) for process in slowest if units[process])


def _whole(scenario: Scenario, groups: Sequence[NDArray[np.int64]], shares: Floats) -> NDArray[np.int64]:
    """Whole units in proportion to shares; processes that are alike get alike, to a unit."""
    units = scenario.application.work.units
    totals = np.array([shares[group].sum() for group in groups])
    whole = np.zeros(shares.size, dtype=np.int64)
    for group, total in zip(groups, whole_units(units * totals / totals.sum(), units).tolist(), strict=True):
        whole[group] = partitions.even_split(total, group.size)
    return whole


def _made(scenario: Scenario, placement: Placement, whole: NDArray[np.int64]) -> Configuration:
    parts = scenario.application.work.fitting(tuple(whole.tolist()))
    return over_all(scenario, Configuration("tried", parts, placement))


def lacks(scenario: Scenario, configuration: Configuration) -> bool:
    """Whether memory and swap do not hold a configuration."""
    return scenario.lacking_bytes(configuration) > 0


def fastest_first(advised: Advised, scenario: Scenario | None = None) -> list[int]:
    """PEs by the time in which each would do all work, its processes together, as the model says."""
    scenario = advised.scenario if scenario is None else scenario
    work = scenario.application.work
    most = {pe: kind.most for kind in advised.kinds for pe in kind.pes}
    placement = tuple(pe for pe in sorted(most) for _ in range(most[pe]))
    process_s = partitions.process_times(scenario, placement, led=work.has_master)
    times = np.zeros(len(most))
    for kind in kinds_of(scenario):
        head = kind.pes[-1]  # not the master's
        times[list(kind.pes)] = process_s(placement.index(head), -(-work.units // most[head]))
    if work.has_master:
        times[0] = process_s(0, -(-work.units // most[0]))
    return [int(place) for place in ties.in_order(times)]


def best_of(advised: Advised, scenario: Scenario, simulations: Simulations) -> Seen:
    """The best that is found in a changed scenario, at least as good as what is advised.

    Raises
    ------
    OutOfRuns
        If the runs allowed do not suffice.
    ScenarioError
        If memory and swap hold none of them.
    """
    chosen = advised.configuration
    few, many, rounds = simulations.planned(scenario, len(advised.placement))
    kept, *rest = (advised.model(scenario, one) for one in advised.near)
    ways = [kept] if kept else []
    known = [one for one in rest if one is not None and (kept is None or one.seconds <= NEAR * kept.seconds)]
    ways += [
        known[place] for place in ties.in_order([one.seconds for one in known])[: OTHERS if rounds else 1].tolist()
    ]
    starts = [one for way in ways for one in advised.divided(scenario, way)[: None if rounds else 1]]
    starts += [] if lacks(scenario, chosen) else [chosen]
    return _least(advised, scenario, simulations, starts, (few, many, rounds))


def best_over(advised: Advised, scenario: Scenario, simulations: Simulations, placement: Placement) -> Seen:
    """The best division of the units that is found for exactly these processes.

    Raises
    ------
    OutOfRuns
        If the runs allowed do not suffice.
    ScenarioError
        If the application does not run so, or memory and swap do not hold it.
    """
    starts = advised.divided(scenario, advised.model(scenario, placement))
    kept = int(scenario is advised.scenario and placement == advised.placement)
    starts += [advised.configuration] * kept
    few, many, rounds = simulations.planned(scenario, len(advised.placement))
    starts = starts if rounds else starts[:1] + starts[len(starts) - kept :]
    return _least(advised, scenario, simulations, starts, (few, many, rounds))


def _least(
    advised: Advised,
    scenario: Scenario,
    simulations: Simulations,
    starts: Sequence[Configuration],
    planned: tuple[int, int, int],
) -> Seen:
    """The one with the least objective, improved by as many moves of units as the plan allows."""
    if not starts:
        raise ScenarioError(
            "application: none of the configurations that were tried can run: make it larger or smaller, "
            "or give the nodes more memory or swap"
        )
    few, many, rounds = planned
    found = simulations.seen(scenario, starts, few)
    best = found[ties.first_least([simulations.value_s(one.makespans_s) for one in found])]
    if not advised.equal:
        best = _bettered(scenario, simulations, best, few, rounds)
    if many == few:
        return best
    last = [best.configuration, *(one for one in starts if one == advised.configuration)]
    found = simulations.seen(scenario, last, many)
    return found[ties.first_least([simulations.value_s(one.makespans_s) for one in found])]


def _bettered(scenario: Scenario, simulations: Simulations, seen: Seen, few: int, rounds: int) -> Seen:
    """Move units while the objective falls: among all groups at once, and between the last and the first."""
    chosen = seen.configuration
    busy = [place for place, units in enumerate(chosen.partition) if units]
    groups = [np.array(busy)[group] for group in alike(scenario, tuple(chosen.placement[place] for place in busy))]
    if len(groups) < 2:
        return seen
    for _ in range(min(ROUNDS, rounds)):
        moves = dict.fromkeys(_moves(scenario, seen, groups))
        tried = [one for one in moves if one != seen.configuration and not lacks(scenario, one)]
        if not tried:
            break
        found = simulations.seen(scenario, tried, few)
        values = [simulations.value_s(one.makespans_s) for one in found]
        place = ties.first_least(values)
        if not ties.is_less(values[place], simulations.value_s(seen.makespans_s)):
            break
        seen = found[place]
    return seen


def _moves(scenario: Scenario, seen: Seen, groups: Sequence[NDArray[np.int64]]) -> Iterator[Configuration]:
    units = np.array(seen.configuration.partition, dtype=np.float64)
    totals = np.array([units[group].sum() for group in groups])
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    computed = np.array([seen.computed[group].mean() for group in groups])
    busy = np.array([seen.busy[group].mean() for group in groups])
    whole = scenario.application.work.units

    def made(shares: Floats) -> Configuration:
        shares = np.maximum(shares, sizes)  # a unit each
        partition = np.zeros(units.size, dtype=np.int64)
        counts = whole_units(whole * shares / shares.sum(), whole).tolist()
        for group, count in zip(groups, counts, strict=True):
            partition[group] = partitions.even_split(count, group.size)
        parts = scenario.application.work.fitting(tuple(partition.tolist()))
        return Configuration("tried", parts, seen.configuration.placement)

    rates = totals / np.maximum(busy, 1.0)
    level = float((rates * computed).sum() / rates.sum())
    if totals.size > 2:
        for part in LEVELLED:
            yield made(totals + part * rates * (level - computed))
    late, early = ties.first_most(computed), ties.first_least(computed)
    for source, target in ((late, early), (early, late)):
        for step in STEPS:
            moved = min(max(1.0, step * whole), float(totals[source] - sizes[source]))
            if moved > 0 and source != target:
                changed = totals.copy()
                changed[source] -= moved
                changed[target] += moved
                yield made(changed)

"""The best that can be done in a changed scenario: balanced partitions of sets of PEs, bettered by simulation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.advise.explanation.simulations import Simulations
from advisor.advise.partition import even_split
from advisor.advise.partition.whole import whole_units
from advisor.advise.recommendation import model_times
from simulator import Configuration, Scenario, ScenarioError, ties

ROUNDS = 12
"""Of moves, at most."""
STEPS = (1 / 25, 1 / 100, 1 / 400, 1 / 2000)
"""Shares of all units that a move takes from one process to another."""
LEVELLED = (0.25, 0.5, 1.0)
"""Parts of the way to ends at one time that a move of all processes goes."""
SETTLING = 8
"""Rounds in which shares follow the times they take."""


@dataclass(frozen=True)
class Seen:
    """A configuration and its makespans."""

    configuration: Configuration
    makespans_s: NDArray[np.float64]
    """(replication,)."""

    @property
    def mean_s(self) -> float:
        """Mean makespan."""
        return float(np.mean(self.makespans_s))

    @property
    def pes(self) -> frozenset[int]:
        """PEs that have units."""
        return pes_of(self.configuration)


def pes_of(configuration: Configuration) -> frozenset[int]:
    """The PEs whose processes have units."""
    pairs = zip(configuration.placement, configuration.partition, strict=True)
    return frozenset(pe for pe, units in pairs if units)


def one_each(configuration: Configuration) -> bool:
    """Whether it has one process per PE, in order."""
    return configuration.placement == tuple(range(len(configuration.placement)))


def balanced(scenario: Scenario, pes: Collection[int]) -> Configuration:
    """One process on each of some PEs, with units so that all take about as long by the model; others have none."""
    work, chosen = scenario.application.work, sorted(pes)
    times_s = model_times(scenario, chosen)
    shares = np.full(len(chosen), work.units / len(chosen))
    for _ in range(SETTLING if len(chosen) > 1 else 0):
        whole = np.maximum(1, np.rint(shares)).astype(np.int64)
        weights = whole / times_s(whole)
        shares = work.units * weights / weights.sum()
    partition = np.zeros(len(scenario.platform.pes), dtype=np.int64)
    partition[chosen] = whole_units(shares, work.units)
    return Configuration.one_each("balanced", work.fitting(tuple(partition.tolist())))


def evenly(scenario: Scenario, placement: tuple[int, ...]) -> Configuration:
    """Equal shares for processes on given PEs."""
    work = scenario.application.work
    return Configuration("even", work.fitting(even_split(work.units, len(placement))), placement)


def fastest_first(scenario: Scenario) -> list[int]:
    """PEs by the time in which each would do all work alone, as the model says."""
    count = len(scenario.platform.pes)
    times = model_times(scenario)(np.full(count, scenario.application.work.units, dtype=np.int64))
    return [int(place) for place in ties.in_order(times)]


def alternatives(scenario: Scenario, chosen: Configuration) -> list[Configuration]:
    """What else one would do: the same PEs balanced anew, all of them, the fastest alone."""
    sets = {frozenset(range(len(scenario.platform.pes))), frozenset(fastest_first(scenario)[:1])}
    if one_each(chosen):
        sets.add(pes_of(chosen))
    return [balanced(scenario, pes) for pes in sorted(sets, key=sorted)]


def best_of(scenario: Scenario, simulations: Simulations, starts: Sequence[Configuration]) -> Seen:
    """The best of some configurations, bettered where it has one process per PE; never worse than each of them."""
    seen, ends = _least(scenario, simulations, starts)
    return _bettered(scenario, simulations, seen, ends, np.arange(len(scenario.platform.pes)), least=0)


def best_within(
    scenario: Scenario, simulations: Simulations, pes: Collection[int], *, like: Configuration | None = None
) -> Seen:
    """The best partition over exactly these PEs that is found, one process on each.

    Parameters
    ----------
    like
        A configuration whose shares are tried too, where it has one process per PE.

    Raises
    ------
    ScenarioError
        If their memory and swap do not hold what they would need.
    """
    starts = [balanced(scenario, pes)]
    if like is not None and one_each(like):
        starts.append(_scaled(scenario, like, pes))
    seen, ends = _least(scenario, simulations, starts)
    if len(pes) == 1:
        return seen
    return _bettered(scenario, simulations, seen, ends, np.array(sorted(pes)), least=1)


@dataclass(frozen=True)
class _Ends:
    """What processes of one configuration do in the mean; (process,)."""

    computed: NDArray[np.float64]
    """When each ends computing."""
    busy: NDArray[np.float64]
    """How long each computes."""


def _least(scenario: Scenario, simulations: Simulations, tried: Sequence[Configuration]) -> tuple[Seen, _Ends]:
    """The one with the least mean makespan, of those that memory and swap hold."""
    starts = [one for one in tried if not _limited(scenario) or scenario.lacking_bytes(one) <= 0]
    if not starts:
        raise ScenarioError("application: no partition that memory and swap hold found, at least one needed")
    runs = simulations.runs(scenario, tuple(starts))
    place = ties.first_least(runs.makespan_s.mean(axis=1))
    computed, busy = runs.computed_ticks[place].mean(axis=0), runs.busy_ticks[place].mean(axis=0)
    return Seen(starts[place], np.asarray(runs.makespan_s[place])), _Ends(computed, busy)


def _limited(scenario: Scenario) -> bool:
    return any(node.memory_bytes is not None and node.swap_bytes is not None for node in scenario.platform.nodes)


def _scaled(scenario: Scenario, like: Configuration, pes: Collection[int]) -> Configuration:
    """Shares in proportion to another configuration's; PEs that have none there get its usual share."""
    given = np.array(like.partition, dtype=np.float64)
    given[given == 0] = np.median(given[given > 0])
    chosen = np.array(sorted(pes))
    units, partition = scenario.application.work.units, np.zeros(given.size, dtype=np.int64)
    partition[chosen] = whole_units(units * given[chosen] / given[chosen].sum(), units)
    return Configuration.one_each("scaled", scenario.application.work.fitting(tuple(partition.tolist())))


def _bettered(
    scenario: Scenario, simulations: Simulations, seen: Seen, ends: _Ends, allowed: NDArray[np.int64], *, least: int
) -> Seen:
    """Move units while the mean makespan falls: among all processes at once, and between the last and the first.

    Parameters
    ----------
    allowed
        PEs that may take part.
    least
        Units that each of them keeps.
    """
    count = len(seen.configuration.placement)
    if not one_each(seen.configuration) or count == 1 or count != len(scenario.platform.pes):
        return seen
    fitting = scenario.application.work.fitting
    for _ in range(ROUNDS):
        moves = [fitting(move) for move in _moves(seen.configuration.partition, ends, allowed, least)]
        moves = [move for move in dict.fromkeys(moves) if move != seen.configuration.partition]
        if not moves:
            break
        tried = [Configuration.one_each("tried", move) for move in moves]
        try:
            best, best_ends = _least(scenario, simulations, tried)
        except ScenarioError:  # no move that memory holds
            break
        if not ties.is_less(best.mean_s, seen.mean_s):
            break
        seen, ends = best, best_ends
    return seen


def _moves(partition: tuple[int, ...], ends: _Ends, allowed: NDArray[np.int64], least: int) -> list[tuple[int, ...]]:
    busy = allowed[np.array(partition)[allowed] > 0]
    late = int(busy[ties.first_most(ends.computed[busy])])
    early = int(allowed[ties.first_least(ends.computed[allowed])])
    found = [_levelled(partition, ends, busy, part) for part in LEVELLED] if busy.size > 2 else []
    for source, target in ((late, early), (early, late)):
        for step in STEPS:
            moved = min(max(1, round(step * sum(partition))), partition[source] - least)
            if moved > 0 and source != target:
                changed = list(partition)
                changed[source] -= moved
                changed[target] += moved
                found.append(tuple(changed))
    return found


def _levelled(partition: tuple[int, ...], ends: _Ends, busy: NDArray[np.int64], part: float) -> tuple[int, ...]:
    """Units moved among all processes so that all would end computing at one time, or a part of the way there."""
    units = np.array(partition, dtype=np.float64)[busy]
    rates = units / np.maximum(ends.busy[busy], 1.0)
    level = float((rates * ends.computed[busy]).sum() / rates.sum())
    wanted = np.maximum(1.0, units + part * rates * (level - ends.computed[busy]))
    found = np.zeros(len(partition), dtype=np.int64)
    found[busy] = whole_units(wanted * (sum(partition) / wanted.sum()), sum(partition))
    return tuple(found.tolist())

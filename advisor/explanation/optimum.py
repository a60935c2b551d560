"""The best that can be done in a changed scenario: balanced partitions of sets of PEs, bettered by simulation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.explanation.simulations import Simulations
from advisor.partitioners import even_split
from advisor.recommendation import model_times
from simulator import Configuration, RunSet, Scenario

ROUNDS = 6
"""Of moves, at most."""
STEPS = (1 / 25, 1 / 60, 1 / 150, 1 / 400)
"""Shares of all units that a move takes from one process to another."""
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
    partition[chosen] = _whole(shares, work.units)
    return Configuration.one_each("balanced", work.fitting(tuple(partition.tolist())))


def evenly(scenario: Scenario, placement: tuple[int, ...]) -> Configuration:
    """Equal shares for processes on given PEs."""
    work = scenario.application.work
    return Configuration("even", work.fitting(even_split(work.units, len(placement))), placement)


def fastest_first(scenario: Scenario) -> list[int]:
    """PEs by the time in which each would do all work alone, as the model says."""
    count = len(scenario.platform.pes)
    times = model_times(scenario)(np.full(count, scenario.application.work.units, dtype=np.int64))
    return [int(place) for place in np.argsort(times, kind="stable")]


def alternatives(scenario: Scenario, chosen: Configuration) -> list[Configuration]:
    """What else one would do: the same PEs balanced anew, all of them, the fastest alone."""
    sets = {frozenset(range(len(scenario.platform.pes))), frozenset(fastest_first(scenario)[:1])}
    if one_each(chosen):
        sets.add(pes_of(chosen))
    return [balanced(scenario, pes) for pes in sorted(sets, key=sorted)]


def best_of(scenario: Scenario, simulations: Simulations, starts: Sequence[Configuration]) -> Seen:
    """The best of some configurations, bettered where it has one process per PE; never worse than each of them."""
    runs = simulations.runs(scenario, tuple(starts))
    place = int(np.argmin(runs.makespan_s.mean(axis=1)))
    seen = Seen(starts[place], np.asarray(runs.makespan_s[place]))
    return bettered(scenario, simulations, seen, _ends(runs, place))


def bettered(
    scenario: Scenario,
    simulations: Simulations,
    seen: Seen,
    ends: NDArray[np.float64],
    *,
    within: Collection[int] | None = None,
) -> Seen:
    """Move units between the process that computes longest and the first that is done, while the mean falls.

    Parameters
    ----------
    ends
        When each process ends computing, in the mean; (process,).
    within
        PEs that take part, with a unit each at least; by default any may.
    """
    if not one_each(seen.configuration) or len(seen.configuration.placement) == 1:
        return seen
    allowed = np.array(sorted(within)) if within is not None else np.arange(ends.size)
    least = 0 if within is None else 1
    fitting = scenario.application.work.fitting
    for _ in range(ROUNDS):
        moves = [fitting(move) for move in _moves(seen.configuration.partition, ends, allowed, least)]
        moves = [move for move in dict.fromkeys(moves) if move != seen.configuration.partition]
        if not moves:
            break
        tried = tuple(Configuration.one_each("tried", move) for move in moves)
        runs = simulations.runs(scenario, tried)
        best = int(np.argmin(runs.makespan_s.mean(axis=1)))
        if float(runs.makespan_s[best].mean()) >= seen.mean_s:
            break
        seen, ends = Seen(tried[best], np.asarray(runs.makespan_s[best])), _ends(runs, best)
    return seen


def best_within(scenario: Scenario, simulations: Simulations, pes: Collection[int]) -> Seen:
    """The best partition over exactly these PEs that is found, one process on each."""
    start = balanced(scenario, pes)
    runs = simulations.runs(scenario, (start,))
    seen = Seen(start, np.asarray(runs.makespan_s[0]))
    return bettered(scenario, simulations, seen, _ends(runs, 0), within=pes) if len(pes) > 1 else seen


def _ends(runs: RunSet, place: int) -> NDArray[np.float64]:
    return np.asarray(runs.computed_ticks[place].mean(axis=0))


def _moves(
    partition: tuple[int, ...], ends: NDArray[np.float64], allowed: NDArray[np.int64], least: int
) -> list[tuple[int, ...]]:
    busy = allowed[np.array(partition)[allowed] > 0]
    late = int(busy[np.argmax(ends[busy])])
    early = int(allowed[np.argmin(ends[allowed])])
    found = []
    for source, target in ((late, early), (early, late)):
        for step in STEPS:
            moved = min(max(1, round(step * sum(partition))), partition[source] - least)
            if moved > 0 and source != target:
                changed = list(partition)
                changed[source] -= moved
                changed[target] += moved
                found.append(tuple(changed))
    return found


def _whole(shares: NDArray[np.float64], units: int) -> NDArray[np.int64]:
    """Whole numbers that add up to all units, by largest remainders."""
    whole = np.floor(shares).astype(np.int64)
    rest = units - int(whole.sum())
    order = np.argsort(whole - shares, kind="stable")
    whole[order[:rest]] += 1
    return whole

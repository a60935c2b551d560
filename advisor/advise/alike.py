"""Draws that come out alike: of those whose loads stay as they are for a whole run, one is simulated for all.

They are the same but for rounding, a tick for each computation: what a load leaves is rounded from where its piece
begins. Nothing is shared where anything else is drawn.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator import RunSet, Scenario, draw
from simulator.experiments.sweep import run_or_recall

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEADY = 2.0
"""Times a usual run for which loads have to stay as they are in draws of which one is simulated for all."""


@dataclass(frozen=True)
class Alike:
    """Which draws come out alike."""

    first: Ints
    """The first draw with the same loads, itself where there is none before it; (draw,)."""
    reach_s: Floats
    """How long the loads of both stay as they are, infinite for a draw that is the first; (draw,)."""

    @classmethod
    def of(cls, scenario: Scenario, starts: Floats, run_s: float) -> "Alike":
        """Those whose loads stay as they are for a run of so many seconds and another; see `starts_s`."""
        loads, steady_s = _loads(scenario, starts)
        like = (steady_s >= STEADY * run_s) & (not (scenario.doubtful or scenario.noisy_but_for_loads))
        known: dict[object, int] = {}
        first = np.array([known.setdefault(row if like[at] else at, at) for at, row in enumerate(loads)])
        alone = first == np.arange(first.size)
        return cls(first, np.where(alone, np.inf, np.minimum(steady_s, steady_s[first])))


def run_alike(scenario: Scenario, replications: int) -> tuple[RunSet, int]:
    """All configurations on so many draws, those that come out alike simulated once; and how many runs that took."""
    loaded = any(pe.load is not None and pe.load.draws for pe in scenario.platform.pes)
    moving = any(one.repartition is not None for one in scenario.configurations)
    if scenario.doubtful or moving or not loaded:
        whole = run_or_recall(scenario, replications=replications)
        return whole, whole.makespan_ticks.size
    made = run_or_recall(scenario, replications=replications, only=[0])
    alike = Alike.of(scenario, starts_s(scenario, replications), float(np.median(made.makespan_s)))
    firsts, place = np.unique(alike.first, return_inverse=True)
    made = _with(made, scenario, replications, firsts[1:])
    late = np.flatnonzero(np.any(made.makespan_s[:, place] > alike.reach_s, axis=0))  # a load changes before its end
    place[late] = firsts.size + np.arange(late.size)
    made = _with(made, scenario, replications, late)
    return made.at(place), made.makespan_ticks.size


def starts_s(scenario: Scenario, draws: int, first: int = 0) -> Floats:
    """Where the load of each PE starts in some draws; (draw, PE)."""
    strata = scenario.strata or scenario.replications
    return draw(replace(scenario, replications=draws, strata=strata), first=first).load_starts_s


def _with(made: RunSet, scenario: Scenario, replications: int, more: Ints) -> RunSet:
    """With more of the draws behind those that were simulated."""
    if not more.size:
        return made
    return made.followed_by(run_or_recall(scenario, replications=replications, only=more.tolist()))


def _loads(scenario: Scenario, starts: Floats) -> tuple[list[tuple[float, ...]], Floats]:
    """The load of each PE where each draw starts, and how long all stay as they are, in seconds; (draw,)."""
    found, steady_s = np.zeros((len(starts), 0)), np.full(len(starts), np.inf)
    for number, pe in enumerate(scenario.platform.pes):
        if pe.load is not None and pe.load.draws:
            trace = pe.load.trace
            changes = np.append(np.flatnonzero(np.diff(trace.values)) + 1, trace.values.size)
            piece = np.searchsorted(trace.times_s, starts[:, number], side="right") - 1
            ends_s = np.append(trace.times_s, trace.end_s)[changes[np.searchsorted(changes, piece, side="right")]]
            steady_s = np.minimum(steady_s, ends_s - starts[:, number])
            found = np.column_stack((found, trace.values[piece]))
    return list(map(tuple, found.tolist())), steady_s

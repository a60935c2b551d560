"""What means may be under loads that are seldom there: replications that hardly meet one say little of what it does."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simulator.base.arrays import Flags, Floats
from simulator.engines.run import run
from simulator.engines.run_set import RunSet
from simulator.platform.nodes import Load
from simulator.scenario_file.scenario import MET, Scenario, seldom_loads
from simulator.scenario_file.truths import draw

MOST = 8
"""Loads that are looked at, the most seldom ones."""


def reaching(scenario: Scenario, runs: RunSet) -> RunSet:
    """The runs, with what the mean of each configuration were if three replications met a load that is seldom there.

    That is a load whose share of time, times the replications, is below three: they may not have met it at all, and
    then look alike. Three more runs of each configuration begin where it is there.
    """
    count, makespans_s = runs.makespan_ticks.shape[1], runs.makespan_s
    shares = {} if runs.deterministic or count == 1 else seldom_loads(scenario.platform, count)
    if not shares:
        return runs
    scenario = runs.drawn(replace(scenario, replications=count))
    starts_s, means_s = draw(scenario).load_starts_s, makespans_s.mean(axis=1)
    reach_s = means_s
    for clock in sorted(shares, key=shares.__getitem__)[:MOST]:
        load = scenario.platform.pes[clock].load
        met = np.zeros(count, dtype=np.bool_) if load is None else _there(load, starts_s[:, clock])
        if load is None or met.sum() >= min(MET, count):
            continue
        under_s = np.mean([_under(scenario, clock, *at) for at in enumerate(_starts(load))], axis=0)
        if_met_s = means_s + (MET - met.sum()) / count * (under_s - makespans_s[:, ~met].mean(axis=1))
        reach_s = np.where(np.abs(if_met_s - means_s) > np.abs(reach_s - means_s), if_met_s, reach_s)
    return replace(runs, reach_s=reach_s)


def _there(load: Load, starts_s: Floats) -> Flags:
    """Whether a load is there at each of some times of its trace."""
    pieces = np.searchsorted(load.trace.times_s, starts_s, side="right") - 1
    return np.asarray(load.there[pieces])


def _starts(load: Load) -> Iterator[float]:
    """Three places of a trace, as parts of it, spread evenly over the time for which the load is there."""
    trace = load.trace
    there_s = np.where(load.there, trace.durations_s, 0.0)
    until_s = np.cumsum(there_s)
    for part in (np.arange(MET) + 0.5) / MET:
        piece = int(np.searchsorted(until_s, part * until_s[-1], side="right"))
        into_s = part * until_s[-1] - (until_s[piece] - there_s[piece])
        yield float((trace.times_s[piece] + into_s) / trace.end_s)


def _under(scenario: Scenario, clock: int, number: int, place: float) -> Floats:
    """Makespans of a replication if the loads of a clock start at a place of their traces; (configuration,)."""
    platform, pes = scenario.platform, list(scenario.platform.pes)
    for at, pe in enumerate(pes):
        if pe.load is not None and platform.load_clocks[at] == clock:
            pes[at] = replace(pe, load=replace(pe.load, drawn=False, start_s=place * pe.load.trace.end_s))
    begun = replace(scenario, platform=replace(platform, pes=tuple(pes)))
    return np.asarray(run(begun, replications=1, first_replication=number).makespan_s[:, 0])

"""Counters of a timeline, bounded in number: loads as PEs meet them, and messages under way on links."""

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.models.load import LoadTrace
from simulator.results.timelines.happened import Happened, grouped
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import draw_one, of_replication

__all__ = ["load_profiles"]

MOST_POINTS = 200_000
"""Points of all counters of a timeline."""
MOST_OF_ONE = 1000
"""Points of one of them."""


def load_profiles(scenario: Scenario, *, replication: int, end_s: float, most: int) -> dict[str, tuple[Floats, Floats]]:
    """Of each PE with a load times in seconds of the run, and the load (or the share left) from each of them on.

    `scenario`: with the seed and the numbers of truths and strata of the run.
    `replication`: its number decides where in their traces the loads start.
    `end_s`: how long the run is; beyond `most` changes, means over equal steps are given.
    """
    scenario = of_replication(scenario, replication)
    starts_s = draw_one(scenario, replication).load_starts_s[0]
    return {
        pe.name: load_points(pe.load.trace, float(start_s), end_s, most)
        for pe, start_s in zip(scenario.platform.pes, starts_s, strict=True)
        if pe.load is not None and end_s > 0
    }


Ticks = Ints


def points_of_each(counters: int) -> int:
    """Points that each of so many counters may have."""
    return max(8, min(MOST_OF_ONE, MOST_POINTS // max(1, counters)))


def load_points(trace: LoadTrace, start_s: float, end_s: float, most: int) -> tuple[Floats, Floats]:
    """Times in seconds of a run and the load from each of them on, for a load that starts at `start_s` of its trace.

    Where the trace changes more often than `most` times, means over equal steps.
    """
    first = np.floor(start_s / trace.end_s) if trace.after_end == "cycle" else 0.0
    last = np.floor((start_s + end_s) / trace.end_s) if trace.after_end == "cycle" else 0.0
    if (last - first + 1) * trace.times_s.size <= 4 * most + 8 * trace.times_s.size:
        turns = np.arange(first, last + 1)
        knots = (turns[:, np.newaxis] * trace.end_s + trace.times_s).reshape(-1) - start_s
        inside = knots[(knots > 0) & (knots < end_s)]
        if inside.size < most:
            times = np.concatenate(([0.0], inside))
            return times, _value_at(trace, start_s + (times + np.append(times[1:], end_s)) / 2)
    edges = np.linspace(0.0, end_s, most + 1)
    return edges[:-1], np.maximum(0.0, np.diff(_total(trace, start_s + edges)) / np.diff(edges))


def messages_on_links(run: Happened, most: int) -> dict[int, tuple[Ticks, Floats]]:
    """Per directed link or disk the ticks at which the number of messages under way on it changes, and that number.

    A message is under way from its request to its arrival, so those that wait for the link count. An arrival that
    nobody waited for is not logged: such a message counts for as long as it takes where it meets no other.
    """
    begin, end, route = _under_way(run)
    first, links = run.costs.route_first, run.costs.route_links
    length = first[route + 1] - first[route]
    message = np.repeat(np.arange(route.size), length)
    place = np.arange(message.size) - np.repeat(np.cumsum(length) - length, length)
    passed = links[first[route][message] + place]
    by_link = ((link, message[places]) for link, places in grouped(passed))
    return {link: _occupancy(begin[of_it], end[of_it], most) for link, of_it in by_link}


def _under_way(run: Happened) -> tuple[Ticks, Ticks, Ticks]:
    """Begin and end of everything that takes a route, and that route."""
    every = run.costs.route[0]
    sends, receives = run.sends, run.receives
    request = np.where(run.eager, run.begin[sends], np.maximum(run.begin[sends], run.begin[receives]))
    begin, end = run.begin[run.arrived], run.end[run.arrived]
    waited = end > np.maximum(begin, request)
    arrival = np.where(waited, end, np.minimum(request + run.alone, begin))
    both = np.minimum(run.end[run.left], end)  # of an exchange the other half may have ended later
    arrival = np.maximum(np.where(run.eager, arrival, both), request)
    disks = np.flatnonzero((every >= 0) & ~np.isin(np.arange(every.size), sends))
    rows = np.concatenate((sends, disks))
    begins, ends = np.concatenate((request, run.begin[disks])), np.concatenate((arrival, run.end[disks]))
    kept = every[rows] >= 0
    return begins[kept], ends[kept], every[rows][kept]


def _occupancy(begin: Ticks, end: Ticks, most: int) -> tuple[Ticks, Floats]:
    ticks = np.concatenate((begin, end))
    knots, place = np.unique(ticks, return_inverse=True)
    change = np.bincount(place, weights=np.repeat((1.0, -1.0), begin.size), minlength=knots.size)
    level = np.rint(np.cumsum(change))
    if knots.size <= most:
        return knots, level
    edges = np.unique(np.linspace(int(knots[0]), int(knots[-1]), most).astype(np.int64))
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(knots))))
    at_edges = np.interp(edges, knots, area)
    return edges, np.append(np.diff(at_edges) / np.diff(edges), 0.0)


def _value_at(trace: LoadTrace, times_s: Floats) -> Floats:
    within = times_s % trace.end_s if trace.after_end == "cycle" else times_s
    place = np.searchsorted(trace.times_s, within, side="right") - 1
    return np.asarray(trace.values[np.maximum(place, 0)], dtype=np.float64)


def _total(trace: LoadTrace, times_s: Floats) -> Floats:
    """Integral of the load from the trace's start to each time."""
    knots = np.append(trace.times_s, trace.end_s)
    sums = np.concatenate(([0.0], np.cumsum(trace.values * np.diff(knots))))
    if trace.after_end == "cycle":
        turns = np.floor(times_s / trace.end_s)
        return np.asarray(turns * sums[-1] + np.interp(times_s - turns * trace.end_s, knots, sums), dtype=np.float64)
    beyond = np.maximum(0.0, times_s - trace.end_s) * trace.values[-1]
    return np.asarray(np.interp(times_s, knots, sums) + beyond, dtype=np.float64)

"""What a PE's track shows: slices that lie side by side or in each other, and never across a border."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.programs.columns import Kind
from simulator.results.timelines.happened import Happened

Ticks = NDArray[np.int64]
NONE = -1


@dataclass(frozen=True)
class Slices:
    """Slices of one track; (slice,)."""

    begin: Ticks
    end: Ticks
    first: Ticks
    """The operation that it is, the first of several, or -1 for a stretch of a PE that processes share."""
    count: Ticks
    """Operations that it stands for: several only where they all took no time at one instant."""
    computing: Ticks
    """Of a stretch: how many processes compute."""
    alive: Ticks
    """And how many have not ended."""


def own_slices(run: Happened, rows: Ticks) -> Slices:
    """The operations of one process, those that took no time gathered where several share an instant."""
    instant = run.begin[rows] == run.end[rows]
    follows = np.zeros(rows.size, dtype=np.bool_)
    if rows.size > 1:
        same = (run.begin[rows[1:]] == run.begin[rows[:-1]]) & (run.process[rows[1:]] == run.process[rows[:-1]])
        follows[1:] = instant[1:] & instant[:-1] & same
    heads = np.flatnonzero(~follows)
    count = np.diff(np.append(heads, rows.size))
    nothing = np.zeros(heads.size, dtype=np.int64)
    return Slices(run.begin[rows[heads]], run.end[rows[heads]], rows[heads], count, nothing, nothing)


def shared_slices(run: Happened, rows: Ticks) -> Slices:
    """Stretches of a PE with several processes by how many of them compute, and what took no time between them."""
    own = own_slices(run, rows)
    at_once = own.begin == own.end
    lasting = rows[run.end[rows] > run.begin[rows]]
    computing = np.isin(run.columns.kind[lasting], (Kind.COMPUTE, Kind.FARM, Kind.CUSTOM)).astype(np.int64)
    edges = np.unique(np.concatenate((run.begin[lasting], run.end[lasting])))
    alive, busy = (_levels(edges, run.begin[lasting], run.end[lasting], weights) for weights in (None, computing))
    starts = np.ones(edges.size, dtype=np.bool_)
    starts[1:] = (np.diff(alive) != 0) | (np.diff(busy) != 0)
    kept = np.flatnonzero(starts)
    begin, ends = edges[kept], np.append(edges[kept[1:]], edges[-1:])
    running = alive[kept] > 0
    none = np.full(int(running.sum()), NONE, dtype=np.int64)
    stretches = (begin[running], ends[running], none, -none, busy[kept][running], alive[kept][running])
    instants = (own.begin, own.end, own.first, own.count, own.computing, own.alive)
    both = [np.concatenate((a, b[at_once])) for a, b in zip(stretches, instants, strict=True)]
    return Slices(*both)


def _levels(edges: Ticks, begin: Ticks, end: Ticks, weights: Ticks | None) -> Ticks:
    """Sum of weights of what is under way from each edge on."""
    change = np.zeros(edges.size, dtype=np.int64)
    weight = np.ones(begin.size, dtype=np.int64) if weights is None else weights
    np.add.at(change, np.searchsorted(edges, begin), weight)
    np.subtract.at(change, np.searchsorted(edges, end), weight)
    return np.cumsum(change)

"""Jobs on nodes of cores, memory and GPUs: `simulator.scheduling.nodes`, compiled."""

from typing import Any

import numpy as np

from simulator.base.arrays import Ints
from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_state import NONE, N, State
from simulator.engines.costs.jobs import JobCosts

CHUNKS, EACH, SPREAD, WHOLE, WITHIN, FAILED, FAILED_THEN, FIELDS = 0, 1, 4, 5, 6, 7, 8, 9
"""Fields of a row of `State.asks`, and how many there are. A chunk's cores, memory and GPUs lie at `EACH`; the last two
are the epoch in which it did not fit, and the pass in which it did not fit beside the head."""
PARTS = 3
"""Cores, memory and GPUs."""
ALL, NOW, THEN, BOTH = range(4)
"""Rows of `State.level`: what there is, what is free now, once the head has started, and at both times."""


@subroutine
def room_on(asks: Ints, level: Ints, ask: int, free: Ints, at: int, node: int) -> int:
    """How many chunks of a request a node can take, of which so much is free as lies at a place of an array."""
    if free[at] < asks[ask + EACH] or (asks[ask + WHOLE] and free[at] != level[PARTS * node]):
        return 0
    room = 1 if asks[ask + SPREAD] else asks[ask + CHUNKS]
    for part in range(PARTS):
        need = asks[ask + EACH + part]
        if need > 0 and need * room > free[at + part]:
            room = free[at + part] // need
    return max(0, room)


@subroutine
def gather(j: State, job: int, free: Ints, row: int) -> bool:
    """Whether a job fits into what is free in a row; then its nodes and chunks are put down for it."""
    ask, base, count = j.request[job] * FIELDS, j.held_first[job], 0
    left, at = j.asks[ask + CHUNKS], PARTS * j.n[N.NODES] * row
    usable = j.asks[ask + WITHIN]
    for place in range(usable + 1, usable + 1 + j.sets[usable]):
        node = j.sets[place]
        room = min(left, room_on(j.asks, j.level, ask, free, at + PARTS * node, node))
        if room > 0:
            j.held[base + 2 * count + 1] = node
            j.held[base + 2 * count + 2] = room
            count += 1
            left -= room
            if left == 0:
                j.held[base] = count
                return True
    return False


@callee
def held_by(j: State, job: int) -> range:
    """Where in `held` each of a job's nodes lies."""
    base = j.held_first[job]
    return range(base + 1, base + 1 + 2 * j.held[base], 2)


@callee
def part_held(j: State, job: int, place: int, part: int) -> int:
    """What a job holds of a part of one of its nodes."""
    ask = j.request[job] * FIELDS
    if j.asks[ask + WHOLE]:
        return j.level[PARTS * j.held[place] + part]
    return j.held[place + 1] * j.asks[ask + EACH + part]


@subroutine
def change(j: State, free: Ints, row: int, job: int, sign: int) -> None:
    """Have what a job holds free in a row, or no longer."""
    at = PARTS * j.n[N.NODES] * row
    for place in held_by(j, job):
        for part in range(PARTS):
            free[at + PARTS * j.held[place] + part] += sign * part_held(j, job, place, part)


@subroutine
def hold(j: State, job: int, sign: int) -> None:
    """Have what a job holds free now, or no longer."""
    change(j, j.level, NOW, job, sign)
    for place in held_by(j, job):
        j.n[N.SPARE] += sign * part_held(j, job, place, 0)


@callee
def fits_now(j: State, job: int) -> bool:
    """Whether a job fits into what is free now; once it does not, none like it does until something ends."""
    ask = j.request[job] * FIELDS
    failed = ask + FAILED
    if j.asks[failed] == j.n[N.EPOCH] or j.asks[ask + CHUNKS] * j.asks[ask + EACH] > j.n[N.SPARE]:
        return False
    if gather(j, job, j.level, NOW):
        return True
    j.asks[failed] = j.n[N.EPOCH]
    return False


@callee
def fits_beside(j: State, job: int) -> bool:
    """Whether a job that fits now fits beside the head, too, for as long as it likes."""
    failed = j.request[job] * FIELDS + FAILED_THEN
    if j.asks[failed] == j.n[N.PASS]:
        return False
    if gather(j, job, j.level, BOTH):
        return True
    j.asks[failed] = j.n[N.PASS]
    return False


@subroutine
def meet_on(j: State, job: int) -> None:
    """What is free at both times, where a job's nodes have changed."""
    wide = PARTS * j.n[N.NODES]
    for place in held_by(j, job):
        for at in range(PARTS * j.held[place], PARTS * (j.held[place] + 1)):
            j.level[BOTH * wide + at] = min(j.level[NOW * wide + at], j.level[THEN * wide + at])


@subroutine
def shadow_of(j: State, head: int) -> int:
    """When the head fits at last by the plans of what runs; what it leaves free then is put down."""
    ask, shadow, room, nodes = j.request[head] * FIELDS, j.n[N.NOW], 0, j.n[N.NODES]
    then, flags = THEN * PARTS * nodes, j.asks[ask + WITHIN] + 1 + nodes
    for node in range(nodes):
        for at in range(PARTS * node, PARTS * (node + 1)):
            j.level[then + at] = j.level[NOW * PARTS * nodes + at]
        if j.sets[flags + node]:
            room += room_on(j.asks, j.level, ask, j.level, then + PARTS * node, node)
    for at in range(j.n[N.RUNNING]):
        other = j.running[at]
        if room >= j.asks[ask + CHUNKS] and j.planned[other] > shadow:
            break
        shadow = j.planned[other]
        for place in held_by(j, other):
            node = j.held[place]
            before = room_on(j.asks, j.level, ask, j.level, then + PARTS * node, node)
            for part in range(PARTS):
                j.level[then + PARTS * node + part] += part_held(j, other, place, part)
            if j.sets[flags + node]:
                room += room_on(j.asks, j.level, ask, j.level, then + PARTS * node, node) - before
    gather(j, head, j.level, THEN)
    change(j, j.level, THEN, head, -1)
    for at in range(PARTS * nodes):
        j.level[BOTH * PARTS * nodes + at] = min(j.level[NOW * PARTS * nodes + at], j.level[then + at])
    return shadow


@subroutine
def best_on_nodes(j: State, job: int, lasting: int) -> int:
    """The begin of the earliest hole for a job in the profile; its nodes are put down for it."""
    wide, ask = PARTS * j.n[N.NODES], j.request[job] * FIELDS
    cores = j.asks[ask + CHUNKS] * j.asks[ask + EACH]
    for row in range(j.n[N.PROFILE]):
        spare = 0
        for node in range(j.n[N.NODES]):
            spare += max(0, j.free[row * wide + PARTS * node])
        if spare < cores or not gather(j, job, j.free, row):
            continue
        if j.n[N.RISING]:
            return j.time[row]
        for place in range(wide):
            j.level[BOTH * wide + place] = j.free[row * wide + place]
        later = row + 1
        while later < j.n[N.PROFILE] and j.time[later] < j.time[row] + lasting:
            for place in range(wide):
                j.level[BOTH * wide + place] = min(j.level[BOTH * wide + place], j.free[later * wide + place])
            later += 1
        if gather(j, job, j.level, BOTH):
            return j.time[row]
    return NONE


def node_arrays(costs: JobCosts) -> dict[str, Any]:
    """The arrays of a run that only jobs on nodes use; empty without nodes."""
    nodes, requests = costs.nodes, costs.requests
    if nodes is None or requests is None:
        empty = dict.fromkeys(("asks", "sets", "held_first", "part", "parts"), np.zeros(0, dtype=np.int64))
        return empty | {"held": np.zeros(0, dtype=np.int32)}
    order, count = nodes.order, len(nodes.names)
    sets = np.zeros((len(requests.allowed), 1 + 2 * count), dtype=np.int64)
    sets[:, 0], sets[:, 1 + count :] = requests.allowed.sum(axis=1), requests.allowed
    for row, allowed in zip(sets, requests.allowed, strict=True):
        row[1 : 1 + row[0]] = order[allowed[order]]
    kinds = (requests.chunks, *requests.each.T, requests.spread, requests.whole, requests.within * sets.shape[1])
    asks = np.stack([*kinds, *np.zeros((2, requests.chunks.size))], axis=1).astype(np.int64)
    most = 1 + 2 * np.minimum(requests.chunks, sets[requests.within, 0])[requests.of_job]
    capacity = nodes.capacity.reshape(-1)
    return {
        "request": requests.of_job.astype(np.int64),
        "asks": asks.reshape(-1),
        "sets": sets.reshape(-1),
        "level": np.tile(capacity, 4),
        "part": requests.partition.astype(np.int64),
        "parts": np.insert(requests.members.astype(np.int64), 0, 0, axis=1).reshape(-1),
        "held_first": np.cumsum(most) - most,
        "held": np.zeros(int(most.sum()), dtype=np.int32),
    }


def on_nodes(state: State, costs: JobCosts) -> tuple[Ints, Ints, Ints] | tuple[None, None, None]:
    """Cores that each job held, where its nodes begin, and the nodes, ascending."""
    nodes, requests = costs.nodes, costs.requests
    if nodes is None or requests is None:
        return None, None, None
    counts = state.held[state.held_first].astype(np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    job = np.repeat(np.arange(costs.jobs), counts)
    places = state.held_first[job] + 1 + 2 * (np.arange(job.size) - first[job])
    node, kind = state.held[places].astype(np.int64), requests.of_job[job]
    cores = np.where(requests.whole[kind], nodes.cores[node], state.held[places + 1] * requests.each[kind, 0])
    held = np.bincount(job, cores, costs.jobs).astype(np.int64)
    return held, first, node if np.all(np.diff(nodes.order) > 0) else node[np.lexsort((node, job))]

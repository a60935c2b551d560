"""The door of jobs on nodes: what each asks for as whole numbers, what is reserved, and who waits for whom."""

from collections.abc import Iterator

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.streams.stream import Stream
from simulator.scheduling.nodes import JobNodes, JobPartition, NodeRequests
from simulator.scheduling.places import Cluster
from simulator.scheduling.policy import Policy
from simulator.scheduling.profiles import Span

__all__ = ["bounded", "fitting_jobs", "node_requests", "preceding", "refused", "reserved", "unfit"]

MIB = 2**20
ROUNDED = 1e-6
"""Of a MiB: so much more is memory that was divided by a job's processors and multiplied again."""
SECOND = 10**9


def bounded(stream: Stream, nodes: JobNodes) -> Floats:
    """Limits of jobs that are no longer than their partitions'; (job,).

    Raises ScenarioError for partitions that there are not.
    """
    longest = np.array([np.inf if one is None else one.limit_s for one in _partitions(stream, nodes)])
    least = np.fmin(stream.limit_s, longest[_row(stream.partition)])
    return np.where(np.isinf(least), np.nan, least)


def node_requests(stream: Stream, nodes: JobNodes) -> NodeRequests:
    """What each job asks for.

    Raises ScenarioError for partitions that there are not.
    """
    partitions, row = _partitions(stream, nodes), _row(stream.partition)
    alone = np.array([one is not None and one.exclusive for one in partitions])[row]
    spread = stream.nodes > 0
    chunks = np.where(spread, stream.nodes, stream.processors)
    cores = np.where(spread, -(-stream.processors // np.maximum(chunks, 1)), 1)
    memory = np.ceil(cores * np.nan_to_num(stream.memory_bytes) / MIB - ROUNDED).astype(np.int64)
    gpus = -(-stream.gpus // np.maximum(chunks, 1))
    sets, within = np.unique(np.stack([row, stream.feature]), axis=1, return_inverse=True)
    allowed = [_allowed(stream, nodes, partitions[int(one)], int(feature)) for one, feature in sets.T]
    asked = np.stack([chunks, cores, memory, gpus, spread, alone | (stream.exclusive > 0), within.reshape(-1)])
    unlike, of_job = np.unique(asked, axis=1, return_inverse=True)
    chunks, cores, memory, gpus, spread, whole, within = np.ascontiguousarray(unlike)
    each = np.stack([cores, memory, gpus], axis=1)
    return NodeRequests(
        of_job.reshape(-1),
        chunks,
        each,
        spread > 0,
        whole > 0,
        within,
        np.array(allowed),
        row,
        np.array([_allowed(stream, nodes, one, -1) for one in partitions]),
        np.array([1 if one is None else one.tier for one in partitions]),
    )


def _row(numbers: Ints) -> Ints:
    """Where each stands among the numbers that occur."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


def _partitions(stream: Stream, nodes: JobNodes) -> list[JobPartition | None]:
    """Of each number of a partition that occurs, ascending."""
    numbers = np.unique(stream.partition).tolist()
    return [nodes.partition(None if number < 0 else _name(stream, "partition", number)) for number in numbers]


def _name(stream: Stream, field: str, number: int) -> str:
    names = stream.names.get(field, ())
    return names[number] if number < len(names) else str(number)


def _allowed(stream: Stream, nodes: JobNodes, partition: JobPartition | None, feature: int) -> Flags:
    """The nodes of a partition that have a feature; (node,)."""
    members = np.ones(len(nodes.names), dtype=np.bool_)
    if partition is not None:
        members[:] = False
        members[partition.members] = True
    return members & nodes.with_features(_name(stream, "feature", feature)) if feature >= 0 else members


def unfit(stream: Stream, nodes: JobNodes, requests: NodeRequests) -> Iterator[tuple[Ints, str, str]]:
    """Jobs that can never run, what is wrong with them, and what to do."""
    most = np.array(
        [np.inf if one is None or one.max_nodes is None else one.max_nodes for one in _partitions(stream, nodes)]
    )
    above = np.flatnonzero(stream.nodes > most[_row(stream.partition)])
    yield above, "asks for more nodes than its partition allows", "drop it or name another partition"
    loose = np.flatnonzero((stream.gpus > 0) & (stream.nodes < 1))
    yield loose, "asks for GPUs, but not on how many nodes", "give its nodes"
    kinds = range(requests.chunks.size)
    room = np.array([requests.room(one, nodes.capacity, nodes.capacity).sum() for one in kinds], dtype=np.int64)
    never = np.flatnonzero((room < requests.chunks)[requests.of_job])
    yield never, "finds no nodes that hold what it asks for, even if nothing else runs", "drop it or take other nodes"


def fitting_jobs(stream: Stream, nodes: JobNodes) -> Flags:
    """Which jobs the nodes hold when nothing else runs; (job,)."""
    known = {one.name for one in nodes.partitions}
    there = [
        number < 0 or _name(stream, "partition", number) in known for number in np.unique(stream.partition).tolist()
    ]
    rows = np.flatnonzero(np.array(there)[_row(stream.partition)] | (not known))
    some, found = stream.take(rows), np.zeros(len(stream), dtype=np.bool_)
    found[rows] = True
    for jobs, _, _ in unfit(some, nodes, node_requests(some, nodes)) if rows.size else ():
        found[rows[jobs]] = False
    return found


def reserved(cluster: Cluster | JobNodes) -> tuple[Span, ...]:
    """What reservations hold, in ticks, of the kind that the cluster's profile has."""
    spans = []
    for one in cluster.reservations:
        if isinstance(cluster, JobNodes):
            held = np.zeros_like(cluster.capacity)
            members = list(one.nodes) or slice(None)
            held[members] = cluster.capacity[members]
        else:
            held = np.array(cluster.count if one.pes is None else min(one.pes, cluster.count))
        spans.append((round(one.begin_s * SECOND), round(one.end_s * SECOND), held))
    return tuple(spans)


def refused(cluster: Cluster | JobNodes, policy: Policy) -> Iterator[str]:
    """What a policy cannot do on nodes, or beside reservations."""
    where = "nodes" if isinstance(cluster, JobNodes) else "reservations" if cluster.reservations else ""
    if not where:
        return
    if policy.own is not None:
        yield f"policy {policy.own_name}: a policy of your own decides on PEs alone; leave {where} out"
    if policy.processors == "named":
        yield f"processors named: {where} are not known by PE; take processors counted"
    if policy.same_second == "event":
        yield f"same_second event: a pass after each event is not defined with {where}; take instant"


def preceding(stream: Stream) -> Ints:
    """The number of the job that each one waits for, -1 for none; (job,).

    Raises ScenarioError for jobs that wait for each other in a circle.
    """
    if stream.preceding.dtype.kind == "i" and np.all(stream.preceding < 0):
        return np.full(len(stream), -1, dtype=np.int64)
    number = {name: job for job, name in reversed(list(enumerate(stream.ids.tolist())))}
    found = np.full(len(stream), -1, dtype=np.int64)
    for job, name in enumerate(stream.preceding.tolist()):
        if name not in (-1, ""):
            found[job] = number.get(name, -1)
    ahead = found.copy()
    for _ in range(max(1, len(stream)).bit_length()):  # each turn looks twice as far
        ahead = np.where(ahead >= 0, ahead[ahead], -1)
    if np.any(ahead >= 0):
        name = stream.ids[int(np.argmax(ahead >= 0))]
        raise ScenarioError(f"stream {stream.name}: job {name} waits for jobs that wait for it; mend what precedes it")
    return found

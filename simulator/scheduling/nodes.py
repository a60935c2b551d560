"""Nodes with cores, memory and GPUs, their partitions and their reservations, as jobs of a stream ask for them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.scheduling.profiles import Hole, Profile, Span

NO_LIMIT_MIB = 2**40
"""Memory of a node that limits nobody: more than all jobs ask for, and sums of it stay whole numbers of 64 bits."""


@dataclass(frozen=True, eq=False)
class JobPartition:
    """Nodes that jobs ask for by a name; partitions may share nodes."""

    name: str
    members: Ints
    """Numbers of its nodes."""
    limit_s: float = np.inf
    """No job runs for longer, whatever its own limit."""
    max_nodes: int | None = None
    """More than these no job may ask for."""
    tier: int = 1
    """Jobs of a higher tier are looked at first, where the policy looks at it."""
    exclusive: bool = False
    """Whether its jobs take nodes whole."""
    default: bool = False
    """Whether jobs go there that name no partition."""


@dataclass(frozen=True)
class Reservation:
    """What no job may use for a while, as it is under maintenance; seconds of the stream.

    Raises ScenarioError unless it ends after it begins.
    """

    begin_s: float
    end_s: float
    nodes: tuple[int, ...] = ()
    """Numbers of nodes; none means all of them."""
    pes: int | None = None
    """How many, where PEs are counted; None means all of them."""

    def __post_init__(self) -> None:
        if not 0 <= self.begin_s < self.end_s < np.inf:
            raise ScenarioError(
                f"reservation {self.begin_s:g} to {self.end_s:g} s: it must begin at 0 or later and end after that"
            )


@dataclass(frozen=True, eq=False)
class JobNodes:
    """Nodes by number; arrays (node,). All are equally fast.

    Raises ScenarioError for arrays of different lengths, nodes without cores, and partitions of unknown nodes.
    """

    names: tuple[str, ...]
    cores: Ints
    memory_mib: Ints
    """`NO_LIMIT_MIB` where nothing limits jobs."""
    gpus: Ints
    weight: Ints
    """Light nodes are taken first, of equal ones those with low numbers."""
    features: tuple[tuple[str, ...], ...] = ()
    """Of each node; none at all means none of any node."""
    partitions: tuple[JobPartition, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    prices_per_hour: Floats | None = field(default=None)

    def __post_init__(self) -> None:
        if not self.names:
            raise ScenarioError("nodes: there is no node; give at least one")
        for name in ("cores", "memory_mib", "gpus", "weight"):
            if (size := getattr(self, name).size) != len(self.names):
                raise ScenarioError(f"nodes: {name} has {size} entries; give one for each of {len(self.names)} nodes")
        if self.features and len(self.features) != len(self.names):
            raise ScenarioError(f"nodes: give features of each of {len(self.names)} nodes, or none")
        if np.any(self.cores < 1) or np.any(self.memory_mib < 0) or np.any(self.gpus < 0):
            raise ScenarioError("nodes: a node has no core, or less memory or fewer GPUs than none; leave it out")
        used = [one.members.tolist() for one in self.partitions] + [list(one.nodes) for one in self.reservations]
        if any(not 0 <= number < len(self.names) for members in used for number in members):
            raise ScenarioError("nodes: a partition or a reservation has a node that there is not; number them from 0")

    @property
    def count(self) -> int:
        """How many cores."""
        return int(self.cores.sum())

    @cached_property
    def capacity(self) -> Ints:
        """Cores, memory and GPUs; (node, 3)."""
        return np.stack([self.cores, self.memory_mib, self.gpus], axis=1).astype(np.int64)

    @cached_property
    def order(self) -> Ints:
        """Numbers of nodes in the order in which they are taken; (node,)."""
        return np.lexsort((np.arange(len(self.names)), self.weight)).astype(np.int64)

    def partition(self, name: str | None) -> JobPartition | None:
        """By name; the default one for None. No partition means all nodes.

        Raises ScenarioError for a name that there is not.
        """
        if not self.partitions:
            return None
        for one in self.partitions:
            if one.name == name or (name is None and one.default):
                return one
        if name is None:
            return None
        names = [one.name for one in self.partitions]
        raise ScenarioError(f"there is no partition {name!r}; take {', '.join(names)}{meant(name, names)}")

    def with_features(self, wanted: str) -> Flags:
        """Which nodes have a feature, one of several `a|b`, or all of several `a&b`; (node,)."""
        either = [set(one.strip().split("&")) for one in wanted.split("|")]
        features = self.features or ((),) * len(self.names)
        return np.array([any(every <= set(own) for every in either) for own in features])


@dataclass(frozen=True, eq=False)
class NodeRequests:
    """What jobs ask for: equal chunks, each inside of one node; R requests that differ, A sets of nodes."""

    of_job: Ints
    """(job,)."""
    chunks: Ints
    """How many; (R,)."""
    each: Ints
    """Cores, memory and GPUs of a chunk; (R, 3)."""
    spread: Flags
    """Whether each chunk is on a node of its own; (R,)."""
    whole: Flags
    """Whether the job's nodes are its own; (R,)."""
    within: Ints
    """Set of nodes that are allowed; (R,)."""
    allowed: Flags
    """(A, node)."""
    partition: Ints
    """(job,)."""
    members: Flags
    """Nodes of each partition; (partition, node)."""
    tier: Ints
    """Of each partition."""

    def room(self, request: int, free: Ints, capacity: Ints) -> Ints:
        """How many chunks each node can take, of those that are asked for; (node,).

        `free`: what is left of `capacity`; (node, 3).
        """
        need = self.each[request]
        fitting = np.where(need > 0, free // np.maximum(need, 1), NO_LIMIT_MIB).min(axis=1)
        room = np.clip(fitting, 0, 1 if self.spread[request] else self.chunks[request])
        usable = self.allowed[self.within[request]]
        if self.whole[request]:
            usable = usable & (free[:, 0] == capacity[:, 0])
        return np.asarray(room * usable)

    def taken(self, request: int, room: Ints, nodes: JobNodes) -> Ints:
        """What a job takes, from as few of the first nodes as hold it; (node, 3)."""
        in_order = room[nodes.order]
        before = np.cumsum(in_order) - in_order
        chunks = np.empty_like(room)
        chunks[nodes.order] = np.clip(self.chunks[request] - before, 0, in_order)
        if self.whole[request]:
            return np.asarray(nodes.capacity * (chunks > 0)[:, np.newaxis])
        return np.asarray(self.each[request] * chunks[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class NodePlaces:
    """Nodes as jobs share them (a `Pool`).

    `plan`: planned ticks of each job.
    """

    nodes: JobNodes
    requests: NodeRequests
    plan: list[list[int]]
    reserved: tuple[Span, ...] = ()

    def profile(self, now: int) -> Profile:
        """What is free where no reservation is."""
        return Profile(now, self.nodes.capacity, np.minimum, self.reserved)

    def best(self, profile: Profile, job: int, *, beyond: int = 0) -> Hole | None:
        """The earliest hole, on the lightest nodes."""
        request, lasting = int(self.requests.of_job[job]), self.plan[job][0]
        for place, start in enumerate(profile.times):
            room = self.requests.room(request, profile.common(place, lasting + beyond), self.nodes.capacity)
            if room.sum() >= self.requests.chunks[request]:
                return Hole(start, lasting, job, self.requests.taken(request, room, self.nodes))
        return None

    def hold(self, profile: Profile, hole: Hole, span: tuple[int, int]) -> None:
        """Its nodes are held whole."""
        others = ~hole.held.any(axis=1, keepdims=True)
        profile.change(*span, lambda free: free * others)

    def close(self, profile: Profile, job: int) -> None:
        """See `Pool`."""
        others = ~self.requests.members[self.requests.partition[job]][:, np.newaxis]
        profile.free = [free * others for free in profile.free]

    def slowest(self, held: Ints) -> int:  # noqa: ARG002 - all are alike
        """See `Pool`."""
        return 0

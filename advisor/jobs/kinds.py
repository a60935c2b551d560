"""What a machine is made of: PEs, or kinds of nodes that are alike; more or fewer of these; which jobs they hold."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.setting import Setting
from simulator import NO_LIMIT_MIB, JobNodes, ScenarioError, Stream, fitting_jobs, patterns_of

Ints = NDArray[np.int64]
MOST_UNFIT = 0.01
"""Share of the jobs that may not fit on the nodes; more, and the log is of another cluster."""
MOST_KINDS = 4
"""Of nodes that answers look at: those that have most cores in all."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Nodes that are alike in all that jobs may ask for."""

    name: str
    """Their names as a list of hosts."""
    about: str
    """What each has."""
    members: Ints


def kinds(nodes: JobNodes) -> tuple[Kind, ...]:
    """The kinds of some nodes, in the order of their first ones."""
    inside: list[tuple[int, ...]] = [() for _ in nodes.names]
    for number, partition in enumerate(nodes.partitions):
        for member in partition.members.tolist():
            inside[member] += (number,)
    found: dict[object, list[int]] = {}
    for place in range(len(nodes.names)):
        price = None if nodes.prices_per_hour is None else float(nodes.prices_per_hour[place])
        features = nodes.features[place] if nodes.features else ()
        sizes = (*nodes.capacity[place].tolist(), int(nodes.weight[place]))
        found.setdefault((sizes, tuple(sorted(features)), tuple(inside[place]), price), []).append(place)
    return tuple(_kind(nodes, members) for members in found.values())


def _kind(nodes: JobNodes, members: list[int]) -> Kind:
    first = members[0]
    cores, memory, gpus = nodes.capacity[first].tolist()
    about = [f"{cores} cores"]
    about += [] if memory >= NO_LIMIT_MIB else [f"{memory / 1024:.4g} GiB"]
    about += [f"{gpus} GPU{'s' if gpus > 1 else ''}"] if gpus else []
    return Kind(",".join(patterns_of([nodes.names[place] for place in members])), ", ".join(about), np.array(members))


@dataclass(frozen=True, eq=False)
class Part:
    """What a machine may have more or fewer of: PEs, or nodes of a kind."""

    setting: Setting
    kind: Kind | None = None

    @property
    def name(self) -> str:
        """Of several."""
        return "PEs" if self.kind is None else f"nodes like {self.kind.name} ({self.kind.about})"

    @property
    def now(self) -> int:
        """How many there are."""
        return self.setting.pes if self.kind is None else int(self.kind.members.size)

    @property
    def cores(self) -> int:
        """Of each."""
        nodes = self.setting.cluster
        return int(nodes.cores[self.kind.members[0]]) if self.kind and isinstance(nodes, JobNodes) else 1

    def counted(self, count: int) -> str:
        """So many of them, in words."""
        return self.name if count != 1 else self.name.replace("PEs", "PE").replace("nodes", "node", 1)

    def holds(self, name: str) -> bool:
        """Whether a node of that name is of the kind, or it is the kind's."""
        nodes = self.setting.cluster
        return (
            self.kind is not None
            and isinstance(nodes, JobNodes)
            and (name == self.kind.name or name in {nodes.names[place] for place in self.kind.members.tolist()})
        )

    def setting_with(self, count: int) -> Setting:
        """With so many of them, and all else as it is."""
        nodes = self.setting.cluster
        if self.kind is None or not isinstance(nodes, JobNodes):
            return replace(self.setting, cluster=count)
        return replace(self.setting, cluster=resized(nodes, self.kind, count))


def parts(setting: Setting) -> tuple[Part, ...]:
    """What a machine is made of, the kinds with most cores in all first; nothing of a scenario's platform."""
    if isinstance(setting.cluster, int):
        return (Part(setting),)
    if not isinstance(setting.cluster, JobNodes):
        return ()
    found = [Part(setting, kind) for kind in kinds(setting.cluster)]
    return tuple(sorted(found, key=lambda one: -one.cores * one.now)[:MOST_KINDS])


def resized(nodes: JobNodes, kind: Kind, count: int) -> JobNodes:
    """With so many nodes of a kind: without its last ones, or with more like its first."""
    out = set(kind.members[count:].tolist())
    kept = [place for place in range(len(nodes.names)) if place not in out]
    more = max(0, count - kind.members.size)
    source = np.array(kept + [int(kind.members[0])] * more, dtype=np.int64)
    now = {place: number for number, place in enumerate(kept)}
    names = [*(nodes.names[place] for place in kept), *(f"{nodes.names[source[-1]]}+{one + 1}" for one in range(more))]
    off = [replace(one, nodes=tuple(now[place] for place in one.nodes if place in now)) for one in nodes.reservations]
    return JobNodes(
        names=tuple(names),
        **{name: getattr(nodes, name)[source] for name in ("cores", "memory_mib", "gpus", "weight")},
        features=tuple(nodes.features[place] for place in source.tolist()) if nodes.features else (),
        partitions=tuple(
            replace(one, members=np.flatnonzero(np.isin(source, one.members)).astype(np.int64))
            for one in nodes.partitions
        ),
        reservations=tuple(one for one, old in zip(off, nodes.reservations, strict=True) if one.nodes or not old.nodes),
        prices_per_hour=None if nodes.prices_per_hour is None else nodes.prices_per_hour[source],
    )


def on_nodes(stream: Stream, nodes: JobNodes) -> Stream:
    """The jobs of a stream that some nodes can hold when nothing else runs; a note says how many cannot be.

    Raises ScenarioError where these are more than 1 %: it is another cluster's log then.
    """
    held = fitting_jobs(stream, nodes)
    if held.all():
        return stream
    lost = np.flatnonzero(~held)
    largest = int(lost[np.argmax(stream.processors[lost])])
    many = f"{lost.size} of {len(stream)} jobs do not fit on these nodes, the largest: {_asks(stream, largest)}"
    if lost.size > MOST_UNFIT * len(stream):
        raise ScenarioError(f"stream {stream.name}: {many}; name the nodes and partitions that the log is of")
    return stream.take(held, notes=(*stream.notes, f"{many}; left out"))


def _named(stream: Stream, column: str, number: int) -> str | None:
    """What a log calls a number of its own; the number where it has no names."""
    names = stream.names.get(column, ())
    return None if number < 0 else (names[number] if number < len(names) else str(number))


def _asks(stream: Stream, job: int) -> str:
    """A job in words."""
    said = f"job {stream.ids[job]} ({stream.processors[job]} processors"
    said += f" on {stream.nodes[job]} nodes" if stream.nodes[job] else ""
    said += f", {stream.gpus[job]} GPUs" if stream.gpus[job] else ""
    partition = _named(stream, "partition", int(stream.partition[job]))
    memory = stream.memory_bytes[job] * stream.processors[job] / 2**30
    said += "" if np.isnan(memory) else f", {memory:.4g} GiB"
    return said + (f", partition {partition})" if partition else ")")

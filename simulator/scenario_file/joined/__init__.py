"""From calibrations made node by node to the scenario of a cluster: kinds of nodes, their names, links, doubts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations
from pathlib import Path

import numpy as np

from simulator.base import files, units
from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.names import compact, counted, expanded
from simulator.base.provenance import provenance
from simulator.models.doubt import Noise
from simulator.models.memory import MemoryLevel
from simulator.models.network import MessageModel
from simulator.models.speed import SpeedBand
from simulator.platform.foreign.slurm import switched_nodes
from simulator.platform.networks.link import Link
from simulator.platform.nodes import Node
from simulator.scenario_file.joined.inputs import CalibratedNode, Inputs, LinkFile, read_inputs
from simulator.scenario_file.joined.kinds import RULE, Likeness, common_band, doubts, kinds_of, likeness, shared_by
from simulator.scenario_file.nodes import node_entry, speed_data
from simulator.scenario_file.written import safe_name, written

__all__ = ["MOST_DAYS", "RULE", "JoinedPlatform", "join_platform"]


MOST_ROWS = 20_000
MEMORY_SHARE = 0.5
BLOCK = 64
ITERATIONS = 100
DIGITS = 9
"""Of speeds and sizes: bands are measured to three."""
MOST_DAYS = 30.0
MOST_MESHED = 1024
"""Nodes that a scenario joins two by two, which lets messages within a node take times of their own."""
_OUTSIDE_BRACKETS = re.compile(r",(?![^\[]*\])")


# An application to begin with, for a kernel that was measured: sizes that were measured, and that fit the memory.


@dataclass(frozen=True)
class Room:
    """What an application may take."""

    processes: int
    on_first_node: int
    largest_elements: float
    """Largest problem size of a computation that was measured on all PEs."""
    memory_bytes: float
    """Of the node that has least; infinite where nothing is known."""


@dataclass(frozen=True)
class Example:
    """An application with its parameters."""

    name: str
    parameters: dict[str, int]
    stands_in: bool
    """Whether it only stands for the user's own: the kernel is that of no application."""


def example(kernel: str, room: Room) -> Example:
    """The application whose costs the kernel was measured for; matmul for kernels of none."""
    if kernel == "fft":
        return Example("fft", {"n": _divided_rows(room, 4)}, stands_in=False)
    if kernel == "sort":
        return Example("sort", {"n": _sort_keys(room)}, stands_in=False)
    if kernel == "cholesky":
        n = max(_divided_rows(room, 1), BLOCK * room.processes)
        return Example("cholesky", {"n": n, "nb": BLOCK}, stands_in=False)
    if kernel == "stencil":
        return Example("stencil", {"n": _divided_rows(room, 2), "iterations": ITERATIONS}, stands_in=False)
    return Example("matmul", {"n": _matmul_rows(room)}, stands_in=kernel not in ("matmul", "dgemm"))


def _matmul_rows(room: Room) -> int:
    """N with `n**2 (1 + 2/P)` elements per process, and three matrices for the master on the same node."""
    each = 1 + 2 / room.processes
    bytes_per_square = 24 + 8 * each * (room.on_first_node - 1)
    return _round(min(room.largest_elements / each, MEMORY_SHARE * room.memory_bytes / bytes_per_square) ** 0.5, room)


def _divided_rows(room: Room, elements: int) -> int:
    """N with `elements n**2 / P` elements per process, 8 bytes each; rows at borders are left out."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (8 * elements * room.on_first_node)
    return _round(min(room.largest_elements * room.processes / elements, held) ** 0.5, room)


def _sort_keys(room: Room) -> int:
    """N keys, all of which the first process holds in the end, two elements and 16 bytes each."""
    most = min(room.largest_elements / 2, MEMORY_SHARE * room.memory_bytes / (16 * room.on_first_node))
    return _round(most, room, most=10**9)


def _round(value: float, room: Room, *, most: int = MOST_ROWS) -> int:
    """Down to two digits, at least one unit for each process."""
    whole = int(min(value, float(most)))
    scale = 10 ** max(0, len(str(whole)) - 2)
    return int(max(room.processes, whole // scale * scale, 1))


@dataclass(frozen=True)
class Kind:
    """Nodes that are written as alike."""

    names: str
    count: int
    members: tuple[CalibratedNode, ...]
    pe_count: int
    memory_bytes: int | None
    swap_bytes: int | None
    speeds: dict[str, SpeedBand]
    levels: tuple[MemoryLevel, ...]
    domains: tuple[Data, ...] = ()
    uses: Data = field(default_factory=dict)

    @property
    def pe_pattern(self) -> str:
        """Name of a node's PEs before they are counted."""
        return "{node}" if self.pe_count == 1 else "{node}-core"


@dataclass(frozen=True)
class Links:
    """Message times between nodes and, if known, within one."""

    between: MessageModel
    within: MessageModel | None
    tree: Data | None = None
    """Link, uplink and switches of a network of two levels, where they are known."""


def scenario_text(
    kinds: Sequence[Kind], links: Links, *, kernel: str, made: Data, warnings: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Every node of every kind, an application of the kernel's own with equal parts; and all warnings, also in it."""
    able = [kind for kind in kinds if kernel in kind.speeds]
    chosen = example(kernel, _room(able, kernel))
    said = [*warnings]
    if chosen.stands_in:
        said.append(
            f"kernel {kernel!r} is that of no application here: {chosen.name} stands in; put yours in its place"
        )
    if len(able) < len(kinds):
        without = ", ".join(kind.names for kind in kinds if kind not in able)
        said.append(f"{without}: no speed of kernel {kernel!r}, so the configuration leaves them out")
    document = {
        "format": 1,
        "platform": _platform(kinds, links),
        "application": {"name": chosen.name, "kernel": kernel, "parameters": dict(chosen.parameters)},
        "configurations": {"equal": _configuration(kinds, able)},
        "replications": 200,
        "seed": 0,
    }
    unique = tuple(dict.fromkeys(said))
    return written(document, head=list(_head(kinds, chosen, made, unique))), unique


def _head(kinds: Sequence[Kind], chosen: Example, made: Data, warnings: Sequence[str]) -> Iterator[str]:
    """Lines of the comment."""
    yield f"Joined by `apportion cluster --join`, apportion {made['versions']['apportion']}, on {made['made']}, from"
    yield from (f"  {name} {digest}" for name, digest in made["inputs"].items())
    yield "Kinds of nodes:"
    for kind in kinds:
        like = ", ".join(node.source for node in kind.members[:8])
        more = f" and {len(kind.members) - 8} more" if len(kind.members) > 8 else ""
        memory = "memory not known" if kind.memory_bytes is None else units.show_size(kind.memory_bytes)
        pes = f"{kind.pe_count} PE{'s' if kind.pe_count > 1 else ''}"
        yield f"  {kind.names}: {kind.count} with {pes}, {memory}, as measured: {like}{more}"
    yield from (f"warning: {line}" for line in warnings)
    yield f"The application ({chosen.name}) and the configurations are a beginning: edit them."


def _platform(kinds: Sequence[Kind], links: Links) -> Data:
    nodes = [_node(kind) for kind in kinds]
    link, loopback = links.between.to_data(), (links.within or links.between).to_data()
    if links.tree is not None:
        tree = {"topology": "tree", "contention": "fair", **links.tree, "loopback": loopback}
        return {"nodes": nodes, "network": tree}
    if links.within is None:
        return {"nodes": nodes, "link": link}
    network = {"topology": "mesh", "link": link, "loopback": loopback}  # no contention: as a uniform one
    return {"nodes": nodes, "network": network}


def _node(kind: Kind) -> Data:
    counts = {} if kind.pe_count == 1 else {"count": kind.pe_count}
    # doubt of one model is doubt of all PEs of the kind
    speeds = {kernel: speed_data(replace(_rounded(band), source=kind.names)) for kernel, band in kind.speeds.items()}
    node = Node(kind.names, kind.memory_bytes, kind.swap_bytes, levels=kind.levels)
    quota = kind.members[0].quota
    limited = {} if quota is None else {"quota": quota.to_data()}
    pes = [{"name": kind.pe_pattern, **counts, "speeds": speeds, **limited}]
    return node_entry(node, kind.names, domains=kind.domains, uses=kind.uses, pes=pes)


def _rounded(band: SpeedBand) -> SpeedBand:
    sizes, low, mid, high = (_digits(curve) for curve in (band.sizes, band.low, band.mid, band.high))
    doubt = None if band.doubt is None else replace(band.doubt, sd=_digits(band.doubt.sd))
    noise = band.noise and _rounded_noise(band.noise)
    return replace(band, sizes=sizes, low=low, mid=mid, high=high, doubt=doubt, noise=noise)


def _rounded_noise(noise: Noise) -> Noise:
    levels = noise.levels and replace(noise.levels, factors=_digits(noise.levels.factors))
    spreads = None if noise.spreads is None else _digits(noise.spreads)
    return replace(noise, factors=_digits(noise.factors), levels=levels, spreads=spreads)


def _digits(values: Floats) -> Floats:
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.flat]).reshape(values.shape)


def _configuration(kinds: Sequence[Kind], able: Sequence[Kind]) -> Data:
    if len(able) == len(kinds):
        return {"partition": "equal"}
    pes = []
    for kind in able:
        labels = [kind.pe_pattern] if kind.pe_count == 1 else counted(kind.pe_pattern, kind.pe_count)
        pes += [label.replace("{node}", kind.names) for label in labels]
    return {"partition": "equal", "pes": pes}


def _room(able: Sequence[Kind], kernel: str) -> Room:
    bands = [kind.speeds[kernel] for kind in able]
    memories = [kind.memory_bytes / kind.pe_count for kind in able if kind.memory_bytes]
    most = max(kind.pe_count for kind in able)
    return Room(
        processes=sum(kind.count * kind.pe_count for kind in able),
        on_first_node=most,
        largest_elements=min((float(band.sizes[-1]) for band in bands if band.sizes.size > 1), default=1.2e7),
        memory_bytes=min(memories, default=float("inf")) * most,
    )


@dataclass(frozen=True)
class JoinedPlatform:
    """A cluster joined from calibrations."""

    text: str
    """The scenario, as YAML with comments."""
    kinds: tuple[Kind, ...]
    nodes: tuple[CalibratedNode, ...]
    likenesses: tuple[tuple[int, int, Likeness], ...]
    """Every two calibrated nodes compared."""
    warnings: tuple[str, ...]
    provenance: Data

    @property
    def summary(self) -> tuple[str, ...]:
        """The kinds, and which calibrated nodes are alike across them, in words."""
        lines = [
            f"{kind.names}: {kind.count} x {kind.pe_count} PEs as {', '.join(node.source for node in kind.members)}"
            for kind in self.kinds
        ]
        of_kind = {id(node): number for number, kind in enumerate(self.kinds) for node in kind.members}
        for first, second, found in self.likenesses:
            one, other = self.nodes[first], self.nodes[second]
            if found.alike and of_kind[id(one)] != of_kind[id(other)]:
                lines.append(
                    f"{one.source} and {other.source} are alike (distance {found.distance:.2g}) under two names"
                )
        return tuple(lines)

    @property
    def alike(self) -> list[list[int]]:
        """Numbers of the calibrated nodes that are alike by `RULE`, whatever names they have."""
        known = {(one, other) for one, other, found in self.likenesses if found.alike}
        return kinds_of(len(self.nodes), lambda one, other: (one, other) in known)

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return {
            "format": 1,
            "rule": RULE,
            "kinds": [
                {
                    "names": kind.names,
                    "count": kind.count,
                    "like": [node.source for node in kind.members],
                    "pes_per_node": kind.pe_count,
                    "memory_bytes": kind.memory_bytes,
                    "kernels": sorted(kind.speeds),
                }
                for kind in self.kinds
            ],
            "likenesses": [
                {
                    "nodes": [self.nodes[first].source, self.nodes[second].source],
                    "distance": found.distance if found.distance < float("inf") else None,
                    "middles_apart": found.apart if found.apart < float("inf") else None,
                    "alike": found.alike,
                    "reason": found.reason,
                }
                for first, second, found in self.likenesses
            ],
            "warnings": list(self.warnings),
            "provenance": self.provenance,
            "scenario": self.text,
        }


def join_platform(
    paths: Sequence[Path],
    *,
    names: str | None = None,
    kernel: str | None = None,
    most_days: float = MOST_DAYS,
    topology: Path | None = None,
    uplink: tuple[float, float] | None = None,
) -> JoinedPlatform:
    """Join calibration files into a scenario that loads.

    Each speed or node file is one node; a memory model belongs to the node before it; network files are the link
    between nodes and, measured between processes, that within one.

    Raises ScenarioError for files that cannot be joined, or names that do not match.

    `names`: patterns of node names with commas between: one for each node given, in order; or, if there are more nodes,
    one for each kind by `RULE`. None: hosts' names, or numbers.
    `kernel`: the application's, and what models that name none are of; by default the one that most nodes have.
    `most_days`: age from which a calibration is warned of.
    `topology`: Slurm's topology.conf or topology.yaml: which node hangs on which switch.
    `uplink`: latency in seconds and bytes per second of a switch's link to the core; without, those of a node's link.
    """
    inputs = read_inputs(paths, kernel=kernel)
    if not inputs.nodes:
        raise ScenarioError("these files describe no node; give a speed model or node file for each")
    links = _links(inputs.links)
    made = provenance(inputs=inputs.hashes)
    kinds, notes = _kinds(inputs, names)
    if topology is None and links.within is not None and sum(kind.count for kind in kinds) > MOST_MESHED:
        links = Links(links.between, None)
        notes.append(f"more than {MOST_MESHED} nodes: messages within a node take the times between nodes")
    links, of_switches = _switched(links, kinds, topology, uplink)
    made["inputs"] |= {} if topology is None else {str(topology): files.digest(files.read_bytes(topology))}
    chosen = _kernel(inputs.nodes, kernel)
    said = doubts(inputs.nodes, inputs.links, now=datetime.fromisoformat(made["made"]), most_days=most_days)
    text, warnings = scenario_text(
        kinds, links, kernel=chosen, made=made, warnings=(*said, *notes, *of_switches, *_about_links(inputs, links))
    )
    nodes = tuple(inputs.nodes)
    pairs = combinations(range(len(nodes)), 2)
    return JoinedPlatform(
        text=text,
        kinds=tuple(kinds),
        nodes=nodes,
        likenesses=tuple((one, other, likeness(nodes[one], nodes[other])) for one, other in pairs),
        warnings=warnings,
        provenance=made,
    )


def _switched(
    links: Links, kinds: Sequence[Kind], path: Path | None, uplink: tuple[float, float] | None
) -> tuple[Links, list[str]]:
    """The link between nodes as two of theirs through a switch, and switches as Slurm knows them."""
    if path is None:
        if uplink is not None:
            raise ScenarioError("--uplink is for switches; add --topology, or leave it out")
        return links, []
    names = [name for kind in kinds for name in expanded(kind.names)]
    switched = switched_nodes(path, names)
    own = links.between.latency_s / 2, links.between.bandwidth_bytes_per_s
    notes = [
        *switched.notes,
        f"{path}: a node's link has half the latency measured between two nodes: they are taken to hang on one switch",
    ]
    if uplink is None:
        notes.append(f"{path}: uplinks of switches not given (--uplink): as a node's link")
    ends = [Link("link", *one).to_data() for one in (own, uplink or own)]
    tree = {"link": ends[0], "uplink": ends[1], "switches": switched.entries()}
    return replace(links, tree=tree), notes


def _kinds(inputs: Inputs, names: str | None) -> tuple[list[Kind], list[str]]:
    """Kinds with their names, and what to know of them."""
    nodes = inputs.nodes
    patterns = None if names is None else _patterns(names)
    groups = [[number] for number in range(len(nodes))]
    if patterns is None or len(patterns) != len(nodes):
        groups = kinds_of(len(nodes), lambda one, other: likeness(nodes[one], nodes[other]).alike)
    if patterns is None:
        patterns = _own_names(nodes, groups)
    if len(patterns) != len(groups):
        listed = "; ".join(", ".join(nodes[number].source for number in group) for group in groups)
        counts = sorted({len(groups), len(nodes)})
        found = (
            f"these are {len(patterns)} patterns for {len(nodes)} calibrated nodes of {len(groups)} kinds ({listed})"
        )
        raise ScenarioError(f"--names: {found}; give {' or '.join(map(str, counts))}")
    kinds, notes = [], []
    for pattern, group in zip(patterns, groups, strict=True):
        members = tuple(nodes[number] for number in group)
        kind = _kind(pattern, members)
        kinds.append(kind)
        if len(members) > kind.count:
            notes.append(f"{pattern}: {len(members)} nodes were calibrated for {kind.count} named")
        if len({node.levels for node in members}) > 1:
            first = next(node.source for node in members if node.levels)
            notes.append(f"{pattern}: memory levels of {first} are written for all")
        of, _, _ = shared_by(members)
        if of is not None and any((node.neighbours, node.groups) != (of.neighbours, of.groups) for node in members):
            notes.append(f"{pattern}: what PEs of {of.source} share is written for all")
    return kinds, notes


def _kind(pattern: str, members: tuple[CalibratedNode, ...]) -> Kind:
    sizes = [node.memory_bytes for node in members if node.memory_bytes]
    _, domains, uses = shared_by(members)
    kernels = [kernel for kernel in members[0].speeds if all(kernel in node.speeds for node in members)]
    return Kind(
        names=pattern,
        count=len(expanded(pattern)),
        members=members,
        pe_count=members[0].pe_count or 1,
        memory_bytes=min(sizes, default=None),
        swap_bytes=min((node.swap_bytes for node in members if node.swap_bytes is not None), default=None),
        speeds={kernel: common_band([node.speeds[kernel] for node in members]) for kernel in kernels},
        levels=next((node.levels for node in members if node.levels), ()),
        domains=domains,
        uses=uses,
    )


def _patterns(names: str) -> list[str]:
    """`fast[01-08],slow[01-32]` as two patterns; each name once."""
    patterns = [pattern.strip() for pattern in _OUTSIDE_BRACKETS.split(names)]
    seen: set[str] = set()
    for pattern in patterns:
        try:
            found = expanded(pattern)
        except ScenarioError as error:
            raise ScenarioError(f"--names: {error.lines[0]}") from None
        if not pattern or re.search(r"[\[\]{}\s]", found[0]):
            raise ScenarioError(f"--names: {pattern!r} is no name; give one, or one range such as fast[01-08]")
        twice = next((name for name in found if name in seen), None)
        if twice is not None:
            raise ScenarioError(f"--names: {twice!r} comes twice; give each node its own name")
        seen.update(found)
    return patterns


def _own_names(nodes: Sequence[CalibratedNode], groups: Sequence[Sequence[int]]) -> list[str]:
    """Hosts' names where each node has its own and those of a kind make a pattern, else numbers."""
    hosts = [safe_name(node.host) for node in nodes]
    if len(set(hosts)) == len(hosts) and all(node.host for node in nodes):
        patterns = [compact([hosts[number] for number in group]) for group in groups]
        if all(patterns):
            return [str(pattern) for pattern in patterns]
    found, next_one, width = [], 1, len(str(len(nodes)))
    for group in groups:
        first, last = f"{next_one:0{width}d}", f"{next_one + len(group) - 1:0{width}d}"
        found.append(f"node[{first}-{last}]" if len(group) > 1 else f"node{first}")
        next_one += len(group)
    return found


def _kernel(nodes: Sequence[CalibratedNode], wanted: str | None) -> str:
    kernels = list(dict.fromkeys(kernel for node in nodes for kernel in node.speeds))
    if not kernels:
        raise ScenarioError(f"{nodes[0].source}: the node has no speed model; add one")
    if wanted is not None:
        if wanted not in kernels:
            raise ScenarioError(f"--kernel: no node has {wanted!r}; take {', '.join(kernels)}")
        return wanted
    return max(kernels, key=lambda kernel: sum(kernel in node.speeds for node in nodes))


def _links(found: Sequence[LinkFile]) -> Links:
    """The link between nodes, and that within a node if both were measured."""
    if not found:
        raise ScenarioError("these files describe no link; add one of kind network")
    within = [link for link in found if link.within_node]
    between = [link for link in found if not link.within_node]
    if len(found) == 1:
        return Links(found[0].model, None)
    if len(within) == len(between) == 1:
        return Links(between[0].model, within[0].model)
    sources = ", ".join(link.source for link in found)
    raise ScenarioError(f"{sources}: these are {len(found)} networks; give one between nodes and one within a node")


def _about_links(inputs: Inputs, links: Links) -> list[str]:
    only = inputs.links[0]
    if links.within is None and only.within_node:
        return [f"{only.source}: measured between processes of one machine; taken for the link between nodes too"]
    return []

"""Calibrated nodes and message times from the files of each node, checked as they are read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.documents import Data, in_file, read
from simulator.base.errors import ScenarioError
from simulator.base.machine import INSTRUCTION, Machine, SharedCache, Topology
from simulator.models.file import ModelFile
from simulator.models.memory import MemoryLevel
from simulator.models.neighbours_forms import uses_data
from simulator.models.network import LinkModel, MessageModel, PacketModel
from simulator.models.speed import SpeedBand, SpeedFile
from simulator.platform.domains import domains_of, unlike_pes, uses_of
from simulator.platform.nodes import Quota
from simulator.scenario_file.caches import CacheGroups, cache_groups, shared_levels

Document = Mapping[str, object]
"""A JSON object that no form has read yet."""
KINDS = ("speed", "memory", "network", "neighbours", "node")
"""Kinds of files that can be joined."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_BARE = {"sizes_bytes", "packet_bytes"}
"""Keys of plain message times."""
UNNAMED = "unnamed"
"""What the kernel of a model is called that does not say."""


@dataclass(frozen=True)
class Made:
    """Where and when a model was made, with what: the parts of its provenance that are looked at."""

    made: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: Machine | None = None

    def __post_init__(self) -> None:
        _ = self.when  # which says what is wrong with it

    @property
    def when(self) -> datetime | None:
        """The date; None if nobody says."""
        try:
            found = None if self.made is None else datetime.fromisoformat(self.made)
        except ValueError:
            raise ScenarioError(f"made: {self.made!r} is no date; measure again") from None
        return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class NodeFile(ModelFile):
    """A node file: a machine with what was measured on it."""

    FORMAT, KIND, WRITER = 1, "node", "apportion calibrate machine -o"
    name: str
    topology: Topology
    machine: Machine | None = None
    models: tuple[Mapping[str, object], ...]
    yaml: str = ""


def made_of(provenance: object, source: str) -> Made:
    """What a file's provenance says of its making."""
    known = provenance if isinstance(provenance, Mapping) else {}
    with in_file(f"{source}: provenance"):
        return read(Made, {key: known[key] for key in ("made", "versions", "machine") if key in known})


def read_document(path: Path) -> tuple[Document, str]:
    """A JSON object and the hash of its file."""
    data = files.read_bytes(path)
    document = files.read_json(path)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is a {type(document).__name__} and no model; name a model")
    return document, files.digest(data)


def kind_of(document: Document, path: str | Path) -> str:
    """Which kind of file it is; plain message times are a network."""
    kind = document.get("kind")
    if kind is None and _BARE & document.keys():
        return "network"
    if kind not in KINDS:
        found = "no kind" if kind is None else f"kind {str(kind)[:40]!r}"
        raise ScenarioError(f"{path}: the file has {found}; name one of kind {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return str(kind)


def _bare_times(document: Document, source: str) -> MessageModel | None:
    """Plain message times of a document, which may say more around them; None where it has none."""
    if not _BARE & document.keys():
        return None
    wanted = {"sizes_bytes", "times_s", "latency_s", "packet_bytes", "packet_s", "doubt"}
    with in_file(source):
        kind = PacketModel if "packet_bytes" in document else LinkModel
        return read(kind, {name: value for name, value in document.items() if name in wanted})


def is_of_one_machine(document: Document) -> bool:
    """Whether message times are known to be those between processes of one machine."""
    about = document.get("measured")
    measured = about if isinstance(about, dict) else document
    host = measured.get("host")
    return measured.get("between") is not None and (host is None or str(host) in _LOOPBACK)


@dataclass(frozen=True)
class Calibration:
    """One model and what it rests on."""

    source: str
    """The file, and for one inside a node file its place."""
    what: str
    """`speed of dgemm`, `memory`, `network`, `neighbours`."""
    made: Made


@dataclass(frozen=True)
class CalibratedNode:
    """A node with what was measured on it."""

    source: str
    host: str | None = None
    cpu_model: str | None = None
    pe_count: int | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    speeds: dict[str, SpeedBand] = field(default_factory=dict)
    caches: tuple[SharedCache, ...] = ()
    groups: tuple[CacheGroups, ...] = ()
    """The PEs that share caches, where the system or hwloc reported them."""
    neighbours: Data | None = None
    """Domains and uses that were measured, as a scenario file writes them."""
    quota: Quota | None = None
    """Of its control group, where that grants less than its PEs have."""
    levels: tuple[MemoryLevel, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkFile:
    """Message times of a file."""

    source: str
    model: MessageModel
    within_node: bool
    """Whether they were measured between processes of one machine."""
    calibration: Calibration
    warnings: tuple[str, ...] = ()


@dataclass
class Inputs:
    """All files that were given, read."""

    nodes: list[CalibratedNode] = field(default_factory=list)
    links: list[LinkFile] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)


def read_inputs(paths: Sequence[Path], *, kernel: str | None = None) -> Inputs:
    """Read calibration files: a speed or node file is a node, a model of memory or neighbours of the node before it.

    `kernel`: what the kernel of models is called that name none.
    """
    found = Inputs()
    for path in paths:
        document, found.hashes[str(path)] = read_document(path)
        kind = kind_of(document, path)
        if kind == "network":
            found.links.append(_link(document, str(path)))
        elif kind in _OF_NODES:
            if not found.nodes:
                raise ScenarioError(f"{path}: the {kind} model comes before any node; name it after its node's file")
            found.nodes[-1] = _OF_NODES[kind](found.nodes[-1], document, str(path))
        else:
            source, unnamed = str(path), kernel or UNNAMED
            node = node_of(NodeFile.of(document, source), source, unnamed=unnamed) if kind == "node" else None
            found.nodes.append(node or _speed_node(document, source, unnamed=unnamed))
    return found


def node_of(form: NodeFile, source: str, *, unnamed: str = UNNAMED, places: Sequence[str] = ()) -> CalibratedNode:
    """The node of a node file."""
    parts = form.topology
    node = CalibratedNode(
        source,
        parts.host,
        parts.cpu_model,
        parts.pe_count,
        parts.memory_bytes,
        parts.swap_bytes,
        caches=parts.data_caches,
        groups=cache_groups([core.cpu for core in parts.pes], parts.caches),
        quota=quota_of(parts, form.machine),
    )
    for number, model in enumerate(form.models):
        place = places[number] if places else f"{source}: models.{number}"
        kind = kind_of(model, place)
        if kind in _OF_NODES:
            node = _OF_NODES[kind](node, model, place)
        elif kind == "speed":
            node = _with_speed(node, model, place, unnamed=unnamed)
        else:
            raise ScenarioError(
                f"{place}: a model of kind {kind!r} is none of a node; take speed, memory or neighbours"
            )
    core_kinds = tuple(dict.fromkeys(core.kind for core in parts.pes))
    if len(core_kinds) > 1 and node.speeds:
        said = f"it has cores of {len(core_kinds)} kinds ({', '.join(core_kinds)}): each speed is written for all"
        node = replace(node, warnings=(*node.warnings, f"{source}: {said}; edit those of one kind"))
    return node


def quota_of(machine: Machine | Topology, here: Machine | None) -> Quota | None:
    """What a control group grants, if less than all PEs of a machine have: one PE then, as PEs are within the quota."""
    if machine.quota_cores is None or machine.quota_cores >= machine.pe_count:
        return None
    period_s = None if here is None else here.quota_period_s
    return Quota(machine.quota_cores) if period_s is None else Quota(machine.quota_cores, period_s)


def _speed_node(document: Document, source: str, *, unnamed: str) -> CalibratedNode:
    """A speed model alone: its provenance says what machine it is."""
    form = SpeedFile.of(document, source)
    machine = made_of(form.provenance, source).machine
    if machine is None:
        said = f"{source}: says no machine; taken for a node of one PE, its memory not known"
        node = CalibratedNode(source, warnings=(said,))
    else:
        node = CalibratedNode(
            source,
            machine.host,
            machine.cpu_model,
            machine.pe_count,
            min(machine.memory_bytes, machine.memory_limit_bytes or machine.memory_bytes),
            machine.swap_bytes,
            caches=_data_caches(machine),
            quota=quota_of(machine, machine),
        )
    return _with_speed(node, document, source, unnamed=unnamed)


def _data_caches(machine: Machine) -> tuple[SharedCache, ...]:
    """Data caches, by how many PEs share one, hardware threads of one core counted once."""
    threads, pes = 1 + max((len(core.siblings) for core in machine.cores), default=0), machine.pe_count
    caches = [cache for cache in machine.caches if cache.kind != INSTRUCTION]
    counts = [min(pes, max(1, cache.shared_by // threads)) for cache in caches]
    return tuple(
        SharedCache(cache.level, cache.kind, cache.size_bytes, math.ceil(pes / most), most)
        for cache, most in zip(caches, counts, strict=True)
    )


def _with(
    node: CalibratedNode, form: ModelFile, source: str, *, what: str, more: Sequence[str] = (), **parts: Any
) -> CalibratedNode:
    """A node with parts that were measured on it, as a file says them."""
    calibration = Calibration(source, what, made_of(form.provenance, source))
    warnings = (*node.warnings, *_own_warnings(form.warnings, source), *(f"{source}: {line}" for line in more))
    return replace(node, calibrations=(*node.calibrations, calibration), warnings=warnings, **parts)


def _with_speed(node: CalibratedNode, document: Document, source: str, *, unnamed: str) -> CalibratedNode:
    """With a speed band; of a surface, that of its largest number of columns."""
    form = SpeedFile.of(document, source)
    kernel = form.kernel or unnamed
    if device := form.subject.get("device"):
        raise ScenarioError(f"{source}: it is the speed of {device}, not of a core; name it under a PE of kind: gpu")
    if kernel in node.speeds:
        raise ScenarioError(f"{source}: the node has a speed model of kernel {kernel!r} already; leave one out")
    unsaid = () if form.kernel is not None else (f"says no kernel; called {kernel!r}",)
    speeds = node.speeds | {kernel: form.band}
    return _with(node, form, source, what=f"speed of {kernel}", more=unsaid, speeds=speeds)


def _with_memory(node: CalibratedNode, document: Document, source: str) -> CalibratedNode:
    from simulator.models.memory.file import MemoryFile  # only here: SciPy is slow to import

    if node.levels:
        raise ScenarioError(f"{source}: {node.source} has a memory model already; leave one out")
    form = MemoryFile.of(document, source)
    levels, notes = shared_levels(node.caches, form.model.levels)
    return _with(node, form, source, what="memory", more=notes, levels=levels)


def _with_neighbours(node: CalibratedNode, document: Document, source: str) -> CalibratedNode:
    from simulator.models.neighbours_file import NeighboursModel  # only here: likewise

    if node.neighbours is not None:
        raise ScenarioError(f"{source}: {node.source} has a neighbours model already; leave one out")
    form = NeighboursModel.of(document, source)
    neighbours = {"domains": domains_of(form), "uses": uses_data(uses_of(form))}
    return _with(
        node, form, source, what="neighbours", more=unlike_pes(form.pe_count, node.pe_count), neighbours=neighbours
    )


_OF_NODES = {"memory": _with_memory, "neighbours": _with_neighbours}
"""Kind of a model that belongs to the node before it -> what adds it."""


def _link(document: Document, source: str) -> LinkFile:
    """Message times: a network model, or plain times."""
    from simulator.models.network.file import NetworkFile  # only here: seldom needed

    model, warnings = _bare_times(document, source), tuple[str, ...]()
    if model is None:
        form = NetworkFile.of(document, source)
        model, warnings = form.model.form, tuple(_own_warnings(form.warnings, source))
    calibration = Calibration(source, "network", made_of(document.get("provenance"), source))
    return LinkFile(source, model, is_of_one_machine(document), calibration, warnings)


def _own_warnings(said: Sequence[str], source: str) -> list[str]:
    """What a model says of itself, in one line."""
    many = "warnings" if len(said) > 1 else "warning"
    return [f"{source}: {len(said)} {many} of its own, the first: {said[0]}"] if said else []

"""Calibrated nodes and message times from the files of each node, checked as they are read."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from simulator.base import files
from simulator.base.documents import at, in_file, read
from simulator.base.errors import ScenarioError
from simulator.base.machine import INSTRUCTION, CacheUnit, SharedCache
from simulator.models.memory import MemoryLevel
from simulator.models.network import LinkModel, PacketModel
from simulator.models.speed import SpeedBand, SpeedSurface
from simulator.platform.domains import neighbours_data, neighbours_of, unlike_pes
from simulator.platform.doubt_forms import DoubtForm
from simulator.platform.networks.link import message_data
from simulator.scenario_file.node_block import CacheGroups, cache_groups, shared_levels

KINDS = ("speed", "memory", "network", "neighbours", "node")
"""Kinds of files that can be joined."""
FORMAT = 1
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
T = TypeVar("T", bound=BaseModel)
Bytes = Annotated[int, Field(ge=0, lt=2**63)]


class _Loose(BaseModel):
    """What we look at of a document; the rest is its own business."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class _Cache(_Loose):
    level: Annotated[int, Field(ge=1, le=9)]
    kind: str
    size_bytes: Annotated[int, Field(ge=1, lt=2**63)]


class _MachineCache(_Cache):
    shared_by: Annotated[int, Field(ge=1)]


class _NodeCache(_Cache):
    instances: Annotated[int, Field(ge=1)]
    most_pes: Annotated[int, Field(ge=1)]


class _CacheUnit(_Cache):
    cpus: list[int]


class _Core(_Loose):
    cpu: int | None = None
    siblings: list[int] = []
    kind: str = ""


class MachineFacts(_Loose):
    """Of the machine that something was measured on."""

    host: str | None = None
    cpu_model: str | None = None
    pe_count: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    memory_bytes: Bytes | None = None
    memory_limit_bytes: Bytes | None = None
    swap_bytes: Bytes | None = None
    load_average: list[float] = []
    cores: list[_Core] = []
    caches: list[_MachineCache] = []

    def shared_caches(self) -> tuple[SharedCache, ...]:
        """Data caches, by how many PEs share one, hardware threads of one core counted once."""
        threads = 1 + max((len(core.siblings) for core in self.cores), default=0)
        pes, found = self.pe_count or 1, []
        for cache in self.caches:
            most = min(pes, max(1, cache.shared_by // threads))
            if cache.kind != INSTRUCTION:
                found.append(SharedCache(cache.level, cache.kind, cache.size_bytes, math.ceil(pes / most), most))
        return tuple(found)

    @property
    def memory_granted_bytes(self) -> int | None:
        """Main memory, limits of control groups counted."""
        sizes = [size for size in (self.memory_bytes, self.memory_limit_bytes) if size]
        return min(sizes, default=None)

    @property
    def identity(self) -> tuple[str | None, int | None, int | None]:
        """What two descriptions of one machine agree on besides its name."""
        return self.cpu_model, self.pe_count, self.memory_bytes


class Made(_Loose):
    """Where and when a model was made, with what."""

    made: datetime | None = None
    versions: dict[str, str] = {}
    machine: MachineFacts | None = None


class OwnWarnings(_Loose):
    """What any model may say of itself."""

    warnings: list[str] = []


class SpeedDocument(_Loose):
    """A speed model."""

    format: Literal[2]
    kind: Literal["speed"]
    model: dict[str, Any]
    kernel: str | None = None
    provenance: Made = Made()
    surface: dict[str, Any] | None = None
    """Where speeds were measured on panels: the bands by number of columns, of which `model` is the last one."""

    @model_validator(mode="before")
    @classmethod
    def _last_band(cls, document: Any) -> Any:
        model = document.get("model") if isinstance(document, dict) else None
        bands = model.get("bands") if isinstance(model, dict) else None
        return document | {"model": bands[-1], "surface": model} if isinstance(bands, list) and bands else document

    def band(self) -> SpeedBand:
        """The band; of a surface, at its largest number of columns."""
        if self.surface is None:
            return SpeedBand.from_dict(self.model)
        surface = SpeedSurface.from_dict(self.surface)
        return surface.at(surface.columns[-1])


class _Level(_Loose):
    name: str | None = None
    capacity_bytes: float | None = None
    latency_s: float
    gap_s: float


class _Parameters(_Loose):
    parameters: dict[str, float | list[float] | list[list[float]] | dict[str, Any]]


class NodeTopology(_Loose):
    """What a node file says of the node."""

    host: str | None = None
    cpu_model: str | None = None
    pe_count: Annotated[int, Field(ge=1, le=1_000_000)]
    memory_bytes: Bytes | None = None
    swap_bytes: Bytes | None = None
    cores: list[_Core] = []
    shared_caches: list[_NodeCache] = []
    caches: list[_CacheUnit] = []

    def cache_groups(self) -> tuple[CacheGroups, ...]:
        """Caches that several of its PEs share."""
        cpus = [-1 if core.cpu is None else core.cpu for core in self.cores[: self.pe_count]]
        return cache_groups(cpus, [CacheUnit(c.level, c.kind, c.size_bytes, tuple(c.cpus)) for c in self.caches])

    @property
    def core_kinds(self) -> tuple[str, ...]:
        """Kinds of the cores that are PEs, such as P and E."""
        return tuple(dict.fromkeys(core.kind for core in self.cores[: self.pe_count]))

    def data_caches(self) -> tuple[SharedCache, ...]:
        """Those that hold data."""
        return tuple(SharedCache(**dict(cache)) for cache in self.shared_caches if cache.kind != INSTRUCTION)


class NodeDocument(_Loose):
    """A node file: a machine with what was measured on it."""

    format: Literal[1]
    kind: Literal["node"]
    name: Annotated[str, Field(min_length=1)]
    topology: dict[str, Any]
    machine: MachineFacts | None = None
    models: list[dict[str, Any]]
    provenance: Made = Made()


def read_document(path: Path) -> tuple[dict[str, Any], str]:
    """A JSON object and the hash of its file.

    Raises
    ------
    ScenarioError
        If it is missing or no JSON object.
    """
    data = files.read_bytes(path)
    document = files.read_json(path)
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: this is a {type(document).__name__} and no model; name a model")
    return document, files.digest(data)


def kind_of(document: Mapping[str, Any], path: str | Path) -> str:
    """Which kind of file it is; message times without a kind, as quickstart keeps them, are a network.

    Raises
    ------
    ScenarioError
        If it is none that can be joined.
    """
    kind = document.get("kind")
    if kind is None and (_bare_link(document) is not None):
        return "network"
    if kind not in KINDS:
        found = "no kind" if kind is None else f"kind {str(kind)[:40]!r}"
        raise ScenarioError(f"{path}: the file has {found}; name one of kind {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return str(kind)


def parsed(form: type[T], document: Any, path: str | Path) -> T:
    """A document by its form.

    Raises
    ------
    ScenarioError
        With one line for each fault.
    """
    try:
        return form.model_validate(document)
    except ValidationError as error:
        raise ScenarioError([_line(dict(fault), path) for fault in error.errors()][:20]) from None


def _line(fault: dict[str, Any], path: str | Path) -> str:
    field = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"])
    message = message[0].lower() + message[1:]
    if fault["type"] == "missing":
        return f"{path}: {field} is missing; measure again"
    found = repr(fault["input"])
    return f"{path}: {field}: {found if len(found) <= 60 else f'{found[:57]}...'} does not fit: {message}"


def levels_of(document: Mapping[str, Any], path: str | Path) -> tuple[MemoryLevel, ...]:
    """The levels of a memory model, the last one without a limit.

    Raises
    ------
    ScenarioError
        If it has none, or numbers that no level can have.
    """
    held = document.get("model")
    listed = held.get("levels") if isinstance(held, dict) else None
    if not isinstance(listed, list) or not 1 <= len(listed) <= 16:
        raise ScenarioError(f"{path}: model.levels: it is {_short(listed)}; give 1 to 16 memory levels")
    levels = [parsed(_Level, level, f"{path}: model.levels.{number}") for number, level in enumerate(listed)]
    names = [level.name or (f"level{number + 1}") for number, level in enumerate(levels)]
    capacities = [level.capacity_bytes for level in levels[:-1]]
    for name, capacity in zip(names, capacities, strict=False):
        if capacity is None or capacity < 1:
            raise ScenarioError(f"{path}: model.levels: {name}: the capacity is {capacity}; give at least 1 byte")
    made = []
    for name, level, capacity in zip(names, levels, [*capacities, math.inf], strict=True):
        try:
            made.append(MemoryLevel(name, float(capacity or math.inf), level.latency_s, level.gap_s))
        except ScenarioError as error:
            raise ScenarioError(f"{path}: {error.lines[0].removeprefix('platform: ')}") from None
    return tuple(made)


def link_data(document: Mapping[str, Any], path: str | Path) -> dict[str, Any]:
    """Message times as a link of a scenario file: a fitted form, knots, or packets.

    Raises
    ------
    ScenarioError
        If the document has none, or numbers that no link can have.
    """
    model = document.get("model")
    if isinstance(model, dict) and isinstance(model.get("form"), str) and isinstance(model.get("parameters"), dict):
        given, where = {**model["parameters"]}, f"{path}: model"
        doubt = given.pop("doubt", None)  # not one of the form's own numbers
        numbers = parsed(_Parameters, {"parameters": given}, where).parameters
        return numbers | ({} if doubt is None else {"doubt": parsed(DoubtForm, doubt, where).model_dump()})
    found = _bare_link(document)
    if found is None:
        wanted = "give a fitted form, sizes_bytes and times_s, or latency_s, packet_bytes and packet_s"
        raise ScenarioError(f"{path}: model: {_short(model)} says no message times; {wanted}")
    with in_file(path):
        return message_data(read(PacketModel if "packet_bytes" in found else LinkModel, _bare(found)))


def _bare(found: Mapping[str, Any]) -> dict[str, Any]:
    """What plain message times say of themselves; the document around them may say more."""
    wanted = {"sizes_bytes", "times_s", "latency_s", "packet_bytes", "packet_s", "doubt"}
    return {name: value for name, value in found.items() if name in wanted}


def _bare_link(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Where a document holds plain message times: at its top, below `model`, or below `link`."""
    for place in (document, document.get("model"), document.get("link")):
        if isinstance(place, dict) and ("sizes_bytes" in place or "packet_bytes" in place):
            return place
    return None


def is_of_one_machine(document: Mapping[str, Any]) -> bool:
    """Whether message times are known to be those between processes of one machine."""
    about = document.get("measured")
    measured = about if isinstance(about, dict) else document
    host = measured.get("host")
    return measured.get("between") is not None and (host is None or str(host) in _LOOPBACK)


def age_days(made: datetime | None, now: datetime) -> float | None:
    """Days since something was made; None if nobody says."""
    if made is None:
        return None
    when = made if made.tzinfo is not None else made.replace(tzinfo=UTC)
    return (now - when).total_seconds() / 86400


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


UNNAMED = "unnamed"
"""What the kernel of a model is called that does not say."""


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
    host: str | None
    cpu_model: str | None
    pe_count: int | None
    memory_bytes: int | None
    swap_bytes: int | None
    """None where nobody says."""
    speeds: dict[str, SpeedBand]
    """Speed band per kernel."""
    caches: tuple[SharedCache, ...] = ()
    groups: tuple[CacheGroups, ...] = ()
    """The PEs that share caches, where the system or hwloc reported them."""
    neighbours: dict[str, Any] | None = None
    """Domains and uses that were measured, as a scenario file writes them."""
    levels: tuple[MemoryLevel, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkFile:
    """Message times of a file."""

    source: str
    data: dict[str, Any]
    """As a link of a scenario file."""
    within_node: bool
    """Whether they were measured between processes of one machine."""
    calibration: Calibration
    warnings: tuple[str, ...] = ()
    cost: tuple[str, ...] = ()
    """What its messages cost in CPU and memory, in words, where that was measured."""


@dataclass
class Inputs:
    """All files that were given, read."""

    nodes: list[CalibratedNode] = field(default_factory=list)
    links: list[LinkFile] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)


def read_inputs(paths: Sequence[Path], *, kernel: str | None = None) -> Inputs:
    """Read calibration files: a speed or node file is a node, a model of memory or neighbours of the node before it.

    Parameters
    ----------
    kernel
        What the kernel of models is called that name none.

    Raises
    ------
    ScenarioError
        For a file that cannot be joined, with its field.
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
            read = node_of if kind == "node" else _speed_node
            found.nodes.append(read(document, str(path), unnamed=kernel or UNNAMED))
    return found


def make_node_document(
    *, name: str, topology: dict[str, Any], machine: dict[str, Any] | None, models: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A node file's content: the machine, and whole models that were measured on it; see `node_of` for a check."""
    document = {"format": FORMAT, "kind": "node", "name": name, "topology": topology, "machine": machine}
    return document | {"models": list(models)}


def node_of(
    document: dict[str, Any], source: str, *, unnamed: str = UNNAMED, places: Sequence[str] = ()
) -> CalibratedNode:
    """The node of a node file.

    Parameters
    ----------
    unnamed
        What the kernel of a model is called that names none.
    places
        What messages call each model; by default its place in the file.

    Raises
    ------
    ScenarioError
        If it is none, a model is none of a node, or two are of one kernel.
    """
    form = parsed(NodeDocument, document, source)
    parts = parsed(NodeTopology, form.topology, f"{source}: topology")
    node = CalibratedNode(
        source,
        parts.host,
        parts.cpu_model,
        parts.pe_count,
        parts.memory_bytes,
        parts.swap_bytes,
        speeds={},
        caches=parts.data_caches(),
        groups=parts.cache_groups(),
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
    if len(parts.core_kinds) > 1 and node.speeds:
        kinds = f"it has cores of {len(parts.core_kinds)} kinds ({', '.join(parts.core_kinds)})"
        said = f"{source}: {kinds}: each speed is written for all; edit those of one kind"
        node = replace(node, warnings=(*node.warnings, said))
    return node


def _speed_node(document: dict[str, Any], source: str, *, unnamed: str) -> CalibratedNode:
    """A speed model alone: its provenance says what machine it is."""
    machine = parsed(SpeedDocument, document, source).provenance.machine
    facts = machine or MachineFacts()
    node = CalibratedNode(
        source,
        facts.host,
        facts.cpu_model,
        facts.pe_count,
        facts.memory_granted_bytes,
        facts.swap_bytes,
        speeds={},
        caches=facts.shared_caches(),
    )
    if machine is None:
        node = replace(node, warnings=(f"{source}: says no machine; taken for a node of one PE, its memory not known",))
    return _with_speed(node, document, source, unnamed=unnamed)


def _with_speed(node: CalibratedNode, document: dict[str, Any], source: str, *, unnamed: str) -> CalibratedNode:
    form = parsed(SpeedDocument, document, source)
    kernel = form.kernel or unnamed
    if kernel in node.speeds:
        raise ScenarioError(f"{source}: the node has a speed model of kernel {kernel!r} already; leave one out")
    with in_file(source), at("model"):
        band = form.band()
    said = list(node.warnings)
    if form.kernel is None:
        said.append(f"{source}: says no kernel; called {kernel!r}")
    said += _own_warnings(document, source)
    calibration = Calibration(source, f"speed of {kernel}", form.provenance)
    return replace(
        node,
        speeds=node.speeds | {kernel: band},
        calibrations=(*node.calibrations, calibration),
        warnings=tuple(said),
    )


def _with_memory(node: CalibratedNode, document: dict[str, Any], source: str) -> CalibratedNode:
    if node.levels:
        raise ScenarioError(f"{source}: {node.source} has a memory model already; leave one out")
    made = parsed(Made, document.get("provenance") or {}, f"{source}: provenance")
    levels, notes = shared_levels(node.caches, levels_of(document, source))
    return replace(
        node,
        levels=levels,
        calibrations=(*node.calibrations, Calibration(source, "memory", made)),
        warnings=(*node.warnings, *_own_warnings(document, source), *(f"{source}: {note}" for note in notes)),
    )


def _with_neighbours(node: CalibratedNode, document: dict[str, Any], source: str) -> CalibratedNode:
    if node.neighbours is not None:
        raise ScenarioError(f"{source}: {node.source} has a neighbours model already; leave one out")
    found = neighbours_of(document, source)
    data = neighbours_data(document, source)
    made = parsed(Made, document.get("provenance") or {}, f"{source}: provenance")
    return replace(
        node,
        neighbours={"domains": data["domains"], "uses": data["uses"]},
        calibrations=(*node.calibrations, Calibration(source, "neighbours", made)),
        warnings=(*node.warnings, *_own_warnings(document, source), *unlike_pes(found, node.pe_count, source)),
    )


_OF_NODES = {"memory": _with_memory, "neighbours": _with_neighbours}
"""Kind of a model that belongs to the node before it -> what adds it."""


def _link(document: dict[str, Any], source: str) -> LinkFile:
    made = parsed(Made, document.get("provenance") or {}, f"{source}: provenance")
    calibration = Calibration(source, "network", made)
    warnings = tuple(_own_warnings(document, source))
    from simulator.models.network.file import message_cost  # only here: it is seldom needed

    cost = message_cost(document, source)
    costs = () if cost is None else tuple(f"{source}: {line}" for line in cost.lines())
    return LinkFile(source, link_data(document, source), is_of_one_machine(document), calibration, warnings, costs)


def _own_warnings(document: dict[str, Any], source: str) -> list[str]:
    """What a model says of itself, in one line."""
    lines = parsed(OwnWarnings, document, source).warnings
    many = "warnings" if len(lines) > 1 else "warning"
    return [f"{source}: {len(lines)} {many} of its own, the first: {lines[0]}"] if lines else []

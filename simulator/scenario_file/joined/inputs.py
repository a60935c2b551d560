"""Calibrated nodes and message times from the files of each node, in the order given."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.base.machine import SharedCache
from simulator.models.memory import MemoryLevel
from simulator.models.speed import SpeedBand
from simulator.platform.domains import neighbours_data, neighbours_of, unlike_pes
from simulator.scenario_file.joined.documents import (
    FORMAT,
    MachineFacts,
    Made,
    NodeDocument,
    NodeTopology,
    SpeedDocument,
    Told,
    is_of_one_machine,
    kind_of,
    levels_of,
    link_data,
    parsed,
    read_document,
)
from simulator.scenario_file.node_block import shared_levels
from simulator.scenario_file.proposed_domains import CacheGroups

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
    """The PEs that share caches, where the system or hwloc told of them."""
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
                raise ScenarioError(f"{path}: a {kind} model before any node found, one after its node's file allowed")
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
    told = parsed(NodeTopology, form.topology, f"{source}: topology")
    node = CalibratedNode(
        source,
        told.host,
        told.cpu_model,
        told.pe_count,
        told.memory_bytes,
        told.swap_bytes,
        speeds={},
        caches=told.data_caches(),
        groups=told.cache_groups(),
    )
    for number, model in enumerate(form.models):
        place = places[number] if places else f"{source}: models.{number}"
        kind = kind_of(model, place)
        if kind in _OF_NODES:
            node = _OF_NODES[kind](node, model, place)
        elif kind == "speed":
            node = _with_speed(node, model, place, unnamed=unnamed)
        else:
            raise ScenarioError(f"{place}: kind {kind!r} found, speed, memory or neighbours allowed")
    if len(told.core_kinds) > 1 and node.speeds:
        kinds = f"cores of {len(told.core_kinds)} kinds ({', '.join(told.core_kinds)}) found"
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
        raise ScenarioError(
            f"{source}: kernel {kernel!r} twice found, one speed model of each kernel of a node allowed"
        )
    try:
        band = form.band()
    except ScenarioError as error:
        raise ScenarioError(f"{source}: model: {error.lines[0]}") from None
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
        raise ScenarioError(f"{source}: a second memory model of {node.source} found, one for each node allowed")
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
        raise ScenarioError(f"{source}: a second neighbours model of {node.source} found, one for each node allowed")
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
    told = parsed(Told, document, source).warnings
    many = "warnings" if len(told) > 1 else "warning"
    return [f"{source}: {len(told)} {many} of its own, the first: {told[0]}"] if told else []

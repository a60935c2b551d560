"""A node from this machine or an hwloc export: its YAML block, and the file that `apportion platform` joins."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from simulator.base import files, units
from simulator.base.errors import ScenarioError
from simulator.base.machine import affinity, this_machine, this_topology
from simulator.base.provenance import provenance
from simulator.platform.foreign import check_same_machine, read_hwloc
from simulator.scenario_file.joined import MOST_DAYS
from simulator.scenario_file.joined.inputs import kind_of, make_node_document, node_of, read_document
from simulator.scenario_file.joined.kinds import doubts
from simulator.scenario_file.node_block import node_block, node_name, ranges


@dataclass(frozen=True)
class NodeDescription:
    """What is known of a machine as a node."""

    text: str
    """An entry of `platform.nodes`, with comments."""
    document: dict[str, Any]
    """A node file's content."""
    warnings: tuple[str, ...]


def describe_node(
    *,
    hwloc: str | Path | None = None,
    name: str | None = None,
    speeds: Sequence[Path] = (),
    memory: str | Path | None = None,
    neighbours: str | Path | None = None,
) -> NodeDescription:
    """Describe this machine as a node, or the one of an hwloc export.

    Parameters
    ----------
    name
        Of the node, or a pattern; by default the host's.
    speeds, memory, neighbours
        Models that were measured there.

    Raises
    ------
    ScenarioError
        If a file cannot be used.
    """
    hwloc = None if hwloc is None else Path(hwloc)
    memory = None if memory is None else Path(memory)
    here = this_topology()
    topology = here if hwloc is None else read_hwloc(hwloc)
    is_here = topology is here
    notes = _notes() if is_here else list(topology.warnings)
    said = [*topology.warnings, *(() if is_here else check_same_machine(topology, here))]
    neighbours = None if neighbours is None else Path(neighbours)
    kinds = {"memory": memory, "neighbours": neighbours}
    wanted = [
        *((path, "speed") for path in speeds),
        *((path, kind) for kind, path in kinds.items() if path is not None),
    ]
    inputs = {} if hwloc is None else {str(hwloc): files.digest(files.read_bytes(hwloc))}
    models = [_model(path, kind, inputs) for path, kind in wanted]
    node_called = name or node_name(topology)
    machine = this_machine().to_dict() if is_here else None
    document = make_node_document(name=node_called, topology=topology.to_dict(), machine=machine, models=models)
    node = node_of(document, str(hwloc or "this machine"), places=[str(path) for path, _ in wanted])
    made = provenance(inputs=inputs)
    said += doubts([node], [], now=datetime.fromisoformat(made["made"]), most_days=MOST_DAYS)
    files_of = dict(zip(node.speeds, map(str, speeds), strict=True))
    text = node_block(
        topology,
        name=node_called,
        speeds=files_of,
        levels=node.levels,
        notes=notes,
        neighbours=None if neighbours is None else str(neighbours),
    )
    warnings = tuple(dict.fromkeys(said))
    return NodeDescription(text, document | {"warnings": list(warnings), "provenance": made, "yaml": text}, warnings)


def _model(path: Path, wanted: str, inputs: dict[str, str]) -> dict[str, Any]:
    document, inputs[str(path)] = read_document(path)
    if (kind := kind_of(document, path)) != wanted:
        raise ScenarioError(f"{path}: the file is of kind {kind!r}; name one of kind {wanted!r} with --{wanted}")
    return document


def _notes() -> list[str]:
    """What is known of this machine now, beyond its parts."""
    machine = this_machine()
    limit = machine.memory_limit_bytes
    granted = "no memory limit" if limit is None else f"memory limit {units.show_size(limit)} of a control group"
    load = ", ".join(f"{value:.2f}" for value in machine.load_average)
    free = units.show_size(machine.memory_available_bytes)
    return [
        f"affinity: processors {ranges(affinity())}; {granted}; {free} available",
        f"{machine.system}; governor {machine.governor or 'not known'}; load {load} over 1, 5 and 15 minutes",
    ]

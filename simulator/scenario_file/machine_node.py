"""A node from this machine or an hwloc export: its YAML block, and the file that `apportion cluster --join` joins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from simulator.base import files, units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.machine import Core, GpuUnit, SharedCache, Topology, affinity, gpus, this_machine, this_topology
from simulator.base.names import expanded, ranges
from simulator.base.provenance import provenance
from simulator.models.memory import MemoryLevel
from simulator.platform.foreign import check_same_machine, read_hwloc
from simulator.platform.nodes import Node, Quota
from simulator.scenario_file.caches import cache_entries, cache_groups
from simulator.scenario_file.joined import MOST_DAYS
from simulator.scenario_file.joined.inputs import NodeFile, kind_of, node_of, read_document
from simulator.scenario_file.joined.kinds import doubts
from simulator.scenario_file.nodes import node_entry
from simulator.scenario_file.written import safe_name, written

_NO_SPEED = (
    "no speed is known yet: measure with `apportion calibrate speed --kernel dgemm -o dgemm.json`, then",
    "write speeds: {dgemm: {model: dgemm.json}}, or let `apportion calibrate machine --speed dgemm.json` do it",
)
_NO_LEVELS = "levels need latency and gap: `apportion calibrate memory -o memory.json`, then --memory memory.json"
_ALONE = "one PE: nobody to share a cache, memory or a clock with, so no domains"
_NO_COSTS = (
    "the system does not say what neighbours cost: `apportion calibrate neighbours -o neighbours.json`",
    "measures it, then write domains: {model: neighbours.json}",
)
_REPORTED = "As the system reports them: virtual machines lie about what is shared."


@dataclass(frozen=True)
class NodeDescription:
    """What is known of a machine as a node."""

    text: str
    """An entry of `platform.nodes`, with comments."""
    file: NodeFile
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

    Raises ScenarioError if a file cannot be used.

    `name`: of the node, or a pattern; by default the host's.
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
    node_called = name or safe_name(topology.host)
    machine, made = this_machine() if is_here else None, provenance(inputs=inputs)
    form = NodeFile(
        name=node_called, topology=topology, machine=machine, models=tuple(models), warnings=(), provenance=made
    )
    node = node_of(form, str(hwloc or "this machine"), places=[str(path) for path, _ in wanted])
    said += doubts([node], [], now=datetime.fromisoformat(made["made"]), most_days=MOST_DAYS)
    files_of = dict(zip(node.speeds, map(str, speeds), strict=True))
    measured = None if neighbours is None else str(neighbours)
    text = node_block(
        topology,
        name=node_called,
        speeds=files_of,
        levels=node.levels,
        notes=notes,
        neighbours=measured,
        quota=node.quota,
    )
    warnings = tuple(dict.fromkeys(said))
    return NodeDescription(text, replace(form, warnings=warnings, yaml=text), warnings)


def _model(path: Path, wanted: str, inputs: dict[str, str]) -> Mapping[str, object]:
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
    ports = [gpu.port for gpu in gpus()]
    free = units.show_size(machine.memory_available_bytes)
    return [
        f"affinity: processors {ranges(affinity())}; {granted}; {free} available",
        f"{machine.system}; governor {machine.governor or 'not known'}; load {load} over 1, 5 and 15 minutes",
        *(line for gpu in gpus() for line in _about_gpu(gpu, shares=bool(gpu.port) and ports.count(gpu.port) > 1)),
    ]


def _about_gpu(gpu: GpuUnit, *, shares: bool) -> list[str]:
    """What makes it a PE, which nobody can say before it is measured."""
    name, near = f"gpu{gpu.number}", f", next to processors {ranges(gpu.cpus)}" if gpu.cpus else ""
    switch = f", switch: {gpu.port!r}" if shares else ""
    return [
        f"{name}: {gpu.name}, {units.show_size(gpu.memory_bytes)}{near}; it is a PE once it is measured:",
        f"`apportion calibrate speed --kernel dgemm --columns 4096 --device {name} -o {name}-dgemm.json`,",
        f"`apportion calibrate network --between {name} -o {name}.json`, then under pes, with the name of a core:",
        f"- {{name: {name}, kind: gpu, host: CORE, memory: {gpu.memory_bytes // 2**20}MiB{switch},",
        f"   link: {{into: {{model: {name}-h2d-pinned.json}}, out: {{model: {name}-d2h-pinned.json}}}},",
        f"   speeds: {{dgemm: {{model: {name}-dgemm.json}}}}}}",
    ]


def node_block(
    topology: Topology,
    *,
    name: str,
    speeds: Mapping[str, str] | None = None,
    levels: Sequence[MemoryLevel] = (),
    notes: Sequence[str] = (),
    neighbours: str | None = None,
    quota: Quota | None = None,
) -> str:
    """An entry of `platform.nodes` as YAML text; comments say what a scenario has no field for."""
    expanded(name)
    labels = [f"{{node}}-{label}" for label in pe_labels(topology)]
    groups = cache_groups([core.cpu for core in topology.pes], topology.caches)
    domains: Data | list[Data] = {"model": neighbours}
    if neighbours is None:
        domains = cache_entries(groups, topology.data_caches, levels, labels)
    limited = {} if quota is None else {"quota": quota.to_data()}
    known = {kernel: {"model": file} for kernel, file in (speeds or {}).items()}
    pes = [
        {"name": label, "cpu": core.cpu, "speeds": dict(known), **limited}
        for core, label in zip(topology.pes, labels, strict=True)
    ]
    of_pes = {("pes", place): said for place, core in enumerate(topology.pes) if (said := _about_core(core))}
    node = Node(name, topology.memory_bytes, topology.swap_bytes, levels=tuple(levels))
    entry = node_entry(node, name, domains=domains, pes=pes)
    reported = {(0, "domains"): _REPORTED} if domains and neighbours is None else {}
    head = [*described(topology), *notes, *(() if levels else (_NO_LEVELS,))]
    if neighbours is None:
        head += [_ALONE] if topology.pe_count == 1 else _NO_COSTS
    head += () if known else _NO_SPEED
    return written([entry], head=head, notes=reported | {(0, *place): said for place, said in of_pes.items()})


def _about_core(core: Core) -> str:
    said = [f"{core.kind} core"] if core.kind else []
    if core.siblings:
        many = "siblings" if len(core.siblings) > 1 else "sibling"
        said.append(f"SMT {many}, no PE: {ranges(core.siblings)}")
    return "; ".join(said)


def pe_labels(topology: Topology) -> list[str]:
    """What each PE is called within its node: `core00`, or by its kind `P00`."""
    width = len(str(topology.pe_count - 1))
    return [f"{core.kind or 'core'}{number:0{width}d}" for number, core in enumerate(topology.pes)]


def described(topology: Topology) -> list[str]:
    """What is known of a machine, line by line."""
    cores, pes = len(topology.cores), topology.pe_count
    threads = sum(1 + len(core.siblings) for core in topology.cores)
    smt = f" with {threads} hardware threads (SMT)" if threads > cores else ""
    quota = "no CPU quota" if topology.quota_cores is None else f"CPU quota of {topology.quota_cores:g} cores"
    lines = [
        f"{topology.host or 'unnamed host'}: {topology.cpu_model or 'processor not known'}; from {topology.source}",
        f"{pes} PEs: {cores} physical cores{smt} that may be used, {quota}",
    ]
    kinds = [core.kind for core in topology.pes]
    if any(kinds):
        lines.append("kinds: " + ", ".join(f"{kinds.count(kind)} of {kind}" for kind in dict.fromkeys(kinds)))
    if topology.packages:
        lines.append("packages: " + "; ".join(f"processors {ranges(cpus)}" for cpus in topology.packages))
    for unit in topology.numa:
        held = "memory not known" if unit.memory_bytes is None else units.show_size(unit.memory_bytes)
        where = f"processors {ranges(unit.cpus)}" if unit.cpus else "no processors"
        lines.append(f"NUMA node {unit.number}: {where}, {held}")
    lines += [f"cache {cache_line(cache, pes)}" for cache in topology.shared_caches]
    memory = "not known" if topology.memory_bytes is None else units.show_size(topology.memory_bytes)
    swap = "not known" if topology.swap_bytes is None else units.show_size(topology.swap_bytes)
    return [*lines, f"memory {memory}, swap {swap}"]


def cache_line(cache: SharedCache, pe_count: int) -> str:
    """One level of caches in words."""
    if cache.most_pes == 1:
        shared = "one for each PE" if cache.instances == pe_count else f"one for each of {cache.instances} PEs"
    elif cache.instances == 1:
        shared = f"shared by {'all ' if cache.most_pes == pe_count else ''}{cache.most_pes} PEs"
    else:
        shared = f"{cache.instances} of them, each shared by {cache.most_pes} PEs"
    return f"{cache.name} {cache.kind}: {units.show_size(cache.size_bytes)}, {shared}"

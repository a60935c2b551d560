"""The YAML block of a node from what is known of a machine: fields where a scenario has them, the rest as comments."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulator.base import units
from simulator.base.machine import INSTRUCTION, MEMORY_SIDE, CacheUnit, Core, SharedCache, Topology
from simulator.base.names import compact, expanded
from simulator.base.units import write_duration, write_size
from simulator.models.memory import MemoryLevel

Groups = tuple[tuple[int, ...], ...]
"""Places of PEs, group by group."""
Data = dict[str, Any]


@dataclass(frozen=True)
class CacheGroups:
    """Caches of one level and size that several PEs share."""

    name: str
    """`L3`."""
    size_bytes: int
    groups: Groups
    """The PEs of each cache that two or more share."""

    def entries(self, labels: Sequence[str], level: str | None = None) -> list[Data]:
        """The domains as a file writes them.

        Parameters
        ----------
        labels
            The names of the PEs in their order, with `{node}` in them.
        level
            What the node's `levels` call it, whose capacity then holds, and which says itself that all PEs share it;
            None: they do not have it.
        """
        if level is not None and len(self.groups[0]) == len(labels):
            return []  # the level is `shared`
        of_it = {"kind": "cache", "level": level or self.name}
        capacity = {"capacity": write_size(self.size_bytes)} if level is None else {}
        return [of_it | who | capacity for who in whose(self.groups, labels)]


def whose(groups: Groups, labels: Sequence[str]) -> list[Data]:
    """Fields that say whose domains these are: none where all PEs share one, `each` where they follow one another."""
    width = len(groups[0])
    in_order = [tuple(range(first, min(first + width, len(labels)))) for first in range(0, len(labels), width)]
    if list(groups) == in_order:
        return [{}] if len(groups) == 1 else [{"each": width}]
    return [{"pes": _named([labels[place] for place in group])} for group in groups]


def _named(names: Sequence[str]) -> list[str]:
    pattern = compact(names) if len(names) > 2 else None
    return [pattern] if pattern else list(names)


def cache_groups(cpus: Sequence[int], caches: Iterable[CacheUnit]) -> tuple[CacheGroups, ...]:
    """The shared caches of PEs on these logical processors, the nearest first; those of instructions left out."""
    places = {cpu: place for place, cpu in enumerate(cpus)}
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for cache in caches:
        members = tuple(sorted(places[cpu] for cpu in cache.cpus if cpu in places))
        if len(members) > 1 and cache.kind not in (INSTRUCTION, MEMORY_SIDE):
            found.setdefault((cache.level, cache.size_bytes), []).append(members)
    return tuple(
        CacheGroups(f"L{level}", held, tuple(sorted(groups))) for (level, held), groups in sorted(found.items())
    )


def counted_groups(caches: Iterable[SharedCache], pe_count: int) -> tuple[CacheGroups, ...]:
    """The same where only numbers are known: PEs that follow one another are taken to share."""
    found = []
    for cache in caches:
        if cache.most_pes > 1 and cache.kind not in (INSTRUCTION, MEMORY_SIDE):
            firsts = range(0, pe_count, cache.most_pes)
            groups = (tuple(range(first, min(first + cache.most_pes, pe_count))) for first in firsts)
            found.append(CacheGroups(cache.name, cache.size_bytes, tuple(one for one in groups if len(one) > 1)))
    return tuple(found)


def to_measure(topology: Topology, labels: Sequence[str]) -> list[str]:
    """Domains of which the system does not say what they deliver, as lines to be filled in: memory, siblings, clock."""
    places = {core.cpu: place for place, core in enumerate(topology.pes)}
    groups = tuple(
        members
        for unit in topology.numa
        if (members := tuple(sorted(places[cpu] for cpu in unit.cpus if cpu in places)))
    )
    lines = [
        f"- {{kind: memory, {_flow(who)}capacity: 20GB/s}}  # of the NUMA node; the figure is made up"
        for who in whose(groups or (tuple(range(len(labels))),), labels)
    ]
    if any(core.siblings for core in topology.pes):
        threads = 1 + max(len(core.siblings) for core in topology.pes)
        shares = ", ".join(["1", *["0.6"] * (threads - 1)])
        lines.append(f"- {{kind: core, each: {threads}, shares: [{shares}]}}  # if SMT siblings become PEs; made up")
    return [*lines, f"- {{kind: clock, shares: [1{', 1' * (len(labels) - 1)}]}}  # by how many compute; made up"]


def flow(entry: Data) -> str:
    """An entry on one line."""
    return f"{{{_flow(entry).removesuffix(', ')}}}"


def _flow(entry: Data) -> str:
    def shown(value: Any) -> str:
        return f"[{', '.join(shown(one) for one in value)}]" if isinstance(value, list) else _text(value)

    return "".join(f"{key}: {shown(value)}, " for key, value in entry.items())


def _text(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and ("{" in value or "[" in value) else str(value)


WIDTH = 116
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def node_name(topology: Topology) -> str:
    """A node's name from the host's: letters, digits, dots, dashes; `node` where no host is named."""
    return safe_name(topology.host)


def safe_name(host: str | None) -> str:
    """A host's name as a node's."""
    return _PLAIN.sub("-", host or "").strip("-.") or "node"


def node_block(
    topology: Topology,
    *,
    name: str,
    speeds: Mapping[str, str] | None = None,
    levels: Sequence[MemoryLevel] = (),
    notes: Sequence[str] = (),
    neighbours: str | None = None,
) -> str:
    """An entry of `platform.nodes` as YAML text; comments say what a scenario has no field for.

    Parameters
    ----------
    name
        Of the node, or a pattern such as `fast[01-08]`.
    speeds
        Speed model file of each kernel, named as the scenario shall name it.
    levels
        Memory levels with fitted latencies and gaps, the nearest first; none: caches are listed in comments.
    notes
        Further lines of comment.
    neighbours
        File of the measured domains; without it they are proposed.

    Raises
    ------
    ScenarioError
        If the name has a range that cannot be read.
    """
    expanded(name)
    lines = [*_comments([*described(topology), *notes]), f"- name: {_quoted(name)}"]
    if topology.memory_bytes is not None:
        lines.append(f"  memory: {write_size(topology.memory_bytes)}  # {units.show_size(topology.memory_bytes)}")
        if topology.swap_bytes is not None:
            lines.append(f"  swap: {write_size(topology.swap_bytes)}  # {units.show_size(topology.swap_bytes)}")
    lines += _levels(topology, levels)
    measured = neighbours is not None
    lines += [f"  domains: {{model: {_quoted(str(neighbours))}}}"] if measured else _domains(topology, levels)
    if not speeds:
        lines += _comments(
            ["no speed is known yet: measure with `apportion calibrate speed --kernel dgemm -o dgemm.json`, then"], "  "
        )
        lines += ["  # write speeds: {dgemm: {model: dgemm.json}}, or let `apportion machine --speed dgemm.json` do it"]
    lines.append("  pes:")
    inside = ", ".join(f"{_quoted(kernel)}: {{model: {_quoted(file)}}}" for kernel, file in (speeds or {}).items())
    for core, label in zip(topology.pes, pe_labels(topology), strict=True):
        entry = f'    - {{name: "{{node}}-{label}", cpu: {core.cpu}, speeds: {{{inside}}}}}'
        lines.append(f"{entry}{_core_comment(core)}")
    return "\n".join(lines) + "\n"


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
    lines += [f"cache {cache_line(cache, pes)}" for cache in topology.shared_caches(instructions=True)]
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


def ranges(numbers: Sequence[int]) -> str:
    """`0-3,8` as the system writes lists of processors."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def shared_levels(
    caches: Sequence[SharedCache], levels: Sequence[MemoryLevel]
) -> tuple[tuple[MemoryLevel, ...], tuple[str, ...]]:
    """Fitted levels with who shares them, and what a scenario cannot say of that.

    A fitted level is the cache whose capacity is nearest, by their ratio; one with none within a factor of 4 is each
    PE's own. One that all PEs share is `shared`; of caches that some of them share, each has its own capacity, and
    domains say who shares them. The last level is main memory, without a limit of its own.
    """
    found, notes = [], []
    for level in levels[:-1]:
        best = _nearest(caches, level)
        if best is None:
            notes.append(f"level {level.name}: no cache of about its capacity is known; taken as each PE's own")
        shared = best is not None and best.most_pes > 1 and best.instances == 1
        found.append(replace(level, shared=shared, capacity_bytes=float(round(level.capacity_bytes))))
    found += [replace(level, shared=True) for level in levels[-1:]]
    return tuple(_rounded(level) for level in found), tuple(notes)


def _nearest(caches: Sequence[SharedCache], level: MemoryLevel) -> SharedCache | None:
    """The cache of about a level's capacity, if there is one."""
    capacity = level.capacity_bytes
    best = min(caches, key=lambda cache: abs(math.log(cache.size_bytes / capacity)), default=None)
    return best if best is not None and 0.25 <= best.size_bytes / capacity <= 4 else None


def level_names(caches: Sequence[SharedCache], levels: Sequence[MemoryLevel]) -> dict[tuple[str, int], str]:
    """What fitted levels are called that are caches, by name and size of the cache."""
    matched = [(_nearest(caches, level), level.name) for level in levels[:-1]]
    return {(cache.name, cache.size_bytes): name for cache, name in reversed(matched) if cache is not None}


def _domains(topology: Topology, levels: Sequence[MemoryLevel]) -> list[str]:
    """What PEs share: caches as the system reports them, the rest as comments."""
    if topology.pe_count == 1:
        return ["  # one PE: nobody to share a cache, memory or a clock with, so no domains"]
    labels = [f"{{node}}-{label}" for label in pe_labels(topology)]
    called = level_names(topology.shared_caches(), levels)
    found = cache_groups([core.cpu for core in topology.pes], topology.caches)
    entries = [entry for one in found for entry in one.entries(labels, called.get((one.name, one.size_bytes)))]
    head = ["  domains:", *(f"    - {flow(entry)}" for entry in entries)] if entries else []
    intent = "    " if entries else "  "
    said = [
        *(["domains as the system reports them: virtual machines lie about what is shared"] if entries else []),
        "the system does not say what neighbours cost: `apportion calibrate neighbours -o neighbours.json`",
        "measures it, then write domains: {model: neighbours.json}; or fill in what you know:",
        *([] if entries else ["domains:"]),
        *(line if entries else f"  {line}" for line in to_measure(topology, labels)),
    ]
    return [*head, *(f"{intent}# {line}" for line in said)]


def _rounded(level: MemoryLevel) -> MemoryLevel:
    """Times to six digits, far more than was measured."""
    return replace(level, latency_s=float(f"{level.latency_s:.6g}"), gap_s=float(f"{level.gap_s:.6g}"))


def _levels(topology: Topology, levels: Sequence[MemoryLevel]) -> list[str]:
    if not levels:
        lines = [
            "  # levels need latency and gap: `apportion calibrate memory -o memory.json`, then --memory memory.json"
        ]
        return lines + [
            f"  #   - {{name: {cache.name}, capacity: {write_size(cache.size_bytes)}, "
            f"shared: {'true' if cache.most_pes > 1 else 'false'}}}  # {cache_line(cache, topology.pe_count)}"
            for cache in topology.shared_caches()
        ]
    return ["  levels:", *(f"    - {level_text(level)}" for level in levels)]


def level_text(level: MemoryLevel) -> str:
    """A memory level as a YAML flow mapping."""
    capacity = "" if math.isinf(level.capacity_bytes) else f"capacity: {write_size(level.capacity_bytes)}, "
    times = f"latency: {write_duration(level.latency_s)}, gap: {write_duration(level.gap_s)}"
    return f"{{name: {_quoted(level.name)}, {capacity}{times}, shared: {'true' if level.shared else 'false'}}}"


def _core_comment(core: Core) -> str:
    said = [f"{core.kind} core"] if core.kind else []
    if core.siblings:
        many = "siblings" if len(core.siblings) > 1 else "sibling"
        said.append(f"SMT {many}, no PE: {ranges(core.siblings)}")
    return f"  # {'; '.join(said)}" if said else ""


def _comments(lines: Iterable[str], indent: str = "") -> list[str]:
    """Lines as comments; what a file or a host's name might smuggle in stays on its line."""
    return [f"{indent}# {printable(line)}" for line in lines]


def _quoted(text: str) -> str:
    """A text in double quotes, as YAML reads it."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def printable(text: str) -> str:
    """A text on one line, without characters that end a comment or cannot be shown."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

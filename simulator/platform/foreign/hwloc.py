"""hwloc's XML exports (`lstopo --of xml`, 1.x to 3.x): cores, SMT, caches with sharing, NUMA memory, kinds of cores.

Read as hwloc's own readers do (topology-xml.c, bitmap.c of hwloc 1.0 to 3.0). Known to differ between versions: a
cache is `Cache` with a depth (1.x) or `L2Cache`, `L1iCache` (2.x); a package is `Socket` before 1.11; NUMA nodes hold
cores (1.x) or stand next to them (2.x); memory is in kibibytes as `memory_kB` before 1.1, else in bytes; facts about
the machine stand below an object (`info`), or below the root since 3.0. Objects of other types are looked through.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from simulator.base.errors import meant, some_names
from simulator.base.machine import INSTRUCTION, MEMORY_SIDE, CacheUnit, Core, MemoryUnit, Topology
from simulator.platform.foreign.xml_tree import Element, read_xml

MAX_NUMBER = 2**63
MAX_CPUS = 2**16
_CACHE = re.compile(r"L([1-9])(d|i)?Cache")
_KINDS = {"0": "unified", "1": "data", "2": INSTRUCTION}
"""`cache_type` as hwloc numbers it."""
_SET = re.compile(r"(0xf\.\.\.f,?)?((0x[0-9a-fA-F]{1,8})?(,(0x)?[0-9a-fA-F]{0,8})*)")
_KNOWN = {
    "type": (
        "Machine System Package Socket Die Core PU NUMANode MemCache Cache L1Cache L2Cache L3Cache L4Cache L5Cache "
        "L1iCache L2iCache L3iCache Group Tile Module Misc Bridge PCIDev OSDev"
    ),
    "attribute": (
        "type os_index gp_index id cpuset complete_cpuset allowed_cpuset online_cpuset nodeset complete_nodeset "
        "allowed_nodeset name subtype cache_size cache_linesize cache_associativity cache_type cache_inclusive "
        "local_memory memory_kB huge_page_size_kB huge_page_free depth kind subkind dont_merge pci_busid pci_type "
        "pci_link_speed bridge_type bridge_pci osdev_type numanode_type os_level dmi_board_vendor dmi_board_name"
    ),
    "element": (
        "object info page_type userdata distances distances2 distances2hetero support memattr memtier cpukind "
        "pci_locality"
    ),
}
"""Names in exports of hwloc 1.0 to 3.0 (topology-xml.c)."""
_INTEL = {"IntelCore": "P", "IntelAtom": "E"}


@dataclass(frozen=True)
class CpuSet:
    """A set of processors or nodes as hwloc writes it; beyond its last bit all are in it or none."""

    bits: int
    endless: bool = False

    def __contains__(self, number: int) -> bool:
        return self.endless if number >= self.bits.bit_length() and self.endless else bool(self.bits >> number & 1)


@dataclass
class _Seen:
    """What has been read so far."""

    allowed: CpuSet | None
    allowed_nodes: CpuSet | None
    cores: list[tuple[int, ...]] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    """Processors outside any core object."""
    caches: list[CacheUnit] = field(default_factory=list)
    packages: list[tuple[int, ...]] = field(default_factory=list)
    numa: list[MemoryUnit] = field(default_factory=list)
    whole_memory: int | None = None
    """What the machine object says itself, before 2.0."""
    notes: list[str] = field(default_factory=list)


def read_hwloc(path: Path) -> Topology:
    """Read an export of hwloc: the cores that may be used in the file's order, of this machine or another.

    Processors are numbered as the exporting system did (`os_index`); those that it was not allowed to use are left out.

    Raises ScenarioError with file and line, if it is no XML, has entities, or is no topology with processors.
    """
    root = read_xml(path)
    if root.tag not in ("topology", "root"):
        raise root.fault("root", f"{root.tag!r} is no topology of hwloc; name one")
    objects = list(root.all("object"))
    if len(objects) != 1 or objects[0].text("type") not in ("Machine", "System"):
        found = ", ".join(child.attributes.get("type", "?") for child in objects[:4]) or "none"
        raise root.fault("object", f"there is {found}; give one Machine")
    machine = objects[0]
    seen = _Seen(_cpu_set(machine, "allowed_cpuset"), _cpu_set(machine, "allowed_nodeset"))
    unknown = dict.fromkeys(_unknown(root))
    if unknown:
        seen.notes.append(f"not known and looked through: {some_names(list(unknown))}")
    present = _walk(machine, seen)
    return _topology(root, machine, seen, present)


def _topology(root: Element, machine: Element, seen: _Seen, present: tuple[int, ...]) -> Topology:
    if not present:
        raise machine.fault("PU", "there is no processor; give at least one")
    if len(set(present)) < len(present):
        twice = next(cpu for cpu in present if present.count(cpu) > 1)
        raise machine.fault("PU", f"os_index {twice} comes twice; give each processor its own")
    kinds = _core_kinds(root)
    infos = _infos(root, machine)
    cores = _usable(seen, kinds)
    if not cores:
        raise machine.fault("allowed_cpuset", "none of the processors is in it; add at least one")
    if seen.loose:
        seen.notes.append(f"{len(seen.loose)} processors are in no core; each is taken for a core of its own")
    dropped = sum(not _allowed(seen.allowed, cpu) for cpu in present)
    if dropped:
        seen.notes.append(f"{dropped} of {len(present)} processors may not be used there and are left out")
    if infos.get("Backend") == "Synthetic":
        seen.notes.append("made from a description, not from a machine")
    sizes = [unit.memory_bytes for unit in seen.numa if unit.memory_bytes is not None]
    memory = sum(sizes) or seen.whole_memory
    if not memory:
        seen.notes.append("memory: its size is not given")
    if any(not unit.cpus for unit in seen.numa):
        seen.notes.append(
            "memory of NUMA nodes without processors is counted with the rest, though it is of another kind"
        )
    return Topology(
        source=str(root.path),
        host=infos.get("HostName"),
        cpu_model=infos.get("CPUModel"),
        cores=cores,
        caches=tuple(
            unit
            for unit in sorted(seen.caches, key=lambda unit: (unit.level, unit.kind, unit.cpus))
            if any(_allowed(seen.allowed, cpu) for cpu in unit.cpus)
        ),
        packages=tuple(cpus for cpus in seen.packages if any(_allowed(seen.allowed, cpu) for cpu in cpus)),
        numa=tuple(sorted(seen.numa, key=lambda unit: unit.number)),
        memory_bytes=memory or None,
        warnings=tuple(f"{root.path}: {note}" for note in dict.fromkeys(seen.notes)),
    )


def _unknown(element: Element) -> Iterator[str]:
    """What stands in an object, or below the root, that no version of hwloc that we know writes."""
    for child in element.children:
        found = [("element", child.tag)]
        if child.tag == "object":
            found = [("type", child.text("type")), *(("attribute", name) for name in child.attributes)]
        for what, name in found:
            if name not in (known := _KNOWN[what].split()):
                yield f"{what} {name} (line {child.line}{meant(name, known)})"
        if child.tag in ("object", "cpukind"):
            yield from _unknown(child)


def _walk(element: Element, seen: _Seen) -> tuple[int, ...]:
    """Take an object and those below it in; the processors below it in the file's order."""
    kind = element.text("type")
    if kind == "PU":
        return (_index(element),)
    loose = len(seen.loose)
    below = tuple(cpu for child in element.all("object") for cpu in _walk_child(child, seen))
    if kind == "Core" and below:
        del seen.loose[loose:]
        seen.cores.append(below)
    elif kind in ("Package", "Socket") and below:
        seen.packages.append(below)
    elif kind == "NUMANode":
        _add_numa(element, below, seen)
    elif kind in ("Cache", "MemCache") or _CACHE.fullmatch(kind):
        _add_cache(element, kind, below, seen)
    elif kind in ("Machine", "System"):
        seen.whole_memory = _memory(element) or seen.whole_memory
    return below


def _walk_child(child: Element, seen: _Seen) -> tuple[int, ...]:
    below = _walk(child, seen)
    if child.text("type") == "PU":
        seen.loose += below
    return below


def _add_numa(element: Element, below: tuple[int, ...], seen: _Seen) -> None:
    """A NUMA node; since 2.0 it stands next to its processors and its set names them."""
    number = _index(element)
    if seen.allowed_nodes is not None and number not in seen.allowed_nodes:
        seen.notes.append(f"NUMA node {number} may not be used there and is left out")
        return
    if any(unit.number == number for unit in seen.numa):
        raise element.fault("os_index", f"{number} comes twice; give each NUMA node its own")
    near = _cpu_set(element, "cpuset")
    cpus = below or _members(near)
    seen.numa.append(MemoryUnit(number, _memory(element), cpus))


def _add_cache(element: Element, kind: str, below: tuple[int, ...], seen: _Seen) -> None:
    size = _number(element, "cache_size") or (_number(element, "memory_kB") or 0) * 2**10
    if kind == "MemCache":
        named, level = MEMORY_SIDE, _number(element, "depth") or 1
        below = below or _members(_cpu_set(element, "cpuset"))
    else:
        match = _CACHE.fullmatch(kind)
        stated = _number(element, "depth")
        level = int(match[1]) if match else stated if stated is not None else 0
        if not 1 <= level <= 9:
            raise element.fault("depth", f"it is {level}; give 1 to 9")
        letter = INSTRUCTION if match and match[2] == "i" else "unified"
        named = _KINDS.get(element.text("cache_type", ""), letter)
    if not size:
        seen.notes.append(f"the size of caches of level {level} is not given")
    elif below:
        seen.caches.append(CacheUnit(level, named, size, tuple(sorted(below))))


def _usable(seen: _Seen, kinds: list[tuple[CpuSet, str]]) -> tuple[Core, ...]:
    """Cores with a processor that may be used; its first such processor stands for a core."""
    cores = []
    for cpus in [*seen.cores, *((cpu,) for cpu in seen.loose)]:
        usable = [cpu for cpu in cpus if _allowed(seen.allowed, cpu)]
        if usable:
            kind = next((name for members, name in kinds if usable[0] in members), "")
            cores.append(Core(usable[0], tuple(cpu for cpu in cpus if cpu != usable[0]), kind))
    alike = len({core.kind for core in cores}) == 1
    return tuple(replace(core, kind="") for core in cores) if alike else tuple(cores)


def _core_kinds(root: Element) -> list[tuple[CpuSet, str]]:
    """Kinds of cores, if there are several: P and E where Intel's names are given, else numbered as in the file."""
    entries = list(root.all("cpukind"))
    if len(entries) < 2:
        return []
    kinds: list[tuple[CpuSet, str]] = []
    for number, entry in enumerate(entries):
        facts = {info.text("name"): info.text("value", "") for info in entry.all("info")}
        members = _cpu_set(entry, "cpuset")
        if members is None:
            raise entry.fault("cpuset", "it is missing; add it")
        if any(members.bits & other.bits for other, _ in kinds):
            raise entry.fault("cpuset", "some of its processors are of a kind above too; give each one kind")
        kinds.append((members, _INTEL.get(facts.get("CoreType", ""), f"kind{number + 1}")))
    return kinds


def _infos(root: Element, machine: Element) -> dict[str, str]:
    """Facts that stand below the root, the machine or its first package."""
    places = [
        root,
        machine,
        *(found for found in _objects(machine) if found.attributes["type"] in ("Package", "Socket")),
    ]
    facts: dict[str, str] = {}
    for place in places[:3]:
        for info in place.all("info"):
            if "name" in info.attributes and "value" in info.attributes:
                facts.setdefault(info.attributes["name"], info.attributes["value"])
    return facts


def _objects(element: Element) -> Iterator[Element]:
    for child in element.all("object"):
        yield child
        yield from _objects(child)


def _allowed(members: CpuSet | None, cpu: int) -> bool:
    return members is None or cpu in members


def _members(members: CpuSet | None) -> tuple[int, ...]:
    if members is None or members.endless:
        return ()
    return tuple(number for number in range(members.bits.bit_length()) if number in members)


def _index(element: Element) -> int:
    number = _number(element, "os_index")
    if number is None or number >= MAX_CPUS:
        raise element.fault(
            "os_index", f"it is {number if number is not None else 'missing'}; give 0 to {MAX_CPUS - 1}"
        )
    return number


def _memory(element: Element) -> int | None:
    """Memory in bytes, or as the first versions wrote it in kibibytes."""
    found = _number(element, "local_memory")
    if found is None:
        old = _number(element, "memory_kB")
        found = None if old is None else old * 2**10
    return found


def _number(element: Element, name: str) -> int | None:
    text = element.attributes.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) < MAX_NUMBER):
        raise element.fault(name, f"{text[:40]!r} is no whole number of at least 0; write one")
    return int(text)


def _cpu_set(element: Element, name: str) -> CpuSet | None:
    """A set in groups of 32 bits, the highest first; `0xf...f` stands for all above."""
    text = element.attributes.get(name)
    if text is None:
        return None
    match = _SET.fullmatch(text)
    if match is None or len(text) > MAX_CPUS // 2:
        raise element.fault(name, f"{text[:40]!r} is no set of processors; write one such as 0x0000000f")
    bits = 0
    groups = match[2].split(",") if match[2] else []
    for group in groups:
        bits = bits << 32 | int(group or "0", 16)
    if match[1]:
        bits |= 1 << 32 * len(groups)  # marks where the endless part begins; it is part of it
    return CpuSet(bits, endless=bool(match[1]))


def check_same_machine(topology: Topology, here: Topology) -> tuple[str, ...]:
    """What an export says otherwise than the system does, where both name one host; a note where they do not.

    Virtual machines tell their NUMA nodes less memory than they have, so the system is the better witness there.
    """
    if topology.host is None or topology.host != here.host:
        return (f"{topology.source}: of another machine ({topology.host or 'no host named'}), not of this one",)
    said: list[str] = []
    if topology.memory_bytes and here.memory_bytes and abs(topology.memory_bytes / here.memory_bytes - 1) > 0.05:
        said.append(f"{topology.memory_bytes} bytes of memory in the export, {here.memory_bytes} bytes by the system")
    if len(topology.cores) != len(here.cores):
        said.append(f"{len(topology.cores)} cores in the export, {len(here.cores)} by the system")
    return tuple(f"{topology.source}: {line}" for line in said)

"""A cluster by Slurm's own words: what scontrol and sinfo show, and slurm.conf; one machine by `lscpu -J`.

Formats: the manual pages slurm.conf(5), scontrol(1) and sinfo(1) of 22.05.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError, meant
from simulator.base.names import patterns_of
from simulator.base.units import to_whole
from simulator.platform.foreign.slurm import config_lines, host_parts, hostlist

MOST_FAULTS = 20
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)")
_PAIR = re.compile(r'\s*([A-Za-z]\w*)\s*=\s*("[^"]*"|[^\s"]*)(?=\s|$)')
_SETTING = re.compile(r"([A-Za-z]\w*)\s*=\s*(.*)")
_SHOWN = re.compile(r"\b(?:CPUTot|CPULoad|TotalNodes|TotalCPUs)=|^Configuration data as of", re.MULTILINE)
_AWAY = re.compile(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|POWER|FUTURE|UNK|\*", re.IGNORECASE)
_SINFO = {
    **dict.fromkeys(("NODELIST", "HOSTNAMES"), "nodename"),
    **dict.fromkeys(("AVAIL_FE", "AVAIL_FEATURES", "ACTIVE_FEATURES"), "availablefeatures"),
    "PARTITION": "partitions",
    "CPUS": "cputot",
    "MEMORY": "realmemory",
    "S:C:T": "shape",
    "GRES": "gres",
    "WEIGHT": "weight",
    "STATE": "state",
    "TIMELIMIT": "maxtime",
    "OVERSUBSCRIBE": "oversubscribe",
    **dict.fromkeys(("NODES", "TMP_DISK", "REASON", "AVAIL", "JOB_SIZE", "ROOT", "GROUPS", "PRIO_TIER"), ""),
}
"""Columns of sinfo, and what scontrol calls them; nothing where they are not read."""
_OF_NODES = (
    *("NodeName", "NodeHostname", "NodeAddr", "BcastAddr", "Boards", "CoreSpecCount", "CoresPerSocket", "CpuBind"),
    *("CPUs", "CpuSpecList", "Feature", "Features", "Gres", "MemSpecLimit", "Parameters", "Port", "Procs"),
    *("RealMemory", "Reason", "RestrictedCoresPerGPU", "Sockets", "SocketsPerBoard", "State", "ThreadsPerCore"),
    *("TmpDisk", "Topology", "Weight"),
)
_OF_PARTITIONS = (
    *("PartitionName", "AllocNodes", "AllowAccounts", "AllowGroups", "AllowQos", "Alternate", "CpuBind", "Default"),
    *("DefaultTime", "DefCpuPerGPU", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode", "DenyAccounts", "DenyQos"),
    *("DisableRootJobs", "ExclusiveTopo", "ExclusiveUser", "GraceTime", "Hidden", "LLN", "MaxCPUsPerNode"),
    *("MaxCPUsPerSocket", "MaxMemPerCPU", "MaxMemPerNode", "MaxNodes", "MaxTime", "MinNodes", "Nodes"),
    *("OverSubscribe", "OverTimeLimit", "PowerDownOnIdle", "PreemptMode", "Priority", "PriorityJobFactor"),
    *("PriorityTier", "QOS", "ReqResv", "ResumeTimeout", "RootOnly", "SelectTypeParameters", "Shared", "State"),
    *("SuspendTime", "SuspendTimeout", "Topology", "TRESBillingWeights"),
)
"""Keys of lines of slurm.conf: others are misspelt."""
_OF_SETS = ("NodeSet", "Nodes", "Feature")
_SPELT = {name.lower(): name for name in (*_OF_NODES, *_OF_PARTITIONS, "CPUTot", "CPUEfctv")}
_ENDLESS = {"unlimited", "infinite", "none", "n/a", ""}


@dataclass(frozen=True)
class SlurmNode:
    """A node."""

    name: str
    place: str
    """In the file."""
    cpus: int
    """That jobs may have; hardware threads, where Slurm counts these."""
    cores: int | None
    memory_mib: int | None
    """That jobs may have; None where nobody says."""
    gpus: Mapping[str, int] = field(default_factory=dict)
    """By type, empty for those of no type."""
    features: tuple[str, ...] = ()
    weight: int = 1
    partitions: tuple[str, ...] = ()
    state: str = ""


@dataclass(frozen=True)
class SlurmPartition:
    """A partition."""

    name: str
    nodes: tuple[str, ...]
    limit_s: float | None = None
    max_nodes: int | None = None
    tier: int = 1
    exclusive: bool = False
    """Whether its jobs always get whole nodes."""
    default: bool = False


@dataclass(frozen=True)
class SlurmCluster:
    """Nodes, partitions and settings of a cluster."""

    nodes: tuple[SlurmNode, ...]
    partitions: tuple[SlurmPartition, ...]
    settings: Mapping[str, str]
    """What slurm.conf or `scontrol show config` say besides, by key in lower case."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Entry:
    """What a file says of some nodes or a partition, by key in lower case as scontrol calls it."""

    place: str
    said: Mapping[str, str]

    def get(self, *names: str) -> str:
        """What the first of some keys says that says something."""
        said = (self.said.get(name, "") for name in names)
        return next((text for text in said if text not in ("", "(null)")), "")

    def whole(self, *names: str, least: int = 1) -> int | None:
        """The number that one of some keys says; None where none does."""
        name = next((one for one in names if self.get(one)), None)
        if name is None:
            return None
        found = to_whole(self.get(name))
        if found is None or found < least:
            wrong = f"{_SPELT.get(name, name)}: {self.get(name)[:40]!r} is no whole number from {least} on"
            raise ScenarioError(f"{self.place}: {wrong}; write one")
        return found


def read_slurm(path: Path) -> SlurmCluster:
    """The nodes and partitions of a cluster as slurm.conf, `scontrol show` or `sinfo -N` describe them.

    What scontrol shows of nodes, partitions and the configuration may stand in one file. Partitions that nothing
    describes but that nodes name have no limits.

    Raises ScenarioError for a file of another kind, and for faults in it: a line for each, with its place.
    """
    text = files.read_text(path)
    entries, settings = _entries(text, path)
    nodes, faults = dict[str, SlurmNode](), list[str]()
    for entry in _of(entries, "nodename"):
        try:
            for node in _nodes(entry):
                _join(nodes, node, again="sinfo" in entry.said)
        except ScenarioError as error:
            faults += error.lines
    partitions: list[SlurmPartition] = []
    for entry in [] if faults else _of(entries, "partitionname"):
        try:
            partitions.append(_partition(entry, nodes, _of(entries, "nodeset")))
        except ScenarioError as error:
            faults += error.lines
    names = [one.name for one in partitions]
    faults += [
        f"{path}: partition {name} comes twice; leave one out" for name in sorted(set(names)) if names.count(name) > 1
    ]
    if not nodes and not faults:
        faults.append(f"{path}: there is no node in this file; add what `scontrol show node` prints")
    if faults:
        more = [f"{path}: there are {len(faults) - MOST_FAULTS + 1} more faults like these"]
        raise ScenarioError(faults if len(faults) <= MOST_FAULTS else faults[: MOST_FAULTS - 1] + more)
    return SlurmCluster(
        tuple(nodes.values()),
        tuple(partitions) or _named_by(nodes.values(), _of(entries, "nodename")),
        settings,
        tuple(_notes(nodes.values())),
    )


def _of(entries: Iterable[_Entry], key: str) -> list[_Entry]:
    return [entry for entry in entries if key in entry.said]


def _join(nodes: dict[str, SlurmNode], node: SlurmNode, *, again: bool) -> None:
    """Add a node, or what another line of it says; sinfo has a line for each partition."""
    known = nodes.setdefault(node.name, node)
    if known is node:
        return
    same = replace(known, place=node.place, partitions=node.partitions) == node
    if not again or not same or set(node.partitions) & set(known.partitions):
        raise ScenarioError(f"{node.place}: {node.name} stands in it twice; leave one out")
    nodes[node.name] = replace(known, partitions=(*known.partitions, *node.partitions))


def _nodes(entry: _Entry) -> Iterator[SlurmNode]:
    """The nodes that an entry describes."""
    names = hostlist(entry.said["nodename"], entry.place)
    if re.search("FUTURE", entry.get("state"), re.IGNORECASE):
        return
    try:
        cores, threads = _shape(entry)
        stated = entry.whole("cputot", "cpus", "procs")
        whole = entry.whole("realmemory")
        for_system, weight = entry.whole("memspeclimit", least=0), entry.whole("weight", least=0)
        spared = threads * (entry.whole("corespeccount", least=0) or 0)
        cpus = entry.whole("cpuefctv") or (stated or (cores or 0) * threads) - spared
        gpus = gpus_in(entry.get("gres"), entry.place)
    except ScenarioError as error:
        raise ScenarioError([f"{line} ({names[0]})" for line in error.lines]) from None
    if stated and cores and stated not in (cores, cores * threads):
        stated_as = (entry.get(name) for name in ("sockets", "corespersocket", "threadspercore"))
        shape = entry.get("shape") or ":".join(stated_as)
        raise ScenarioError(f"{entry.place}: {names[0]}: {stated} CPUs are not {shape} sockets, cores and threads")
    memory = None if whole is None else whole - (for_system or 0)
    if cpus < 1 or (memory is not None and memory < 1):
        raise ScenarioError(f"{entry.place}: {names[0]}: it has no CPUs or no memory for jobs; state CPUs, or more")
    features = entry.get("activefeatures", "availablefeatures", "feature", "features").strip('"')
    partitions = entry.get("partitions").replace("*", "")
    rest = (cpus, cores, memory, gpus, _listed(features), 1 if weight is None else weight, _listed(partitions))
    for name in names:
        yield SlurmNode(name, entry.place, *rest, state=entry.get("state"))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _shape(entry: _Entry) -> tuple[int | None, int]:
    """Cores, None where nobody says, and the threads of each."""
    if shape := entry.get("shape"):
        parts = [to_whole(part) or 0 for part in shape.split(":")]
        if len(parts) != 3 or not all(parts):
            raise ScenarioError(f"{entry.place}: S:C:T: {shape[:40]!r} are no three whole numbers above 0")
        return parts[0] * parts[1], parts[2]
    sockets = entry.whole("sockets") or (entry.whole("boards") or 1) * (entry.whole("socketsperboard") or 0)
    cores, threads = entry.whole("corespersocket"), entry.whole("threadspercore") or 1
    if not sockets and not cores:
        return None, threads
    return (sockets or 1) * (cores or 1), threads


def gpus_in(text: str, place: str) -> dict[str, int]:
    """GPUs by type of Slurm's words for what nodes have: `gpu:a100:4(S:0-1),gpu:2`."""
    found: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *words = part.strip().split(":")
        if name != "gpu":
            continue
        count = to_whole(words[-1]) if words else 1
        kind = ":".join(words if count is None else words[:-1])
        if len(words) > 2 or kind in found:
            raise ScenarioError(f"{place}: Gres: {text[:60]!r} is no list of GPUs; write it as gpu:a100:4")
        found[kind] = 1 if count is None else count
    return found


def slurm_seconds(text: str, where: str) -> float | None:
    """Seconds of `60` minutes, `1-12`, `12:30:00` and others that slurm.conf(5) allows; None for no limit."""
    if text.lower() in _ENDLESS:
        return None
    match = re.fullmatch(r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?", text)
    if match is None:
        raise ScenarioError(f"{where}: {text[:40]!r} is no time; write it as 1-12:00:00, 90 (minutes) or UNLIMITED")
    days, *parts = (None if part is None else int(part) for part in match.groups())
    numbers = [part for part in parts if part is not None]
    if days is not None:
        return float(days * 86400 + sum(part * unit for part, unit in zip(numbers, (3600, 60, 1), strict=False)))
    return float(
        sum(
            part * unit
            for part, unit in zip(numbers, {1: (60,), 2: (60, 1)}.get(len(numbers), (3600, 60, 1)), strict=False)
        )
    )


def _partition(entry: _Entry, nodes: Mapping[str, SlurmNode], sets: Sequence[_Entry]) -> SlurmPartition:
    """A partition with the names of its nodes."""
    name, most = entry.said["partitionname"], entry.get("maxnodes")
    members = dict[str, None]()
    for part in host_parts(entry.get("nodes"), entry.place) if entry.get("nodes") else ():
        members |= dict.fromkeys(_members(part, entry.place, nodes, sets))
    if missing := [one for one in members if one not in nodes]:
        raise ScenarioError(f"{entry.place}: partition {name}: there is no node {missing[0]} in the file; describe it")
    return SlurmPartition(
        name,
        tuple(members),
        slurm_seconds(entry.get("maxtime"), f"{entry.place}: MaxTime"),
        None if most.lower() in _ENDLESS else entry.whole("maxnodes"),
        entry.whole("prioritytier", "priority", least=0) or 1,
        entry.get("oversubscribe", "shared").upper().startswith("EXCLUSIVE"),
        entry.get("default").upper() == "YES",
    )


def _members(text: str, place: str, nodes: Mapping[str, SlurmNode], sets: Sequence[_Entry]) -> Iterable[str]:
    """The nodes of one part of a list: all, those of a set, or those of a host list."""
    if text.upper() == "ALL":
        return nodes
    for one in sets:
        if one.said["nodeset"] == text:
            feature = one.get("feature")
            listed = hostlist(one.get("nodes"), one.place) if one.get("nodes") else []
            return [*listed, *(name for name, node in nodes.items() if feature and feature in node.features)]
    return hostlist(text, place)


def _named_by(nodes: Iterable[SlurmNode], entries: Sequence[_Entry]) -> tuple[SlurmPartition, ...]:
    """Partitions that only nodes name; sinfo says their limits and which one is the default."""
    found = dict[str, SlurmPartition]()
    for node in nodes:
        for name in node.partitions:
            known = found.setdefault(name, SlurmPartition(name, ()))
            found[name] = replace(known, nodes=(*known.nodes, node.name))
    for entry in entries:
        name = entry.get("partitions").replace("*", "")
        if "sinfo" in entry.said and name in found:
            limit_s = slurm_seconds(entry.get("maxtime"), f"{entry.place}: TIMELIMIT")
            whole = entry.get("oversubscribe").upper().startswith("EXCLUSIVE")
            found[name] = replace(found[name], limit_s=limit_s, exclusive=whole, default="*" in entry.get("partitions"))
    return tuple(found.values())


def _notes(nodes: Iterable[SlurmNode]) -> Iterator[str]:
    """What is not as it seems."""
    for node in nodes:
        if _AWAY.search(node.state):
            yield f"{node.name} is {node.state}: it is listed all the same"


def _entries(text: str, path: Path) -> tuple[list[_Entry], dict[str, str]]:
    """What a file says of nodes, partitions and sets of nodes, and its settings."""
    if text.lstrip().startswith("{"):
        return [_lscpu(text, path)], {}
    if _SHOWN.search(text):
        return _scontrol(text, path)
    if re.search(r"^\s*(NodeName|PartitionName)\s*=", text, re.MULTILINE | re.IGNORECASE):
        return _config(path)
    return list(_sinfo(text, path)), {}


def _scontrol(text: str, path: Path) -> tuple[list[_Entry], dict[str, str]]:
    """Each entry begins with its name and goes on in lines that are set in."""
    entries, settings = list[_Entry](), dict[str, str]()
    for number, line in enumerate(text.splitlines(), 1):
        said = {key.lower(): value for key, value in _FIELD.findall(line)}
        if re.match(r"(NodeName|PartitionName)=", line):
            entries.append(_Entry(f"{path}:{number}", said))
        elif line[:1].isspace() and entries:
            entries[-1] = replace(entries[-1], said={**said, **entries[-1].said})
        elif match := _SETTING.fullmatch(line.strip()):
            settings.setdefault(match[1].lower(), match[2])
    for entry in _of(entries, "nodename"):
        if missing := [
            one
            for one in ("cputot", "realmemory", "sockets", "corespersocket", "threadspercore")
            if not to_whole(entry.get(one))
        ]:
            wrong = "sockets, cores, threads, CPUs or memory are no whole numbers above 0"
            raise ScenarioError(
                f"{entry.place}: {entry.said['nodename']}: {wrong} ({missing[0]}); give the whole output"
            )
    return entries, settings


def _config(path: Path) -> tuple[list[_Entry], dict[str, str]]:
    """Lines of slurm.conf, with what DEFAULT says of those below it."""
    known = {"nodename": _OF_NODES, "partitionname": _OF_PARTITIONS, "nodeset": _OF_SETS}
    entries, settings, faults = list[_Entry](), dict[str, str](), list[str]()
    usual: dict[str, dict[str, str]] = {kind: {} for kind in known}
    for place, line in config_lines(path):
        kind = next((one for one in known if re.match(rf"\s*{one}\s*=", line, re.IGNORECASE)), None)
        if kind is None:
            match = _SETTING.fullmatch(line.strip())
            settings |= {match[1].lower(): match[2].strip()} if match else {}
            faults += [] if match else [f"{place}: {line.strip()[:60]!r} is no KEY=VALUE; mend it"]
            continue
        said = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
        if rest := _PAIR.sub("", line).strip():
            faults.append(
                f"{place}: {rest.split()[0][:60]!r} is not read; write KEY=VALUE, without blanks in the value"
            )
        names = {name.lower() for name in known[kind]}
        faults += [
            f"{place}: the key {key!r} is not known{meant(key, known[kind]) or '; leave it out'}"
            for key in said
            if key not in names
        ]
        if said.get(kind, "").upper() == "DEFAULT":
            usual[kind] |= {key: value for key, value in said.items() if key != kind}
        else:
            entries.append(_Entry(place, usual[kind] | said))
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    return entries, settings


def _sinfo(text: str, path: Path) -> Iterator[_Entry]:
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    at = next((place for place, (_, cells) in enumerate(lines) if {"NODELIST", "HOSTNAMES"} & set(cells)), None)
    header = [] if at is None else lines[at][1]
    wrong = next((name for name in header if name not in _SINFO), None)
    if at is None or wrong is not None or "CPUS" not in header:
        near = "" if wrong is None else f" (it has {wrong}{meant(wrong, _SINFO)})"
        wanted = "give `scontrol show node`, `sinfo -N -l`, slurm.conf or `lscpu -J`"
        raise ScenarioError(
            f"{path}: there is no NodeName and no header with NODELIST, CPUS and others of sinfo{near}; {wanted}"
        )
    for number, cells in lines[at + 1 :]:
        if len(cells) < len(header):
            raise ScenarioError(f"{path}:{number}: {len(cells)} columns of {len(header)}; give the whole output")
        said = zip(header, cells, strict=False)  # the reason, which is last, has blanks
        yield _Entry(f"{path}:{number}", {_SINFO[name]: cell for name, cell in said} | {"sinfo": "yes"})


def _lscpu(text: str, path: Path) -> _Entry:
    document = files.parse_json(text, str(path))
    entries = document.get("lscpu") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ScenarioError(f"{path}: there is no list `lscpu`; give the output of `lscpu -J`")
    said = dict(_fields(entries))
    parts = [said.get(name, "") for name in ("Socket(s)", "Core(s) per socket", "Thread(s) per core", "CPU(s)")]
    if not all(to_whole(part) for part in parts):
        raise ScenarioError(f"{path}: {path.stem}: sockets, cores, threads or CPUs are no whole numbers above 0")
    return _Entry(str(path), {"nodename": path.stem, "shape": ":".join(parts[:3]), "cputot": parts[3]})


def _fields(entries: object) -> Iterator[tuple[str, str]]:
    """Names and values, of what stands below others too."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("field", "")).removesuffix(":"), str(entry.get("data", ""))
            yield from _fields(entry.get("children"))


def nodes_in(path: Path, speed: str) -> tuple[list[str], list[str]]:
    """Kinds of nodes as `new --nodes` takes them, the speed of one core as stated; and who is left out, and why.

    Raises ScenarioError as `read_slurm`, and for nodes whose cores nobody says.
    """
    found = read_slurm(path)
    if unknown := [node for node in found.nodes if node.cores is None]:
        wanted = "add Sockets, CoresPerSocket and ThreadsPerCore, or ask sinfo for S:C:T"
        raise ScenarioError(f"{unknown[0].place}: {unknown[0].name}: the file does not say its cores; {wanted}")
    text = files.read_text(path)
    notes = [] if text.endswith(("\n", "}")) else ["its last line does not end: it may be cut"]
    kinds: dict[str, list[str]] = {}
    for node in found.nodes:
        said = f"{node.cores} cores {speed}" + (f" {node.memory_mib}MiB" if node.memory_mib else "")
        kinds.setdefault(said, []).append(node.name)
    return [f"{names}: {said}" for said, alike in kinds.items() for names in patterns_of(alike)], [*notes, *found.notes]

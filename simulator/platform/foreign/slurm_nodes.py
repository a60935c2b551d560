"""A cluster's nodes by Slurm's own words: `scontrol show node` and `sinfo -N -l`; one machine by `lscpu -J`."""

import re
from collections.abc import Iterator
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.names import patterns_of
from simulator.base.units import to_whole

_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)")
_COLUMNS = ("NODELIST", "S:C:T", "MEMORY", "STATE", "CPUS")
_AWAY = re.compile(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|POWER|FUTURE|UNK|\*", re.IGNORECASE)
_Node = tuple[str, str, str | None, str, str | None]
"""Name, sockets:cores:threads, CPUs, state and MiB, as the file writes them."""


def nodes_in(path: Path, speed: str) -> tuple[list[str], list[str]]:
    """Kinds of nodes as `new --nodes` takes them, the speed of one core as stated; and who is left out, and why.

    Raises ScenarioError if the file is none of these outputs, or contradicts itself.
    """
    text = files.read_text(path)
    if text.lstrip().startswith("{"):
        found = list(_lscpu(text, path))
    else:
        found = list(_scontrol(text)) if "NodeName=" in text else list(_sinfo(text, str(path)))
    known, twice = dict[str, str](), "NodeName=" in text  # sinfo has a line for each partition
    notes = [] if text.endswith(("\n", "}")) else ["its last line does not end: it may be cut"]
    for name, shape, cpus, state, memory in found:
        parts = [to_whole(part) for part in shape.split(":")]
        mebibytes = None if memory is None else to_whole(memory)
        if len(parts) != 3 or not all(parts) or (memory is not None and not mebibytes):
            raise ScenarioError(f"{path}: {name}: sockets, cores, threads or memory are no whole numbers above 0")
        sockets, cores, threads = (part or 0 for part in parts)
        if cpus is not None and to_whole(cpus) != sockets * cores * threads:
            raise ScenarioError(f"{path}: {name}: {cpus} CPUs are not {shape} sockets, cores and threads")
        said = f"{sockets * cores} cores {speed}" + (f" {mebibytes}MiB" if mebibytes else "")
        if (twice and name in known) or known.setdefault(name, said) != said:
            raise ScenarioError(f"{path}: {name} stands in it twice; leave one out")
        if _AWAY.search(state):
            notes.append(f"{name} is {state}: it is listed all the same")
    kinds = {said: [name for name in known if known[name] == said] for said in known.values()}
    return [f"{names}: {said}" for said, alike in kinds.items() for names in patterns_of(alike)], notes


def _scontrol(text: str) -> Iterator[_Node]:
    for part in re.split(r"(?=\bNodeName=)", text)[1:]:
        said = dict(_FIELD.findall(part))
        shape = ":".join(said.get(name, "") for name in ("Sockets", "CoresPerSocket", "ThreadsPerCore"))
        yield said["NodeName"], shape, said.get("CPUTot"), said.get("State", ""), said.get("RealMemory", "")


def _sinfo(text: str, place: str) -> Iterator[_Node]:
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    header = next((cells for _, cells in lines if set(_COLUMNS) <= set(cells)), None)
    if header is None:
        wanted = "give `scontrol show node`, `sinfo -N -l` or `lscpu -J`"
        raise ScenarioError(f"{place}: there is no NodeName and no header with {', '.join(_COLUMNS)}; {wanted}")
    for number, cells in lines[[cells for _, cells in lines].index(header) + 1 :]:
        if len(cells) < len(header):
            raise ScenarioError(f"{place}:{number}: {len(cells)} columns of {len(header)}; give the whole output")
        said = dict(zip(header, cells, strict=False))  # the reason, which is last, has blanks
        yield said["NODELIST"], said["S:C:T"], said["CPUS"], said["STATE"], said["MEMORY"]


def _lscpu(text: str, path: Path) -> Iterator[_Node]:
    document = files.parse_json(text, str(path))
    entries = document.get("lscpu") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ScenarioError(f"{path}: there is no list `lscpu`; give the output of `lscpu -J`")
    said = dict(_fields(entries))
    shape = ":".join(said.get(name, "") for name in ("Socket(s)", "Core(s) per socket", "Thread(s) per core"))
    yield path.stem, shape, said.get("CPU(s)"), "", None


def _fields(entries: object) -> Iterator[tuple[str, str]]:
    """Names and values, of what stands below others too."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("field", "")).removesuffix(":"), str(entry.get("data", ""))
            yield from _fields(entry.get("children"))

"""Slurm's `topology.conf` and `topology.yaml` (of trees): which nodes hang on which switch.

Slurm's file names no latencies and bandwidths (`LinkSpeed` is not used by Slurm and not read here). Formats: the manual
pages topology.conf(5) of 22.05 and topology.yaml(5) of 25.05.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import product
from pathlib import Path

from simulator.base import files
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.base.names import compact, patterns_of
from simulator.base.yaml_document import read_document

MAX_NAMES = 200_000
_PAIR = re.compile(r'(\w+)\s*=\s*(?:"([^"]+)"|([^\s"]+))(?:\s+|$)')
_INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
_KINDS = {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"}
_KEYS = {"switchname": "name", "nodes": "nodes", "switches": "switches", "linkspeed": "linkspeed"}


@dataclass(frozen=True)
class Switch:
    """One switch of the file."""

    name: str
    place: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class SwitchedNodes:
    """Nodes by the switch that they hang on."""

    members: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    def entries(self) -> list[Data]:
        """The switches as a scenario file lists them."""
        return [{"name": name, "nodes": compact(nodes) or patterns_of(nodes)} for name, nodes in self.members.items()]


def hostlist(text: str, place: str) -> list[str]:
    """The names of a host list of Slurm: `tux[0-3,12],gpu[01-02]x[1-2]`."""
    found: list[str] = []
    for part in host_parts(text, place):
        pieces = re.split(r"\[([^\]]*)\]", part)
        choices = [[piece] if number % 2 == 0 else _range(piece, place) for number, piece in enumerate(pieces)]
        count = 1
        for choice in choices:
            count *= len(choice)
        if len(found) + count > MAX_NAMES:
            raise ScenarioError(f"{place}: there are more than {MAX_NAMES} names; write fewer")
        found += ["".join(chosen) for chosen in product(*choices)]
    return found


def host_parts(text: str, place: str) -> list[str]:
    """The parts of a host list, between commas outside brackets."""
    parts, depth, start = [], 0, 0
    for number, sign in enumerate(text + ","):
        depth += (sign == "[") - (sign == "]")
        if not 0 <= depth <= 1:
            break
        if sign == "," and not depth:
            parts.append(text[start:number].strip())
            start = number + 1
    if depth or not all(parts) or any(re.search(r"[\s\[\]]", re.sub(r"\[[^\]]*\]", "", part)) for part in parts):
        raise ScenarioError(f"{place}: {text[:60]!r} is no list of hosts; write one such as tux[0-3,12]")
    return parts


def _range(text: str, place: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip(), re.ASCII)
        low, high = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(high) - int(low) < MAX_NAMES - len(found):
            raise ScenarioError(
                f"{place}: [{text[:60]}] is no range; write numbers and ascending ranges such as [0-3,12]"
            )
        width = len(low) if low.startswith("0") else 0
        found += [f"{number:0{width}d}" for number in range(int(low), int(high) + 1)]
    return found


def switched_nodes(path: Path, names: Sequence[str]) -> SwitchedNodes:
    """Which switch each of some nodes hangs on; switches above those of nodes are one core."""
    switches = _read_yaml(path) if path.suffix in (".yaml", ".yml") else _read_conf(path)
    _check_tree(switches)
    wanted = set(names)
    where: dict[str, str] = {}
    for switch in switches:
        for node in switch.nodes:
            if node in where:
                raise ScenarioError(f"{switch.place}: node {node!r} is on {where[node]} too; put it on one switch")
            where[node] = switch.name
    for name in names:
        if name not in where:
            raise ScenarioError(f"{path}: node {name!r} is on no switch; put each node of the platform on one")
    members = {s.name: tuple(n for n in names if where[n] == s.name) for s in switches if wanted & set(s.nodes)}
    _check_joined(path, switches, list(members))
    return SwitchedNodes(members, tuple(_notes(path, switches, where.keys() - wanted)))


def _check_tree(switches: Sequence[Switch]) -> None:
    """Each switch has its own name, and nodes or switches below it that the file describes, itself not among them."""
    by_name: dict[str, Switch] = {}
    for switch in switches:
        if switch.name in by_name:
            raise ScenarioError(f"{switch.place}: two switches are called {switch.name!r}; give each its own name")
        by_name[switch.name] = switch
    for switch in switches:
        for number, child in enumerate(switch.switches):
            if child not in by_name:
                raise ScenarioError(f"{switch.place}: the file describes no switch {child!r}; name one that it does")
            if child in switch.switches[:number]:
                raise ScenarioError(f"{switch.place}: the switch {child!r} comes twice; name it once")
        if bool(switch.nodes) == bool(switch.switches):
            found = "both nodes and switches" if switch.nodes else "neither nodes nor switches"
            raise ScenarioError(f"{switch.place}: the switch has {found}; give it one of the two")
    try:
        tuple(TopologicalSorter({switch.name: switch.switches for switch in switches}).static_order())
    except CycleError as error:
        said, place = " below ".join(error.args[1]), by_name[error.args[1][0]].place
        raise ScenarioError(f"{place}: a switch is below itself ({said}); leave out one") from None


def _check_joined(path: Path, switches: Sequence[Switch], leaves: Sequence[str]) -> None:
    """One switch must reach all that hold nodes of the platform: Slurm knows no other way between nodes."""
    reached: dict[str, set[str]] = {}
    below = {switch.name: switch.switches for switch in switches}
    for name in TopologicalSorter(below).static_order():
        reached[name] = {name}.union(*(reached[child] for child in below[name]))
    if leaves and not any(set(leaves) <= found for found in reached.values()):
        largest = max(reached.values(), key=lambda found: len(found.intersection(leaves)))
        one = next(name for name in leaves if name in largest)
        other = next(name for name in leaves if name not in largest)
        raise ScenarioError(f"{path}: there is no way from {one} to {other}; add a switch above all, or take one part")


def _notes(path: Path, switches: Sequence[Switch], others: Iterable[str]) -> list[str]:
    left_out = len(list(others))
    notes = [f"{path}: nodes that the platform does not have are left out: {left_out}"] if left_out else []
    tops = [switch for switch in switches if switch.switches]
    if len(tops) > 1:
        more = ", ".join(switch.name for switch in tops[:4])
        notes.append(f"{path}: the switches above those of nodes ({more}) are one core here, which never fills")
    return notes


def config_lines(path: Path, within: tuple[Path, ...] = ()) -> Iterator[tuple[str, str]]:
    """Lines with their places as Slurm reads them: no comments, continued by a backslash, those of an `Include` too."""
    place, begun = "", ""
    for number, line in enumerate(files.read_text(path).splitlines(), start=1):
        place = place if begun else f"{path}:{number}"
        text = begun + line.split("#", 1)[0].rstrip()
        begun = f"{text[:-1]} " if text.endswith("\\") else ""
        included = _INCLUDE.fullmatch(text)
        if included is not None:
            other = path.parent / included[1]
            if not other.is_file():
                wanted = "copy it beside this file, or put its lines here"
                raise ScenarioError(f"{place}: the file {included[1]} that is included is not there; {wanted}")
            if other in (path, *within):
                raise ScenarioError(f"{place}: {included[1]} includes itself; leave this line out")
            yield from config_lines(other, (path, *within))
        elif text.strip() and not begun:
            yield place, text
    if begun:
        raise ScenarioError(f"{place}: the line goes on after its backslash, but the file ends; add the rest")


def _read_conf(path: Path) -> list[Switch]:
    found = []
    for place, line in config_lines(path):
        rest, given = line.strip(), dict[str, str]()
        while rest:
            match = _PAIR.match(rest)
            name = _KEYS.get(match[1].lower()) if match else None
            if match is None or name is None or name in given:
                known = "SwitchName, Nodes, Switches, LinkSpeed, each once as KEY=VALUE"
                raise ScenarioError(f"{place}: {rest.split()[0][:60]!r} is not read; write {known}")
            given[name] = match[2] or match[3]
            rest = rest[match.end() :]
        if "name" not in given:
            raise ScenarioError(f"{place}: SwitchName is missing; add it")
        nodes, below = (tuple(hostlist(given[key], place)) if key in given else () for key in ("nodes", "switches"))
        found.append(Switch(given["name"], place, nodes, below))
    if not found:
        raise ScenarioError(f"{path}: it describes no switch; write lines such as SwitchName=s0 Nodes=n[0-5]")
    return found


def _read_yaml(path: Path) -> list[Switch]:
    """The cluster's default topology of the file, or its first."""
    content = read_document(path).data
    topologies = content if isinstance(content, list) else []
    if not topologies or not all(isinstance(topology, dict) and "topology" in topology for topology in topologies):
        raise ScenarioError(f"{path}: this is no list of entries with `topology`; write one")
    for key in sorted({key for topology in topologies for key in topology} - _KINDS):
        raise ScenarioError(f"{path}: the key {key!r} is not known{meant(key, _KINDS) or '; leave it out'}")
    chosen = next((topology for topology in topologies if topology.get("cluster_default") is True), topologies[0])
    place = f"{path}: topology {chosen['topology']}"
    tree = chosen.get("tree")
    entries = tree.get("switches") if isinstance(tree, dict) and len(tree) == 1 else None
    if not isinstance(entries, list) or not entries:
        kinds = ", ".join(key for key in chosen if key not in ("topology", "cluster_default")) or "nothing"
        raise ScenarioError(f"{place}: it has {kinds}; only a tree with switches is read")
    found = []
    for number, entry in enumerate(entries):
        here = f"{place}: switches[{number}]"
        if not isinstance(entry, dict) or not entry.keys() <= {"switch", "nodes", "children", "link_speed"}:
            raise ScenarioError(f"{here}: this is no switch; write switch, and nodes or children")
        if not all(isinstance(entry.get(key, ""), str) for key in ("switch", "nodes", "children")):
            raise ScenarioError(f"{here}: switch, nodes and children have to be texts")
        if not entry.get("switch"):
            raise ScenarioError(f"{here}: switch is missing; add it")
        below = [tuple(hostlist(entry[key], here)) if entry.get(key) else () for key in ("nodes", "children")]
        found.append(Switch(entry["switch"], here, *below))
    return found

"""A scenario to begin with, from a few words: kinds of nodes, a network, an application, busy hours; commented YAML."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simulator.base import units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.base.names import expanded, in_few
from simulator.base.yaml_document import read_value
from simulator.platform.networks.link import NETWORKS, usual_link
from simulator.programs.applications import PARAMETERS
from simulator.programs.configuration import AS_NOW
from simulator.scenario_file.load import scenario_of_text
from simulator.scenario_file.written import written

NODES = "node[1-4]: 8 cores 2 Gflop/s"
NETWORK, APPLICATION = "10GbE", "stencil"
EXAMPLES: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "stencil": ("stencil", {"n": 8000, "iterations": 200}),
    "matmul": ("dgemm", {"n": 8000}),
    "cholesky": ("cholesky", {"n": 8000, "nb": 64}),
    "fft": ("fft", {"n": 4096}),
    "fft3d": ("fft", {"n": 256}),
    "sort": ("sort", {"n": 100_000_000}),
    "hpl": ("dgemm", {"n": 20_000, "nb": 128}),
    "ep": ("pairs", {"samples": 1_000_000_000}),
    "farm": ("units", {"units": 10_000, "volume": 10_000_000, "size": 10_000}),
}
"""Application -> the kernel whose speed it needs, and parameters to begin with."""
MOST_CORES = 1024
WRITTEN = "the scenario that would be written"
_PLACE = re.compile(rf"(?<={WRITTEN})(:[0-9]+)+")
_PARAMETER = re.compile(rf"{WRITTEN}: application\.parameters(?:\.|: )(\w+):")
DAY_S = 86_400
DRAWS = 200
_KIND = re.compile(r"\s*([^\s:]+)(?:\s*:|\s)\s*(.*)")
_CORES = re.compile(r"([0-9]+)\s*(?:x|cores?)\b\s*", re.IGNORECASE)
_BUSY = re.compile(
    r"\s*(\S+)\s+([0-9]{1,2}:[0-9]{2})\s*(?:-|to)\s*([0-9]{1,2}:[0-9]{2})(?:\s+(?:load\s+)?([0-9.]+))?\s*"
)
_PARTS = re.compile(r",(?![^\[]*\])")
LOOPBACK = {"latency": "1us", "bandwidth": "5GB/s"}


Place = tuple[str | int, ...]
Text = TypeVar("Text")
Found = TypeVar("Found")
_TITLE = "A scenario of {}, begun by `apportion new`: what stands here is stated, nothing was measured."
_HEAD = (
    "",
    "  apportion check FILE: whether it is sound, and what it is ready for",
    "  apportion advise FILE: who should get how much, and what that gains over `as-now`",
    "  apportion simulate FILE: how long each of the configurations below takes",
    "  apportion whatif FILE --vary platform.network.link.bandwidth=x1,x2,x10: what a faster network gains",
    "",
    "Measured numbers in place of stated ones: `apportion cluster --hosts A,B,C` measures all hosts at once;",
    "`calibrate speed` and `calibrate network` make a model each, which can stand here as {model: FILE.json}.",
)
_NOTES: dict[Place, str] = {
    ("platform", "network", "topology"): "Every node on one switch; tree, torus and mesh: see scenarios/README.md.",
    ("platform", "network", "contention"): "Messages that meet share a link; fifo: one by one; none: as if alone.",
    ("platform", "network", "loopback"): "Between processes of one node.",
    ("application",): "What runs; `kernel` names the speeds above that its computations have.",
    ("configurations", AS_NOW): "What you run now: a process on each core, equal parts. `advise` finds others and "
    "compares them with it.",
}


@dataclass(frozen=True)
class _Kind:
    names: tuple[str, ...]
    cores: int
    speed: str
    memory: str | None


@dataclass(frozen=True)
class _Busy:
    names: tuple[str, ...]
    begin_s: int
    end_s: int
    load: float | None
    """Runnable competitors; one for each core if not stated."""


@dataclass(frozen=True)
class BegunScenario:
    """A scenario that was begun, and what is in it."""

    text: str
    nodes: int
    cores: int
    application: str


def begin_scenario(
    *,
    nodes: Sequence[str] = (NODES,),
    network: str = NETWORK,
    application: str = APPLICATION,
    parameters: Mapping[str, str] | None = None,
    kernel: str | None = None,
    busy: Sequence[str] = (),
) -> BegunScenario:
    """Write a scenario from a few words; it loads, and its comments say how to go on.

    `nodes`: kinds, such as `fast[1-2]: 8 cores 3 Gflop/s 32GiB`: names, cores of each, speed of a core, perhaps memory;
    several in one text have commas between.
    `network`: a name of `NETWORKS`, or `LATENCY,BANDWIDTH`.
    `parameters`: of the application, over those of `EXAMPLES`.
    `kernel`: whose speeds these are; by default the application's usual one.
    `busy`: such as `slow1 13:00-18:00`: when others use a node, each day; with a number behind it, so many competitors.
    """
    faults: list[str] = []
    kinds = _gathered(faults, _kind, [part for text in nodes for part in _PARTS.split(text)])
    hours = _gathered(faults, _busy, busy)
    link = _gathered(faults, _link, [network])
    settings = _gathered(faults, _application, [(application, dict(parameters or {}), kernel)])
    faults += _faults_together(kinds, hours)
    if faults:
        raise ScenarioError(faults)
    (name, own_kernel, values), ends = settings[0], link[0]
    document, notes = _document(kinds, hours, own_kernel, network, ends)
    document["application"] = {"name": name, "kernel": own_kernel, "parameters": values}
    text = written(document, head=[_TITLE.format(name), *_HEAD], notes=notes)
    cores = sum(len(kind.names) * kind.cores for kind in kinds)
    _check(text)
    return BegunScenario(text, sum(len(kind.names) for kind in kinds), cores, name)


def _check(text: str) -> None:
    """Refuse what `apportion check` would refuse, before it is written; a fault names the option in place of a line."""
    try:
        scenario_of_text(text, Path(WRITTEN))
    except ScenarioError as error:
        said = [_PLACE.sub("", line) for line in error.lines]
        raise ScenarioError([_PARAMETER.sub(r"--parameter \1:", line) for line in said]) from error


def _gathered(faults: list[str], read: Callable[[Text], Found], texts: Iterable[Text]) -> list[Found]:
    """What is read from each text; what cannot be goes to the faults."""
    found = []
    for text in texts:
        try:
            found.append(read(text))
        except ScenarioError as error:
            faults += error.lines
    return found


def _kind(text: str) -> _Kind:
    what = "give NAMES: CORES cores SPEED [MEMORY], such as fast[1-2]: 8 cores 3 Gflop/s 32GiB"
    match = _KIND.fullmatch(text)
    cores = None if match is None else _CORES.match(match.group(2))
    if match is None or cores is None:
        raise ScenarioError(f"--nodes: {text.strip()!r} is no kind of nodes; {what}")
    count, rest = int(cores.group(1)[:9]), match.group(2)[cores.end() :].split()
    if not 1 <= count <= MOST_CORES:
        raise ScenarioError(f"--nodes: {text.strip()!r}: {count} cores; give 1 to {MOST_CORES}")
    memory = rest.pop() if rest and units.amount(rest[-1]) is not None and rest[-1].endswith("B") else None
    speed = " ".join(word for word in rest if word not in {"each", "of", "at"})
    if not speed:
        raise ScenarioError(f"--nodes: {text.strip()!r} has no speed; {what}")
    field = f"--nodes {match.group(1)}"
    units.parse(speed, units.SPEED, field=field)
    if memory is not None:
        units.parse(memory, units.SIZE, field=field)
    return _Kind(tuple(expanded(match.group(1))), count, speed, memory)


def _busy(text: str) -> _Busy:
    match = _BUSY.fullmatch(text)
    if match is None:
        raise ScenarioError(f"--busy: {text!r} is no time of a node; give NODE FROM-TO, such as slow1 13:00-18:00")
    begin_s, end_s = (_time_of_day(match.group(place), text) for place in (2, 3))
    if begin_s >= end_s:
        raise ScenarioError(f"--busy: {text!r} ends before it begins; give two times of one day, up to 24:00")
    load = None if match.group(4) is None else units.to_number(match.group(4))
    if match.group(4) is not None and not load:
        raise ScenarioError(f"--busy: {text!r}: {match.group(4)!r} competitors; give a number above 0")
    return _Busy(tuple(expanded(match.group(1))), begin_s, end_s, load)


def _time_of_day(text: str, whole: str) -> int:
    hours, minutes = map(int, text.split(":"))
    if minutes > 59 or hours * 60 + minutes > 24 * 60:
        raise ScenarioError(f"--busy: {whole!r}: {text} is no time of day; give 0:00 to 24:00")
    return 60 * (60 * hours + minutes)


def _link(text: str) -> tuple[str, str]:
    latency, comma, bandwidth = (part.strip() for part in text.partition(","))
    if not comma:
        if (known := usual_link(text)) is not None:
            return known["latency"], known["bandwidth"]
        close = meant(text, NETWORKS)
        raise ScenarioError(
            f"--network: {text!r} is unknown; give {', '.join(NETWORKS)}, or LATENCY,BANDWIDTH: 30us,10Gbit/s{close}"
        )
    units.parse_duration(latency, field="--network", positive=False)
    units.parse(bandwidth, units.BANDWIDTH, field="--network")
    return latency, bandwidth


def _application(asked: tuple[str, dict[str, str], str | None]) -> tuple[str, str, dict[str, object]]:
    name, given, kernel = asked
    if name not in EXAMPLES:
        raise ScenarioError(f"--application: {name!r} is unknown; take {', '.join(EXAMPLES)}{meant(name, EXAMPLES)}")
    usual, values = EXAMPLES[name]
    faults = [
        f"--parameter: {name} has no {own!r}; take {', '.join(PARAMETERS[name])}{meant(own, PARAMETERS[name])}"
        for own in given
        if own not in PARAMETERS[name]
    ]
    if faults:
        raise ScenarioError(faults)
    return name, kernel or usual, {**values, **{own: _value(own, text) for own, text in given.items()}}


def _value(name: str, text: str) -> object:
    try:
        return read_value(text)
    except ScenarioError as error:
        raise ScenarioError([f"--parameter {name}: {line}" for line in error.lines]) from None


def _faults_together(kinds: Sequence[_Kind], hours: Sequence[_Busy]) -> list[str]:
    """Names that come twice, nodes that are busy and not there, hours that overlap."""
    names = [name for kind in kinds for name in kind.names]
    faults = [
        f"--nodes: {name!r} comes twice; name each node once" for name in dict.fromkeys(names) if names.count(name) > 1
    ]
    taken: dict[str, list[_Busy]] = {}
    for busy in hours:
        for name in busy.names:
            if kinds and name not in names:
                faults.append(
                    f"--busy: there is no node {name!r}; name one of {', '.join(names[:8])}{meant(name, names)}"
                )
            if any(busy.begin_s < other.end_s and other.begin_s < busy.end_s for other in taken.get(name, ())):
                faults.append(f"--busy: {name!r} is busy twice at a time; leave one out")
            taken.setdefault(name, []).append(busy)
    return faults


def _document(
    kinds: Sequence[_Kind], hours: Sequence[_Busy], kernel: str, network: str, ends: tuple[str, str]
) -> tuple[Data, dict[Place, str]]:
    """The scenario, its application left open; and what is said of its fields."""
    nodes, notes = _nodes(kinds, hours, kernel)
    known = "as stated" if usual_link(network) is None else f"usual for {network}"
    said = f"Of a node to the switch, each way; {known}."
    notes |= _NOTES | {("platform", "network", "link"): said}
    notes["replications",] = "Draws of when a run starts." if hours else "Nothing is drawn, so one says it all."
    placed = {names: kind.cores for kind in kinds for names in in_few(kind.names)}
    link = {"latency": ends[0], "bandwidth": ends[1]}
    ways = {"topology": "star", "link": link, "contention": "fair", "loopback": LOOPBACK}
    document: Data = {
        "format": 1,
        "platform": {"nodes": nodes, "network": ways},
        "application": None,
        "configurations": {AS_NOW: {"partition": "equal", "allocation": placed}},
        **({"replications": DRAWS, "seed": 1} if hours else {"replications": 1}),
    }
    return document, notes


def _nodes(kinds: Sequence[_Kind], hours: Sequence[_Busy], kernel: str) -> tuple[list[Any], dict[Place, str]]:
    """The entries of nodes, those of a kind with the same busy hours together; and what is said of their fields."""
    entries: list[Any] = []
    notes: dict[Place, str] = {}
    for kind in kinds:
        for names, own in _alike(kind, hours):
            pe: Data = {"cores": kind.cores, "speeds": {kernel: kind.speed}}
            place = ("platform", "nodes", len(entries), "pes", 0)
            notes[*place, "speeds"] = "Of one core."
            if own:
                pe["load"], shown = _load(kind, own)
                notes[*place, "load"] = f"Others use it from {shown}: so many competitors on its cores, day by day."
                notes[*place, "load", "rule"] = "All who want to run get equal shares; idle: we take what is left."
                notes[*place, "load", "start"] = 'A run starts at any time of day; or at one, such as "14:00".'
            memory = {} if kind.memory is None else {"memory": kind.memory}
            entries.append({"name": names, **memory, "pes": [pe]})
    return entries, notes


def _alike(kind: _Kind, hours: Sequence[_Busy]) -> list[tuple[str, tuple[_Busy, ...]]]:
    """Nodes of a kind with the same busy hours: a pattern of their names, and these hours."""
    groups: dict[tuple[_Busy, ...], list[str]] = {}
    for name in kind.names:
        groups.setdefault(tuple(busy for busy in hours if name in busy.names), []).append(name)
    found = []
    for own, names in groups.items():
        found += [(pattern, own) for pattern in in_few(names)]
    return found


def _load(kind: _Kind, own: Sequence[_Busy]) -> tuple[Data, str]:
    """The load of a node that others use, a day which comes again; and its hours in words."""
    steps = {0: 0.0}
    for one in sorted(own, key=lambda busy: busy.begin_s):
        steps |= {one.begin_s: float(kind.cores) if one.load is None else one.load, one.end_s: 0.0}
    times_s = [when for when in sorted(steps) if when < DAY_S]
    trace = {
        "start": "2026-01-05T00:00+00:00",
        "times_s": times_s,
        "values": [steps[when] for when in times_s],
        "end_s": DAY_S,
    }
    shown = " and ".join(f"{_clock(one.begin_s)} to {_clock(one.end_s)}" for one in own)
    return {"trace": trace, "rule": "fair", "start": "drawn"}, shown


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"

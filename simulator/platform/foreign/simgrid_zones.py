"""The zones of a SimGrid platform file (version 4.1): hosts as PEs, and the links from one host to another."""

import heapq
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simulator.base.errors import ScenarioError, meant
from simulator.base.units import to_whole
from simulator.load_traces import read_profile
from simulator.models.load import LoadTrace
from simulator.models.speed import SpeedBand
from simulator.platform.foreign.simgrid_forms import Options
from simulator.platform.foreign.xml_tree import Element
from simulator.platform.networks import Link
from simulator.platform.nodes import PE, Load, Node

UP, DOWN = 0, 1
MAX_FLOYD = 1000
"""Points of a zone up to which all its ways are found together."""
_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")
_DECIMAL = {scale: 1000.0**power for power, scale in enumerate(("", "k", "M", "G", "T", "P", "E", "Z", "Y"))}
_BINARY = {f"{scale}i": 1024.0**power for power, scale in enumerate("KMGTPEZY", start=1)}
_WORDS = ("", "kilo", "mega", "giga", "tera", "peta", "exa", "zeta", "yotta")
_BANDWIDTHS = _DECIMAL | _BINARY
UNITS = {
    "speed": {f"{scale}f": value for scale, value in _DECIMAL.items()}
    | {f"{word}flops": 1000.0**power for power, word in enumerate(_WORDS)},
    "bandwidth": {f"{scale}Bps": value for scale, value in _BANDWIDTHS.items()}
    | {f"{scale}bps": value / 8 for scale, value in _BANDWIDTHS.items()},
    "time": {
        "s": 1.0,
        "ms": 1e-3,
        "us": 1e-6,
        "ns": 1e-9,
        "ps": 1e-12,
        "m": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "w": 604800.0,
    },
}
"""SimGrid's own units, as its xbt_parse_units.cpp has them; a number without one is in flop/s, B/s or s."""
MOST_HOSTS = 1_000_000
"""Most hosts of a cluster, and most cores of a host: as many as a platform of ours has PEs."""
MAX_KNOTS = 20_000
"""Knots of a profile that is written out because its first period differs from the later ones."""
_DISKS = "only one disk of a node, which reads as fast as it writes, is read"


@dataclass(frozen=True)
class Way:
    """Links from one point to another."""

    passed: tuple[int, ...]
    """`2 * link + direction`."""
    source: str = ""
    destination: str = ""
    """Of a route between zones: the points at which it leaves one and enters the other."""


@dataclass
class Zone:
    """A zone with what it holds directly."""

    element: Element
    name: str
    routing: str
    parent: "Zone | None"
    ways: dict[tuple[str, str], Way] = field(default_factory=dict)
    """Routes between its points, or between the zones in it; of a torus or fat tree, those of all its hosts."""
    points: list[str] = field(default_factory=list)
    """Hosts and routers in the order in which they are defined."""
    up: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Of a cluster: the directed links from each point to the middle."""
    down: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The same from the middle to each point."""
    backbone: int | None = None
    floyd: dict[tuple[str, str], str] | None = None
    """Of a zone with Floyd's routing: the point before the last one on the way between two."""

    def above(self) -> "list[Zone]":
        """The zones around it and itself, the outermost first."""
        return [*(self.parent.above() if self.parent else []), self]


@dataclass
class Zones:
    """All of a platform file, as it is read."""

    root: Element
    options: Options
    hosts: dict[str, Element] = field(default_factory=dict)
    """The element that describes each host; of a cluster's hosts, the cluster's."""
    zone_of: dict[str, Zone] = field(default_factory=dict)
    zones: dict[str, Zone] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    fat: set[int] = field(default_factory=set)
    """Links on which messages do not meet (FATPIPE)."""
    numbers: dict[str, int] = field(default_factory=dict)
    loopbacks: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    """Latency, bandwidth and whether messages meet there, of hosts with a route to themselves."""
    short: dict[str, None] = field(default_factory=dict)
    """Ways to and from gateways that the file does not give."""
    notes: list[str] = field(default_factory=list)
    """What a user should know of what was read."""

    def add_link(self, element: Element, name: str, *, latency: str, bandwidth: str, policy: str) -> int:
        """Take in a link; its number."""
        if name in self.numbers:
            raise element.fault("id", f"two links are called {name!r}; give each its own name")
        number = self.numbers[name] = len(self.links)
        delay, speed = self.corrected(
            amount(element, latency, "time", field_name="latency"),
            amount(element, bandwidth, "bandwidth", field_name="bandwidth"),
        )
        try:
            self.links.append(Link(name, delay, speed, shared=policy in ("SHARED", "FATPIPE")))
        except ScenarioError as error:
            raise element.fault("link", error.lines[0].rpartition(": ")[2]) from None
        if policy == "FATPIPE":
            self.fat.add(number)
        return number

    def corrected(self, latency_s: float, bandwidth: float) -> tuple[float, float]:
        """Latency and bandwidth of a link with the factors that the file's options give for all."""
        return latency_s * self.options.latency_factor, bandwidth * self.options.bandwidth_factor

    def add_host(self, element: Element, name: str, zone: Zone) -> None:
        """Take in a host or router of a zone."""
        if name in self.zone_of:
            raise element.fault("id", f"{name!r} comes twice; give each its own name")
        self.zone_of[name] = zone
        zone.points.append(name)

    def directed(self, element: Element, usual: str = "NONE") -> int:
        """The link that an element such as `link_ctn` names, in its direction."""
        name, direction = element.text("id"), element.text("direction", usual)
        for suffix, way in (("_UP", "UP"), ("_DOWN", "DOWN")):
            if name not in self.numbers and name.endswith(suffix):
                name, direction = name.removesuffix(suffix), way
        if name not in self.numbers:
            raise element.fault("id", f"there is no link {name!r} above; name one that is defined before")
        number = self.numbers[name]
        if not self.links[number].shared and direction not in ("UP", "DOWN"):
            raise element.fault("direction", f"{direction!r} is no direction; write UP or DOWN for a SPLITDUPLEX link")
        return 2 * number + (DOWN if direction == "DOWN" and not self.links[number].shared else UP)

    def back(self, passed: tuple[int, ...]) -> tuple[int, ...]:
        """The same way in the other direction."""
        return tuple(link if self.links[link >> 1].shared else link ^ 1 for link in reversed(passed))

    def way(self, source: str, destination: str) -> tuple[int, ...] | None:
        """Links from one host or router to another; None where no route is given."""
        if source == destination:
            return ()
        first, second = self.zone_of[source].above(), self.zone_of[destination].above()
        shared = [one for one, other in zip(first, second, strict=False) if one is other]
        zone, depth = shared[-1], len(shared)
        if len(first) == depth and len(second) == depth:
            return self._local(zone, source, destination)
        if len(first) == depth or len(second) == depth:
            found = f"from {source} to {destination} between a point and a zone next to it"
            raise zone.element.fault("route", f"it leads {found}; routes within a zone and between zones are read")
        between = zone.ways.get((first[depth].name, second[depth].name))
        if between is None:
            return None
        parts = self._to_gate(source, between.source), self._to_gate(between.destination, destination)
        return None if parts[0] is None or parts[1] is None else parts[0] + between.passed + parts[1]

    def _to_gate(self, start: str, end: str) -> tuple[int, ...] | None:
        """From a point to a gateway or back; no links where a Full zone gives no such route, as in SimGrid 3.32."""
        found, zone = self.way(start, end), self.zone_of[start]
        if found is None and zone is self.zone_of[end] and zone.routing == "Full":
            self.short[f"{start} to {end}"] = None
            return ()
        return found

    def _local(self, zone: Zone, source: str, destination: str) -> tuple[int, ...] | None:
        if zone.routing == "Cluster":
            passed = [*zone.up.get(source, ()), *zone.down.get(destination, ())]  # routers need no link of their own
            return tuple(dict.fromkeys(link & ~1 if self.links[link >> 1].shared else link for link in passed))
        if zone.routing in ("Dijkstra", "DijkstraCache"):
            return self._shortest(zone, source, destination)
        if zone.routing == "Floyd":
            return self._floyd(zone, source, destination)
        way = zone.ways.get((source, destination))
        return None if way is None else way.passed

    @staticmethod
    def _floyd(zone: Zone, source: str, destination: str) -> tuple[int, ...] | None:
        """The way that Floyd's algorithm finds, which of several as short the order of the points decides."""
        if zone.floyd is None:
            zone.floyd = _before(zone)
        passed: tuple[int, ...] = ()
        at = destination
        while at != source:
            before = zone.floyd.get((source, at))
            if before is None:
                return None
            passed, at = zone.ways[before, at].passed + passed, before
        return passed

    @staticmethod
    def _shortest(zone: Zone, source: str, destination: str) -> tuple[int, ...] | None:
        """The way over fewest links; SimGrid's choice between several is its own, so they are refused."""
        near: dict[str, list[tuple[str, Way]]] = {}
        for (start, end), way in zone.ways.items():
            near.setdefault(start, []).append((end, way))
        lengths, counts = {source: 0}, {source: 1}
        passed: dict[str, tuple[int, ...]] = {source: ()}
        queue = [(0, source)]
        done: set[str] = set()
        while queue:
            length, point = heapq.heappop(queue)
            if point in done:
                continue
            done.add(point)
            for end, way in near.get(point, ()):
                longer = length + len(way.passed)
                if longer < lengths.get(end, longer + 1):
                    lengths[end], counts[end], passed[end] = longer, 0, passed[point] + way.passed
                    heapq.heappush(queue, (longer, end))
                if longer == lengths[end]:
                    counts[end] += counts[point]
        if counts.get(destination, 1) > 1:
            found = f"several from {source} to {destination} are as short"
            raise zone.element.fault("route", f"{found}; leave one (routing Floyd says which)")
        return passed.get(destination)


def _before(zone: Zone) -> dict[tuple[str, str], str]:
    """Of every pair of points the one before the last on its way, as SimGrid's FloydZone finds it: fewest links."""
    count = len(zone.points)
    if count > MAX_FLOYD:
        raise zone.element.fault("routing", f"Floyd over {count} points takes too long; at most {MAX_FLOYD} are read")
    place = {name: number for number, name in enumerate(zone.points)}
    costs = np.full((count, count), np.inf)
    costs[np.diag_indices(count)] = 1.0
    before = np.full((count, count), -1, dtype=np.int64)
    for (start, end), way in zone.ways.items():
        costs[place[start], place[end]], before[place[start], place[end]] = len(way.passed), place[start]
    for middle in range(count):
        over = costs[:, middle, np.newaxis] + costs[middle]
        better = over < costs
        costs = np.where(better, over, costs)
        before = np.where(better, before[middle], before)
    return {
        (zone.points[start], zone.points[end]): zone.points[before[start, end]]
        for start, end in np.argwhere(before >= 0).tolist()
    }


def amount(element: Element, text: str, kind: str, *, field_name: str) -> float:
    """A number with one of SimGrid's units, or without."""
    match, units = _NUMBER.fullmatch(text.strip()), UNITS[kind]
    if match is None or (match.group(2) and match.group(2) not in units):
        examples = {"speed": "1Gf", "bandwidth": "125MBps", "time": "50us"}
        near = meant(match.group(2), units) if match else ""
        what = near or f"; write one such as {examples[kind]}"
        raise element.fault(field_name, f"{text!r} is no number with a unit of SimGrid{what}")
    try:
        value = float(match.group(1)) * units.get(match.group(2), 1.0)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise element.fault(field_name, f"{text!r} is no finite number; write one")
    return value


def radical(element: Element) -> list[int]:
    """The numbers of a cluster's hosts: `0-5,7`."""
    numbers: list[int] = []
    for part in element.text("radical").split(","):
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part, re.ASCII)
        low, high = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
        if high < low or len(numbers) + high - low >= MOST_HOSTS:
            wanted = f"write numbers and ranges such as 0-5,7, of {MOST_HOSTS} hosts at the most"
            raise element.fault("radical", f"{part[:40]!r} is no radical; {wanted}")
        numbers += range(low, high + 1)
    return numbers


def properties(element: Element) -> Mapping[str, str]:
    """What the `prop` elements in one say."""
    return {child.text("id"): child.text("value") for child in element.all("prop")}


@dataclass
class Hosts:
    """The hosts that have been read so far."""

    kernel: str
    nodes: dict[str, Node] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    profiles: dict[Path, LoadTrace] = field(default_factory=dict)

    def pe(self, name: str, element: Element, node: str) -> PE:
        """A host as a PE of a node."""
        speeds = element.text("speed").split(",")
        state = element.text("pstate", "0")
        place, count = to_whole(state), to_whole(cores := element.text("core", "1"))
        if place is None or place >= len(speeds):
            raise element.fault("pstate", f"{state[:40]!r} is no state of it; give 0 to {len(speeds) - 1}")
        if count is None or not 1 <= count <= MOST_HOSTS:
            raise element.fault("core", f"{cores[:40]!r} is no number of cores; give 1 to {MOST_HOSTS}")
        speed = amount(element, speeds[place], "speed", field_name="speed")
        if speed <= 0:
            raise element.fault("speed", f"it is {speed:g}; give more than 0")
        profile = element.attributes.get("speed_file") or element.attributes.get("availability_file")
        load = None
        if profile:
            load = Load(self._profile(element.path.parent / profile), "given", drawn=False)
        for disk in element.all("disk"):
            self._disk(disk, node)
        return PE(name, node, {self.kernel: SpeedBand.constant(speed)}, load, cores=count)

    def _disk(self, element: Element, node: str) -> None:
        """A disk that reads as fast as it writes, one for each node."""
        speeds = [amount(element, element.text(name), "bandwidth", field_name=name) for name in ("read_bw", "write_bw")]
        if speeds[0] != speeds[1] or node in self.nodes:
            self.notes.append(f"{element.path}:{element.line}: disk {element.text('id', '/')}: left out: {_DISKS}")
            return
        try:
            self.nodes[node] = Node(node, disk=Link("disk", 0.0, speeds[0], shared=True))
        except ScenarioError as error:
            raise element.fault("read_bw", error.lines[0].rpartition(": ")[2]) from None

    def _profile(self, path: Path) -> LoadTrace:
        """A speed profile: again from its start where it says so, else its last value for ever."""
        if path not in self.profiles:
            self.profiles[path] = self._read_profile(path)
            if 0.0 in self.profiles[path].values:
                self.notes.append(
                    f"{path}: the speed is 0 at times: nothing runs then; SimGrid goes on at the speed before"
                )
        self.files.append(path)
        return self.profiles[path]

    def _read_profile(self, path: Path) -> LoadTrace:
        profile = read_profile(path)
        if profile.pause_s is None or profile.alike:
            return profile.played()
        turns = max(2, MAX_KNOTS // len(profile.times_s))
        end_s = turns * (profile.times_s[-1] + profile.pause_s) + profile.times_s[0]
        said = f"written out up to {end_s:g} s; runs beyond that are refused"
        self.notes.append(f"{path}: the first period differs from the later ones: {said}")
        return profile.played(end_s)

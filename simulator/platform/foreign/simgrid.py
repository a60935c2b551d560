"""SimGrid's platform files (XML, version 4.1): hosts, cores, speeds and their profiles, links and routes.

Read: zones (Full, Floyd, Dijkstra, Cluster, nested), clusters (flat, torus, fat tree), cabinets, hosts, routers,
links, disks, routes between points and zones. Whatever else decides times is refused by name. Speeds are flop/s of
one core; a profile is the share of it that is left (rule `given`), and starts at time 0 in every replication.
"""

from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from simulator.base.units import to_number, to_whole
from simulator.load_traces import read_profile
from simulator.platform.foreign.simgrid_forms import check_forms, read_options
from simulator.platform.foreign.simgrid_routes import grouped, make_loopback, make_topology
from simulator.platform.foreign.simgrid_zones import DOWN, UP, Hosts, Way, Zone, Zones, amount, radical
from simulator.platform.foreign.xml_tree import Element, read_xml
from simulator.platform.networks import Contention, Network
from simulator.platform.nodes import Platform

MAX_ROUTED = 600
"""Hosts of a torus or fat tree, every pair of which gets its way written out."""
MAX_PARTS = 50_000
"""Hosts, switches and links of a fat tree."""
MAX_DIMENSIONS = 16


def read_cluster(zone: Zone, element: Element, zones: Zones) -> None:
    """Take in a `cluster`: its hosts, and the links of its topology."""
    topology = element.text("topology", "FLAT")
    prefix, suffix = element.text("prefix"), element.text("suffix")
    numbers = radical(element)
    hosts = [f"{prefix}{number}{suffix}" for number in numbers]
    for host in hosts:
        zones.add_host(element, host, zone)
        zones.hosts[host] = element
        if element.text("loopback_bw", "") or element.text("loopback_lat", ""):
            latency_s = amount(element, element.text("loopback_lat", "") or "0", "time", field_name="loopback_lat")
            bandwidth = amount(element, element.text("loopback_bw"), "bandwidth", field_name="loopback_bw")
            zones.loopbacks[host] = (*zones.corrected(latency_s, bandwidth), False)
    router = element.text("router_id", "") or f"{prefix}{zone.name}_router{suffix}"
    zones.add_host(element, router, zone)
    if topology == "FLAT":
        _flat(zone, element, zones, dict(zip(hosts, numbers, strict=True)))
        return
    if len(hosts) > MAX_ROUTED:
        raise element.fault("radical", f"there are {len(hosts)} hosts; a {topology} has at most {MAX_ROUTED}")
    zone.routing = "Full"
    (_torus if topology == "TORUS" else _fat_tree)(zone, element, zones, hosts)


def _flat(zone: Zone, element: Element, zones: Zones, hosts: dict[str, int]) -> None:
    """A private link for each host, and maybe a backbone."""
    private = {host: _link(zone, element, zones, f"link_{number}") for host, number in hosts.items()}
    if element.text("bb_bw", "") or element.text("bb_lat", ""):
        zone.backbone = zones.add_link(
            element,
            f"{zone.name}_backbone",
            latency=element.text("bb_lat", "") or "0",
            bandwidth=element.text("bb_bw"),
            policy=element.text("bb_sharing_policy", "SHARED"),
        )
    middle = () if zone.backbone is None else (2 * zone.backbone + UP,)
    for host, link in private.items():
        zone.up[host], zone.down[host] = (2 * link + UP, *middle), (*middle, 2 * link + DOWN)


def read_cabinet(zone: Zone, element: Element, zones: Zones) -> None:
    """Take in the hosts of a `cabinet`, each with a link of its own for either direction."""
    prefix, suffix = element.text("prefix", ""), element.text("suffix", "")
    for number in radical(element):
        host = f"{prefix}{number}{suffix}"
        zones.add_host(element, host, zone)
        zones.hosts[host] = element
        for way, kept in (("UP", zone.up), ("DOWN", zone.down)):
            name = f"link_{host}_{way}"
            link = zones.add_link(
                element, name, latency=element.text("lat"), bandwidth=element.text("bw"), policy="SHARED"
            )
            kept[host] = (2 * link,)


def close_cluster(zone: Zone, zones: Zones) -> None:
    """Attach the hosts of a zone of clusters by their `host_link`, and lead all ways over its `backbone`."""
    for child in zone.element.all("backbone"):
        if zone.backbone is not None:
            raise child.fault("id", "the zone has a second backbone; leave one out")
        zone.backbone = zones.add_link(
            child, child.text("id"), latency=child.text("latency"), bandwidth=child.text("bandwidth"), policy="SHARED"
        )
    for child in zone.element.all("host_link"):
        host = child.text("id")
        if zones.zone_of.get(host) is not zone:
            raise child.fault("id", f"the zone holds no host {host!r}; name one that it holds")
        if host in zone.up:
            raise child.fault("id", f"{host!r} has a second host_link; leave one out")
        ends = []
        for name in ("up", "down"):
            link = Element(child.path, child.line, child.tag, {"id": child.text(name)})
            ends.append(zones.directed(link, usual=name.upper()))
        zone.up[host], zone.down[host] = (ends[0],), (ends[1],)
    if zone.backbone is not None:
        middle = 2 * zone.backbone + UP
        for kept, first in ((zone.up, False), (zone.down, True)):
            for host, links in kept.items():
                kept[host] = (middle, *links) if first else (*links, middle)


def _counts(element: Element, text: str) -> list[int]:
    """`4,4` as numbers of at least 1."""
    parts = text.split(",")
    counts = [to_whole(part.strip()) or 0 for part in parts]
    if not all(0 < count < 10**6 for count in counts):
        raise element.fault("topo_parameters", f"{text!r} is no shape; write numbers of at least 1, such as 3,2,2")
    return counts


def _link(zone: Zone, element: Element, zones: Zones, name: str) -> int:
    return zones.add_link(
        element,
        f"{zone.name}_{name}",
        latency=element.text("lat"),
        bandwidth=element.text("bw"),
        policy=element.text("sharing_policy", "SPLITDUPLEX"),
    )


def _torus(zone: Zone, element: Element, zones: Zones, hosts: list[str]) -> None:
    """Every host has a link to the next one along each dimension, the first of which counts fastest."""
    shape = _counts(element, element.text("topo_parameters", ""))
    if len(shape) > MAX_DIMENSIONS:
        raise element.fault("topo_parameters", f"there are {len(shape)} dimensions; write at most {MAX_DIMENSIONS}")
    if prod(shape) != len(hosts):
        found = f"there are {' x '.join(map(str, shape))} places and {len(hosts)} hosts"
        raise element.fault("topo_parameters", f"{found}; give as many of each")
    strides = [prod(shape[:along]) for along in range(len(shape))]

    def moved(place: int, along: int, step: int) -> int:
        at = place // strides[along] % shape[along]
        return place + ((at + step) % shape[along] - at) * strides[along]

    links = {
        (place, along): _link(zone, element, zones, f"link_from_{place}_to_{moved(place, along, 1)}_{along}")
        for place, along in product(range(len(hosts)), range(len(shape)))
    }
    for source, destination in product(range(len(hosts)), repeat=2):
        at, passed = source, []
        for along, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            mine, target = source // stride % size, destination // stride % size
            ahead = mine < target <= mine + size // 2
            around = mine > size // 2 and (mine + size // 2) % size >= target
            while at // stride % size != target:
                if ahead or around:
                    passed.append(2 * links[at, along] + UP)
                    at = moved(at, along, 1)
                else:
                    at = moved(at, along, -1)
                    passed.append(2 * links[at, along] + DOWN)
        zone.ways[hosts[source], hosts[destination]] = Way(_plain(zones, passed))


def _plain(zones: Zones, passed: list[int]) -> tuple[int, ...]:
    """Links without direction where they have none."""
    return tuple(link & ~1 if zones.links[link >> 1].shared else link for link in passed)


class _Tree:
    """A fat tree as it is built: labels of its points by level, and the link on each port."""

    def __init__(self, element: Element, hosts: int) -> None:
        parts = element.text("topo_parameters", "").split(";")
        if len(parts) != 4:
            raise element.fault(
                "topo_parameters", "this is no fat tree; write levels;children;parents;links, such as 2;4,4;1,2;1,2"
            )
        (self.levels, *_), *vectors = (_counts(element, part) for part in parts)
        self.children, self.parents, self.ports = vectors
        if any(len(vector) != self.levels for vector in vectors):
            raise element.fault(
                "topo_parameters", f"there are {self.levels} levels; write as many numbers in each list"
            )
        if prod(self.children) != hosts:
            found = f"there are {prod(self.children)} places and {hosts} hosts"
            raise element.fault("topo_parameters", f"{found}; give as many of each")
        places = [
            prod(self.children[j] if j >= level else self.parents[j] for j in range(self.levels))
            for level in range(self.levels + 1)
        ]
        cables = sum(map(prod, zip(places, self.parents, self.ports, strict=False)))
        if sum(places) + cables > MAX_PARTS:
            found = f"there are {sum(places)} hosts and switches with {cables} links"
            raise element.fault("topo_parameters", f"{found}; at most {MAX_PARTS} in all are read")
        self.labels = [
            [
                label[::-1]
                for label in product(
                    *(range(self.children[j] if j >= level else self.parents[j]) for j in reversed(range(self.levels)))
                )
            ]
            for level in range(self.levels + 1)
        ]
        self.above: dict[tuple[int, int, int], tuple[int, int]] = {}
        """(level, place, port) -> the place above, and the link there."""
        self.below: dict[tuple[int, int, int], tuple[int, int]] = {}
        """(level, place, port) -> the place below, and the link there."""

    def holds(self, level: int, place: int, host: int) -> bool:
        """Whether a host is below a place."""
        labels = self.labels[level][place], self.labels[0][host]
        return level > 0 and labels[0][level:] == labels[1][level:]


def _fat_tree(zone: Zone, element: Element, zones: Zones, hosts: list[str]) -> None:
    """Up by destination modulo the number of cables (d-mod-k), down by the source's cable."""
    tree = _Tree(element, len(hosts))
    for level in range(tree.levels):
        by_rest: dict[tuple[int, ...], list[int]] = {}
        for parent, label in enumerate(tree.labels[level + 1]):
            by_rest.setdefault(label[:level] + label[level + 1 :], []).append(parent)
        for child, label in enumerate(tree.labels[level]):
            for parent in by_rest[label[:level] + label[level + 1 :]]:
                for port in range(tree.ports[level]):
                    link = _link(zone, element, zones, f"link_{level}_{child}_{parent}_{port}")
                    own = tree.labels[level + 1][parent][level] + port * tree.parents[level]
                    other = label[level] + port * tree.children[level]
                    tree.above[level, child, own] = parent, link
                    tree.below[level + 1, parent, other] = child, link
    for source, destination in product(range(len(hosts)), repeat=2):
        if source != destination:
            zone.ways[hosts[source], hosts[destination]] = Way(_plain(zones, _through(tree, source, destination)))


def _through(tree: _Tree, source: int, destination: int) -> list[int]:
    level, at, passed = 0, source, []
    while not tree.holds(level, at, destination):
        cable = destination // prod(tree.parents[:level]) % (tree.parents[level] * tree.ports[level])
        at, link = tree.above[level, at, cable]
        level += 1
        passed.append(2 * link + UP)
    while level:
        start = source % tree.ports[level - 1] * tree.children[level - 1]
        port = start
        while level and port < tree.children[level - 1] * tree.ports[level - 1]:
            if port % tree.children[level - 1] == tree.labels[0][destination][level - 1]:
                at, link = tree.below[level, at, port]
                level -= 1
                passed.append(2 * link + DOWN)
            port += 1  # SimGrid 3.32 looks on from here a level lower, not from that level's first port
    return passed


@dataclass(frozen=True)
class ImportedPlatform:
    """A platform, and the files that it came from besides the one named."""

    platform: Platform
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def read_simgrid(path: Path, *, kernel: str, contention: Contention = "fair", eager_bytes: int = 0) -> ImportedPlatform:
    """Read a platform file of SimGrid: one PE (of so many cores) for each host, on a node of its own.

    Hosts with the property `apportion.node` are the PEs of that node.

    Raises ScenarioError, TraceError with file and line, for what is not read: it is never left out silently if it
    decides times.

    `path`: the file; profiles that it names lie in its folder.
    `kernel`: what the hosts' speeds are called here.
    `contention`, `eager_bytes`: what the file does not say of messages. Links that messages do not meet on (FATPIPE)
    need `none`, unless they never are the narrowest of a route, or only a host's messages to itself pass them.
    """
    root = read_xml(path)
    if root.tag != "platform":
        raise root.fault("root", f"{root.tag!r} is no platform; name a platform of SimGrid")
    if to_number(root.text("version", "none")) not in (4.0, 4.1):
        raise root.fault("version", f"{root.text('version', 'none')} is not read; convert the file to 4 or 4.1")
    check_forms(root)
    zones = Zones(root, read_options(root))
    top = Zone(root, "", "None", None)
    for child in root.children:
        _read_into(top, child, zones)
    if not zones.hosts:
        raise root.fault("host", "there is none; add at least one")
    groups = grouped(zones)
    topology = make_topology(zones, groups, meets=contention != "none")
    loopback = make_loopback(zones, groups, meets=contention != "none")
    found = Hosts(kernel)
    pes = tuple(found.pe(name, element, groups[name]) for name, element in zones.hosts.items())
    network = Network(topology, None, loopback, contention, eager_bytes)
    platform = Platform(pes, network, tuple(found.nodes.values()))
    return ImportedPlatform(platform, tuple(dict.fromkeys(found.files)), (*zones.notes, *found.notes))


def _read_into(zone: Zone, element: Element, zones: Zones) -> None:
    """Take one element of a zone in."""
    if element.tag in ("zone", "AS"):
        _read_zone(zone, element, zones)
    elif element.tag == "cluster":
        read_cluster(_new_zone(zone, element, zones, "Cluster"), element, zones)
    elif element.tag == "cabinet" and zone.routing == "Cluster":
        read_cabinet(zone, element, zones)
    elif element.tag in ("cabinet", "host_link", "backbone") and zone.routing != "Cluster":
        raise element.fault(
            element.tag, f"it stands in a zone of routing {zone.routing!r}; put it in one of routing Cluster"
        )
    elif element.tag in ("host", "router"):
        name = element.text("id")
        zones.add_host(element, name, zone)
        if element.tag == "host":
            zones.hosts[name] = element
    elif element.tag == "link":
        _read_link(element, zones)
    elif element.tag in ("route", "zoneRoute", "ASroute"):
        _read_route(zone, element, zones)


def _read_zone(parent: Zone, element: Element, zones: Zones) -> None:
    routing = element.text("routing")
    zone = _new_zone(parent, element, zones, routing)
    for child in element.children:
        _read_into(zone, child, zones)
    if routing == "Cluster":
        close_cluster(zone, zones)


def _new_zone(parent: Zone, element: Element, zones: Zones, routing: str) -> Zone:
    zone = Zone(element, element.text("id"), routing, parent)
    if zone.name in zones.zones:
        raise element.fault("id", f"two zones are called {zone.name!r}; give each its own name")
    zones.zones[zone.name] = zone
    return zone


def _read_link(element: Element, zones: Zones) -> None:
    bandwidth = element.text("bandwidth")
    if element.attributes.get("bandwidth_file"):
        bandwidth = repr(_constant_bandwidth(element, element.attributes["bandwidth_file"]))
    zones.add_link(
        element,
        element.text("id"),
        latency=element.text("latency", "0"),
        bandwidth=bandwidth,
        policy=element.text("sharing_policy", "SHARED"),
    )


def _constant_bandwidth(element: Element, name: str) -> float:
    """The bandwidth of a profile that stays what it is from time 0 on: links have no others here."""
    profile = read_profile(element.path.parent / name)
    values = set(profile.values)
    if len(values) > 1 or profile.times_s[0] > 0:
        raise element.fault("bandwidth_file", "a bandwidth that changes is not read; give one that stays")
    return float(values.pop())


def _read_route(zone: Zone, element: Element, zones: Zones) -> None:
    source, destination = element.text("src"), element.text("dst")
    between = element.tag != "route"
    for name in (source, destination):
        there = (
            name in zones.zones and zones.zones[name].parent is zone
            if between
            else name in zones.zone_of and zones.zone_of[name] is zone
        )
        if not there:
            what = "zone" if between else "host or router"
            raise element.fault("src, dst", f"the zone holds no {what} {name!r}; name one that it holds")
    passed = tuple(zones.directed(child) for child in element.children)
    if not passed:
        raise element.fault("link_ctn", "there is none; add at least one")
    if source == destination and not between:
        _read_loopback(zones, source, passed)
        return
    ends = ((source, "gw_src"), (destination, "gw_dst")) if between else ()
    gateways = [_gateway(element, zones.zones[name], attribute, zones) for name, attribute in ends]
    ways = {(source, destination): Way(passed, *gateways)}
    if element.text("symmetrical", "YES").upper() == "YES":
        ways[destination, source] = Way(zones.back(passed), *gateways[::-1])
    for start, end in ways:
        if (start, end) in zone.ways:
            said = f"this is a second route from {start} to {end} (routes lead both ways unless symmetrical is NO)"
            raise element.fault("src, dst", f"{said}; leave one out")
    zone.ways |= ways


def _gateway(element: Element, zone: Zone, attribute: str, zones: Zones) -> str:
    """The host or router of a zone, or of one within it, over which a route leaves it."""
    name = element.text(attribute)
    if name not in zones.zone_of or zone not in zones.zone_of[name].above():
        raise element.fault(attribute, f"the zone {zone.name} holds no host or router {name!r}; name one that it holds")
    return name


def _read_loopback(zones: Zones, host: str, passed: tuple[int, ...]) -> None:
    if host in zones.loopbacks:
        raise zones.hosts[host].fault("route", "it has a second route to itself; leave one out")
    links = [zones.links[link >> 1] for link in passed]
    zones.loopbacks[host] = (
        sum(link.latency_s for link in links),
        min(link.bandwidth_bytes_per_s for link in links),
        any(link >> 1 not in zones.fat for link in passed),
    )

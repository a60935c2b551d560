"""Clusters of SimGrid's platform files: flat ones, cabinets and links of hosts in a zone, tori and fat trees.

The ways are those of SimGrid 3.32 (StarZone.cpp, TorusZone.cpp, FatTreeZone.cpp).
"""

from itertools import product
from math import prod

from simulator.base.units import to_whole
from simulator.platform.foreign.simgrid_zones import DOWN, UP, Way, Zone, Zones, amount, radical
from simulator.platform.foreign.xml_tree import Element

MAX_ROUTED = 600
"""Hosts of a torus or fat tree, every pair of which gets its way written out."""
MAX_PARTS = 50_000
"""Hosts, switches and links of a fat tree."""
MAX_DIMENSIONS = 16


def read_cluster(zone: Zone, element: Element, zones: Zones) -> None:
    """Take in a `cluster`: its hosts, and the links of its topology."""
    topology = element.text("topology", "FLAT")
    if topology not in ("FLAT", "TORUS", "FAT_TREE"):
        raise element.fault("topology", f"{topology!r} found, FLAT, TORUS or FAT_TREE allowed")
    if element.text("limiter_link", ""):
        raise element.fault("limiter_link", "found, none allowed")
    prefix, suffix = element.text("prefix", ""), element.text("suffix", "")
    numbers = radical(element)
    hosts = [f"{prefix}{number}{suffix}" for number in numbers]
    for host in hosts:
        zones.add_host(element, host, zone)
        zones.hosts[host] = element
        if element.text("loopback_bw", "") or element.text("loopback_lat", ""):
            zones.loopbacks[host] = (
                amount(element, element.text("loopback_lat", "") or "0", "time", field_name="loopback_lat"),
                amount(element, element.text("loopback_bw"), "bandwidth", field_name="loopback_bw"),
                False,
            )
    router = element.text("router_id", "") or f"{prefix}{zone.name}_router{suffix}"
    zones.add_host(element, router, zone)
    if topology == "FLAT":
        _flat(zone, element, zones, dict(zip(hosts, numbers, strict=True)))
        return
    if len(hosts) > MAX_ROUTED:
        raise element.fault("radical", f"{len(hosts)} hosts found, at most {MAX_ROUTED} in a {topology} allowed")
    zone.routing = "Full"
    (_torus if topology == "TORUS" else _fat_tree)(zone, element, zones, hosts)


def _flat(zone: Zone, element: Element, zones: Zones, hosts: dict[str, int]) -> None:
    """A private link for each host, and maybe a backbone."""
    private = {}
    for host, number in hosts.items():
        private[host] = zones.add_link(
            element,
            f"{zone.name}_link_{number}",
            latency=element.text("lat"),
            bandwidth=element.text("bw"),
            policy=element.text("sharing_policy", "SPLITDUPLEX"),
        )
    if element.text("bb_bw", "") or element.text("bb_lat", ""):
        policy = element.text("bb_sharing_policy", "SHARED")
        if policy == "SPLITDUPLEX":
            raise element.fault("bb_sharing_policy", f"{policy!r} found, SHARED or FATPIPE allowed")
        zone.backbone = zones.add_link(
            element,
            f"{zone.name}_backbone",
            latency=element.text("bb_lat", "") or "0",
            bandwidth=element.text("bb_bw"),
            policy=policy,
        )
    for host, link in private.items():
        _attach(zone, host, 2 * link + UP, 2 * link + DOWN)


def _attach(zone: Zone, host: str, up: int, down: int) -> None:
    middle = () if zone.backbone is None else (2 * zone.backbone + UP,)
    zone.up[host], zone.down[host] = (up, *middle), (*middle, down)


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
            raise child.fault("id", "a second backbone found, one allowed")
        zone.backbone = zones.add_link(
            child, child.text("id"), latency=child.text("latency"), bandwidth=child.text("bandwidth"), policy="SHARED"
        )
    for child in zone.element.all("host_link"):
        host = child.text("id")
        if zones.zone_of.get(host) is not zone:
            raise child.fault("id", f"{host!r} found, a host that the zone holds allowed")
        if host in zone.up:
            raise child.fault("id", f"a second host_link of {host!r} found, one allowed")
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
        raise element.fault("topo_parameters", f"{text!r} found, numbers of at least 1 such as 3,2,2 allowed")
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
        raise element.fault("topo_parameters", f"{len(shape)} dimensions found, at most {MAX_DIMENSIONS} allowed")
    if prod(shape) != len(hosts):
        found = f"{' x '.join(map(str, shape))} places and {len(hosts)} hosts found"
        raise element.fault("topo_parameters", f"{found}, as many of each allowed")
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
            raise element.fault("topo_parameters", "found, levels;children;parents;links such as 2;4,4;1,2;1,2 allowed")
        (self.levels, *_), *vectors = (_counts(element, part) for part in parts)
        self.children, self.parents, self.ports = vectors
        if any(len(vector) != self.levels for vector in vectors):
            raise element.fault("topo_parameters", f"{self.levels} levels found, as many numbers in each list allowed")
        if prod(self.children) != hosts:
            found = f"{prod(self.children)} places and {hosts} hosts found"
            raise element.fault("topo_parameters", f"{found}, as many of each allowed")
        places = [
            prod(self.children[j] if j >= level else self.parents[j] for j in range(self.levels))
            for level in range(self.levels + 1)
        ]
        cables = sum(map(prod, zip(places, self.parents, self.ports, strict=False)))
        if sum(places) + cables > MAX_PARTS:
            found = f"{sum(places)} hosts and switches with {cables} links found"
            raise element.fault("topo_parameters", f"{found}, at most {MAX_PARTS} in all allowed")
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

    def related(self, level: int, parent: int, child: int) -> bool:
        """Whether a place and one on the level below are joined."""
        labels = self.labels[level + 1][parent], self.labels[level][child]
        return all(one == other or i == level for i, (one, other) in enumerate(zip(*labels, strict=True)))

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

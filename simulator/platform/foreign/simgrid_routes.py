"""From the zones of a SimGrid platform file to the topology of its nodes and the loopback within them."""

from dataclasses import replace

from simulator.base.errors import ScenarioError, some_names
from simulator.models.network import LinkModel
from simulator.platform.foreign.simgrid_forms import NODE_PROPERTY
from simulator.platform.foreign.simgrid_zones import UP, Zone, Zones, properties
from simulator.platform.networks import Link, Listed, Star, Topology
from simulator.platform.networks.network import NO_TIME_S

MAX_NODES = 600
"""Nodes up to which every pair's route is written out; a single flat cluster may have any number."""


def grouped(zones: Zones) -> dict[str, str]:
    """The node of each host: its own, or the one that its property names."""
    found = {}
    for name, element in zones.hosts.items():
        found[name] = properties(element).get(NODE_PROPERTY, name) if element.tag == "host" else name
    members: dict[str, list[str]] = {}
    for host, node in found.items():
        members.setdefault(node, []).append(host)
    for node, hosts in members.items():
        if len(hosts) > 1:
            zone = zones.zone_of[hosts[0]]
            if any(zones.zone_of[host] is not zone for host in hosts) or len(zone.points) > len(hosts) + 1:
                where = zones.hosts[hosts[0]]
                raise where.fault(
                    NODE_PROPERTY, f"{node!r} is not alone in a zone with one router; put its hosts there"
                )
    return found


def make_topology(zones: Zones, groups: dict[str, str], *, meets: bool) -> Topology:
    """A star for nodes that are all in one flat cluster, else all routes."""
    first: dict[str, str] = {}
    for host, node in groups.items():
        first.setdefault(node, host)
    zone = zones.zone_of[next(iter(first.values()))]
    if len(first) == len(groups) and zone.up and all(zones.zone_of[host] is zone for host in groups):
        star = _star(zone, zones, list(groups), meets=meets)
        if star is not None:
            return star
    if len(first) > MAX_NODES:
        raise zone.element.fault(
            "host", f"there are {len(first)} nodes; at most {MAX_NODES} outside one cluster are read"
        )
    table = {}
    missing = 0
    for source, (node, one) in enumerate(first.items()):
        for destination, (other_node, other) in enumerate(first.items()):
            if node == other_node:
                continue
            passed = _plain(zones, zones.way(one, other))
            if passed:
                table[source, destination] = passed
            else:
                missing += 1
    if len(first) < len(groups):
        _check_members(zones, groups, first, table)
    _say_missing(zones, missing, len(first) * (len(first) - 1))
    try:
        listed = Listed(tuple(first), tuple(zones.links), table)
    except ScenarioError as error:
        raise zone.element.fault("route", error.lines[0].removeprefix("platform: network: route ")) from None
    return _without_fat(zones, listed, meets=meets)


def _say_missing(zones: Zones, missing: int, pairs: int) -> None:
    if missing:
        zones.notes.append(f"{zones.root.path}: no route for {missing} of {pairs} pairs")
    if zones.short:
        ways = some_names(list(zones.short))
        zones.notes.append(f"{zones.root.path}: no route within a zone, so no link is passed, as in SimGrid: {ways}")


def _plain(zones: Zones, passed: tuple[int, ...] | None) -> tuple[int, ...]:
    """A route without links that cost nothing: nobody meets there, no latency, wider than the others."""
    links = passed or ()
    for link in links:
        if link >> 1 in zones.fat and zones.links[link >> 1].latency_s == 0 and len(links) > 1:
            others = [other for other in links if other != link]
            widest = zones.links[link >> 1].bandwidth_bytes_per_s
            if min(zones.links[other >> 1].bandwidth_bytes_per_s for other in others) <= widest:
                return _plain(zones, tuple(others))
    return links


def _same_ways_out(zones: Zones, host: str, other: str, *, gates: set[str], wide: float) -> bool:
    """Whether two hosts of a zone have the same links to and from all gates in it, but for such as never matter."""
    here = [point for point in zones.zone_of[host].points if point in gates]

    def to_gates(name: str) -> list[list[int] | None]:
        ways = [way for gate in here for way in (zones.way(name, gate), zones.way(gate, name))]
        return [None if way is None else [link for link in way if not _idle(zones, link, wide)] for way in ways]

    return bool(here) and to_gates(host) == to_gates(other)


def _idle(zones: Zones, directed: int, wide: float) -> bool:
    link = zones.links[directed >> 1]
    return directed >> 1 in zones.fat and link.latency_s == 0 and link.bandwidth_bytes_per_s >= wide


def _check_members(
    zones: Zones, groups: dict[str, str], first: dict[str, str], table: dict[tuple[int, int], tuple[int, ...]]
) -> None:
    """Every host of a node must have the routes of its first one."""
    numbers = {node: number for number, node in enumerate(first)}
    gates = {
        name for zone in zones.zones.values() for way in zone.ways.values() for name in (way.source, way.destination)
    }
    wide = max((link.bandwidth_bytes_per_s for n, link in enumerate(zones.links) if n not in zones.fat), default=0.0)
    for host, node in groups.items():
        if host != first[node] and _same_ways_out(zones, host, first[node], gates=gates, wide=wide):
            continue
        for other_node, other in first.items():
            if host == first[node] or node == other_node:
                continue
            pair = numbers[node], numbers[other_node]
            ways = zones.way(host, other), zones.way(other, host)
            if [_plain(zones, way) for way in ways] != [table.get(pair, ()), table.get(pair[::-1], ())]:
                where = zones.hosts[host]
                raise where.fault(NODE_PROPERTY, f"the hosts of {node!r} have different routes; give all the same")


def _star(zone: Zone, zones: Zones, hosts: list[str], *, meets: bool) -> Star | None:
    """One link for each host and maybe a backbone, if the zone has no more."""
    middle = None if zone.backbone is None else 2 * zone.backbone + UP
    private = []
    for host in hosts:
        ends = [[link for link in zone_links.get(host, ()) if link != middle] for zone_links in (zone.up, zone.down)]
        if any(len(end) != 1 for end in ends):
            return None
        up, down = ends[0][0], ends[1][0]
        link, other = zones.links[up >> 1], zones.links[down >> 1]
        if up >> 1 != down >> 1:  # a link for each way, as SimGrid makes a split-duplex one
            if not (link.shared and other.shared and replace(other, name=link.name) == link):
                return None
            link = replace(link, name=f"{host}", shared=False)
        elif not link.shared and (up & 1 != UP or down & 1 == UP):
            return None
        private.append((up >> 1, down >> 1, link))
    used = [number for up, down, _ in private for number in {up, down}]
    if len(set(used)) < len(used) or zone.backbone in used:
        return None
    links = tuple(link for *_, link in private)
    backbone = None if zone.backbone is None else zones.links[zone.backbone]
    if meets and zones.fat.intersection(used):
        raise _fat(zones, min(zones.fat.intersection(used)))
    if meets and zone.backbone in zones.fat and backbone is not None:
        least = sorted(link.bandwidth_bytes_per_s for link in links)[-2:]
        if least[0] > backbone.bandwidth_bytes_per_s:
            raise _fat(zones, zone.backbone)
        half = backbone.latency_s / 2
        return Star(tuple(replace(link, latency_s=link.latency_s + half) for link in links))
    return Star(links, backbone)


def _without_fat(zones: Zones, listed: Listed, *, meets: bool) -> Listed:
    """Links that are never the narrowest, as latency only, where messages share links."""
    used = {link >> 1 for passed in listed.table.values() for link in passed}
    if not meets or not used & zones.fat:
        return listed
    links, table = list(listed.links), {}
    for pair, passed in listed.table.items():
        kept = []
        narrow = [zones.links[one >> 1].bandwidth_bytes_per_s for one in passed if one >> 1 not in zones.fat]
        for link in passed:
            if link >> 1 not in zones.fat:
                kept.append(link)
                continue
            own = zones.links[link >> 1]
            if not narrow or min(narrow) > own.bandwidth_bytes_per_s:
                raise _fat(zones, link >> 1)
            names = listed.node_names
            kept.append(2 * len(links))
            links.append(replace(own, name=f"{own.name}:{names[pair[0]]}:{names[pair[1]]}"))
        table[pair] = tuple(kept)
    return Listed(listed.node_names, tuple(links), table)


def _fat(zones: Zones, number: int) -> ScenarioError:
    found = f"{zones.links[number].name} is a FATPIPE"
    return zones.root.fault(
        "link", f"{found}, which is read with contention none only, or where a route's other links are narrower"
    )


def make_loopback(zones: Zones, groups: dict[str, str], *, meets: bool) -> LinkModel | None:
    """Message times within a node if they are alike everywhere and messages do not meet there; else a note and none."""
    found: dict[tuple[float, float, bool], str] = {}
    for host in groups:
        own = zones.loopbacks.get(host)
        if own is None:
            own = _usual(zones, host)
        if own is not None:
            found.setdefault(own, host)
    members: dict[str, list[str]] = {}
    for host, node in groups.items():
        members.setdefault(node, []).append(host)
    for hosts in members.values():
        for host in hosts:
            for other in hosts:
                if host != other:
                    found.setdefault(_between(zones, host, other), host)
    kinds = {(latency_s, bandwidth) for latency_s, bandwidth, _ in found}
    path = zones.root.path
    if len(kinds) > 1:
        said = ", ".join(f"{bandwidth:g} B/s after {latency_s:g} s" for latency_s, bandwidth in sorted(kinds)[:3])
        zones.notes.append(f"{path}: loopbacks that differ ({said}): none of them is taken")
    elif meets and any(shared for *_, shared in found):
        zones.notes.append(f"{path}: messages of a host to itself share its links in SimGrid, and do not here")
    elif kinds:
        ((latency_s, bandwidth),) = kinds
        return LinkModel.from_latency(max(latency_s, NO_TIME_S), bandwidth)
    return None


def _usual(zones: Zones, host: str) -> tuple[float, float, bool] | None:
    """Where no loopback is given: SimGrid's own, but in a cluster the way to the middle and back."""
    zone = zones.zone_of[host]
    if zone.routing != "Cluster":
        return (*zones.corrected(*zones.options.loopback), False) if zone.routing != "None" else None
    return _of_links(zones, tuple(dict.fromkeys(zone.up.get(host, ()) + zone.down.get(host, ()))))


def _of_links(zones: Zones, passed: tuple[int, ...]) -> tuple[float, float, bool] | None:
    links: list[Link] = [zones.links[link >> 1] for link in passed]
    if not links:
        return None
    narrowest = min(link.bandwidth_bytes_per_s for link in links)
    return sum(link.latency_s for link in links), narrowest, any(link >> 1 not in zones.fat for link in passed)


def _between(zones: Zones, host: str, other: str) -> tuple[float, float, bool]:
    """Between two hosts of one node."""
    found = _of_links(zones, zones.way(host, other) or ())
    if found is None:
        raise zones.hosts[host].fault(NODE_PROPERTY, f"there is no route to {other} of the same node; add one")
    return found

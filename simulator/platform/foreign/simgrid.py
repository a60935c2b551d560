"""SimGrid's platform files (XML, version 4.1): hosts, cores, speeds and their profiles, links and routes.

Read: zones (Full, Floyd, Dijkstra, Cluster, nested), clusters (flat, torus, fat tree), cabinets, hosts, routers,
links, disks, routes between points and zones. Whatever else decides times is refused by name. Speeds are flop/s of
one core; a profile is the share of it that is left (rule `given`), and starts at time 0 in every replication.
"""

from dataclasses import dataclass
from pathlib import Path

from simulator.load_traces import read_profile
from simulator.platform.foreign.simgrid_clusters import close_cluster, read_cabinet, read_cluster
from simulator.platform.foreign.simgrid_hosts import Hosts
from simulator.platform.foreign.simgrid_routes import grouped, make_loopback, make_topology
from simulator.platform.foreign.simgrid_zones import ROUTINGS, Way, Zone, Zones, amount
from simulator.platform.foreign.xml_tree import Element, read_xml
from simulator.platform.networks import Contention, Network
from simulator.platform.nodes import Platform

READ = (
    "zone",
    "AS",
    "cluster",
    "host",
    "router",
    "link",
    "route",
    "zoneRoute",
    "ASroute",
    "cabinet",
    "host_link",
    "backbone",
    "prop",
    "config",
)


@dataclass(frozen=True)
class ImportedPlatform:
    """A platform, and the files that it came from besides the one named."""

    platform: Platform
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    """What of it a user should know."""


def read_simgrid(path: Path, *, kernel: str, contention: Contention = "fair", eager_bytes: int = 0) -> ImportedPlatform:
    """Read a platform file of SimGrid: one PE (of so many cores) for each host, on a node of its own.

    Hosts with the property `apportion.node` are the PEs of that node.

    Parameters
    ----------
    path
        The file; profiles that it names lie beside it.
    kernel
        What the hosts' speeds are called here.
    contention, eager_bytes
        What the file does not say of messages. Links that messages do not meet on (FATPIPE) need `none`, unless they
        never are the narrowest of a route, or only a host's messages to itself pass them.

    Raises
    ------
    ScenarioError, TraceError
        With file and line, for what is not read: it is never left out silently if it decides times.
    """
    root = read_xml(path)
    if root.tag != "platform":
        raise root.fault("root", f"{root.tag!r} found, a platform allowed")
    version = amount(root, root.text("version", "0"), "time", field_name="version")
    if not 4 <= version < 5:
        raise root.fault("version", f"{root.text('version', 'none')} found, 4 or 4.1 allowed")
    zones = Zones(root)
    top = Zone(root, "", "None", None)
    for child in root.children:
        _read_into(top, child, zones)
    if not zones.hosts:
        raise root.fault("host", "none found, at least one allowed")
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
    if element.tag not in READ:
        raise element.fault(element.tag, f"found, {', '.join(READ)} allowed")
    if element.tag in ("zone", "AS"):
        _read_zone(zone, element, zones)
    elif element.tag == "cluster":
        read_cluster(_new_zone(zone, element, zones, "Cluster"), element, zones)
    elif element.tag == "cabinet" and zone.routing == "Cluster":
        read_cabinet(zone, element, zones)
    elif element.tag in ("cabinet", "host_link", "backbone") and zone.routing != "Cluster":
        raise element.fault(element.tag, f"found in a zone of routing {zone.routing!r}, Cluster allowed")
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
    routing = element.text("routing", "Full")
    if routing not in ROUTINGS:
        raise element.fault("routing", f"{routing!r} found, one of {', '.join(ROUTINGS)} allowed")
    zone = _new_zone(parent, element, zones, routing)
    for child in element.children:
        _read_into(zone, child, zones)
    if routing == "Cluster":
        close_cluster(zone, zones)


def _new_zone(parent: Zone, element: Element, zones: Zones, routing: str) -> Zone:
    zone = Zone(element, element.text("id"), routing, parent)
    if zone.name in zones.zones:
        raise element.fault("id", f"zone {zone.name!r} twice found, each once allowed")
    zones.zones[zone.name] = zone
    return zone


def _read_link(element: Element, zones: Zones) -> None:
    for name in ("latency_file", "state_file"):
        if element.attributes.get(name):
            raise element.fault(name, "a profile found, none allowed")
    for child in element.children:
        if child.tag != "prop":
            raise child.fault(child.tag, "found in a link, none allowed")
    bandwidth = element.text("bandwidth")
    if element.attributes.get("bandwidth_file"):
        bandwidth = repr(_constant_bandwidth(element, element.attributes["bandwidth_file"]))
    zones.add_link(
        element,
        element.text("id"),
        latency=element.text("latency", "") or "0",
        bandwidth=bandwidth,
        policy=element.text("sharing_policy", "SHARED"),
    )


def _constant_bandwidth(element: Element, name: str) -> float:
    """The bandwidth of a profile that stays what it is from time 0 on: links have no others here."""
    profile = read_profile(element.path.parent / name)
    values = set(profile.values)
    if len(values) > 1 or profile.times_s[0] > 0:
        raise element.fault("bandwidth_file", "a bandwidth that changes found, one that stays allowed")
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
            raise element.fault("src, dst", f"{name!r} found, a {what} that the zone holds allowed")
    for child in element.children:
        if child.tag != "link_ctn":
            raise child.fault(child.tag, "found in a route, link_ctn allowed")
    passed = tuple(zones.directed(child) for child in element.children)
    if not passed and not between:
        raise element.fault("link_ctn", "none found, at least one allowed")
    if source == destination and not between:
        _read_loopback(zones, source, passed)
        return
    gateways = [element.text(name) if between else "" for name in ("gw_src", "gw_dst")]
    for gateway in filter(None, gateways):
        if gateway not in zones.zone_of:
            raise element.fault("gw_src, gw_dst", f"{gateway!r} found, a host or router allowed")
    if (source, destination) in zone.ways and zone.ways[source, destination].passed != passed:
        raise element.fault("src, dst", f"a second route from {source} to {destination} found, one allowed")
    zone.ways[source, destination] = Way(passed, *gateways)
    if element.text("symmetrical", "YES").upper() in ("YES", "TRUE", "1"):
        zone.ways[destination, source] = Way(zones.back(passed), *gateways[::-1])


def _read_loopback(zones: Zones, host: str, passed: tuple[int, ...]) -> None:
    links = [zones.links[link >> 1] for link in passed]
    zones.loopbacks[host] = (
        sum(link.latency_s for link in links),
        min(link.bandwidth_bytes_per_s for link in links),
        any(link >> 1 not in zones.fat for link in passed),
    )

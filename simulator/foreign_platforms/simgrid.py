"""SimGrid's platform files (XML, version 4.1): hosts, cores, speeds and their profiles, links and routes.

Read: zones (Full, Floyd, Dijkstra, nested), clusters (flat, with or without backbone), hosts, routers, links, routes
between points and zones. Whatever else decides times is refused by name. Speeds are flop/s of one core; a profile is
the share of it that is left (rule `given`), and starts at time 0 in every replication.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from simulator import files
from simulator.foreign_platforms.simgrid_zones import ROUTINGS, Way, Zone, Zones, amount, radical
from simulator.foreign_platforms.xml_tree import Element, read_xml
from simulator.load_traces import import_trace
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.networks import Contention, Listed, Network, Star, Topology
from simulator.platform import PE, Load, Platform

MAX_HOSTS = 600
"""Hosts up to which every pair's route is written out; a single cluster may have any number."""
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
    "link_ctn",
    "prop",
    "config",
)
_LOOPS = re.compile(r"^\s*(LOOPAFTER|PERIODICITY)\b", re.MULTILINE)


@dataclass(frozen=True)
class ImportedPlatform:
    """A platform, and the files that it came from besides the one named."""

    platform: Platform
    files: tuple[Path, ...]


def read_simgrid(path: Path, *, kernel: str, contention: Contention = "fair", eager_bytes: int = 0) -> ImportedPlatform:
    """Read a platform file of SimGrid: one node with one PE (of so many cores) for each host.

    Parameters
    ----------
    path
        The file; profiles that it names lie beside it.
    kernel
        What the hosts' speeds are called here.
    contention, eager_bytes
        What the file does not say of messages. Links that messages do not meet on (FATPIPE) need `none`, unless only
        a host's messages to itself pass them.

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
    zones = Zones()
    top = Zone(root, "", "None", None)
    for child in root.children:
        _read_into(top, child, zones)
    if not zones.hosts:
        raise root.fault("host", "none found, at least one allowed")
    topology = _topology(zones)
    if contention != "none":
        _refuse_fat(root, zones, topology)
    named: list[Path] = []
    pes = tuple(_pe(name, element, kernel, named) for name, element in zones.hosts.items())
    network = Network(topology, None, _loopback(root, zones), contention, eager_bytes)
    return ImportedPlatform(Platform(pes, network), tuple(dict.fromkeys(named)))


def _read_into(zone: Zone, element: Element, zones: Zones) -> None:
    """Take one element of a zone in."""
    if element.tag not in READ:
        raise element.fault(element.tag, f"found, {', '.join(READ)} allowed")
    if element.tag in ("zone", "AS"):
        _read_zone(zone, element, zones)
    elif element.tag == "cluster":
        _read_cluster(zone, element, zones)
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
    if routing not in ROUTINGS or routing == "Cluster":
        allowed = ", ".join(name for name in ROUTINGS if name != "Cluster")
        raise element.fault("routing", f"{routing!r} found, one of {allowed} allowed")
    zone = _new_zone(parent, element, zones, routing)
    for child in element.children:
        _read_into(zone, child, zones)


def _new_zone(parent: Zone, element: Element, zones: Zones, routing: str) -> Zone:
    zone = Zone(element, element.text("id"), routing, parent)
    if zone.name in zones.zones:
        raise element.fault("id", f"zone {zone.name!r} twice found, each once allowed")
    zones.zones[zone.name] = zone
    return zone


def _read_cluster(parent: Zone, element: Element, zones: Zones) -> None:
    """A flat cluster: a private link for each host, and maybe a backbone."""
    if element.text("topology", "FLAT") != "FLAT":
        raise element.fault("topology", f"{element.text('topology')!r} found, FLAT allowed")
    if "limiter_link" in element.attributes:
        raise element.fault("limiter_link", "found, none allowed")
    zone = _new_zone(parent, element, zones, "Cluster")
    prefix, suffix, name = element.text("prefix", ""), element.text("suffix", ""), zone.name
    for number in radical(element):
        host = f"{prefix}{number}{suffix}"
        zones.add_host(element, host, zone)
        zones.hosts[host] = element
        zone.private[host] = zones.add_link(
            element,
            f"{name}_link_{number}",
            latency=element.text("lat"),
            bandwidth=element.text("bw"),
            policy=element.text("sharing_policy", "SPLITDUPLEX"),
        )
        if "loopback_bw" in element.attributes or "loopback_lat" in element.attributes:
            zones.loopbacks[host] = (
                amount(element, element.text("loopback_lat", "0"), "time", field_name="loopback_lat"),
                amount(element, element.text("loopback_bw"), "bandwidth", field_name="loopback_bw"),
                False,
            )
    zones.add_host(element, element.text("router_id", f"{prefix}{name}_router{suffix}"), zone)
    if "bb_bw" in element.attributes or "bb_lat" in element.attributes:
        policy = element.text("bb_sharing_policy", "SHARED")
        if policy == "SPLITDUPLEX":
            raise element.fault("bb_sharing_policy", f"{policy!r} found, SHARED or FATPIPE allowed")
        zone.backbone = zones.add_link(
            element,
            f"{name}_backbone",
            latency=element.text("bb_lat", "0"),
            bandwidth=element.text("bb_bw"),
            policy=policy,
        )


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
        latency=element.text("latency", "0"),
        bandwidth=bandwidth,
        policy=element.text("sharing_policy", "SHARED"),
    )


def _constant_bandwidth(element: Element, name: str) -> float:
    """The bandwidth of a profile that stays what it is from time 0 on: links have no others here."""
    values = set(import_trace(element.path.parent / name, "simgrid").trace.values.tolist())
    if len(values) > 1:
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


def _loopback(root: Element, zones: Zones) -> LinkModel | None:
    """Message times within a host, if all that have a route to themselves agree; messages do not meet there."""
    found = {(latency_s, bandwidth) for latency_s, bandwidth, _ in zones.loopbacks.values()}
    if not found:
        return None
    if len(found) > 1 or any(meets for *_, meets in zones.loopbacks.values()):
        raise root.fault("route", "loopbacks that differ, or are no FATPIPE, found; one kind, FATPIPE, allowed")
    return LinkModel.from_latency(*found.pop())


def _topology(zones: Zones) -> Topology:
    """A star for hosts that are all in one cluster, else all routes."""
    names = tuple(zones.hosts)
    around = {id(zones.zone_of[name]): zones.zone_of[name] for name in names}
    zone = next(iter(around.values()))
    if len(around) == 1 and zone.routing == "Cluster":
        backbone = None if zone.backbone is None else zones.links[zone.backbone]
        return Star(tuple(zones.links[zone.private[name]] for name in names), backbone)
    if len(names) > MAX_HOSTS:
        raise zone.element.fault("host", f"{len(names)} found, at most {MAX_HOSTS} allowed outside a single cluster")
    numbered = list(enumerate(names))
    table = {
        (source, destination): zones.way(one, other)
        for source, one in numbered
        for destination, other in numbered
        if one != other
    }
    return Listed(names, tuple(zones.links), table)


def _refuse_fat(root: Element, zones: Zones, topology: Topology) -> None:
    """Refuse links that messages do not meet on, where contention is asked for."""
    if isinstance(topology, Listed):
        used = {link >> 1 for passed in topology.table.values() for link in passed}
    else:
        used = set(range(len(zones.links)))
    for number in sorted(used & zones.fat):
        raise root.fault("link", f"{zones.links[number].name}: FATPIPE found, allowed with contention none only")


def _pe(name: str, element: Element, kernel: str, named: list[Path]) -> PE:
    if element.attributes.get("state_file"):
        raise element.fault("state_file", "a profile found, none allowed")
    for child in element.children:
        if child.tag != "prop":
            raise child.fault(child.tag, "found in a host, none allowed")
    speeds = element.text("speed").split(",")
    state = element.text("pstate", "0")
    if not state.isdecimal() or int(state) >= len(speeds):
        raise element.fault("pstate", f"{state!r} found, 0 to {len(speeds) - 1} allowed")
    cores = element.text("core", "1")
    if not cores.isdecimal() or not 1 <= int(cores) <= 1_000_000:
        raise element.fault("core", f"{cores!r} found, a number of at least 1 allowed")
    speed = amount(element, speeds[int(state)], "speed", field_name="speed")
    if speed <= 0:
        raise element.fault("speed", f"{speed:g} found, above 0 allowed")
    profile = element.attributes.get("speed_file") or element.attributes.get("availability_file")
    load = None
    if profile:
        load = Load(_profile(element.path.parent / profile, named), "given", drawn=False)
    return PE(name, name, {kernel: SpeedBand.constant(speed)}, load, cores=int(cores))


def _profile(path: Path, named: list[Path]) -> LoadTrace:
    """A speed profile: again from its start where it says so, else its last value for ever."""
    trace = import_trace(path, "simgrid").trace
    loops = bool(_LOOPS.search(files.read_text(path)))
    named.append(path)
    return LoadTrace(trace.times_s, trace.values, trace.end_s, "cycle" if loops else "hold")

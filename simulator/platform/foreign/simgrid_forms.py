"""What may stand in a platform file of SimGrid (its DTD, version 4.1): all else is refused by line, as SimGrid does."""

import math
import re
from dataclasses import dataclass

from simulator.base.errors import meant
from simulator.base.units import to_number
from simulator.platform.foreign.xml_tree import Element

NODE_PROPERTY = "apportion.node"
"""Property of a host that names the node whose PE it is."""
_IN_ZONES = "prop AS zone cluster cabinet host router link backbone host_link route zoneRoute ASroute"
_MIDDLE = "bb_bw bb_lat bb_sharing_policy router_id limiter_link loopback_bw loopback_lat"
_ROUTES = ("link_ctn", "src dst gw_src gw_dst", "symmetrical")
_ZONES = (_IN_ZONES, "id routing", "")
FORMS = {
    "platform": (f"config {_IN_ZONES}", "version", ""),
    "config": ("prop", "", "id"),
    "prop": ("", "id value", ""),
    "zone": _ZONES,
    "AS": _ZONES,
    "host": ("prop disk", "id speed", "core speed_file availability_file state_file coordinates pstate"),
    "disk": ("prop", "read_bw write_bw", "id"),
    "router": ("", "id", "coordinates"),
    "link": ("prop", "id bandwidth", "bandwidth_file latency latency_file state_file sharing_policy"),
    "cluster": (
        "prop",
        "id prefix suffix radical speed bw lat",
        f"core sharing_policy topology topo_parameters {_MIDDLE}",
    ),
    "cabinet": ("", "id prefix suffix radical speed bw lat", ""),
    "backbone": ("", "id bandwidth latency", ""),
    "host_link": ("", "id up down", ""),
    "route": ("link_ctn", "src dst", "symmetrical"),
    "zoneRoute": _ROUTES,
    "ASroute": _ROUTES,
    "link_ctn": ("", "id", "direction"),
}
"""Element -> the elements in it, the attributes that it needs, and those that it may have. Only zones of Vivaldi, which
are refused, use `coordinates`."""
VALUES = {
    "symmetrical": ("YES", "NO", "yes", "no"),
    "direction": ("UP", "DOWN", "NONE"),
    "sharing_policy": ("SHARED", "SPLITDUPLEX", "FULLDUPLEX", "FATPIPE"),
    "bb_sharing_policy": ("SHARED", "FATPIPE"),
    "topology": ("FLAT", "TORUS", "FAT_TREE"),
    "routing": ("Full", "None", "Cluster", "Floyd", "Dijkstra", "DijkstraCache"),
}
_BYPASSES = ("bypassRoute", "bypassZoneRoute", "bypassASroute")
_FAILURES = "failures are not simulated here; leave it out"
REFUSED = {
    "state_file": _FAILURES,
    "latency_file": "a latency that changes is not read; leave it out",
    "limiter_link": "a link that limits a host's messages of both directions is not read; leave it out",
    **dict.fromkeys(("actor", "process"), "which processes run is said in the scenario; leave it out"),
    "peer": "it belongs to zones of routing Vivaldi, which are not read; write a host",
    "trace": "it is not read; name its file in speed_file",
    "trace_connect": "it is not read; write speed_file in the host",
    **dict.fromkeys(_BYPASSES, "routes that stand above others are not read; write the routes that hold"),
}
"""What SimGrid has and we do not, and why."""
_NONE = ("0", "0.0", "no", "false", "off")
_AS_HERE = {
    "network/model": ("CM02",),
    "network/crosstraffic": _NONE,
    "network/TCP-gamma": _NONE,
    "network/weight-S": _NONE,
}
"""Options that may say what holds here anyway."""
_NUMBERS = {
    "network/bandwidth-factor": 1.0,
    "network/latency-factor": 1.0,
    "network/loopback-lat": 0.0,
    "network/loopback-bw": 1e10,
}
"""Options that are read, and what holds where they are not given."""
_WITHOUT_EFFECT = re.compile(
    r"(tracing|viva|contexts|debug|exception|maxmin|precision)(/.*)?|path|clean-atexit|surf/precision"
    r"|(cpu|network)/(optim|maxmin-selective-update)"
)
"""Options of how SimGrid runs and computes, not of what."""


@dataclass(frozen=True)
class Options:
    """What `config` says of all links."""

    bandwidth_factor: float = 1.0
    latency_factor: float = 1.0
    loopback: tuple[float, float] = (0.0, 1e10)
    """Latency and bandwidth of SimGrid's own loopback, which all share without meeting."""


def check_forms(element: Element) -> None:
    """Refuse the first thing in an element that SimGrid refuses or that we do not read."""
    children, needed, optional = FORMS[element.tag]
    known, inside = (*needed.split(), *optional.split()), children.split()
    for name, value in element.attributes.items():
        if name not in known:
            raise element.fault(name, f"this attribute is not known{meant(name, known) or '; leave it out'}")
        if value and name in REFUSED:
            raise element.fault(name, REFUSED[name])
        if name in VALUES and value not in VALUES[name]:
            raise element.fault(name, f"{value[:40]!r} is not read; write {', '.join(VALUES[name])}")
    for name in needed.split():
        element.text(name)
    for words in element.words:
        raise element.fault("text", f"{words[:40]!r} stands where elements do; leave it out")
    seen = set()
    for child in element.children:
        if child.tag not in inside:
            what = REFUSED.get(child.tag) or f"this element is not read here{meant(child.tag, inside)}"
            raise child.fault(child.tag, what if ";" in what else f"{what}; leave it out")
        check_forms(child)
        if child.tag == "prop":
            name = child.text("id")
            if name in seen:
                raise child.fault("id", "this property comes twice; leave one out")
            if name != NODE_PROPERTY and meant(name, [NODE_PROPERTY]):  # others are anybody's
                raise child.fault("id", f"this property is nearly {NODE_PROPERTY}; write that, or another name")
            seen.add(name)


def read_options(root: Element) -> Options:
    """What holds for all links; options that would change times otherwise are refused."""
    numbers, seen = dict(_NUMBERS), set()
    for config in root.all("config"):
        for element in config.all("prop"):
            name, value = element.text("id"), element.text("value")
            if name in seen:
                raise element.fault("id", "this option comes twice; leave one out")
            seen.add(name)
            if name in _NUMBERS:
                number = to_number(value)
                if number is None or not 0 <= number < math.inf or (number == 0 and "lat" not in name):
                    raise element.fault("value", f"{value[:40]!r} is not one number for all sizes; write one above 0")
                numbers[name] = number
            elif name in _AS_HERE and value not in _AS_HERE[name]:
                raise element.fault("value", f"{value[:40]!r} is not read; write {_AS_HERE[name][0]}")
            elif name not in _AS_HERE and not _WITHOUT_EFFECT.fullmatch(name):
                what = meant(name, (*_NUMBERS, *_AS_HERE)) or "; leave it out"
                raise element.fault("id", f"this option is not read{what}")
    bandwidth, latency, *loopback = numbers.values()
    return Options(bandwidth, latency, (loopback[0], loopback[1]))

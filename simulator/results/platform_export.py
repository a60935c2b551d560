"""A scenario's platform as SimGrid's platform file (XML, version 4.1) and profiles, which `read_simgrid` reads back.

Speeds are those of the application's kernel, loads the share of a PE that is left to us. Numbers are written so that
reading them gives the same bits: B/s, s and flop/s with all their digits.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from xml.sax.saxutils import quoteattr

import numpy as np

from simulator.base.errors import ScenarioError, some_names
from simulator.base.provenance import versions
from simulator.models.load import LoadTrace, availability
from simulator.models.network import LinkModel, MessageModel
from simulator.platform.foreign.simgrid_forms import NODE_PROPERTY
from simulator.platform.foreign.simgrid_routes import MAX_NODES
from simulator.platform.networks import Link, Listed, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.scenario_file.levels import with_level_traces
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import Draws, draw_one, of_replication

WIDEST = 1e18
"""Bytes per second of a link that is never the narrowest."""
MAX_ELEMENTS = 900_000
"""Elements of a file, so that `read_simgrid` takes it."""
PLATFORM = "platform.xml"
HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
_SAME = (
    "network/model:CM02 network/TCP-gamma:0 network/latency-factor:1 network/bandwidth-factor:1 "
    "network/weight-S:0 network/crosstraffic:0"
)
"""SimGrid's options under which messages take latency plus bytes over bandwidth, as here."""


# The zones of a platform as SimGrid's platform file has them: hosts, links and routes as lines of XML.


def line_of(model: MessageModel) -> tuple[float, float]:
    """Latency and bandwidth of a message model, the ones that a straight line was made of where it is one."""
    latency_s, bandwidth = model.latency_s, model.bandwidth_bytes_per_s
    if isinstance(model, LinkModel):
        for candidate in (float(f"{bandwidth:.12g}"), bandwidth, *np.nextafter(bandwidth, [0.0, np.inf]).tolist()):
            if np.array_equal(LinkModel.from_latency(latency_s, candidate).times_s, model.times_s):
                return latency_s, candidate
    return latency_s, bandwidth


class Writing:
    """The zones of a platform as they are written: hosts, links, routes."""

    def __init__(self, platform: Platform, contention: str, hosts: Sequence[str], *, unlike: bool) -> None:
        self.platform, self.fat, self.hosts = platform, contention == "none", hosts
        self.pairs = self.fat and unlike and len(platform.node_names) <= MAX_NODES
        """Whether each pair of nodes gets a link of its own: on one link without sharing (FATPIPE) SimGrid 3.32 still
        gives flows of a longer latency less than its bandwidth."""
        self.lines: list[str] = []
        self.ways: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.whole: dict[tuple[int, ...], tuple[float, float]] = {}
        """Latency and bandwidth of each of `ways`."""
        self.pes_of: dict[str, list[int]] = {name: [] for name in platform.node_names}
        for index, pe in enumerate(platform.pes):
            self.pes_of[pe.node].append(index)
        self.joined = any(len(pes) > 1 for pes in self.pes_of.values())
        self.points = {pe.name for pe in platform.pes}
        self.link_ids = _unique([link.name for link in platform.network.links])
        self.loopback = fresh("loopback", set(self.link_ids))
        self.uniform = fresh("network", set(self.link_ids))

    def text(self) -> str:
        """The zone of the whole platform."""
        network = self.platform.network
        star = network.topology
        if isinstance(star, Star) and not self.joined and not (self.fat and (star.backbone or self.pairs)):
            return self._star(star)
        if len(self.pes_of) > MAX_NODES:
            found = f"there are {len(self.pes_of)} nodes; at most {MAX_NODES} can be written"
            raise ScenarioError(f"platform: network: {found} unless each holds one PE, in a star where messages meet")
        self._say(0, f'<zone id={quoteattr(self._point("all"))} routing="Full">')
        self._find_routes()
        zones = {}
        if self.joined:
            zones = self._node_zones()  # first, as SimGrid's reader wants it
            self._links(1)
        else:
            self._hosts(1, range(len(self.hosts)))
            self._links(1)
            self._loopback_link(1, self.loopback)
            self._own_loopbacks(1, range(len(self.hosts)), self.loopback)
        (self._pair_routes if self.pairs else self._routes)(zones)
        self._say(0, "</zone>")
        return "".join(self.lines)

    def _say(self, depth: int, line: str) -> None:
        self.lines.append(f"{'  ' * (depth + 1)}{line}\n")

    def _point(self, name: str) -> str:
        name = fresh(name, self.points)
        self.points.add(name)
        return name

    def _hosts(self, depth: int, pes: Iterable[int]) -> None:
        disks = {node.name: node.disk for node in self.platform.known_nodes if node.disk is not None}
        for index in pes:
            pe = self.platform.pes[index]
            inside = []
            if len(self.pes_of[pe.node]) > 1 or pe.node != pe.name:
                inside.append(f"<prop id={quoteattr(NODE_PROPERTY)} value={quoteattr(pe.node)}/>")
            if pe.node in disks and self.pes_of[pe.node][0] == index:
                inside.append(_disk(f"disk {pe.node}", disks[pe.node]))
            end = f">{''.join(inside)}</host>" if inside else "/>"
            self._say(depth, f"<host {self.hosts[index]}{end}")

    def _links(self, depth: int) -> None:
        network = self.platform.network
        for link, name in zip(() if self.pairs else network.links, self.link_ids, strict=not self.pairs):
            self._say(depth, self._link(name, link, fat=self.fat))
        if self.pairs:
            self._pair_links(depth)
        if network.model is not None:
            self._say(depth, self._link(self.uniform, Link("", *line_of(network.model), shared=True), fat=True))

    def _loopback_link(self, depth: int, name: str) -> None:
        model = self.platform.network.loopback or self.platform.network.model
        if model is not None:
            self._say(depth, self._link(name, Link("", *line_of(model), shared=True), fat=True))

    @staticmethod
    def _link(name: str, link: Link, *, fat: bool) -> str:
        latency_s, bandwidth = link.latency_s, link.bandwidth_bytes_per_s
        if link.model is not None:
            latency_s, bandwidth = line_of(link.model)
        policy = "FATPIPE" if fat else "SHARED" if link.shared else "SPLITDUPLEX"
        numbers = f'bandwidth="{bandwidth!r}Bps" latency="{latency_s!r}s"'
        return f'<link id={quoteattr(name)} {numbers} sharing_policy="{policy}"/>'

    def _passed(self, links: Iterable[int]) -> str:
        """`link_ctn` elements for directed links."""
        if self.platform.network.topology is None:
            return f"<link_ctn id={quoteattr(self.uniform)}/>"
        parts = []
        for directed in links:
            link = self.platform.network.links[directed >> 1]
            way = "" if self.fat or link.shared else f' direction="{"DOWN" if directed & 1 else "UP"}"'
            parts.append(f"<link_ctn id={quoteattr(self.link_ids[directed >> 1])}{way}/>")
        return "".join(parts)

    def _own_loopbacks(self, depth: int, pes: Iterable[int], link: str) -> None:
        network = self.platform.network
        if network.loopback is None and network.model is None:
            return
        for index in pes:
            name = quoteattr(self.platform.pes[index].name)
            self._say(depth, f"<route src={name} dst={name}><link_ctn id={quoteattr(link)}/></route>")

    def _star(self, star: Star) -> str:
        """A zone with a link of its own for each host; any number of them."""
        self._say(0, f'<zone id={quoteattr(self._point("all"))} routing="Cluster">')
        self._hosts(1, range(len(self.hosts)))
        private = star.private
        for link, name in zip(private, self.link_ids, strict=False):
            self._say(1, self._link(name, link, fat=self.fat))
        self._loopback_link(1, self.loopback)
        for index, (link, name) in enumerate(zip(private, self.link_ids, strict=False)):
            ends = (name, name) if link.shared or self.fat else (f"{name}_UP", f"{name}_DOWN")
            host = quoteattr(self.platform.pes[index].name)
            self._say(1, f"<host_link id={host} up={quoteattr(ends[0])} down={quoteattr(ends[1])}/>")
        if star.backbone is not None:
            line = self._link(self.link_ids[-1], star.backbone, fat=False)
            self._say(1, re.sub(r"^<link (.*) sharing_policy=\"SHARED\"/>$", r"<backbone \1/>", line))
        self._own_loopbacks(1, range(len(self.hosts)), self.loopback)
        self._say(0, "</zone>")
        return "".join(self.lines)

    def _node_zones(self) -> dict[str, tuple[str, str]]:
        """A zone for each node: its PEs, the ways between them, and to the router. Names of zones and routers."""
        found = {}
        network = self.platform.network
        model = network.loopback or network.model
        for node, pes in self.pes_of.items():
            zone, router = self._point(f"node {node}"), self._point(f"router {node}")
            found[node] = zone, router
            self._say(1, f'<zone id={quoteattr(zone)} routing="Full">')
            self._hosts(2, pes)
            self._say(2, f"<router id={quoteattr(router)}/>")
            inner, loopback = (fresh(f"{name} {node}", set(self.link_ids)) for name in ("inside", "loopback"))
            self._say(2, self._link(inner, Link("", 0.0, WIDEST, shared=True), fat=True))
            self._loopback_link(2, loopback)
            names = [quoteattr(self.platform.pes[index].name) for index in pes]
            for name in names:
                passed = f"<link_ctn id={quoteattr(inner)}/>"
                self._say(2, f"<route src={name} dst={quoteattr(router)}>{passed}</route>")
            if model is not None:
                for one, other in combinations(names, 2):
                    self._say(2, f"<route src={one} dst={other}><link_ctn id={quoteattr(loopback)}/></route>")
            self._own_loopbacks(2, pes, loopback)
            self._say(1, "</zone>")
        return found

    def _routes(self, zones: Mapping[str, tuple[str, str]]) -> None:
        """One route for each pair of nodes, or two where the way back is another one."""
        points = self._ends(zones)
        for first, second in combinations(range(len(points)), 2):
            forth, back = self._way(first, second), self._way(second, first)
            if forth and back and self._same(forth, back):
                self._route(points[first], points[second], self._passed(forth), "")
                continue
            if forth:
                self._route(points[first], points[second], self._passed(forth), ' symmetrical="NO"')
            if back:
                self._route(points[second], points[first], self._passed(back), ' symmetrical="NO"')

    def _all_pairs(self) -> Iterator[tuple[int, int, Link, bool]]:
        """Pairs of nodes with their route as one link, and whether it holds for the way back too."""
        for first, second in combinations(range(len(self.pes_of)), 2):
            made = [(ends, self.whole[ends]) for ends in ((first, second), (second, first)) if ends in self.whole]
            alike = len(made) == 2 and made[0][1] == made[1][1]
            for ends, (latency_s, rate) in made[: 1 if alike else 2]:
                yield *ends, Link("", latency_s, rate, shared=True), alike

    def _find_routes(self) -> None:
        """Links, latency and bandwidth of the routes of all pairs of nodes that have one."""
        network, count = self.platform.network, len(self.pes_of)
        if isinstance(network.topology, Listed):
            pairs = np.array(sorted(network.topology.table), dtype=np.int64).reshape(-1, 2)
        else:
            pairs = np.argwhere(~np.eye(count, dtype=np.bool_))
        if network.topology is None or not pairs.size:
            return
        routes = network.routes(pairs[:, 0], pairs[:, 1])
        bounds, links = routes.first.tolist(), routes.links.tolist()
        ends = zip(routes.latencies_s.tolist(), routes.bandwidths.tolist(), strict=True)
        for number, (pair, whole) in enumerate(zip(map(tuple, pairs.tolist()), ends, strict=True)):
            self.ways[pair], self.whole[pair] = tuple(links[bounds[number] : bounds[number + 1]]), whole

    def _pair_links(self, depth: int) -> None:
        for first, second, link, _ in self._all_pairs():
            self._say(depth, self._link(f"{first}-{second}", link, fat=True))

    def _pair_routes(self, zones: Mapping[str, tuple[str, str]]) -> None:
        points = self._ends(zones)
        for first, second, _, alike in self._all_pairs():
            more = "" if alike else ' symmetrical="NO"'
            passed = f'<link_ctn id="{first}-{second}"/>'
            self._route(points[first], points[second], passed, more)

    def _ends(self, zones: Mapping[str, tuple[str, str]]) -> list[Sequence[str]]:
        """What routes between nodes begin and end at: zones with their routers, or hosts."""
        pes = self.platform.pes
        return [zones[node] if zones else (pes[here[0]].name,) for node, here in self.pes_of.items()]

    def _way(self, first: int, second: int) -> tuple[int, ...]:
        """Directed links from a node to another; none where there is no route."""
        return (0,) if self.platform.network.topology is None else self.ways.get((first, second), ())

    def _same(self, forth: tuple[int, ...], back: tuple[int, ...]) -> bool:
        """Whether the way back is the same way in the other direction."""

        def turned(link: int) -> int:
            return link >> 1 << 1 if self.fat or self._shared(link) else link ^ 1

        def plain(link: int) -> int:
            return link >> 1 << 1 if self.fat or self._shared(link) else link

        return [turned(link) for link in reversed(forth)] == [plain(link) for link in back]

    def _shared(self, link: int) -> bool:
        return self.platform.network.topology is None or self.platform.network.links[link >> 1].shared

    def _route(self, source: Sequence[str], destination: Sequence[str], passed: str, more: str) -> None:
        """A route between hosts, or between zones with their routers."""
        tag = "zoneRoute" if len(source) > 1 else "route"
        names = ("src", source[0]), ("dst", destination[0]), ("gw_src", source[-1]), ("gw_dst", destination[-1])
        ends = " ".join(f"{key}={quoteattr(name)}" for key, name in names[: 2 * len(source)])
        self._say(1, f"<{tag} {ends}{more}>{passed}</{tag}>")


def _disk(name: str, disk: Link) -> str:
    speed = f'"{disk.bandwidth_bytes_per_s!r}Bps"'
    return f"<disk id={quoteattr(name)} read_bw={speed} write_bw={speed}/>"


def _unique(names: Sequence[str]) -> list[str]:
    """The names, changed where one comes twice or looks like a direction of another."""
    taken: set[str] = set()
    found = []
    for name in names:
        plain = re.sub(r"_(UP|DOWN)$", r"-\1", name)
        plain = fresh(plain, taken)
        taken.add(plain)
        found.append(plain)
    return found


def fresh(name: str, taken: Container[str], mark: str = " ") -> str:
    """A name that is not taken: the one given, or with a number behind it."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}{mark}{number}"
    return found


# What of a platform SimGrid cannot express, feature by feature, and what it expresses only under a condition.


@dataclass
class Losses:
    """What has been found."""

    lost: list[tuple[str, str]] = field(default_factory=list)
    """Features that would be left out or changed, and what stands for each; nothing does for some."""
    notes: list[str] = field(default_factory=list)
    """What is expressed, but should be known."""

    def lose(self, names: Sequence[str], what: str, instead: str) -> None:
        """Note a feature of some things, and what stands for it if it may be lost."""
        if names:
            self.lost.append((f"{what} of {some_names(names)}", instead))


def is_line(model: MessageModel) -> bool:
    """Whether message times are one latency plus bytes over one bandwidth."""
    return isinstance(model, LinkModel) and model.sizes_bytes.size == 2 and model.sizes_bytes[0] == 0


def find_losses(scenario: Scenario, *, size: float | None) -> Losses:
    """What SimGrid's platform files cannot say of a scenario's platform."""
    losses = Losses()
    platform = scenario.platform
    _of_speeds(platform.pes, scenario.application.kernel, losses, size=size)
    _of_loads(scenario, losses)
    _of_network(platform, losses)
    _of_nodes(platform, losses)
    sliced = [pe.name for pe in platform.pes if pe.slice_s > 0]
    losses.lose(sliced, "time slices", "none, cores are shared at every instant")
    limited = [platform.pes[pe].name for _, pes in platform.quotas for pe in pes]
    losses.lose(limited, "quotas", "none, all of the PEs is granted")
    extra = [pe.name for pe in platform.pes if pe.cost_per_s is not None or pe.power_w is not None]
    if extra:
        losses.notes.append(f"cost and power of {some_names(extra)} left out: they decide no times")
    return losses


def _of_speeds(pes: Iterable[PE], kernel: str, losses: Losses, *, size: float | None) -> None:
    curved = [pe.name for pe in pes if pe.speed_of(kernel).sizes.size > 1 and not flat(pe, kernel)]
    if curved and size is None:
        losses.lose(curved, f"speeds of {kernel} by problem size", "")
    elif curved:
        losses.notes.append(f"speeds of {some_names(curved)} are those at a problem size of {size:g}")
    wide = [pe.name for pe in pes if pe.speed_of(kernel).wide]
    if wide:
        losses.notes.append(f"speeds of {some_names(wide)} are where the replication is in their bands")


def flat(pe: PE, kernel: str) -> bool:
    """Whether a speed band is the same at all sizes."""
    band = pe.speed_of(kernel)
    return all(np.all(curve == curve[0]) for curve in (band.low, band.mid, band.high))


def _of_loads(scenario: Scenario, losses: Losses) -> None:
    """Loads as the share that they leave: exact under `given`, and under the others where one process runs alone."""
    pes = scenario.platform.pes
    most = np.max([c.allocation(len(pes)) for c in scenario.configurations], axis=0)
    shared: list[str] = []
    alone: list[str] = []
    for index, pe in enumerate(pes):
        if pe.load is None or pe.load.rule == "given" or (pe.load.rule == "idle" and pe.cores == 1):
            continue
        (shared if most[index] > 1 else alone).append(pe.name)
    losses.lose(shared, "loads under fair or idle for several processes", "the share of one process alone")
    if alone:
        losses.notes.append(f"loads of {some_names(alone)} are the share of one process alone: exact for one on each")
    ended = [pe.name for pe in pes if pe.load is not None and pe.load.trace.after_end == "error"]
    if ended:
        losses.notes.append(
            f"traces of {some_names(ended)}: no run may outlast them here; SimGrid keeps the last value"
        )
    zero = [pe.name for pe in pes if _stops(pe)]
    if zero:
        losses.notes.append(
            f"loads of {some_names(zero)} leave nothing at times: SimGrid then goes on at the speed before"
        )


def _stops(pe: PE) -> bool:
    """Whether its load leaves nothing at times."""
    load = pe.load
    return load is not None and bool(np.any(availability(load.trace.values, load.rule, cores=pe.cores) == 0))


def _of_network(platform: Platform, losses: Losses) -> None:
    network = platform.network
    if network.contention == "fifo":
        losses.lose(["the links"], "contention fifo", "messages share a link")
    bent = [link.name for link in network.links if link.model is not None and not is_line(link.model)]
    losses.lose(bent, "message times by payload", "their latency and bandwidth")
    models = [("the network", network.model), ("the loopback", network.loopback)]
    curves = [name for name, model in models if model is not None and not is_line(model)]
    losses.lose(curves, "message times by payload", "their latency and bandwidth")
    if network.eager_bytes:
        losses.notes.append(f"eager messages (up to {network.eager_bytes} bytes) are the program's matter in SimGrid")


def _of_nodes(platform: Platform, losses: Losses) -> None:
    nodes = platform.known_nodes
    held = [node.name for node in nodes if node.levels or node.memory_bytes is not None]
    losses.lose(held, "memory", "none: nothing pages, and no level is shared")
    shared = [domain.name for domain in platform.domains]
    losses.lose(shared, "sharing", "none: SimGrid has no such domains, and neighbours cost nothing")
    slow = [node.name for node in nodes if node.disk is not None and node.disk.latency_s > 0]
    losses.lose(slow, "a disk's latency", "its bandwidth alone")
    pes = [pe.node for pe in platform.pes]
    several = [node.name for node in nodes if node.disk is not None and pes.count(node.name) > 1]
    losses.lose(several, "one disk of several PEs", "the disk of the first of them")


@dataclass(frozen=True)
class SimgridExport:
    """A platform as SimGrid's files."""

    files: Mapping[str, str]
    """Name -> text; the platform file is `platform.xml`."""
    notes: tuple[str, ...]
    """What the files do not say, or say under a condition."""
    read_back: str
    """The platform of a scenario file that reads them."""


def export_simgrid(
    scenario: Scenario, *, replication: int = 0, size: float | None = None, approximate: bool = False
) -> SimgridExport:
    """Write a scenario's platform in the form of SimGrid's files.

    Raises ScenarioError, one line for each feature that SimGrid cannot express; or if there are too many routes, or a
    PE has no speed.

    `replication`: the one whose draws (where loads start, where in their bands speeds are) the files hold.
    `size`: problem size at which speeds are taken where they depend on it.
    `approximate`: leave out what SimGrid cannot express, and say so, in place of a refusal.
    """
    if size is not None and not 0 < size < np.inf:
        raise ScenarioError(f"size is {size:g}; give a finite number above 0")
    if replication < 0:
        raise ScenarioError(f"replication is {replication}; give at least 0")
    scenario = with_level_traces(scenario)
    losses = find_losses(scenario, size=size)
    refused = [
        f"platform: {what}: not in SimGrid; {f'approximate: {instead}' if instead else 'give a size'}"
        for what, instead in losses.lost
        if not (approximate and instead)
    ]
    if refused:
        raise ScenarioError(refused)
    scenario = of_replication(scenario, replication)
    draws = draw_one(scenario, replication)
    platform, network = scenario.platform, scenario.platform.network
    contention = "none" if network.contention == "none" else "fair"
    notes = [*(f"{what}: approximated: {instead}" for what, instead in losses.lost), *losses.notes]
    unlike = _unlike_latencies(platform)
    if unlike and contention == "fair":
        notes.append("routes of unlike latency: SimGrid shares a link in inverse proportion to latency, not evenly")
    named = _profile_names(platform)
    profiles = {
        named[pe.name]: profile_text(_share(pe.load, float(draws.load_starts_s[0, index]), pe.cores))
        for index, pe in enumerate(platform.pes)
        if pe.load is not None
    }
    hosts = [_host(scenario, index, draws, named, size=size) for index in range(len(platform.pes))]
    body = Writing(platform, contention, hosts, unlike=unlike).text()
    eager = f", eager: {network.eager_bytes}B" if network.eager_bytes else ""
    read_back = f"platform: {{simgrid: {PLATFORM}, contention: {contention}{eager}}}"
    comment = _comment(scenario, replication, [*notes, f"Read back with {read_back}"])
    text = f'{HEAD}{comment}<platform version="4.1">\n{body}</platform>\n'
    if text.count("<") > MAX_ELEMENTS:
        raise ScenarioError(
            f"platform: network: the file would have {text.count('<')} elements, "
            f"and at most {MAX_ELEMENTS} can be written; give a smaller network"
        )
    return SimgridExport({PLATFORM: text, **profiles}, tuple(notes), read_back)


def _comment(scenario: Scenario, replication: int, lines: Iterable[str]) -> str:
    """Where the file comes from; two hyphens end a comment in XML and are written apart."""
    inputs = [f"  {name} {digest}" for name, digest in scenario.inputs.items()]
    said = [
        f"Written by Apportion {versions()['apportion']} from seed {scenario.seed}, replication {replication}.",
        *(["Inputs:", *inputs] if inputs else []),
        f"Speeds are those of the kernel {scenario.application.kernel}, in its units of volume per second.",
        f"SimGrid's options that give messages the same times: {_SAME}",
        *lines,
    ]
    safe = [re.sub(r"-(?=-|$)", "- ", line) for line in said]
    return "<!-- " + "\n     ".join(safe) + "\n-->\n"


def _unlike_latencies(platform: Platform) -> bool:
    """Whether routes between nodes differ in latency (of a large platform those from and to its first node)."""
    count = len(platform.node_names)
    if count < 2 or platform.network.topology is None:
        return False
    if count <= MAX_NODES:
        first, second = np.triu_indices(count, 1)
        first, second = np.append(first, second), np.append(second, first)
    else:
        second = np.arange(1, count)
        first = np.zeros_like(second)
    try:
        latencies = platform.network.routes(first, second).latencies_s
    except ScenarioError:  # not all pairs have a route
        return True
    return bool(np.ptp(latencies) > 1e-12 * np.max(latencies))


def _profile_names(platform: Platform) -> dict[str, str]:
    """A file for each PE with a load: SimGrid 3.32 refuses one that two hosts name."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for pe in platform.pes:
        if pe.load is not None:
            stem = re.sub(r"[^A-Za-z0-9._-]", "_", pe.name).lstrip(".")[:100] or "host"
            found = fresh(stem.lower(), taken, "-")
            taken.add(found)
            names[pe.name] = f"{stem}{found[len(stem) :]}.profile"
    return names


def _host(scenario: Scenario, index: int, draws: Draws, profiles: Mapping[str, str], *, size: float | None) -> str:
    """The attributes of a host."""
    pe, kernel = scenario.platform.pes[index], scenario.application.kernel
    at = size if size is not None and not flat(pe, kernel) else float(pe.speed_of(kernel).sizes[0])
    speed = float(draws.speeds(pe.speed_of(kernel), index, np.array([at]))[0, 0])
    if not speed > 0:
        raise ScenarioError(
            f"platform: PE {pe.name}: the speed is 0 at a size of {at:g}; give a size where it is above 0"
        )
    attributes = f'id={quoteattr(pe.name)} speed="{speed!r}f" core="{pe.cores}"'
    if pe.load is not None:
        attributes += f" speed_file={quoteattr(profiles[pe.name])}"
    return attributes


def _share(load: Load, start_s: float, cores: int) -> LoadTrace:
    """What a load leaves of each core to one process of ours, from where it starts."""
    trace = load.trace.starting_at(start_s) if start_s else load.trace
    if load.rule == "given":
        return trace
    return replace(trace, values=availability(trace.values, load.rule, cores=cores))


def profile_text(trace: LoadTrace) -> str:
    """A trace as SimGrid's profile: a line for each value, and when it starts again."""
    times = trace.times_s.tolist()
    lines = [f"{time!r} {value!r}" for time, value in zip(times, trace.values.tolist(), strict=True)]
    if trace.after_end == "cycle":
        pause = trace.end_s - times[-1]
        for candidate in (pause, np.nextafter(pause, 0.0), np.nextafter(pause, np.inf)):
            if times[-1] + float(candidate) == trace.end_s:
                pause = float(candidate)
                break
        lines.append(f"LOOPAFTER {pause!r}")
    return "\n".join(lines) + "\n"

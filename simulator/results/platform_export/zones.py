"""The zones of a platform as SimGrid's platform file has them: hosts, links and routes as lines of XML."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from xml.sax.saxutils import quoteattr

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.models.network import LinkModel, MessageModel
from simulator.platform.foreign.simgrid_hosts import NODE_PROPERTY
from simulator.platform.foreign.simgrid_routes import MAX_NODES
from simulator.platform.networks import Link, Listed, Star
from simulator.platform.nodes import Platform

WIDEST = 1e18
"""Bytes per second of a link that is never the narrowest."""


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
            found = f"{len(self.pes_of)} nodes found, at most {MAX_NODES} allowed"
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

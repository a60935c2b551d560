"""A network: its links, which of them join two nodes, and the contention between messages that pass the same one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
from pydantic import Field

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.form import Form, Size
from simulator.models.network import LinkModel, MessageModel
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm

Contention = Literal["none", "fifo", "fair"]
"""Messages on one link: do not meet; one after the other, first come first served; all at once, max-min fair."""
NO_TIME_S, NO_LIMIT = 1e-12, 1e30
"""Latency in seconds and bytes per second of messages that cost nothing."""
ASSUMED_LOOPBACK = LinkModel.from_latency(500e-9, 8e9)
"""Message times within a node where a network does not say them: those of a copy through shared memory by MPI.

SimGrid assumes 10 GB/s without latency (network/loopback-bw and -lat); half a microsecond is what ranks of one node
need to notice a message. Results name it, see `Network.assumes_loopback`.
"""
WHERE = ("platform", "network")
"""Where a file describes it."""
UP, DOWN = 0, 1
"""Directions of a link: `2 * link + direction` names one of them; a shared link has the first only."""


class Topology(Protocol):
    """Which links join two nodes."""

    @property
    def links(self) -> tuple[Link, ...]:
        """All links."""

    @property
    def node_count(self) -> int | None:
        """How many nodes it joins; None: any number."""

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Where each pair's links begin, and the end, (pairs + 1,); links `2 * link + direction` in the order passed.

        Raises ScenarioError if there is no route, with the nodes.

        `sources`, `destinations`: nodes of each pair, never the same; (pairs,).
        """

    def to_data(self, names: Sequence[str]) -> Data:
        """What a file says of it, where nodes have these names."""

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Topology":
        """The same between some nodes, which get these names; one that comes again is a copy, and so is its link.

        Raises ScenarioError if it does not say how copies would be joined.
        """


@dataclass(frozen=True)
class Routes:
    """Routes between some pairs of nodes, and how long a message takes on them."""

    first: Ints
    """Where each route's links begin, and the end; (pairs + 1,)."""
    links: Ints
    """Capacities passed (`2 * link + direction`, shared links without direction)."""
    latencies_s: Floats
    """Sum over the route; (pairs,)."""
    bandwidths: Floats
    """Least bandwidth on the route, bytes per second; (pairs,)."""


@dataclass(frozen=True)
class Network:
    """What joins the nodes of a platform; within a node messages take the loopback, without contention."""

    topology: Topology | None
    """None: `model` holds between any two nodes."""
    model: MessageModel | None = None
    """Message times between any two nodes where there are no links."""
    loopback: MessageModel | None = None
    """Message times within a node; by default `model` without links, and `ASSUMED_LOOPBACK` with links."""
    contention: Contention = "none"
    eager_bytes: int = 0
    """Messages of at most so many bytes are eager: they start at once, and the sender does not wait."""

    def __post_init__(self) -> None:
        if (self.topology is None) == (self.model is None):
            raise ScenarioError("platform: network: give either links or one model for all pairs of nodes")
        if self.contention not in get_args(Contention):
            known = ", ".join(get_args(Contention))
            raise ScenarioError(f"platform: contention: {self.contention!r} is unknown; take {known}")
        if self.topology is None and self.contention != "none":
            raise ScenarioError(
                f"platform: contention: {self.contention!r} needs links that messages meet on; write none"
            )
        if self.contention == "fair" and any(link.model is not None for link in self.links):
            raise ScenarioError("platform: contention: fair needs latency and bandwidth on every link")
        if self.eager_bytes < 0:
            raise ScenarioError(f"platform: eager_bytes is {self.eager_bytes}; give at least 0")
        if self.loopback is None and self.model is None:
            object.__setattr__(self, "loopback", ASSUMED_LOOPBACK)

    @classmethod
    def uniform(cls, model: MessageModel, *, eager_bytes: int = 0) -> "Network":
        """One message time for all pairs of processes, on the same node or not, without contention."""
        return cls(None, model, eager_bytes=eager_bytes)

    @property
    def uniform_model(self) -> MessageModel:
        """The one model of a network without links.

        Raises ScenarioError if there are links.
        """
        if self.model is None:
            raise ScenarioError("platform: network: it has links, and this needs one model for all pairs of nodes")
        return self.model

    @property
    def links(self) -> tuple[Link, ...]:
        """All links; none where one model holds for all."""
        return () if self.topology is None else self.topology.links

    def scaled(self, *, latency: float = 1.0, bandwidth: float = 1.0) -> "Network":
        """The same network, every link of which has so many times the latency and the bandwidth; loopbacks stay.

        The one model of a network without links is scaled for messages within a node too, where no loopback is given.
        """
        if self.model is not None:
            return replace(self, model=self.model.scaled(latency=latency, bandwidth=bandwidth))
        return self.with_links(lambda link: link.scaled(latency=latency, bandwidth=bandwidth))

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Network":
        """The same between some nodes, which get these names; see `Topology.of_nodes`."""
        topology = self.topology
        return self if topology is None else replace(self, topology=topology.of_nodes(nodes, names))

    @property
    def doubtful(self) -> bool:
        """Whether not all of its message times are known for certain."""
        models = (self.model, self.loopback, *self.links)
        return any(model is not None and model.doubt is not None for model in models)

    def with_links(self, change: Callable[[Link], Link]) -> "Network":
        """The same network with each link changed; messages that pass no links stay."""
        if self.topology is None:
            return self

        def changed(value: Any) -> Any:
            if isinstance(value, Link):
                return change(value)
            return tuple(map(changed, value)) if isinstance(value, tuple) else value

        found: Any = self.topology
        parts = {field.name: changed(getattr(found, field.name)) for field in fields(found) if field.init}
        return replace(self, topology=replace(found, **parts))

    @property
    def free(self) -> "Network":
        """The same nodes joined by messages that take next to no time; who waits for whom stays."""
        return Network.uniform(LinkModel.from_latency(NO_TIME_S, NO_LIMIT), eager_bytes=self.eager_bytes)

    @property
    def within(self) -> MessageModel:
        """Message times within a node."""
        return self.loopback or self.uniform_model

    @property
    def assumes_loopback(self) -> bool:
        """Whether the times within a node are the default and not the user's, which results name."""
        return self.loopback is ASSUMED_LOOPBACK

    def routes(self, sources: Ints, destinations: Ints) -> Routes:
        """The routes of pairs of different nodes.

        Raises ScenarioError if there is none.
        """
        if self.topology is None:
            raise ScenarioError("platform: network: a route asked for where there are no links")
        first, directed = self.topology.routes(sources, destinations)
        if np.any(np.diff(first) < 1):
            pair = int(np.argmax(np.diff(first) < 1))
            where = f"from node {sources[pair]} to node {destinations[pair]}"
            raise ScenarioError(f"platform: network: there is no route {where}; add one")
        passed = np.where(self._shared[directed >> 1], directed & ~1, directed)
        latency, bandwidth = self._latencies_s[passed >> 1], self._bandwidths[passed >> 1]
        return Routes(first, passed, np.add.reduceat(latency, first[:-1]), np.minimum.reduceat(bandwidth, first[:-1]))

    def alike(self, source: int, destinations: Ints) -> list[bytes]:
        """A name for each route from one node: messages take the same times on routes of the same name."""
        if self.topology is None or not destinations.size:
            return [b""] * destinations.size
        routes = self.routes(np.full(destinations.size, source, dtype=np.int64), destinations)
        links = routes.links >> 1
        kinds = np.column_stack([self._latencies_s[links], self._bandwidths[links], self._models[1][links]])
        kind = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
        return [part.tobytes() for part in np.split(kind, routes.first[1:-1])]

    @cached_property
    def _shared(self) -> Flags:
        return np.array([link.shared for link in self.links], dtype=np.bool_)

    @cached_property
    def _latencies_s(self) -> Floats:
        return np.array([link.latency_s for link in self.links], dtype=np.float64)

    @cached_property
    def _bandwidths(self) -> Floats:
        return np.array([link.bandwidth_bytes_per_s for link in self.links], dtype=np.float64)

    @cached_property
    def _models(self) -> tuple[tuple[MessageModel, ...], Ints]:
        """Distinct models of links, and which of them each link has, -1 for none."""
        distinct = {id(link.model): link.model for link in self.links if link.model is not None}
        place = {key: number for number, key in enumerate(distinct)}
        return tuple(distinct.values()), np.array(
            [place.get(id(link.model), -1) for link in self.links], dtype=np.int64
        )

    def times_s(self, routes: Routes, pair: Ints, sizes_bytes: Floats) -> Floats:
        """Message times without contention: the latencies of all links and the slowest link's time for the payload.

        Links of one fitted model that knows what a further hop costs count together, by their number on the route.

        `pair`, `sizes_bytes`: route and payload of each message; (messages,).
        """
        models, which = self._models
        if not models:
            return np.asarray(routes.latencies_s[pair] + sizes_bytes / routes.bandwidths[pair])
        links, count = routes.links >> 1, routes.latencies_s.size
        route = np.repeat(np.arange(count), np.diff(routes.first))
        passed = np.zeros((count, len(models)), dtype=np.int64)
        modelled = which[links] >= 0
        np.add.at(passed, (route[modelled], which[links][modelled]), 1)
        plain = np.where(modelled, np.inf, self._bandwidths[links])
        latency = routes.latencies_s[pair]
        payload = sizes_bytes / np.minimum.reduceat(plain, routes.first[:-1])[pair]
        for number in np.flatnonzero(passed.any(axis=0)):  # of many links' own models, those that are passed
            model, mine = models[number], passed[pair, number] > 0
            hops, sizes, least = passed[pair, number][mine], sizes_bytes[mine], model.latency_s
            if model.knows_hops:
                start = model.time_s(0.0, hops)
                latency[mine] += start - hops * least
                payload[mine] = np.maximum(payload[mine], model.time_s(sizes, hops) - start)
            else:
                payload[mine] = np.maximum(payload[mine], model.time_s(sizes) - least)
        return np.asarray(latency + payload)


class NetworkForm(Form):
    """What every network says; each topology adds its fields, and how they are read."""

    OWN_LINKS: ClassVar[bool] = False
    """Whether nodes may have links of their own in their entries."""

    contention: Contention = "none"
    """What messages do that meet on a link: `none` (they do not notice), `fifo` (one after the other, holding all links
    of the route), `fair` (they share the bandwidth, max-min fair; links by latency and bandwidth only)."""
    eager: Size = Field(default=0, json_schema_extra={"default": "0B"})
    """Messages up to this size do not wait for their receiver."""
    loopback: LinkForm | None = None
    """Message times between processes of one node, without contention. If not given, 500 ns + bytes / 8 GB/s, a copy
    through shared memory; results name this default where messages use it."""

    @classmethod
    def kind_name(cls) -> str:
        """What `topology` says."""
        (name,) = get_args(cls.model_fields["topology"].annotation)
        return str(name)

    def between_nodes(self, site: Site) -> Topology | MessageModel:
        """What joins the nodes: links with routes, or one model for any two of them."""
        raise NotImplementedError

    def network(self, site: Site) -> Network:
        """The network that it says."""
        loopback = None if self.loopback is None else self.loopback.end_to_end(site, *WHERE, "loopback")
        between = self.between_nodes(site)
        with site.at(*WHERE):
            if isinstance(between, MessageModel):
                return Network(None, between, loopback or ASSUMED_LOOPBACK, self.contention, self.eager)
            return Network(between, None, loopback, self.contention, self.eager)


def private_links(site: Site, usual: LinkForm | None) -> tuple[Link, ...]:
    """Every node's own link: that of its entry, or the usual one, which is the network's `link`."""
    maker = None if usual is None else usual.maker(site, *WHERE, "link")
    links = []
    for name in site.nodes:
        chosen = site.own_links.get(name, maker)
        if chosen is None:
            with site.at(*WHERE):
                raise ScenarioError(f"node {name} has no link; write one in its entry of nodes, or link here")
        links.append(chosen(name))
    return tuple(links)


def alike(links: Sequence[Link]) -> bool:
    """Whether links differ by their names alone."""
    return len({(link.latency_s, link.bandwidth_bytes_per_s, link.shared, id(link.model)) for link in links}) <= 1


def link_if_alike(private: Sequence[Link]) -> Data:
    """The link that all nodes have, if they are alike; else each node's entry says its own."""
    return {"link": private[0].to_data()} if alike(private) else {}

"""A network: its links, which of them join two nodes, and the contention between messages that pass the same one."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ScenarioError
from simulator.models.network import LinkModel
from simulator.networks.link import Link

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Contention = Literal["none", "fifo", "fair"]
"""Messages on one link: do not meet; one after the other, first come first served; all at once, max-min fair."""
UP, DOWN = 0, 1
"""Directions of a link: `2 * link + direction` names one of them; a shared link has the first only."""


class Topology(Protocol):
    """Which links join two nodes."""

    @property
    def links(self) -> tuple[Link, ...]:
        """All links."""

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Directed links from nodes to nodes.

        Parameters
        ----------
        sources, destinations
            Nodes of each pair, never the same; (pairs,).

        Returns
        -------
        first
            Where each pair's links begin, and the end; (pairs + 1,).
        links
            `2 * link + direction`, in the order passed.

        Raises
        ------
        ScenarioError
            If there is no route, with the nodes.
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
    model: LinkModel | None = None
    """Message times between any two nodes where there are no links."""
    loopback: LinkModel | None = None
    """Message times within a node; without links `model` by default."""
    contention: Contention = "none"
    eager_bytes: int = 0
    """Messages of at most so many bytes are eager: they start at once, and the sender does not wait."""

    def __post_init__(self) -> None:
        if (self.topology is None) == (self.model is None):
            raise ScenarioError("platform: network: either links or one model for all pairs of nodes allowed")
        if self.contention not in get_args(Contention):
            allowed = ", ".join(get_args(Contention))
            raise ScenarioError(f"platform: contention: {self.contention!r} found, one of {allowed} allowed")
        if self.topology is None and self.contention != "none":
            raise ScenarioError(f"platform: contention: {self.contention!r} without links found, none allowed")
        if self.contention == "fair" and any(link.model is not None for link in self.links):
            raise ScenarioError("platform: contention: fair needs latency and bandwidth on every link")
        if self.eager_bytes < 0:
            raise ScenarioError(f"platform: eager_bytes: {self.eager_bytes} found, at least 0 allowed")

    @classmethod
    def uniform(cls, model: LinkModel, *, eager_bytes: int = 0) -> "Network":
        """One message time for all pairs of processes, on the same node or not, without contention."""
        return cls(None, model, eager_bytes=eager_bytes)

    @property
    def uniform_model(self) -> LinkModel:
        """The one model of a network without links.

        Raises
        ------
        ScenarioError
            If there are links.
        """
        if self.model is None:
            raise ScenarioError("platform: network: links found, one model for all pairs of nodes needed here")
        return self.model

    @property
    def links(self) -> tuple[Link, ...]:
        """All links; none where one model holds for all."""
        return () if self.topology is None else self.topology.links

    def loopback_s(self, sizes_bytes: Floats) -> Floats:
        """Message times within a node.

        Raises
        ------
        ScenarioError
            If none is known.
        """
        model = self.loopback or self.model
        if model is None:
            raise ScenarioError(
                "platform: loopback: none found, message times within a node needed: two processes on one node"
            )
        return model.time_s(sizes_bytes)

    def routes(self, sources: Ints, destinations: Ints) -> Routes:
        """The routes of pairs of different nodes.

        Raises
        ------
        ScenarioError
            If there is none.
        """
        if self.topology is None:
            raise ScenarioError("platform: network: a route asked for where there are no links")
        first, directed = self.topology.routes(sources, destinations)
        if np.any(np.diff(first) < 1):
            pair = int(np.argmax(np.diff(first) < 1))
            where = f"from node {sources[pair]} to node {destinations[pair]}"
            raise ScenarioError(f"platform: network: no route found {where}, one for every message allowed")
        shared = np.array([link.shared for link in self.links])
        passed = np.where(shared[directed >> 1], directed & ~1, directed)
        latency = np.array([link.latency_s for link in self.links])[passed >> 1]
        bandwidth = np.array([link.bandwidth_bytes_per_s for link in self.links])[passed >> 1]
        return Routes(first, passed, np.add.reduceat(latency, first[:-1]), np.minimum.reduceat(bandwidth, first[:-1]))

    def times_s(self, routes: Routes, pair: Ints, sizes_bytes: Floats) -> Floats:
        """Message times without contention: the latencies of all links and the slowest link's time for the payload.

        Parameters
        ----------
        routes
            Of some pairs.
        pair, sizes_bytes
            Route and payload of each message; (messages,).
        """
        if all(link.model is None for link in self.links):
            return np.asarray(routes.latencies_s[pair] + sizes_bytes / routes.bandwidths[pair])
        times = np.empty(sizes_bytes.shape)
        for route in np.unique(pair).tolist():  # measured links: few routes, or one by one
            mine = pair == route
            passed = routes.links[routes.first[route] : routes.first[route + 1]] >> 1
            payload = [self._payload_s(self.links[link], sizes_bytes[mine]) for link in passed.tolist()]
            times[mine] = routes.latencies_s[route] + np.max(payload, axis=0)
        return times

    @staticmethod
    def _payload_s(link: Link, sizes_bytes: Floats) -> Floats:
        if link.model is None:
            return np.asarray(sizes_bytes / link.bandwidth_bytes_per_s)
        return np.asarray(link.model.time_s(sizes_bytes) - link.latency_s)


@dataclass(frozen=True)
class Star:
    """Every node has a link of its own to a switch that never fills; optionally a backbone that all routes pass."""

    private: tuple[Link, ...]
    """One per node, in node order; up is away from the node."""
    backbone: Link | None = None
    _links: tuple[Link, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_links", self.private + (() if self.backbone is None else (self.backbone,)))

    @property
    def links(self) -> tuple[Link, ...]:
        """Private links in node order, then the backbone."""
        return self._links

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Up, over the backbone if there is one, and down."""
        up, down = 2 * sources + UP, 2 * destinations + DOWN
        parts = [up, down] if self.backbone is None else [up, np.full_like(up, 2 * len(self.private)), down]
        return np.arange(sources.size + 1) * len(parts), np.stack(parts, axis=1).reshape(-1)

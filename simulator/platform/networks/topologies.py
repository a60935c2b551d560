"""Topologies: star, bus, two-level tree, torus, full mesh, and routes listed one by one.

Nodes are numbered from 0 on. In a directed link `2 * link + UP`, up is what each class says; a shared link has one
direction for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.platform.networks.link import Link
from simulator.platform.networks.network import DOWN, UP, Ints

MAX_MESH_NODES = 1024
"""A full mesh has half the square of its nodes in links."""


@dataclass(frozen=True)
class Star:
    """Every node has a link of its own to a switch that never fills; optionally a backbone that all routes pass."""

    private: tuple[Link, ...]
    """One per node, in node order; up is away from the node."""
    backbone: Link | None = None
    """Shared by all messages, whatever their direction."""
    _links: tuple[Link, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_links", self.private + (() if self.backbone is None else (self.backbone,)))

    @property
    def links(self) -> tuple[Link, ...]:
        """Private links in node order, then the backbone."""
        return self._links

    @property
    def node_count(self) -> int:
        """One per private link."""
        return len(self.private)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Up, over the backbone if there is one, and down."""
        up, down = 2 * sources + UP, 2 * destinations + DOWN
        parts = [up, down] if self.backbone is None else [up, np.full_like(up, 2 * len(self.private)), down]
        return np.arange(sources.size + 1) * len(parts), np.stack(parts, axis=1).reshape(-1)


@dataclass(frozen=True)
class Bus:
    """One link that all messages between nodes pass."""

    link: Link
    """Shared by both directions."""

    def __post_init__(self) -> None:
        if not self.link.shared:
            raise ScenarioError(f"platform: link {self.link.name}: shared: false found, true allowed for a bus")

    @property
    def links(self) -> tuple[Link, ...]:
        """The one link."""
        return (self.link,)

    @property
    def node_count(self) -> None:
        """Any number."""
        return

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:  # noqa: ARG002 - all the same
        """The bus."""
        return np.arange(sources.size + 1), np.zeros(sources.size, dtype=np.int64)


@dataclass(frozen=True)
class Tree:
    """Two levels: nodes on switches, and each switch with an uplink to a core that never fills."""

    private: tuple[Link, ...]
    """One per node, in node order; up is away from the node."""
    switch_of: tuple[int, ...]
    """Switch of each node."""
    uplinks: tuple[Link, ...]
    """One per switch; up is away from the nodes."""
    _links: tuple[Link, ...] = field(init=False, repr=False, compare=False)
    _switch: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.switch_of) != len(self.private):
            counts = f"{len(self.switch_of)} nodes on switches, {len(self.private)} links of nodes"
            raise ScenarioError(f"platform: network: switches: {counts} found, as many of each allowed")
        if self.switch_of and not 0 <= min(self.switch_of) <= max(self.switch_of) < len(self.uplinks):
            raise ScenarioError("platform: network: switches: one uplink for each switch allowed")
        object.__setattr__(self, "_links", self.private + self.uplinks)
        object.__setattr__(self, "_switch", np.array(self.switch_of, dtype=np.int64))

    @property
    def links(self) -> tuple[Link, ...]:
        """Those of the nodes, then those of the switches."""
        return self._links

    @property
    def node_count(self) -> int:
        """One per private link."""
        return len(self.private)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Up and down within a switch; else over both switches' uplinks too."""
        above, below = self._switch[sources], self._switch[destinations]
        away = above != below
        first = np.concatenate(([0], np.cumsum(np.where(away, 4, 2))))
        passed = np.empty(first[-1], dtype=np.int64)
        passed[first[:-1]] = 2 * sources + UP
        passed[first[1:] - 1] = 2 * destinations + DOWN
        passed[first[:-1][away] + 1] = 2 * (len(self.private) + above[away]) + UP
        passed[first[:-1][away] + 2] = 2 * (len(self.private) + below[away]) + DOWN
        return first, passed


@dataclass(frozen=True)
class Torus:
    """Nodes on a grid whose rows close to rings; routes go dimension by dimension, the shortest way round."""

    shape: tuple[int, ...]
    """Nodes along each of one to three dimensions; the last one counts fastest."""
    link: Link
    """What each link is like; up is towards the next coordinate. A ring of two nodes has one link."""
    _links: tuple[Link, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            found = f"platform: network: shape: {list(self.shape)} found"
            raise ScenarioError(f"{found}, one to three dimensions of at least 1 node allowed")
        places = [
            f"{self.link.name}-{'xyz'[along]}-{'.'.join(map(str, place))}"
            for along in range(len(self.shape))
            for place in product(*(range(size) for size in self._starts(along)))
        ]
        object.__setattr__(self, "_links", tuple(replace(self.link, name=name) for name in places))

    @property
    def links(self) -> tuple[Link, ...]:
        """Along the first dimension, then along the others; each named by its dimension and where it begins."""
        return self._links

    @property
    def node_count(self) -> int:
        """Product of the shape."""
        return int(np.prod(self.shape))

    def _starts(self, along: int) -> tuple[int, ...]:
        """The grid of nodes at which a link along a dimension begins."""
        size = self.shape[along]
        return (*self.shape[:along], size if size > 2 else size - 1, *self.shape[along + 1 :])

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Dimension by dimension; where both ways round are as long, up (in a ring of two: its one link)."""
        start = np.stack(np.unravel_index(sources, self.shape))
        end = np.stack(np.unravel_index(destinations, self.shape))
        size = np.array(self.shape)[:, np.newaxis]
        up = (end - start) % size
        ascends = np.where(size > 2, 2 * up <= size, start == 0)
        steps = np.where(ascends, up, (size - up) % size)
        before = np.concatenate((np.zeros((1, sources.size), dtype=np.int64), np.cumsum(steps, axis=0)))
        first = np.concatenate(([0], np.cumsum(before[-1])))
        passed = np.empty(first[-1], dtype=np.int64)
        offset = 0
        for along in range(len(self.shape)):
            pair = np.repeat(np.arange(sources.size), steps[along])
            step = np.arange(pair.size) - np.repeat(np.cumsum(steps[along]) - steps[along], steps[along])
            ascending = ascends[along, pair]
            place = np.where((np.arange(len(self.shape)) < along)[:, np.newaxis], end[:, pair], start[:, pair])
            place[along] = (start[along, pair] + np.where(ascending, step, -step - 1)) % self.shape[along]
            starts = self._starts(along)
            link = offset + np.ravel_multi_index(tuple(place), starts) if pair.size else pair
            passed[first[pair] + before[along, pair] + step] = 2 * link + np.where(ascending, UP, DOWN)
            offset += int(np.prod(starts))
        return first, passed


@dataclass(frozen=True)
class Mesh:
    """A link between any two nodes."""

    node_count: int
    link: Link
    """What each link is like; up is towards the node of the higher number."""
    _links: tuple[Link, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.node_count <= MAX_MESH_NODES:
            raise ScenarioError(
                f"platform: network: mesh: {self.node_count} nodes found, 1 to {MAX_MESH_NODES} allowed"
            )
        count = self.node_count
        names = (f"{self.link.name}-{low}.{high}" for low in range(count) for high in range(low + 1, count))
        object.__setattr__(self, "_links", tuple(replace(self.link, name=name) for name in names))

    @property
    def links(self) -> tuple[Link, ...]:
        """By the lower number of their nodes, then by the higher."""
        return self._links

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """The one link between the two."""
        low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
        link = low * (2 * self.node_count - low - 1) // 2 + high - low - 1
        return np.arange(sources.size + 1), 2 * link + np.where(sources < destinations, UP, DOWN)


@dataclass(frozen=True)
class Listed:
    """Routes given one by one."""

    node_names: tuple[str, ...]
    links: tuple[Link, ...]
    table: Mapping[tuple[int, int], tuple[int, ...]]
    """(source, destination) -> `2 * link + direction`, in the order passed."""
    _keys: Ints = field(init=False, repr=False, compare=False)
    _first: Ints = field(init=False, repr=False, compare=False)
    _passed: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for (source, destination), passed in self.table.items():
            self._check(source, destination, passed)
        pairs = sorted(self.table)
        keys = np.array([source * self.node_count + destination for source, destination in pairs], dtype=np.int64)
        lengths = np.array([len(self.table[pair]) for pair in pairs], dtype=np.int64)
        flat = [link for pair in pairs for link in self.table[pair]]
        object.__setattr__(self, "_keys", keys)
        object.__setattr__(self, "_first", np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))
        object.__setattr__(self, "_passed", np.array(flat, dtype=np.int64))

    def _check(self, source: int, destination: int, passed: tuple[int, ...]) -> None:
        count = self.node_count
        if not (0 <= source < count and 0 <= destination < count) or source == destination:
            raise ScenarioError(
                f"platform: network: route: {source} to {destination} found, two of {count} nodes allowed"
            )
        where = f"platform: network: route from {self.node_names[source]} to {self.node_names[destination]}"
        if not passed or not all(0 <= link < 2 * len(self.links) for link in passed):
            raise ScenarioError(f"{where}: {list(passed)} found, directed links of the network allowed")
        capacities = [link & ~1 if self.links[link >> 1].shared else link for link in passed]
        for link in capacities:
            if capacities.count(link) > 1:
                raise ScenarioError(f"{where}: link {self.links[link >> 1].name} twice found, each once allowed")

    @classmethod
    def both_ways(
        cls, node_names: tuple[str, ...], links: tuple[Link, ...], forth: Mapping[tuple[int, int], tuple[int, ...]]
    ) -> "Listed":
        """Routes whose way back, where none is given, is the same way in the other direction."""
        back = {(end, start): tuple(link ^ 1 for link in reversed(passed)) for (start, end), passed in forth.items()}
        return cls(node_names, links, back | dict(forth))

    @property
    def node_count(self) -> int:
        """One per name."""
        return len(self.node_names)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """As listed.

        Raises
        ------
        ScenarioError
            For the first pair without a route.
        """
        keys = sources * self.node_count + destinations
        row = np.searchsorted(self._keys, keys)
        known = row < self._keys.size
        known[known] = self._keys[row[known]] == keys[known]
        if not np.all(known):
            pair = int(np.argmin(known))
            names = f"{self.node_names[sources[pair]]} to node {self.node_names[destinations[pair]]}"
            raise ScenarioError(f"platform: network: a message has no route from node {names}; add one to routes")
        lengths = self._first[row + 1] - self._first[row]
        first = np.concatenate(([0], np.cumsum(lengths)))
        place = np.arange(first[-1]) - np.repeat(first[:-1] - self._first[row], lengths)
        return first, self._passed[place]

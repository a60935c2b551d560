"""Topologies: what a file says of each, its links and routes, and what is written back.

Nodes are numbered from 0 on. In a directed link `2 * link + UP`, up is what each class says; a shared link has one
direction for both. Another topology is a class and its form here, and the form's line in `TOPOLOGIES`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, model_validator

from simulator.base.arrays import Ints
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.form import NOT_BACKWARDS, Form, Names, one_of
from simulator.base.names import all_names, check_known, compact, turns
from simulator.models.network import MessageModel
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import (
    DOWN,
    UP,
    WHERE,
    NetworkForm,
    link_if_alike,
    private_links,
)

MAX_MESH_NODES = 1024
"""A full mesh has half the square of its nodes in links."""


def _refuse_copies(nodes: Sequence[int], why: str) -> None:
    if len(set(nodes)) < len(nodes):
        found = f"platform: network: it joins {len(set(nodes))} of its nodes, and {len(nodes)} are asked for"
        raise ScenarioError(f"{found}; {why}")


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
                f"platform: network: a route from {source} to {destination} does not join two of {count} nodes"
            )
        where = f"platform: network: route from {self.node_names[source]} to {self.node_names[destination]}"
        if not passed or not all(0 <= link < 2 * len(self.links) for link in passed):
            raise ScenarioError(f"{where}: {list(passed)} are no directed links of the network")
        capacities = [link & ~1 if self.links[link >> 1].shared else link for link in passed]
        for link in capacities:
            if capacities.count(link) > 1:
                raise ScenarioError(f"{where}: link {self.links[link >> 1].name} comes twice; pass each once")

    @property
    def node_count(self) -> int:
        """One per name."""
        return len(self.node_names)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """As listed.

        Raises ScenarioError for the first pair without a route.
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

    def to_data(self, names: Sequence[str]) -> Data:  # noqa: ARG002 - it has its own
        """Links by name, and routes."""
        routes = [
            {
                "from": self.node_names[source],
                "to": self.node_names[destination],
                "via": [f"{'-' if link & 1 else ''}{self.links[link >> 1].name}" for link in passed],
                "one_way": True,
            }
            for (source, destination), passed in sorted(self.table.items())
        ]
        return {"topology": "listed", "links": {link.name: link.to_data() for link in self.links}, "routes": routes}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Listed":
        """Its routes between them."""
        _refuse_copies(nodes, "routes are listed one by one: list those of more nodes")
        pairs = [(one, other) for one in range(len(nodes)) for other in range(len(nodes)) if one != other]
        known = {(nodes[one], nodes[other]): (one, other) for one, other in pairs}
        table = {known[pair]: passed for pair, passed in self.table.items() if pair in known}
        return Listed(tuple(names), self.links, table)


class RouteForm(Form):
    """The links from one node to another."""

    source: str = Field(alias="from")
    """A node."""
    to: str
    """Another node."""
    via: list[str] = Field(min_length=1)
    """Links in order, `[up, -down]`: `-` is a link in its other direction."""
    one_way: bool = False
    """Whether messages do not take the same links back."""

    def ends(self, site: Site, nodes: Mapping[str, int], here: Sequence[str | int]) -> tuple[int, int]:
        """The numbers of its nodes."""
        faults = site.faults()
        for key, name in (("from", self.source), ("to", self.to)):
            with faults.at(*here, key):
                check_known(name, nodes, what="node")
        faults.tell()
        with site.at(*here):
            if self.source == self.to:
                raise ScenarioError(f"it leads from {self.source} to itself; name two nodes (within a node: loopback)")
        return nodes[self.source], nodes[self.to]


class ListedForm(NetworkForm):
    """Links by name, and the routes over them."""

    topology: Literal["listed"]
    """As listed, and back the same way unless that is listed too or `one_way: true`."""
    links: dict[Annotated[str, Field(pattern=NOT_BACKWARDS)], LinkForm] = Field(min_length=1)
    """Links by name."""
    routes: list[RouteForm]
    """The links from each node to each other one."""

    def between_nodes(self, site: Site) -> Listed:
        """Links and routes."""
        faults, links, names = site.faults(), list[Link](), tuple(site.nodes)
        for name, form in self.links.items():
            with faults.at(*WHERE, "links", name):
                links.append(form.maker(site, *WHERE, "links", name)(name))
        faults.tell()
        numbers = {link.name: number for number, link in enumerate(links)}
        nodes = {name: number for number, name in enumerate(names)}
        forth: dict[tuple[int, int], tuple[int, ...]] = {}
        back: dict[tuple[int, int], tuple[int, ...]] = {}
        for place, route in enumerate(self.routes):
            here = (*WHERE, "routes", place)
            with faults.at(*here):
                pair = route.ends(site, nodes, here)
                if pair in forth:
                    raise ScenarioError(f"the route from {route.source} to {route.to} comes twice; leave one out")
                with site.at(*here, "via"):
                    forth[pair] = tuple(_directed(name, numbers) for name in route.via)
                    Listed(names, tuple(links), {pair: forth[pair]})  # which says what is wrong with it
                if not route.one_way:
                    back[pair[::-1]] = tuple(link ^ 1 for link in reversed(forth[pair]))
        faults.tell()
        return Listed(names, tuple(links), back | forth)


def _directed(name: str, numbers: Mapping[str, int]) -> int:
    link = name.removeprefix("-")
    check_known(link, numbers, what="link")
    return 2 * numbers[link] + (name != link)


@dataclass(frozen=True)
class Tree:
    """Two levels: nodes on switches, and each switch with an uplink to a core that never fills."""

    private: tuple[Link, ...]
    """One per node, in node order; up is away from the node."""
    switch_of: tuple[int, ...]
    uplinks: tuple[Link, ...]
    """One per switch; up is away from the nodes."""
    _switch: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.switch_of) != len(self.private):
            counts = f"{len(self.switch_of)} nodes on switches, {len(self.private)} links of nodes"
            raise ScenarioError(f"platform: network: switches: there are {counts}; give as many of each")
        if self.switch_of and not 0 <= min(self.switch_of) <= max(self.switch_of) < len(self.uplinks):
            raise ScenarioError("platform: network: switches: give one uplink for each switch")
        object.__setattr__(self, "_switch", np.array(self.switch_of, dtype=np.int64))

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Those of the nodes, then those of the switches."""
        return self.private + self.uplinks

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

    def to_data(self, names: Sequence[str]) -> Data:
        """The link of all nodes, if it is one, and the switches with their nodes."""
        switches = []
        for number, uplink in enumerate(self.uplinks):
            nodes = [names[node] for node in np.flatnonzero(self._switch == number).tolist()]
            if nodes:
                switches.append({"name": uplink.name, "nodes": compact(nodes) or nodes, "uplink": uplink.to_data()})
        return {"topology": "tree", **link_if_alike(self.private), "switches": switches}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Tree":  # noqa: ARG002 - links name them
        """Copies of nodes are on copies of their switches."""
        placed = [(turn, self.switch_of[node]) for turn, node in zip(turns(nodes), nodes, strict=True)]
        numbers = {switch: number for number, switch in enumerate(dict.fromkeys(placed))}
        uplinks = [
            replace(self.uplinks[switch], name=self.uplinks[switch].name + (f"-copy{turn}" if turn else ""))
            for turn, switch in numbers
        ]
        private = tuple(self.private[node] for node in nodes)
        return Tree(private, tuple(numbers[switch] for switch in placed), tuple(uplinks))


class SwitchForm(Form):
    """One switch of a tree."""

    nodes: Names
    """Nodes on it, ranges allowed."""
    name: str | None = Field(default=None, min_length=1)
    """What its uplink is called; `switch1` ... if not said."""
    uplink: LinkForm | None = None
    """Its link to the core; the network's `uplink` if not said."""


class TreeForm(NetworkForm):
    """Nodes on switches, switches on a core that never fills."""

    model_config = ConfigDict(json_schema_extra=one_of("switches", "nodes_per_switch"))
    OWN_LINKS: ClassVar[bool] = True

    topology: Literal["tree"]
    """Up and down, over both uplinks between switches; the core never fills."""
    link: LinkForm | None = None
    """Of each node that has none of its own."""
    uplink: LinkForm | None = None
    """Of each switch that has none of its own."""
    switches: list[SwitchForm] | None = Field(default=None, min_length=1)
    """The switches with their nodes."""
    nodes_per_switch: int | None = Field(default=None, ge=1)
    """In place of `switches`: so many nodes on each, in order."""

    @model_validator(mode="after")
    def _switches_one_way(self) -> "TreeForm":
        if (self.switches is None) == (self.nodes_per_switch is None):
            raise ValueError("give either switches or nodes_per_switch")
        return self

    def between_nodes(self, site: Site) -> Tree:
        """The tree."""
        private = private_links(site, self.link)
        switch_of, uplinks = self._evenly(site) if self.switches is None else self._listed(site, self.switches)
        with site.at(*WHERE):
            return Tree(private, switch_of, uplinks)

    def _evenly(self, site: Site) -> tuple[tuple[int, ...], tuple[Link, ...]]:
        """Switch of each node, and the uplinks, where switches have as many nodes."""
        switch_of = tuple(number // (self.nodes_per_switch or 1) for number in range(len(site.nodes)))
        maker = None if self.uplink is None else self.uplink.maker(site, *WHERE, "uplink")
        with site.at(*WHERE):
            if maker is None:
                raise ScenarioError("uplink: it is missing; write one for the switches")
        return switch_of, tuple(maker(f"switch{number + 1}") for number in range(switch_of[-1] + 1))

    def _listed(self, site: Site, switches: Sequence[SwitchForm]) -> tuple[tuple[int, ...], tuple[Link, ...]]:
        """The same where switches list their nodes."""
        usual = None if self.uplink is None else self.uplink.maker(site, *WHERE, "uplink")
        uplinks, found, faults = [], dict[str, int](), site.faults()
        for number, switch in enumerate(switches):
            here = (*WHERE, "switches", number)
            with faults.at(*here):
                maker = usual if switch.uplink is None else switch.uplink.maker(site, *here, "uplink")
                if maker is None:
                    raise ScenarioError("uplink: it is missing; write one here or in network")
                uplinks.append(maker(switch.name or f"switch{number + 1}"))
            with faults.at(*here, "nodes"):
                for name in all_names(switch.nodes):
                    check_known(name, site.nodes, what="node")
                    if name in found:
                        raise ScenarioError(f"{name!r} is on two switches; put each node on one")
                    found[name] = number
        faults.tell()
        with site.at(*WHERE, "switches"):
            for name in site.nodes:
                if name not in found:
                    raise ScenarioError(f"node {name!r} is on no switch; put it on one")
        return tuple(found[name] for name in site.nodes), tuple(uplinks)


@dataclass(frozen=True)
class Torus:
    """Nodes on a grid whose rows close to rings; routes go dimension by dimension, the shortest way round."""

    shape: tuple[int, ...]
    """Nodes along each of one to three dimensions; the last one counts fastest."""
    link: Link
    """What each link is like; up is towards the next coordinate. A ring of two nodes has one link."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            found = f"platform: network: shape: {list(self.shape)} is no torus"
            raise ScenarioError(f"{found}; give one to three dimensions of at least 1 node")

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Along the first dimension, then along the others; each named by its dimension and where it begins."""
        return tuple(
            replace(self.link, name=f"{self.link.name}-{'xyz'[along]}-{'.'.join(map(str, place))}")
            for along in range(len(self.shape))
            for place in product(*(range(size) for size in self._starts(along)))
        )

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

    def to_data(self, names: Sequence[str]) -> Data:  # noqa: ARG002 - names none
        """Shape and link."""
        return {"topology": "torus", "shape": list(self.shape), "link": self.link.to_data()}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Torus | Listed":
        """Routes of the whole torus, whose other nodes still pass messages on."""
        if list(nodes) == list(range(self.node_count)):
            return self
        _refuse_copies(nodes, "a torus has as many nodes as its shape says: write a larger one")
        pairs = [(one, other) for one in range(len(nodes)) for other in range(len(nodes)) if one != other]
        ends = np.array([(nodes[one], nodes[other]) for one, other in pairs], dtype=np.int64).reshape(-1, 2)
        first, passed = self.routes(ends[:, 0], ends[:, 1])
        table = {pair: tuple(passed[first[at] : first[at + 1]].tolist()) for at, pair in enumerate(pairs)}
        return Listed(tuple(names), self.links, table)


class TorusForm(NetworkForm):
    """A grid of nodes whose rows close to rings."""

    topology: Literal["torus"]
    """Dimension by dimension, the shortest way round, where both are as long upwards; a ring of two nodes has one
    link."""
    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=3)
    """Nodes in each of one to three dimensions, the last one counts fastest."""
    link: LinkForm
    """Between neighbours."""

    def between_nodes(self, site: Site) -> Torus:
        """The torus."""
        with site.at(*WHERE, "shape"):
            if np.prod(self.shape, dtype=np.float64) != len(site.nodes):
                found = f"{' x '.join(map(str, self.shape))} are not the {len(site.nodes)} nodes that are named"
                raise ScenarioError(f"{found}; give as many of each")
        return Torus(tuple(self.shape), self.link.maker(site, *WHERE, "link")("torus"))


@dataclass(frozen=True)
class Mesh:
    """A link between any two nodes."""

    node_count: int
    link: Link
    """What each link is like; up is towards the node of the higher number."""

    def __post_init__(self) -> None:
        if not 1 <= self.node_count <= MAX_MESH_NODES:
            raise ScenarioError(
                f"platform: network: a mesh of {self.node_count} nodes cannot be made; give 1 to {MAX_MESH_NODES}"
            )

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """By the lower number of their nodes, then by the higher."""
        ends = combinations(range(self.node_count), 2)
        return tuple(replace(self.link, name=f"{self.link.name}-{low}.{high}") for low, high in ends)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """The one link between the two."""
        low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
        link = low * (2 * self.node_count - low - 1) // 2 + high - low - 1
        return np.arange(sources.size + 1), 2 * link + np.where(sources < destinations, UP, DOWN)

    def to_data(self, names: Sequence[str]) -> Data:  # noqa: ARG002 - names none
        """The link."""
        return {"topology": "mesh", "link": self.link.to_data()}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Mesh":  # noqa: ARG002 - links name them
        """A mesh of as many."""
        return replace(self, node_count=len(nodes))


class MeshForm(NetworkForm):
    """A link between any two nodes."""

    topology: Literal["mesh"]
    """The one link between the two (at most 1,024 nodes)."""
    link: LinkForm
    """Between any two nodes."""

    def between_nodes(self, site: Site) -> Mesh:
        """The mesh."""
        with site.at(*WHERE):
            return Mesh(len(site.nodes), self.link.maker(site, *WHERE, "link")("mesh"))


@dataclass(frozen=True)
class Bus:
    """One link that all messages between nodes pass."""

    link: Link

    def __post_init__(self) -> None:
        if not self.link.shared:
            raise ScenarioError(
                f"platform: link {self.link.name}: a bus is shared by both directions; write shared: true"
            )

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

    def to_data(self, names: Sequence[str]) -> Data:  # noqa: ARG002 - names none
        """The one link."""
        return {"topology": "bus", "link": self.link.to_data(says_shared=False)}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Bus":  # noqa: ARG002 - it has any number
        """The same bus."""
        return self


class BusForm(NetworkForm):
    """One link that all nodes share."""

    topology: Literal["bus"]
    """The one link that all share."""
    link: LinkForm
    """The bus."""

    def between_nodes(self, site: Site) -> Bus:
        """The bus."""
        return Bus(self.link.maker(site, *WHERE, "link", always_shared=True)("bus"))


@dataclass(frozen=True)
class Star:
    """Every node has a link of its own to a switch that never fills; optionally a backbone that all routes pass."""

    private: tuple[Link, ...]
    """One per node, in node order; up is away from the node."""
    backbone: Link | None = None
    """Shared by all messages, whatever their direction."""

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Private links in node order, then the backbone."""
        return self.private + (() if self.backbone is None else (self.backbone,))

    @property
    def node_count(self) -> int:
        """One per private link."""
        return len(self.private)

    def routes(self, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
        """Up, over the backbone if there is one, and down."""
        up, down = 2 * sources + UP, 2 * destinations + DOWN
        parts = [up, down] if self.backbone is None else [up, np.full_like(up, 2 * len(self.private)), down]
        return np.arange(sources.size + 1) * len(parts), np.stack(parts, axis=1).reshape(-1)

    def to_data(self, names: Sequence[str]) -> Data:  # noqa: ARG002 - names none
        """The link of all nodes, if it is one, and the backbone."""
        above = {} if self.backbone is None else {"backbone": self.backbone.to_data(says_shared=False)}
        return {"topology": "star", **link_if_alike(self.private), **above}

    def of_nodes(self, nodes: Sequence[int], names: Sequence[str]) -> "Star":  # noqa: ARG002 - links name them
        """Their links, at the same switch."""
        return replace(self, private=tuple(self.private[node] for node in nodes))


class StarForm(NetworkForm):
    """A link for each node to one switch, and maybe a backbone that all messages pass."""

    OWN_LINKS: ClassVar[bool] = True

    topology: Literal["star"]
    """Up, over the backbone, down; the switch never fills, the backbone is shared."""
    link: LinkForm | None = None
    """Of each node that has none of its own."""
    backbone: LinkForm | None = None
    """What all messages between nodes pass."""

    def between_nodes(self, site: Site) -> Star:
        """The star."""
        backbone = self.backbone and self.backbone.maker(site, *WHERE, "backbone", always_shared=True)
        return Star(private_links(site, self.link), backbone("backbone") if backbone else None)


class UniformForm(NetworkForm):
    """One message time between any two nodes."""

    topology: Literal["uniform"]
    """One message time between any two nodes; no routes."""
    link: LinkForm
    """Message times between two nodes."""

    def between_nodes(self, site: Site) -> MessageModel:
        """The one model."""
        return self.link.end_to_end(site, *WHERE, "link")


TOPOLOGIES: tuple[type[NetworkForm], ...] = (
    UniformForm,
    StarForm,
    BusForm,
    TreeForm,
    TorusForm,
    MeshForm,
    ListedForm,
)
"""What files may say, in the order of the reference."""

if TYPE_CHECKING:
    AnyNetworkForm = NetworkForm
else:
    AnyNetworkForm = Annotated[Union[TOPOLOGIES], Discriminator("topology")]  # noqa: UP007 - of a table

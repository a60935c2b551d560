"""Links by name, and the routes over them listed one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from simulator.base.errors import ScenarioError
from simulator.base.form import NOT_BACKWARDS, Form
from simulator.base.names import check_known
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import WHERE, Ints, NetworkForm


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

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - it has its own
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

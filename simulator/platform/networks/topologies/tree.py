"""A tree of two levels: nodes on switches, switches on a core that never fills."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from simulator.base.errors import ScenarioError
from simulator.base.form import Form, Names, one_of
from simulator.base.names import all_names, check_known, compact
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import (
    DOWN,
    UP,
    WHERE,
    Ints,
    NetworkForm,
    link_if_alike,
    private_links,
)


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
            raise ScenarioError(f"platform: network: switches: there are {counts}; give as many of each")
        if self.switch_of and not 0 <= min(self.switch_of) <= max(self.switch_of) < len(self.uplinks):
            raise ScenarioError("platform: network: switches: give one uplink for each switch")
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

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:
        """The link of all nodes, if it is one, and the switches with their nodes."""
        switches = []
        for number, uplink in enumerate(self.uplinks):
            nodes = [names[node] for node in np.flatnonzero(self._switch == number).tolist()]
            if nodes:
                switches.append({"name": uplink.name, "nodes": compact(nodes) or nodes, "uplink": uplink.to_data()})
        return {"topology": "tree", **link_if_alike(self.private), "switches": switches}


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

"""A full mesh: a link between any two nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import DOWN, UP, WHERE, Ints, NetworkForm

MAX_MESH_NODES = 1024
"""A full mesh has half the square of its nodes in links."""


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
                f"platform: network: a mesh of {self.node_count} nodes cannot be made; give 1 to {MAX_MESH_NODES}"
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

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - names none
        """The link."""
        return {"topology": "mesh", "link": self.link.to_data()}


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

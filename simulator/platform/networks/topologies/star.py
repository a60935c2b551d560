"""A star: every node has a link of its own to a switch that never fills, and maybe all pass a backbone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

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

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - names none
        """The link of all nodes, if it is one, and the backbone."""
        above = {} if self.backbone is None else {"backbone": self.backbone.to_data(says_shared=False)}
        return {"topology": "star", **link_if_alike(self.private), **above}


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

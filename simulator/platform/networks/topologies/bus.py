"""A bus: one link that all messages between nodes pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.platform.named_files import Site
from simulator.platform.networks.link import Link, LinkForm
from simulator.platform.networks.network import WHERE, Ints, NetworkForm


@dataclass(frozen=True)
class Bus:
    """One link that all messages between nodes pass."""

    link: Link
    """Shared by both directions."""

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

    def to_data(self, names: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - names none
        """The one link."""
        return {"topology": "bus", "link": self.link.to_data(says_shared=False)}


class BusForm(NetworkForm):
    """One link that all nodes share."""

    topology: Literal["bus"]
    """The one link that all share."""
    link: LinkForm
    """The bus."""

    def between_nodes(self, site: Site) -> Bus:
        """The bus."""
        return Bus(self.link.maker(site, *WHERE, "link", always_shared=True)("bus"))

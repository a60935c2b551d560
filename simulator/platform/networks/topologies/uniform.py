"""One message time between any two nodes, without links and routes."""

from typing import Literal

from simulator.models.network import MessageModel
from simulator.platform.named_files import Site
from simulator.platform.networks.link import LinkForm
from simulator.platform.networks.network import WHERE, NetworkForm


class UniformForm(NetworkForm):
    """One message time between any two nodes."""

    topology: Literal["uniform"]
    """One message time between any two nodes; no routes."""
    link: LinkForm
    """Message times between two nodes."""

    def between_nodes(self, site: Site) -> MessageModel:
        """The one model."""
        return self.link.end_to_end(site, *WHERE, "link")

"""Networks: links, the routes between nodes, and how long messages take over them."""

from simulator.networks.link import Link
from simulator.networks.network import Contention, Network, Star, Topology

__all__ = ["Contention", "Link", "Network", "Star", "Topology"]

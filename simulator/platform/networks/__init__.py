"""Networks: links, the routes between nodes, and how long messages take over them."""

from simulator.platform.networks.link import Link
from simulator.platform.networks.network import ASSUMED_LOOPBACK, Contention, Network, Topology
from simulator.platform.networks.topologies import Bus, Listed, Mesh, Star, Torus, Tree

__all__ = [
    "ASSUMED_LOOPBACK",
    "Bus",
    "Contention",
    "Link",
    "Listed",
    "Mesh",
    "Network",
    "Star",
    "Topology",
    "Torus",
    "Tree",
]

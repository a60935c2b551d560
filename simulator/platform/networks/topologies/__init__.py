"""Topologies, a file each: what a file says of one, its links and routes, and what is written back.

Nodes are numbered from 0 on. In a directed link `2 * link + UP`, up is what each class says; a shared link has one
direction for both. Another topology is a file here and its line in `TOPOLOGIES`.
"""

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Discriminator

from simulator.platform.networks.network import NetworkForm
from simulator.platform.networks.topologies.bus import Bus, BusForm
from simulator.platform.networks.topologies.listed import Listed, ListedForm
from simulator.platform.networks.topologies.mesh import Mesh, MeshForm
from simulator.platform.networks.topologies.star import Star, StarForm
from simulator.platform.networks.topologies.torus import Torus, TorusForm
from simulator.platform.networks.topologies.tree import Tree, TreeForm
from simulator.platform.networks.topologies.uniform import UniformForm

__all__ = ["TOPOLOGIES", "AnyNetworkForm", "Bus", "Listed", "Mesh", "Star", "Torus", "Tree"]

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

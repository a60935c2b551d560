"""Message times: how long a payload takes from one process to another, as given or as fitted to measurements."""

from simulator.models.network.choice import CRITERION, NetworkFit, fit_network
from simulator.models.network.kinds import FORMS, KINDS
from simulator.models.network.kinds.curves import KnotsModel
from simulator.models.network.kinds.kind import Kind, MessageModel
from simulator.models.network.kinds.knots import LinkModel, fit_link
from simulator.models.network.kinds.lines import PiecewiseModel
from simulator.models.network.kinds.packetised import PacketisedModel
from simulator.models.network.kinds.packets import PacketModel
from simulator.models.network.network_model import NetworkModel
from simulator.models.network.points import NetworkPoints, make_points

FittedForm = MessageModel
"""A model that was fitted to measured times."""

__all__ = [
    "CRITERION",
    "FORMS",
    "KINDS",
    "FittedForm",
    "Kind",
    "KnotsModel",
    "LinkModel",
    "MessageModel",
    "NetworkFit",
    "NetworkModel",
    "NetworkPoints",
    "PacketModel",
    "PacketisedModel",
    "PiecewiseModel",
    "fit_link",
    "fit_network",
    "make_points",
]

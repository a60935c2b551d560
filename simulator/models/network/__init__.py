"""Message times: how long a payload takes from one process to another, as given or as fitted to measurements."""

from simulator.models.network.choice import CRITERION, JudgedForm, NetworkFit, fit_network
from simulator.models.network.kinds import FITS, FORMS, KINDS
from simulator.models.network.kinds.curves import KnotsModel
from simulator.models.network.kinds.kind import Fitted, Kind, MessageModel, Parameter
from simulator.models.network.kinds.knots import LinkModel, fit_link
from simulator.models.network.kinds.lines import PiecewiseModel
from simulator.models.network.kinds.packetised import PacketisedModel
from simulator.models.network.kinds.packets import PacketModel
from simulator.models.network.network_model import MessageTimes, NetworkModel
from simulator.models.network.points import NetworkPoints, make_points

FittedForm = MessageModel
"""A model that was fitted to measured times."""

__all__ = [
    "CRITERION",
    "FITS",
    "FORMS",
    "KINDS",
    "Fitted",
    "FittedForm",
    "JudgedForm",
    "Kind",
    "KnotsModel",
    "LinkModel",
    "MessageModel",
    "MessageTimes",
    "NetworkFit",
    "NetworkModel",
    "NetworkPoints",
    "PacketModel",
    "PacketisedModel",
    "Parameter",
    "PiecewiseModel",
    "fit_link",
    "fit_network",
    "make_points",
]

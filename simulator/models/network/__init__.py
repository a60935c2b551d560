"""Message times: how long a payload takes from one process to another, as given or as fitted to measurements."""

from simulator.models.network.choice import CRITERION, JudgedForm, NetworkFit, fit_network
from simulator.models.network.fitted import Fitted, Parameter
from simulator.models.network.fitted_forms import FittedForm, KnotsModel, PacketisedModel, PiecewiseModel
from simulator.models.network.link_models import LinkModel, PacketModel, fit_link
from simulator.models.network.network_model import NetworkModel, TimesForetold
from simulator.models.network.points import NetworkPoints, make_points
from simulator.models.network.scaled import drawn_model, scaled_model

MessageModel = LinkModel | PacketModel | FittedForm
"""Message times by payload, of one link or from end to end."""

__all__ = [
    "CRITERION",
    "Fitted",
    "FittedForm",
    "JudgedForm",
    "KnotsModel",
    "LinkModel",
    "MessageModel",
    "NetworkFit",
    "NetworkModel",
    "NetworkPoints",
    "PacketModel",
    "PacketisedModel",
    "Parameter",
    "PiecewiseModel",
    "TimesForetold",
    "drawn_model",
    "fit_link",
    "fit_network",
    "make_points",
    "scaled_model",
]

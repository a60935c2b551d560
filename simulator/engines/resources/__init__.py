"""What the processes of the SimPy engine share: PEs under load, messages, links, barriers and farms.

All of it speaks in ticks. What takes time hands out an `Occurrence`, a SimPy event, which a process waits for; what is
decided at the end of an instant is asked for through `Instant`.
"""

from simulator.engines.resources.cpu import OwnPE, Service, SharedPE, Site, Usage
from simulator.engines.resources.flows import FairLinks, deciding
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.engines.resources.links import (
    Barriers,
    Farms,
    FarmTerms,
    FifoLinks,
    Messages,
    Movements,
    NoContention,
    Request,
    Transfers,
)
from simulator.engines.resources.neighbours import DomainPE, Neighbourhood

__all__ = [
    "Barriers",
    "Clock",
    "DomainPE",
    "FairLinks",
    "FarmTerms",
    "Farms",
    "FifoLinks",
    "Instant",
    "Messages",
    "Movements",
    "Neighbourhood",
    "NoContention",
    "Occurrence",
    "OwnPE",
    "Phase",
    "Request",
    "Service",
    "SharedPE",
    "Site",
    "Transfers",
    "Usage",
    "deciding",
]

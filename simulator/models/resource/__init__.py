"""Resource usage vectors (RUVs), and the resource models that turn them into time.

After Papaefstathiou and others, "An Analysis of Processor Resource Models for Use in Performance Prediction",
CS-RR-279, University of Warwick, 1995.
"""

from simulator.models.resource.costs import Cost, CostVector, MemoryTerm
from simulator.models.resource.hardware import HardwareModel
from simulator.models.resource.ruvs import METHODS, NO_RUVS, Amount, Guess, Method, Ruv, Ruvs
from simulator.models.resource.times import Times

__all__ = [
    "METHODS",
    "NO_RUVS",
    "Amount",
    "Cost",
    "CostVector",
    "Guess",
    "HardwareModel",
    "MemoryTerm",
    "Method",
    "Ruv",
    "Ruvs",
    "Times",
]

"""Pure maths: arrays in, same shape out; no clock, no files, no random numbers."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.models.capacity import Capacity
    from simulator.models.load_functions import LoadFunctions, PredictedLoads, build_load_functions, regular_step
    from simulator.models.load_window import LoadWindow

_HOMES = {
    "Capacity": "simulator.models.capacity",
    "LoadFunctions": "simulator.models.load_functions",
    "LoadWindow": "simulator.models.load_window",
    "PredictedLoads": "simulator.models.load_functions",
    "build_load_functions": "simulator.models.load_functions",
    "regular_step": "simulator.models.load_functions",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "Capacity",
    "LoadFunctions",
    "LoadWindow",
    "PredictedLoads",
    "build_load_functions",
    "regular_step",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

"""Apportion's simulator: real runs become models, models and a program become a scenario, engines interpret it.

Public names are listed in `__all__` and resolved when first used, so that `import simulator` costs nothing.
"""

# Layers (a module imports only from earlier lines; names on one line do not import each other):
#   errors
#   units
#   files, machine
#   randomness, provenance, formula
#   models
#   platform, program, configuration
#   collectives
#   applications
#   load_traces
#   calibration
#   characterisation
#   scenario
#   scenario_file
#   costs, results
#   engines
#   whatif, sweep, plots

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

_HOMES: dict[str, str] = {
    "ScenarioError": "simulator.errors",
    "plot_runtime_fit": "simulator.plots",
    "stream": "simulator.randomness",
}
"""Public name -> the module that it comes from."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""What counts operations in source, intermediate and machine code of a kernel, and what they cost on this machine.

Graphs (SEG) and their templates are programs and live in `programs.graphs`, costs as a model
in `models.resource`; the paper's tables in `advisor.reproduce`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.characterisation.costs.calibration import calibrate_resource, kept_here, known_here, runs_beside
    from simulator.characterisation.costs.vectors import times_of_model
    from simulator.characterisation.study import characterise, make_subject
    from simulator.models.resource import METHODS
    from simulator.programs.graphs.nodes import total_ruv

_HOMES = {
    "METHODS": "simulator.models.resource",
    "calibrate_resource": "simulator.characterisation.costs.calibration",
    "characterise": "simulator.characterisation.study",
    "kept_here": "simulator.characterisation.costs.calibration",
    "known_here": "simulator.characterisation.costs.calibration",
    "make_subject": "simulator.characterisation.study",
    "runs_beside": "simulator.characterisation.costs.calibration",
    "times_of_model": "simulator.characterisation.costs.vectors",
    "total_ruv": "simulator.programs.graphs.nodes",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "METHODS",
    "calibrate_resource",
    "characterise",
    "kept_here",
    "known_here",
    "make_subject",
    "runs_beside",
    "times_of_model",
    "total_ruv",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

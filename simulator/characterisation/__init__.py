"""Software execution graphs, what counts operations in source, intermediate and machine code, and what costs them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.characterisation.costs.calibration import calibrate_resource
    from simulator.characterisation.costs.guesses import DESIGN
    from simulator.characterisation.costs.hardware_files import kept_here, known_here, runs_beside
    from simulator.characterisation.costs.memory_term import times_of_model
    from simulator.characterisation.kernels.study import StudyKernel
    from simulator.characterisation.kernels.table import STUDY_KERNELS
    from simulator.characterisation.seg.check import check
    from simulator.characterisation.seg.evaluate import Totals, expected_time, total_ruv, used_methods, visits
    from simulator.characterisation.seg.nodes import Branch, Call, Graph, Loop, Processing, Seg, Sequence
    from simulator.characterisation.seg.text import timing_formula, timing_formulas
    from simulator.characterisation.study.study import characterise, characterise_all, statistics
    from simulator.characterisation.study.subjects import Subject, make_subject
    from simulator.models.resource import METHODS

_HOMES = {
    "Branch": "simulator.characterisation.seg.nodes",
    "Call": "simulator.characterisation.seg.nodes",
    "DESIGN": "simulator.characterisation.costs.guesses",
    "Graph": "simulator.characterisation.seg.nodes",
    "Loop": "simulator.characterisation.seg.nodes",
    "METHODS": "simulator.models.resource",
    "Processing": "simulator.characterisation.seg.nodes",
    "STUDY_KERNELS": "simulator.characterisation.kernels.table",
    "Seg": "simulator.characterisation.seg.nodes",
    "Sequence": "simulator.characterisation.seg.nodes",
    "StudyKernel": "simulator.characterisation.kernels.study",
    "Subject": "simulator.characterisation.study.subjects",
    "Totals": "simulator.characterisation.seg.evaluate",
    "calibrate_resource": "simulator.characterisation.costs.calibration",
    "characterise": "simulator.characterisation.study.study",
    "characterise_all": "simulator.characterisation.study.study",
    "check": "simulator.characterisation.seg.check",
    "expected_time": "simulator.characterisation.seg.evaluate",
    "kept_here": "simulator.characterisation.costs.hardware_files",
    "known_here": "simulator.characterisation.costs.hardware_files",
    "make_subject": "simulator.characterisation.study.subjects",
    "runs_beside": "simulator.characterisation.costs.hardware_files",
    "statistics": "simulator.characterisation.study.study",
    "times_of_model": "simulator.characterisation.costs.memory_term",
    "timing_formula": "simulator.characterisation.seg.text",
    "timing_formulas": "simulator.characterisation.seg.text",
    "total_ruv": "simulator.characterisation.seg.evaluate",
    "used_methods": "simulator.characterisation.seg.evaluate",
    "visits": "simulator.characterisation.seg.evaluate",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "DESIGN",
    "METHODS",
    "STUDY_KERNELS",
    "Branch",
    "Call",
    "Graph",
    "Loop",
    "Processing",
    "Seg",
    "Sequence",
    "StudyKernel",
    "Subject",
    "Totals",
    "calibrate_resource",
    "characterise",
    "characterise_all",
    "check",
    "expected_time",
    "kept_here",
    "known_here",
    "make_subject",
    "runs_beside",
    "statistics",
    "times_of_model",
    "timing_formula",
    "timing_formulas",
    "total_ruv",
    "used_methods",
    "visits",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

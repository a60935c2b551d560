"""What counts operations in source, intermediate and machine code of a kernel, and what they cost on this machine.

Graphs (SEG) and their templates are programs and live in `programs.graphs`, costs as a model
in `models.resource`; the paper's tables in `advisor.reproduce`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.characterisation.costs.calibration import calibrate_resource, kept_here, known_here, runs_beside
    from simulator.characterisation.costs.guesses import DESIGN
    from simulator.characterisation.costs.vectors import times_of_model
    from simulator.characterisation.kernels import STUDY_KERNELS, StudyKernel
    from simulator.characterisation.parallel.predicted import TIMED, ParallelPrediction, parallel_work, predict_parallel
    from simulator.characterisation.parallel.real import RealTimes, run_in_turns
    from simulator.characterisation.parallel.table import PARALLEL_KERNELS, ParallelKernel, parallel_kernel, shares
    from simulator.characterisation.study import Subject, characterise, characterise_all, make_subject, statistics
    from simulator.models.resource import METHODS
    from simulator.programs.graphs.nodes import (
        Branch,
        Call,
        Graph,
        Loop,
        Processing,
        Seg,
        Sequence,
        Totals,
        check,
        expected_time,
        timing_formula,
        timing_formulas,
        total_ruv,
        used_methods,
        visits,
    )

_HOMES = {
    "Branch": "simulator.programs.graphs.nodes",
    "Call": "simulator.programs.graphs.nodes",
    "DESIGN": "simulator.characterisation.costs.guesses",
    "ParallelPrediction": "simulator.characterisation.parallel.predicted",
    "Graph": "simulator.programs.graphs.nodes",
    "Loop": "simulator.programs.graphs.nodes",
    "METHODS": "simulator.models.resource",
    "PARALLEL_KERNELS": "simulator.characterisation.parallel.table",
    "ParallelKernel": "simulator.characterisation.parallel.table",
    "Processing": "simulator.programs.graphs.nodes",
    "RealTimes": "simulator.characterisation.parallel.real",
    "STUDY_KERNELS": "simulator.characterisation.kernels",
    "Seg": "simulator.programs.graphs.nodes",
    "Sequence": "simulator.programs.graphs.nodes",
    "StudyKernel": "simulator.characterisation.kernels",
    "Subject": "simulator.characterisation.study",
    "TIMED": "simulator.characterisation.parallel.predicted",
    "Totals": "simulator.programs.graphs.nodes",
    "calibrate_resource": "simulator.characterisation.costs.calibration",
    "characterise": "simulator.characterisation.study",
    "characterise_all": "simulator.characterisation.study",
    "check": "simulator.programs.graphs.nodes",
    "expected_time": "simulator.programs.graphs.nodes",
    "predict_parallel": "simulator.characterisation.parallel.predicted",
    "kept_here": "simulator.characterisation.costs.calibration",
    "known_here": "simulator.characterisation.costs.calibration",
    "make_subject": "simulator.characterisation.study",
    "parallel_kernel": "simulator.characterisation.parallel.table",
    "parallel_work": "simulator.characterisation.parallel.predicted",
    "run_in_turns": "simulator.characterisation.parallel.real",
    "runs_beside": "simulator.characterisation.costs.calibration",
    "shares": "simulator.characterisation.parallel.table",
    "statistics": "simulator.characterisation.study",
    "times_of_model": "simulator.characterisation.costs.vectors",
    "timing_formula": "simulator.programs.graphs.nodes",
    "timing_formulas": "simulator.programs.graphs.nodes",
    "total_ruv": "simulator.programs.graphs.nodes",
    "used_methods": "simulator.programs.graphs.nodes",
    "visits": "simulator.programs.graphs.nodes",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "DESIGN",
    "METHODS",
    "PARALLEL_KERNELS",
    "STUDY_KERNELS",
    "TIMED",
    "Branch",
    "Call",
    "Graph",
    "Loop",
    "ParallelKernel",
    "ParallelPrediction",
    "Processing",
    "RealTimes",
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
    "parallel_kernel",
    "parallel_work",
    "predict_parallel",
    "run_in_turns",
    "runs_beside",
    "shares",
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

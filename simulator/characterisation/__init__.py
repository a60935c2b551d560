"""What counts operations in source, intermediate and machine code of a kernel, and what they cost on this machine.

Graphs (SEG) and their templates are programs and live in `programs.graphs`, costs as a model
in `models.resource`; the paper's tables in `advisor.reproduce`.
"""

from typing import TYPE_CHECKING

from simulator.base.faces import face

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
else:
    __all__, __dir__, __getattr__ = face(__name__)

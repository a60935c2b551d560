"""What counts operations in source, intermediate and machine code of a kernel, and what they cost on this machine.

Graphs (SEG) and their templates are programs and live in `programs.graphs`, costs as a model
in `models.resource`; the paper's tables in `advisor.reproduce`.
"""

from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.characterisation.costs.calibration import (
        calibrate_resource as calibrate_resource,
        kept_here as kept_here,
        known_here as known_here,
        runs_beside as runs_beside,
    )
    from simulator.characterisation.costs.guesses import DESIGN as DESIGN
    from simulator.characterisation.costs.vectors import times_of_model as times_of_model
    from simulator.characterisation.kernels import STUDY_KERNELS as STUDY_KERNELS, StudyKernel as StudyKernel
    from simulator.characterisation.parallel.predicted import (
        TIMED as TIMED,
        ParallelPrediction as ParallelPrediction,
        parallel_work as parallel_work,
        predict_parallel as predict_parallel,
    )
    from simulator.characterisation.parallel.real import RealTimes as RealTimes, run_in_turns as run_in_turns
    from simulator.characterisation.parallel.table import (
        PARALLEL_KERNELS as PARALLEL_KERNELS,
        ParallelKernel as ParallelKernel,
        parallel_kernel as parallel_kernel,
        shares as shares,
    )
    from simulator.characterisation.study import (
        Subject as Subject,
        characterise as characterise,
        characterise_all as characterise_all,
        make_subject as make_subject,
        statistics as statistics,
    )
    from simulator.models.resource import METHODS as METHODS
    from simulator.programs.graphs.nodes import (
        Branch as Branch,
        Call as Call,
        Graph as Graph,
        Loop as Loop,
        Processing as Processing,
        Seg as Seg,
        Sequence as Sequence,
        Totals as Totals,
        check as check,
        expected_time as expected_time,
        timing_formula as timing_formula,
        timing_formulas as timing_formulas,
        total_ruv as total_ruv,
        used_methods as used_methods,
        visits as visits,
    )
else:
    __all__, __dir__, __getattr__ = face(__name__)

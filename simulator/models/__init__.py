"""What is known of speed, load, memory, messages, run times and process counts, each with the file that keeps it."""

from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.models.doubt import (
        COMMON as COMMON,
        DRIFT as DRIFT,
        Doubt as Doubt,
        Noise as Noise,
        noise_and_doubt as noise_and_doubt,
    )
    from simulator.models.error_summary import ErrorStatistics as ErrorStatistics, error_statistics as error_statistics
    from simulator.models.load import Capacity as Capacity
    from simulator.models.load_functions import (
        LoadFunctions as LoadFunctions,
        LoadWindow as LoadWindow,
        PredictedLoads as PredictedLoads,
        build_load_functions as build_load_functions,
        regular_step as regular_step,
    )
    from simulator.models.memory.forms import MemoryTimes as MemoryTimes
    from simulator.models.memory.model import MemoryModel as MemoryModel, MemoryPredictions as MemoryPredictions
    from simulator.models.memory.selection import select_model as select_model
    from simulator.models.process_count.model import (
        ProcessCountModel as ProcessCountModel,
        fit_process_counts as fit_process_counts,
    )
    from simulator.models.process_count.runs import (
        AllocationRuns as AllocationRuns,
        Estimates as Estimates,
    )
    from simulator.models.regression.diagnostics import (
        Diagnosis as Diagnosis,
        advise_next_run as advise_next_run,
        diagnose as diagnose,
    )
    from simulator.models.regression.fitting import METHODS as METHODS, fit as fit
    from simulator.models.regression.runs import Runs as Runs, cells_of as cells_of, make_runs as make_runs
    from simulator.models.regression.runtime_model import Predictions as Predictions, RuntimeModel as RuntimeModel
    from simulator.models.resource import (
        Cost as Cost,
        CostVector as CostVector,
        Guess as Guess,
        HardwareModel as HardwareModel,
        MemoryTerm as MemoryTerm,
        Times as Times,
    )
    from simulator.models.speed import Cut as Cut, SpeedFunction as SpeedFunction
else:
    __all__, __dir__, __getattr__ = face(__name__)

"""What is known of speed, load, memory, messages, run times and process counts, each with the file that keeps it."""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.models.doubt import COMMON, DRIFT, Doubt, Noise, noise_and_doubt
    from simulator.models.error_summary import ErrorStatistics, error_statistics
    from simulator.models.load import Capacity
    from simulator.models.load_functions import LoadFunctions, build_load_functions, regular_step
    from simulator.models.memory.forms import MemoryTimes
    from simulator.models.memory.model import MemoryModel, MemoryPredictions
    from simulator.models.memory.selection import select_model
    from simulator.models.network.choice import fit_network
    from simulator.models.process_count.model import ProcessCountModel, fit_process_counts
    from simulator.models.process_count.runs import AllocationRuns, Estimates
    from simulator.models.regression.diagnostics import Diagnosis, diagnose
    from simulator.models.regression.fitting import METHODS, fit
    from simulator.models.regression.runs import Runs, cells_of, make_runs
    from simulator.models.regression.runtime_model import Predictions, RuntimeModel
    from simulator.models.resource import Cost, CostVector, Guess, HardwareModel, MemoryTerm, Times
    from simulator.models.speed import Cut, SpeedFunction
else:
    __all__, __dir__, __getattr__ = face(__name__)

"""What is known of speed, load, memory, messages, run times and process counts, each with the file that it is kept in.

Mathematics on arrays: no clock and no random numbers; a model is read and written where it is defined. What measures
lives in `calibration`, what a scenario says of a PE or link in `platform`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.models.doubt import COMMON, DRIFT, Doubt, Noise, noise_and_doubt
    from simulator.models.error_summary import ErrorStatistics, error_statistics
    from simulator.models.load import Capacity
    from simulator.models.load_functions import (
        LoadFunctions,
        LoadWindow,
        PredictedLoads,
        build_load_functions,
        regular_step,
    )
    from simulator.models.memory.forms import MemoryTimes
    from simulator.models.memory.model import MemoryModel, MemoryPredictions
    from simulator.models.memory.selection import select_model
    from simulator.models.process_count.model import ProcessCountModel, fit_process_counts
    from simulator.models.process_count.runs import AllocationRuns, Estimates, ShareTables
    from simulator.models.regression.diagnostics import advise_next_run, diagnose
    from simulator.models.regression.fitting import METHODS, fit
    from simulator.models.regression.runs import Runs, cells_of, make_runs
    from simulator.models.regression.runtime_model import Predictions, RuntimeModel, model_from_dict
    from simulator.models.resource import Cost, CostVector, Guess, HardwareModel, MemoryTerm, Times
    from simulator.models.speed import Cut, SpeedFunction

_HOMES = {
    "AllocationRuns": "simulator.models.process_count.runs",
    "COMMON": "simulator.models.doubt",
    "Capacity": "simulator.models.load",
    "Cost": "simulator.models.resource",
    "CostVector": "simulator.models.resource",
    "Cut": "simulator.models.speed",
    "DRIFT": "simulator.models.doubt",
    "Doubt": "simulator.models.doubt",
    "ErrorStatistics": "simulator.models.error_summary",
    "Estimates": "simulator.models.process_count.runs",
    "Guess": "simulator.models.resource",
    "HardwareModel": "simulator.models.resource",
    "LoadFunctions": "simulator.models.load_functions",
    "LoadWindow": "simulator.models.load_functions",
    "METHODS": "simulator.models.regression.fitting",
    "MemoryModel": "simulator.models.memory.model",
    "MemoryPredictions": "simulator.models.memory.model",
    "MemoryTerm": "simulator.models.resource",
    "MemoryTimes": "simulator.models.memory.forms",
    "Noise": "simulator.models.doubt",
    "PredictedLoads": "simulator.models.load_functions",
    "Predictions": "simulator.models.regression.runtime_model",
    "ProcessCountModel": "simulator.models.process_count.model",
    "Runs": "simulator.models.regression.runs",
    "RuntimeModel": "simulator.models.regression.runtime_model",
    "ShareTables": "simulator.models.process_count.runs",
    "SpeedFunction": "simulator.models.speed",
    "Times": "simulator.models.resource",
    "advise_next_run": "simulator.models.regression.diagnostics",
    "build_load_functions": "simulator.models.load_functions",
    "cells_of": "simulator.models.regression.runs",
    "diagnose": "simulator.models.regression.diagnostics",
    "error_statistics": "simulator.models.error_summary",
    "fit": "simulator.models.regression.fitting",
    "fit_process_counts": "simulator.models.process_count.model",
    "make_runs": "simulator.models.regression.runs",
    "model_from_dict": "simulator.models.regression.runtime_model",
    "noise_and_doubt": "simulator.models.doubt",
    "regular_step": "simulator.models.load_functions",
    "select_model": "simulator.models.memory.selection",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "COMMON",
    "DRIFT",
    "METHODS",
    "AllocationRuns",
    "Capacity",
    "Cost",
    "CostVector",
    "Cut",
    "Doubt",
    "ErrorStatistics",
    "Estimates",
    "Guess",
    "HardwareModel",
    "LoadFunctions",
    "LoadWindow",
    "MemoryModel",
    "MemoryPredictions",
    "MemoryTerm",
    "MemoryTimes",
    "Noise",
    "PredictedLoads",
    "Predictions",
    "ProcessCountModel",
    "Runs",
    "RuntimeModel",
    "ShareTables",
    "SpeedFunction",
    "Times",
    "advise_next_run",
    "build_load_functions",
    "cells_of",
    "diagnose",
    "error_statistics",
    "fit",
    "fit_process_counts",
    "make_runs",
    "model_from_dict",
    "noise_and_doubt",
    "regular_step",
    "select_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

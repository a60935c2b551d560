"""Real runs become measurements, measurements become models."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.calibration.comparison import Compared, compare_builders
    from simulator.calibration.history import RunRecord, add_runs, list_runs
    from simulator.calibration.history_application import ApplicationPlan, make_application_plan
    from simulator.calibration.history_formats import export_runs, import_runs, save_export
    from simulator.calibration.history_record import RunPlan, make_plan, parse_grid, record_runs
    from simulator.calibration.kernels import KERNELS, Kernel
    from simulator.calibration.kernels.sized import SizedKernel
    from simulator.calibration.kernels.table import SIZED_KERNELS
    from simulator.calibration.links import measure_link
    from simulator.calibration.measure import Measurement, Point, measure_speeds, measured_bands
    from simulator.calibration.memory_files import (
        MemoryFit,
        fit_memory,
        fit_memory_table,
        load_memory_model,
        predict_memory,
        read_memory_times,
        save_memory_model,
    )
    from simulator.calibration.parallel.competitor import Competitor
    from simulator.calibration.parallel.ranks import Ranks, RealRun
    from simulator.calibration.predicted_speed import SpeedForetold, foretell_speed
    from simulator.calibration.real.point_store import points_kept
    from simulator.calibration.real.sampling import RealPoint
    from simulator.calibration.real_source import RealSource
    from simulator.calibration.record import Recording, record_load
    from simulator.calibration.runtime_files import (
        RuntimeFit,
        fit_table,
        load_runtime_model,
        predict_table,
        save_runtime_fit,
    )
    from simulator.calibration.speed_files import load_speed_model, model_kind, predict_speeds, save_speed_model
    from simulator.calibration.tables import read_shipped_table, read_table
    from simulator.calibration.usage import Usage

_HOMES = {
    "ApplicationPlan": "simulator.calibration.history_application",
    "Compared": "simulator.calibration.comparison",
    "Competitor": "simulator.calibration.parallel.competitor",
    "KERNELS": "simulator.calibration.kernels",
    "Kernel": "simulator.calibration.kernels",
    "Measurement": "simulator.calibration.measure",
    "MemoryFit": "simulator.calibration.memory_files",
    "Point": "simulator.calibration.measure",
    "Ranks": "simulator.calibration.parallel.ranks",
    "RealPoint": "simulator.calibration.real.sampling",
    "RealRun": "simulator.calibration.parallel.ranks",
    "RealSource": "simulator.calibration.real_source",
    "Recording": "simulator.calibration.record",
    "RunPlan": "simulator.calibration.history_record",
    "RunRecord": "simulator.calibration.history",
    "RuntimeFit": "simulator.calibration.runtime_files",
    "SIZED_KERNELS": "simulator.calibration.kernels.table",
    "SizedKernel": "simulator.calibration.kernels.sized",
    "SpeedForetold": "simulator.calibration.predicted_speed",
    "Usage": "simulator.calibration.usage",
    "add_runs": "simulator.calibration.history",
    "compare_builders": "simulator.calibration.comparison",
    "export_runs": "simulator.calibration.history_formats",
    "fit_memory": "simulator.calibration.memory_files",
    "fit_memory_table": "simulator.calibration.memory_files",
    "fit_table": "simulator.calibration.runtime_files",
    "import_runs": "simulator.calibration.history_formats",
    "foretell_speed": "simulator.calibration.predicted_speed",
    "list_runs": "simulator.calibration.history",
    "load_memory_model": "simulator.calibration.memory_files",
    "load_runtime_model": "simulator.calibration.runtime_files",
    "load_speed_model": "simulator.calibration.speed_files",
    "make_application_plan": "simulator.calibration.history_application",
    "make_plan": "simulator.calibration.history_record",
    "measure_link": "simulator.calibration.links",
    "measure_speeds": "simulator.calibration.measure",
    "measured_bands": "simulator.calibration.measure",
    "model_kind": "simulator.calibration.speed_files",
    "parse_grid": "simulator.calibration.history_record",
    "points_kept": "simulator.calibration.real.point_store",
    "predict_memory": "simulator.calibration.memory_files",
    "predict_speeds": "simulator.calibration.speed_files",
    "predict_table": "simulator.calibration.runtime_files",
    "read_memory_times": "simulator.calibration.memory_files",
    "read_shipped_table": "simulator.calibration.tables",
    "read_table": "simulator.calibration.tables",
    "record_load": "simulator.calibration.record",
    "record_runs": "simulator.calibration.history_record",
    "save_export": "simulator.calibration.history_formats",
    "save_memory_model": "simulator.calibration.memory_files",
    "save_runtime_fit": "simulator.calibration.runtime_files",
    "save_speed_model": "simulator.calibration.speed_files",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "KERNELS",
    "SIZED_KERNELS",
    "ApplicationPlan",
    "Compared",
    "Competitor",
    "Kernel",
    "Measurement",
    "MemoryFit",
    "Point",
    "Ranks",
    "RealPoint",
    "RealRun",
    "RealSource",
    "Recording",
    "RunPlan",
    "RunRecord",
    "RuntimeFit",
    "SizedKernel",
    "SpeedForetold",
    "Usage",
    "add_runs",
    "compare_builders",
    "export_runs",
    "fit_memory",
    "fit_memory_table",
    "fit_table",
    "foretell_speed",
    "import_runs",
    "list_runs",
    "load_memory_model",
    "load_runtime_model",
    "load_speed_model",
    "make_application_plan",
    "make_plan",
    "measure_link",
    "measure_speeds",
    "measured_bands",
    "model_kind",
    "parse_grid",
    "points_kept",
    "predict_memory",
    "predict_speeds",
    "predict_table",
    "read_memory_times",
    "read_shipped_table",
    "read_table",
    "record_load",
    "record_runs",
    "save_export",
    "save_memory_model",
    "save_runtime_fit",
    "save_speed_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

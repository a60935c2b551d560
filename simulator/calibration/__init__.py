"""Real runs become measurements, measurements become models."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.calibration.history import RunRecord, add_runs, list_runs
    from simulator.calibration.history_formats import export_runs, import_runs, save_export
    from simulator.calibration.history_record import RunPlan, make_plan, parse_grid, record_runs
    from simulator.calibration.kernels import KERNELS, Kernel
    from simulator.calibration.kernels.sized import SizedKernel
    from simulator.calibration.kernels.table import SIZED_KERNELS
    from simulator.calibration.links import measure_link
    from simulator.calibration.measure import Measurement, Point, bands, measure_speeds
    from simulator.calibration.parallel.competitor import Competitor
    from simulator.calibration.parallel.ranks import Ranks, RealRun
    from simulator.calibration.real.sampling import RealPoint
    from simulator.calibration.real_source import RealSource, open_source
    from simulator.calibration.record import Recording, record_load
    from simulator.calibration.runtime_files import (
        RuntimeFit,
        fit_table,
        load_runtime_model,
        predict_table,
        save_runtime_fit,
    )
    from simulator.calibration.tables import read_shipped_table, read_table
    from simulator.calibration.usage import Usage

_HOMES = {
    "Competitor": "simulator.calibration.parallel.competitor",
    "KERNELS": "simulator.calibration.kernels",
    "Kernel": "simulator.calibration.kernels",
    "Measurement": "simulator.calibration.measure",
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
    "Usage": "simulator.calibration.usage",
    "add_runs": "simulator.calibration.history",
    "bands": "simulator.calibration.measure",
    "export_runs": "simulator.calibration.history_formats",
    "fit_table": "simulator.calibration.runtime_files",
    "import_runs": "simulator.calibration.history_formats",
    "list_runs": "simulator.calibration.history",
    "load_runtime_model": "simulator.calibration.runtime_files",
    "make_plan": "simulator.calibration.history_record",
    "measure_link": "simulator.calibration.links",
    "measure_speeds": "simulator.calibration.measure",
    "open_source": "simulator.calibration.real_source",
    "parse_grid": "simulator.calibration.history_record",
    "predict_table": "simulator.calibration.runtime_files",
    "read_shipped_table": "simulator.calibration.tables",
    "read_table": "simulator.calibration.tables",
    "record_load": "simulator.calibration.record",
    "record_runs": "simulator.calibration.history_record",
    "save_export": "simulator.calibration.history_formats",
    "save_runtime_fit": "simulator.calibration.runtime_files",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "KERNELS",
    "SIZED_KERNELS",
    "Competitor",
    "Kernel",
    "Measurement",
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
    "Usage",
    "add_runs",
    "bands",
    "export_runs",
    "fit_table",
    "import_runs",
    "list_runs",
    "load_runtime_model",
    "make_plan",
    "measure_link",
    "measure_speeds",
    "open_source",
    "parse_grid",
    "predict_table",
    "read_shipped_table",
    "read_table",
    "record_load",
    "record_runs",
    "save_export",
    "save_runtime_fit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

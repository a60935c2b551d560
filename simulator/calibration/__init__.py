"""Real runs become measurements, measurements become models."""

import importlib
from typing import Any

_HOMES: dict[str, str] = {
    "RunRecord": "simulator.calibration.history",
    "make_plan": "simulator.calibration.history_record",
    "add_runs": "simulator.calibration.history",
    "export_runs": "simulator.calibration.history_formats",
    "fit_table": "simulator.calibration.runtime_files",
    "import_runs": "simulator.calibration.history_formats",
    "list_runs": "simulator.calibration.history",
    "load_runtime_model": "simulator.calibration.runtime_files",
    "parse_grid": "simulator.calibration.history_record",
    "predict_table": "simulator.calibration.runtime_files",
    "read_shipped_table": "simulator.calibration.tables",
    "read_table": "simulator.calibration.tables",
    "record_runs": "simulator.calibration.history_record",
    "save_export": "simulator.calibration.history_formats",
    "save_runtime_fit": "simulator.calibration.runtime_files",
}
"""Public name -> the module that it comes from."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

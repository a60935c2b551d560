"""Real runs become measurements, measurements become models."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.calibration.kernels import KERNELS, Kernel
    from simulator.calibration.links import measure_link
    from simulator.calibration.measure import Measurement, Point, bands, measure_speeds
    from simulator.calibration.parallel.competitor import Competitor
    from simulator.calibration.parallel.ranks import Ranks, RealRun
    from simulator.calibration.record import Recording, record_load
    from simulator.calibration.usage import Usage

_HOMES = {
    "Competitor": "simulator.calibration.parallel.competitor",
    "KERNELS": "simulator.calibration.kernels",
    "Kernel": "simulator.calibration.kernels",
    "Measurement": "simulator.calibration.measure",
    "Point": "simulator.calibration.measure",
    "Ranks": "simulator.calibration.parallel.ranks",
    "RealRun": "simulator.calibration.parallel.ranks",
    "Recording": "simulator.calibration.record",
    "Usage": "simulator.calibration.usage",
    "bands": "simulator.calibration.measure",
    "measure_link": "simulator.calibration.links",
    "measure_speeds": "simulator.calibration.measure",
    "record_load": "simulator.calibration.record",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "KERNELS",
    "Competitor",
    "Kernel",
    "Measurement",
    "Point",
    "Ranks",
    "RealRun",
    "Recording",
    "Usage",
    "bands",
    "measure_link",
    "measure_speeds",
    "record_load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

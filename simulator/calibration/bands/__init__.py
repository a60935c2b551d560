"""Speed bands built from real runs or recorded tables: the naive grid, GBBP, and our adaptive builder."""

from simulator.calibration.bands.build import METHODS, build, check_build
from simulator.calibration.bands.built import BuiltBand
from simulator.calibration.bands.cuts import CutRule
from simulator.calibration.bands.doubts import apart
from simulator.calibration.bands.grid import grid_sizes
from simulator.calibration.bands.kept_replay import KeptReplay
from simulator.calibration.bands.source import (
    ReplaySource,
    Source,
    read_recorded_sizes,
)
from simulator.calibration.bench.measurement import Measurement

PointMeasured = Measurement.of_times
"""As it was called before there was one record of a point."""

__all__ = [
    "METHODS",
    "BuiltBand",
    "CutRule",
    "KeptReplay",
    "Measurement",
    "PointMeasured",
    "ReplaySource",
    "Source",
    "apart",
    "build",
    "check_build",
    "grid_sizes",
    "read_recorded_sizes",
]

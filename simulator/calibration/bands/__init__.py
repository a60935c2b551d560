"""Speed bands built from real runs or recorded tables: the naive grid, GBBP, and our adaptive builder."""

from simulator.calibration.bands.build import METHODS, BuiltBand, build, check_build
from simulator.calibration.bands.doubts import apart
from simulator.calibration.bands.session import CutRule, grid_sizes
from simulator.calibration.bands.source import (
    ReplaySource,
    Source,
    read_recorded_sizes,
)
from simulator.calibration.bench.measurement import Measurement

PointMeasured = Measurement.of_times
KeptReplay = ReplaySource.kept_in
"""As they were called before there was one record of a point and one source of recorded ones."""

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

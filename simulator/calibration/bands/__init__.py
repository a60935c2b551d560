"""Speed bands built from real runs or recorded tables: the naive grid, GBBP, and our adaptive builder."""

from simulator.calibration.bands.build import METHODS, TABLE, BuiltBand, build, check_build
from simulator.calibration.bands.doubts import apart, beside_load, with_levels
from simulator.calibration.bands.session import CutRule
from simulator.calibration.bands.source import ReplaySource, Source, read_recorded_sizes
from simulator.calibration.bench.measurement import Measurement

__all__ = [
    "METHODS",
    "TABLE",
    "BuiltBand",
    "CutRule",
    "Measurement",
    "ReplaySource",
    "Source",
    "apart",
    "beside_load",
    "build",
    "check_build",
    "read_recorded_sizes",
    "with_levels",
]

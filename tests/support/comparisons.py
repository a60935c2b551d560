"""A comparison of a prediction with what was measured."""

from simulator.calibration.history.coverage import (
    Comparison,
)

ONE = Comparison(
    kind="kernel",
    subject="dgemm",
    model="m.json",
    version="sha256:1",
    case="equal",
    level=0.9,
    predicted_s=1.0,
    low_s=0.9,
    high_s=1.1,
    runs=5,
    measured_median_s=1.05,
    median_sd=0.0,
)

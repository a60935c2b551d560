"""Numerical integration: the midpoint rule with n points, nothing stored."""

from simulator.calibration.kernels.integration import integrate
from simulator.characterisation.kernels.study import StudyKernel

KERNEL = StudyKernel(
    "integration",
    "integral of 4 / (1 + x^2) from 0 to 1 by n midpoints",
    integrate,
    lambda n: (n, 0, n),
    "multiphase",
    sizes=(30_000, 100_000, 300_000),
    training_sizes=(20_000, 60_000, 180_000, 500_000),
    design={"flop": "5*n", "divide": "n", "step": "n"},
)

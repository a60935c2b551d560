"""Stream triad a = b + 3 c of n numbers."""

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.triad import FACTOR, add_scaled
from simulator.characterisation.kernels.study import StudyKernel

Vector = NDArray[np.float64]


def _arguments(n: int) -> tuple[Vector, Vector, Vector, float]:
    return np.zeros(n), np.arange(n, dtype=np.float64), np.full(n, 2.0), FACTOR


KERNEL = StudyKernel(
    "triad",
    "a = b + 3 c on vectors of n numbers",
    add_scaled,
    _arguments,
    "multiphase",
    sizes=(6_000, 24_000, 96_000),
    training_sizes=(4_000, 12_000, 48_000, 200_000),
    design={"flop": "2*n", "access": "3*n", "step": "n"},
)

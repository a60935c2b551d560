"""Forces between n bodies, each pair twice."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.kernels.study import StudyKernel

Vector = NDArray[np.float64]


def attract(x: Vector, y: Vector, z: Vector, fx: Vector, fy: Vector, fz: Vector) -> None:
    """Write the sum over all others of (difference / distance^3), softened by 0.01."""
    n = x.size
    for i in range(n):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz + 0.01
            weight = 1.0 / (square * sqrt(square))
            ax += dx * weight
            ay += dy * weight
            az += dz * weight
        fx[i] = ax
        fy[i] = ay
        fz[i] = az


def _arguments(n: int) -> tuple[Vector, ...]:
    k = np.arange(n)
    places = [(k * step % base) / base for step, base in ((7, 11), (3, 13), (5, 17))]
    return (*places, *(np.zeros(n) for _ in range(3)))


KERNEL = StudyKernel(
    "nbody",
    "forces between n bodies, every pair",
    attract,
    _arguments,
    "multiphase",
    sizes=(100, 240, 560),
    training_sizes=(60, 150, 360, 850),
    design={"flop": "16*n**2", "divide": "2*n**2", "access": "3*n**2", "step": "n**2"},
)

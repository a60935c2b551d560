"""Stream triad a = b + s c of n numbers, compiled: 3 n elements, 2 n floating point operations."""

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import Prepared, SizedKernel, compiled, touched

Vector = NDArray[np.float64]
FACTOR = 3.0


def arguments(n: int) -> tuple[Vector, Vector, Vector, float]:
    """Three vectors and the factor; b = 0, 1, 2, ... and c = 2."""
    return touched(n), np.arange(n, dtype=np.float64), np.full(n, 2.0), FACTOR


def prepare(n: int) -> Prepared:
    """The three vectors."""
    triad = compiled(add_scaled, "void(float64[::1], float64[::1], float64[::1], float64)")
    a, b, c, factor = arguments(n)

    def run() -> Vector:
        triad(a, b, c, factor)
        return a

    return Prepared(run)


def add_scaled(a: Vector, b: Vector, c: Vector, factor: float) -> None:
    """Write b + factor c into a, in Python for Numba to compile."""
    for k in range(a.size):
        a[k] = b[k] + factor * c[k]


KERNEL = SizedKernel("triad", "a = b + 3 c on vectors of n numbers", lambda n: 3 * n, lambda n: 2.0 * n, prepare)

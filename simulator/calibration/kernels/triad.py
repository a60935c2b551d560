"""Stream triad a = b + s c of n numbers, compiled: 3 n elements, 2 n floating point operations."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import Prepared, SizedKernel, touched

Vector = NDArray[np.float64]
FACTOR = 3.0


def prepare(n: int) -> Prepared:
    """Three vectors; b = 0, 1, 2, ... and c = 2."""
    triad = _compiled()
    a, b, c = touched(n), np.arange(n, dtype=np.float64), np.full(n, 2.0)

    def run() -> Vector:
        triad(a, b, c, FACTOR)
        return a

    return Prepared(run)


@cache
def _compiled() -> Callable[[Vector, Vector, Vector, float], None]:
    """The compiled loop, made at the first call in a process."""
    import numba

    compiler = numba.njit("void(float64[::1], float64[::1], float64[::1], float64)")
    compiled: Callable[[Vector, Vector, Vector, float], None] = compiler(add_scaled)
    return compiled


def add_scaled(a: Vector, b: Vector, c: Vector, factor: float) -> None:
    """Write b + factor c into a, in Python for Numba to compile."""
    for k in range(a.size):
        a[k] = b[k] + factor * c[k]


KERNEL = SizedKernel("triad", "a = b + 3 c on vectors of n numbers", lambda n: 3 * n, lambda n: 2.0 * n, prepare)

"""Integral of 4 / (1 + x^2) from 0 to 1 by n midpoints: n elements processed, none stored, 6 n operations."""

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import WORD_BYTES, Prepared, SizedKernel, compiled


def prepare(n: int) -> Prepared:
    """Nothing but room for the result."""
    sums, found = compiled(integrate, "float64(int64, int64, int64)"), np.zeros(1)

    def run() -> NDArray[np.float64]:
        found[0] = sums(n, 0, n)
        return found

    return Prepared(run)


def integrate(n: int, first: int, last: int) -> float:
    """Sum over the midpoints `first` to `last` of n, the last one excluded, in Python for Numba to compile."""
    width, total = 1.0 / n, 0.0
    for k in range(first, last):
        x = (k + 0.5) * width
        total += 4.0 / (1.0 + x * x)
    return total * width


KERNEL = SizedKernel(
    "integration",
    "midpoint rule with n points, nothing stored",
    lambda n: n,
    lambda n: 6.0 * n,  # per point: shift, scale, square, add, divide, sum
    prepare,
    memory_bytes=lambda n: WORD_BYTES if n else 0,
)

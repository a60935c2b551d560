"""The two matrix products with square operands: 3 n^2 elements (A, B and C), 2 n^3 floating point operations."""

from collections.abc import Callable

import numpy as np

from simulator.calibration.kernels import operands
from simulator.calibration.kernels.operands import Matrix
from simulator.calibration.kernels.sized import Prepared, SizedKernel, touched
from simulator.programs.applications.matmul import problem_size, volume

_BLOCK_ELEMENTS = 2**18
"""Operands are filled in blocks of about this size, so that filling needs no memory to speak of."""


def square(name: str, multiply: Callable[[Matrix, Matrix, Matrix], None], *, meaning: str) -> SizedKernel:
    """A matrix product of order n as a kernel of one parameter."""

    def prepare(n: int) -> Prepared:
        a, b, c = np.empty((n, n)), np.empty((n, n)), touched((n, n))
        step = max(1, _BLOCK_ELEMENTS // n)
        for first in range(0, n, step):
            rows = min(step, n - first)
            a[first : first + rows] = operands.left(n, rows, first=first)
            b[first : first + rows] = operands.right(n, rows, first=first)

        def run() -> Matrix:
            multiply(a, b, c)
            return c

        return Prepared(run)

    return SizedKernel(name, meaning, lambda n: problem_size(n, n), lambda n: volume(n, n), prepare)

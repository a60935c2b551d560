"""Cholesky factor of a matrix of order n, column by column, three loops."""

from math import sqrt

import numpy as np

from simulator.calibration.kernels.operands import Matrix
from simulator.characterisation.kernels.study import StudyKernel


def factor(a: Matrix) -> None:
    """Write the lower factor over the lower half of A."""
    n = a.shape[0]
    for j in range(n):
        total = a[j, j]
        for k in range(j):
            total -= a[j, k] * a[j, k]
        pivot = sqrt(total)
        a[j, j] = pivot
        for i in range(j + 1, n):
            rest = a[i, j]
            for k in range(j):
                rest -= a[i, k] * a[j, k]
            a[i, j] = rest / pivot


def _arguments(n: int) -> tuple[Matrix]:
    """The matrix with entries 1 / (1 + |i - j|), positive definite (Polya)."""
    row, column = np.ogrid[0:n, 0:n]
    return (np.asarray(1.0 / (1.0 + np.abs(row - column))),)


KERNEL = StudyKernel(
    "cholesky",
    "Cholesky factor of a matrix of order n, three loops",
    factor,
    _arguments,
    "row_column_broadcast",
    sizes=(100, 160, 260),
    training_sizes=(80, 128, 200, 320),
    design={"flop": "n**3/3 + n**2", "access": "n**3/3", "step": "n**3/6", "divide": "n**2/2"},
    overwrites=True,
)

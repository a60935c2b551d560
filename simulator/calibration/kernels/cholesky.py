"""Cholesky factorisation by LAPACK (dpotrf): n^2 elements, n^3/3 + n^2/2 + n/6 operations, square roots included."""

import numpy as np

from simulator.calibration.kernels.operands import Matrix
from simulator.calibration.kernels.sized import Prepared, SizedKernel


def volume(n: int) -> float:
    """Floating point operations (LAPACK Working Note 41, dpotrf, its multiplications and additions)."""
    return n**3 / 3 + n**2 / 2 + n / 6


def prepare(n: int) -> Prepared:
    """The matrix with entries 1 / (1 + |i - j|): positive definite, since that is convex and falling (Polya)."""
    from scipy.linalg.lapack import dpotrf

    strip = 1 / (1 + np.abs(np.arange(1 - n, n, dtype=np.float64)))
    rows = np.lib.stride_tricks.sliding_window_view(strip, n)[::-1]  # row i of the matrix, without storing it
    a = np.empty((n, n), order="F")

    def reset() -> None:
        np.copyto(a.T, rows)  # symmetric, so that it may be filled along its memory

    def run() -> Matrix:
        found, failed = dpotrf(a, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise ArithmeticError(f"dpotrf stopped at {failed}")
        factor: Matrix = found
        return factor

    reset()
    return Prepared(run, reset)


KERNEL = SizedKernel(
    "cholesky", "Cholesky factor of a matrix of order n, LAPACK dpotrf", lambda n: n * n, volume, prepare
)

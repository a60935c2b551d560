"""Matrix product by BLAS on one thread (the caller pins BLAS)."""

import numpy as np

from simulator.calibration.kernels.operands import Matrix


def multiply(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C."""
    np.dot(a, b, out=c)

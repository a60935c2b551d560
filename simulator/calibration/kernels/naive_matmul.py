"""Matrix product by three nested loops, compiled: it uses the memory hierarchy as badly as a textbook does."""

from collections.abc import Callable
from functools import cache

from simulator.calibration.kernels.operands import Matrix


def multiply(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C."""
    _compiled()(a, b, c)


@cache
def _compiled() -> Callable[[Matrix, Matrix, Matrix], None]:
    """The compiled loops, made at the first call in a process."""
    import numba

    compiler = numba.njit("void(float64[:,::1], float64[:,::1], float64[:,::1])")
    compiled: Callable[[Matrix, Matrix, Matrix], None] = compiler(loops)
    return compiled


def loops(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C, in Python for Numba to compile."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]

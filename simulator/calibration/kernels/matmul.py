"""Products of matrices, by BLAS on one thread (the caller pins BLAS) and by compiled textbook loops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from simulator.calibration.kernels import operands
from simulator.calibration.kernels.operands import Matrix
from simulator.calibration.kernels.sized import Prepared, SizedKernel, compiled, named, touched
from simulator.programs.applications.matmul import problem_size, volume

_BLOCK_ELEMENTS = 2**18
"""Operands are filled in blocks of about this size, so that filling needs no memory to speak of."""
Loops = Callable[[Matrix, Matrix, Matrix], None]


@dataclass(frozen=True)
class Kernel:
    """A way to compute `rows` rows of an n x n matrix product."""

    name: str
    multiply: Callable[[Matrix, Matrix, Matrix], None]
    add: Callable[[Matrix, Matrix, Matrix], None]
    """Adds A x B to C; rows of A need not be next to each other."""

    def prepare(self, n: int, rows: int) -> Callable[[], Matrix]:
        """Allocate and touch operands; what is returned runs the kernel once on them and gives C."""
        a, b, c = operands.left(n, rows), operands.right(n), np.zeros((rows, n))

        def run() -> Matrix:
            self.multiply(a, b, c)
            return c

        return run

    def square(self, meaning: str) -> SizedKernel:
        """The product of square matrices as a kernel of one parameter."""

        def prepare(n: int) -> Prepared:
            a, b, c = np.empty((n, n)), np.empty((n, n)), touched((n, n))
            step = max(1, _BLOCK_ELEMENTS // n)
            for first in range(0, n, step):
                rows = min(step, n - first)
                a[first : first + rows] = operands.left(n, rows, first=first)
                b[first : first + rows] = operands.right(n, rows, first=first)

            def run() -> Matrix:
                self.multiply(a, b, c)
                return c

            return Prepared(run)

        return SizedKernel(self.name, meaning, lambda n: problem_size(n, n), lambda n: volume(n, n), prepare)

    def panel(self, columns: int, name: str, meaning: str, *, least: int) -> SizedKernel:
        """The rows that a process has, times a matrix of so many columns, as a kernel whose parameter is the rows."""
        return SizedKernel(
            name,
            meaning,
            partial(problem_size, columns),
            partial(volume, columns),
            lambda rows: Prepared(self.prepare(columns, rows)),
            columns=columns,
            least=least,
        )

    def update(self, columns: int, depth: int, name: str, meaning: str, *, least: int) -> SizedKernel:
        """What a process with some rows computes for one panel of `matmul_2d`, as a kernel whose parameter is the rows.

        A panel has `depth` columns of A and rows of B.
        """

        def prepare(rows: int) -> Prepared:
            a, b = operands.left(depth, rows), np.array(operands.right(columns, depth))
            c = touched((rows, columns))

            def run() -> Matrix:
                self.add(a, b, c)
                return c

            return Prepared(run)

        return SizedKernel(
            name,
            meaning,
            lambda rows: rows * columns + (rows + columns) * depth,
            lambda rows: 2.0 * rows * columns * depth,
            prepare,
            columns=columns,
            depth=depth,
            least=least,
        )


def blas(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C."""
    np.dot(a, b, out=c)


def add_blas(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Add A x B to C: BLAS has matrices by columns, so all are handed over transposed, C in its place."""
    from scipy.linalg.blas import dgemm  # few programs add products

    dgemm(1.0, b.T, a.T, beta=1.0, c=c.T, overwrite_c=True)


def textbook(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C."""
    _compiled_loops()[0](a, b, c)


def add_textbook(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Add A x B to C."""
    _compiled_loops()[1](a, b, c)


@cache
def _compiled_loops() -> tuple[Loops, Loops]:
    """Kept apart: asking `compiled` in every run would cost as much as the smallest products."""
    product: Loops = compiled(loops, "void(float64[:,::1], float64[:,::1], float64[:,::1])")
    update: Loops = compiled(adding_loops, "void(float64[:,:], float64[:,::1], float64[:,::1])")
    return product, update


def loops(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Write A x B into C, in Python for Numba to compile."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]


def adding_loops(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Add A x B to C, in Python for Numba to compile."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]


KERNELS: Mapping[str, Kernel] = {
    "dgemm": Kernel("dgemm", blas, add_blas),
    "matmul": Kernel("matmul", textbook, add_textbook),
}
"""By name."""


def kernel(name: str) -> Kernel:
    """The kernel of a name."""
    return named(name, KERNELS)

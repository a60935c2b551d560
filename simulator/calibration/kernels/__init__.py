"""Kernels that really run, each with its problem size and its volume of computation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.calibration.kernels import dgemm, naive_matmul, operands
from simulator.calibration.kernels.operands import Matrix
from simulator.programs.applications.matmul import problem_size, volume

__all__ = ["KERNELS", "Kernel", "kernel"]


@dataclass(frozen=True)
class Kernel:
    """A way to compute `rows` rows of an n x n matrix product."""

    name: str
    multiply: Callable[[Matrix, Matrix, Matrix], None]
    """Writes A x B into C."""

    def problem_size(self, n: int, rows: int) -> int:
        """Elements stored and processed."""
        return problem_size(n, rows)

    def volume(self, n: int, rows: int) -> float:
        """Floating point operations."""
        return volume(n, rows)

    def prepare(self, n: int, rows: int) -> Callable[[], None]:
        """Allocate and touch operands; what is returned runs the kernel once on them."""
        a, b, c = operands.left(n, rows), operands.right(n), np.zeros((rows, n))
        return lambda: self.multiply(a, b, c)


KERNELS = {"dgemm": Kernel("dgemm", dgemm.multiply), "matmul": Kernel("matmul", naive_matmul.multiply)}
"""By name: BLAS on one thread, and the compiled textbook loops."""


def kernel(name: str) -> Kernel:
    """The kernel of a name.

    Raises
    ------
    ScenarioError
        If there is none, with those there are.
    """
    if name not in KERNELS:
        raise ScenarioError(f"kernel: {name!r} found, one of {', '.join(sorted(KERNELS))} allowed")
    return KERNELS[name]

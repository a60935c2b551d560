"""Product of matrices of order n by three nested loops."""

import numpy as np

from simulator.calibration.kernels import operands
from simulator.calibration.kernels.naive_matmul import loops
from simulator.calibration.kernels.operands import Matrix
from simulator.characterisation.kernels.study import StudyKernel


def _arguments(n: int) -> tuple[Matrix, Matrix, Matrix]:
    return operands.left(n, n), operands.right(n), np.zeros((n, n))


KERNEL = StudyKernel(
    "matmul",
    "product of matrices of order n, three loops",
    loops,
    _arguments,
    "row_column_broadcast",
    sizes=(100, 160, 260),
    training_sizes=(80, 128, 200, 320),
    design={"flop": "2*n**3", "access": "3*n**3", "step": "n**3"},
)

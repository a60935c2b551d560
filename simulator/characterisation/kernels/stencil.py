"""Four sweeps of a five-point stencil over a grid of n x n points."""

import numpy as np

from simulator.calibration.kernels.operands import Matrix
from simulator.characterisation.kernels.study import StudyKernel

SWEEPS = 4


def relax(old: Matrix, new: Matrix, sweeps: int) -> None:
    """Give every inner point the mean of its neighbours, `sweeps` times, an even number; the result is in `old`."""
    n = old.shape[0]
    for _ in range(sweeps // 2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                old[i, j] = 0.25 * (new[i - 1, j] + new[i + 1, j] + new[i, j - 1] + new[i, j + 1])


def _arguments(n: int) -> tuple[Matrix, Matrix, int]:
    row, column = np.ogrid[0:n, 0:n]
    grid = np.asarray(((row * 7 + column * 3) % 11) / 11)
    return grid, grid.copy(), SWEEPS


KERNEL = StudyKernel(
    "stencil",
    f"{SWEEPS} sweeps of a five-point stencil over n x n points",
    relax,
    _arguments,
    "stencil",
    sizes=(100, 180, 320),
    training_sizes=(75, 135, 240, 420),
    design={"flop": f"{4 * SWEEPS}*n**2", "access": f"{5 * SWEEPS}*n**2", "step": f"{SWEEPS}*n**2"},
)

"""One iteration of the five-point stencil, compiled: every point becomes the mean of itself and its four neighbours."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import Prepared, SizedKernel, compiled
from simulator.programs.applications.stencil import POINT_VOLUME, Stencil

Row = NDArray[np.float64]
Strip = NDArray[np.float64]
Sweep = Callable[[Row, Strip, Row, Strip], None]
BORDER = 1.0
"""Value of all points beyond the edges."""
WEIGHT = 0.2
"""Of each of the five points in their mean."""


def start(n: int, rows: int, *, first: int = 0, steps: int = 0) -> Strip:
    """Rows `first` to `first + rows` of n x n points after so many iterations, by the closed form.

    They begin as `BORDER` plus a half sine wave in both directions. An iteration multiplies that wave by `WEIGHT * (1 +
    4 cos(pi / (n + 1)))`, as it is an eigenvector of the mean of five points.
    """
    angle = np.pi / (n + 1)
    across, down = np.sin(angle * np.arange(1, n + 1)), np.sin(angle * np.arange(first + 1, first + rows + 1))
    left = (WEIGHT * (1 + 4 * np.cos(angle))) ** steps
    return np.asarray(BORDER + left * down[:, np.newaxis] * across)


def prepare(n: int) -> Prepared:
    """All n x n points, between rows of the border."""
    sweep, border = sweeper(), np.full(n, BORDER)
    old, new = start(n, n), np.ones((n, n))

    def run() -> Strip:
        sweep(border, old, border, new)
        return new

    return Prepared(run)


def panel(columns: int, name: str, meaning: str, *, least: int) -> SizedKernel:
    """A strip of so many columns as a kernel whose parameter is its rows: iterations as the application makes them."""

    def prepare(rows: int) -> Prepared:
        sweep, border = sweeper(), np.full(columns, BORDER)
        arrays = [start(columns, rows), np.ones((rows, columns))]  # in turns from one into the other

        def run() -> Strip:
            sweep(border, arrays[0], border, arrays[1])
            arrays.reverse()
            return arrays[0]

        return Prepared(run)

    size = Stencil(columns, 1).problem_size
    return SizedKernel(
        name, meaning, size, lambda rows: float(POINT_VOLUME * columns * rows), prepare, columns=columns, least=least
    )


def sweeper() -> Sweep:
    """The compiled loops, made at the first call in a process."""
    sweep: Sweep = compiled(average, "void(float64[::1], float64[:,::1], float64[::1], float64[:,::1])")
    return sweep


def average(above: Row, old: Strip, below: Row, new: Strip) -> None:
    """Write the means of a strip's points into `new`, in Python for Numba to compile."""
    rows, last = old.shape[0], old.shape[1] - 1
    for i in range(rows):
        row, target = old[i], new[i]
        up = old[i - 1] if i > 0 else above
        down = old[i + 1] if i + 1 < rows else below
        if last == 0:
            target[0] = WEIGHT * (row[0] + up[0] + down[0] + BORDER + BORDER)
            continue
        target[0] = WEIGHT * (row[0] + up[0] + down[0] + BORDER + row[1])
        for j in range(1, last):
            target[j] = WEIGHT * (row[j] + up[j] + down[j] + row[j - 1] + row[j + 1])
        target[last] = WEIGHT * (row[last] + up[last] + down[last] + row[last - 1] + BORDER)


KERNEL = SizedKernel(
    "stencil",
    "an iteration of the five-point stencil on n x n points",
    lambda n: Stencil(n, 1).problem_size(n),
    lambda n: float(POINT_VOLUME * n * n),
    prepare,
)

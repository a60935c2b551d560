"""Kernels on panels of a stated number of columns: their parameter is the rows that a process has.

A process of `matmul` multiplies its rows of A with all of B, one of `stencil` averages its rows of points. A panel of
few rows is slower than a square of as many elements, for B is packed anew for each; so speeds are measured in shape.
"""

from functools import partial

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.calibration.kernels import KERNELS, operands, stencil
from simulator.calibration.kernels.sized import Prepared, SizedKernel
from simulator.calibration.kernels.table import SIZED_KERNELS, sized_kernel
from simulator.programs.applications import matmul
from simulator.programs.applications.stencil import POINT_VOLUME, Stencil

SHAPED = (*KERNELS, stencil.KERNEL.name)
"""Kernels that take rows and columns."""
MARK = "@"
"""Between the name of a kernel and its columns, where processes tell each other what to run."""
LEAST_SHARE = 64
"""The smallest panel has the columns over this number as its rows: fewer are no process's share."""
MOST_COLUMNS = 2**20


def panel_kernel(name: str, columns: int) -> SizedKernel:
    """A kernel on panels of so many columns; its parameter is the number of rows.

    Raises
    ------
    ScenarioError
        If the kernel has no rows and columns, or there are too few or too many columns.
    """
    if name not in SHAPED:
        raise ScenarioError(f"kernel: {name!r} has no columns; {', '.join(SHAPED)} have")
    if not 1 <= columns <= MOST_COLUMNS:
        raise ScenarioError(f"columns: {columns} found, 1 to {MOST_COLUMNS} allowed")
    strips = name == stencil.KERNEL.name
    return SizedKernel(
        name=f"{name}{MARK}{columns}",
        meaning=f"{SIZED_KERNELS[name].meaning}, here n rows of {columns} columns",
        size=Stencil(columns, 1).problem_size if strips else partial(matmul.problem_size, columns),
        volume=(lambda rows: float(POINT_VOLUME * columns * rows)) if strips else partial(matmul.volume, columns),
        prepare=partial(_strip, columns) if strips else partial(_panel, name, columns),
        columns=columns,
        least=max(1, columns // LEAST_SHARE),
    )


def named_kernel(name: str) -> SizedKernel:
    """A kernel by the name that `panel_kernel` or the table gave it.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    kernel, _, columns = name.partition(MARK)
    return panel_kernel(kernel, int(columns)) if columns.isdigit() else sized_kernel(name)


def _panel(name: str, columns: int, rows: int) -> Prepared:
    a, b, c = operands.left(columns, rows), operands.right(columns), np.zeros((rows, columns))
    multiply = KERNELS[name].multiply

    def run() -> operands.Matrix:
        multiply(a, b, c)
        return c

    return Prepared(run)


def _strip(columns: int, rows: int) -> Prepared:
    """Iterations in turns from one array into the other, as the application makes them."""
    sweep, border = stencil.compiled(), np.full(columns, stencil.BORDER)
    arrays = [stencil.start(columns, rows), np.ones((rows, columns))]

    def run() -> stencil.Strip:
        sweep(border, arrays[0], border, arrays[1])
        arrays.reverse()
        return arrays[0]

    return Prepared(run)

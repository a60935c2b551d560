"""All kernels of one parameter, by name, and those on panels of a stated number of columns.

A process of `matmul` multiplies its rows of A with all of B, one of `stencil` averages its rows of points. A panel of
few rows is slower than a square of as many elements, for B is packed again for each; so speeds are measured in shape.
"""

from simulator.base.errors import ScenarioError
from simulator.calibration.kernels import apexmap, cholesky, fft, integration, merge_sort, stencil, triad
from simulator.calibration.kernels.matmul import KERNELS
from simulator.calibration.kernels.sized import SizedKernel, named

SIZED_KERNELS = {
    kernel.name: kernel
    for kernel in (
        KERNELS["matmul"].square("product of matrices of order n, three compiled loops"),
        KERNELS["dgemm"].square("product of matrices of order n, BLAS dgemm"),
        cholesky.KERNEL,
        fft.KERNEL,
        merge_sort.KERNEL,
        integration.KERNEL,
        triad.KERNEL,
        apexmap.KERNEL,
        stencil.KERNEL,
    )
}
"""By name; every one runs on one thread (the caller pins BLAS)."""
SHAPED = (*KERNELS, stencil.KERNEL.name)
"""Kernels that take rows and columns."""
MARK = "@"
"""Between the name of a kernel and its columns, where processes tell each other what to run."""
LEAST_SHARE = 64
"""The smallest panel has the columns over this number as its rows: fewer are no process's share."""
MOST_COLUMNS = 2**20


def sized_kernel(name: str) -> SizedKernel:
    """The kernel of a name.

    Raises
    ------
    ScenarioError
        If there is none, with those there are.
    """
    return named(name, SIZED_KERNELS)


def panel_kernel(name: str, columns: int) -> SizedKernel:
    """A kernel on panels of so many columns; its parameter is the number of rows that a process has.

    Raises
    ------
    ScenarioError
        If the kernel has no rows and columns, or there are too few or too many columns.
    """
    if name not in SHAPED:
        raise ScenarioError(f"kernel: {name!r} has no columns; {', '.join(SHAPED)} have")
    if not 1 <= columns <= MOST_COLUMNS:
        raise ScenarioError(f"columns: {columns} given; give 1 to {MOST_COLUMNS}")
    make = KERNELS[name].panel if name in KERNELS else stencil.panel
    meaning = f"{SIZED_KERNELS[name].meaning}, here n rows of {columns} columns"
    return make(columns, f"{name}{MARK}{columns}", meaning, least=max(1, columns // LEAST_SHARE))


def named_kernel(name: str) -> SizedKernel:
    """A kernel by the name that `panel_kernel` or the table gave it.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    kernel, _, columns = name.partition(MARK)
    return panel_kernel(kernel, int(columns)) if columns.isdigit() else sized_kernel(name)

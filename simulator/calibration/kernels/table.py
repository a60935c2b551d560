"""All kernels of one parameter, by name, and those on panels of a stated number of columns."""

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
DEEP = "x"
"""Between columns and depth there."""
LEAST_SHARE = 64
"""The smallest panel has the columns over this number as its rows: fewer are no process's share."""
MOST_COLUMNS = 2**20


def sized_kernel(name: str) -> SizedKernel:
    """The kernel of a name."""
    return named(name, SIZED_KERNELS)


def panel_kernel(name: str, columns: int, depth: int | None = None) -> SizedKernel:
    """A kernel on panels of so many columns; its parameter is the number of rows that a process has.

    `depth`: the product of panels so deep is added, as each step of `matmul_2d` does.
    """
    if name not in SHAPED:
        raise ScenarioError(f"kernel: {name!r} has no columns; {', '.join(SHAPED)} have")
    if not 1 <= columns <= MOST_COLUMNS:
        raise ScenarioError(f"columns: {columns} given; give 1 to {MOST_COLUMNS}")
    meaning, least = f"{SIZED_KERNELS[name].meaning}, here n rows of {columns} columns", max(1, columns // LEAST_SHARE)
    if depth is not None:
        if name not in KERNELS or not 1 <= depth <= columns:
            raise ScenarioError(f"depth: {depth} given of {name!r}; give 1 to {columns} of {' or '.join(KERNELS)}")
        full = f"{name}{MARK}{columns}{DEEP}{depth}"
        return KERNELS[name].update(columns, depth, full, f"{meaning}, a panel of {depth} added", least=least)
    make = KERNELS[name].panel if name in KERNELS else stencil.panel
    return make(columns, f"{name}{MARK}{columns}", meaning, least=least)


def named_kernel(name: str) -> SizedKernel:
    """A kernel by the name that `panel_kernel` or the table gave it."""
    kernel, _, shape = name.partition(MARK)
    columns, _, depth = shape.partition(DEEP)
    if not columns.isdigit():
        return sized_kernel(name)
    return panel_kernel(kernel, int(columns), int(depth) if depth.isdigit() else None)

"""All kernels of one parameter, by name."""

from simulator.base.errors import ScenarioError
from simulator.calibration.kernels import (
    apexmap,
    cholesky,
    dgemm,
    fft,
    integration,
    merge_sort,
    naive_matmul,
    stencil,
    triad,
)
from simulator.calibration.kernels.sized import SizedKernel
from simulator.calibration.kernels.square_matmul import square

SIZED_KERNELS = {
    kernel.name: kernel
    for kernel in (
        square("matmul", naive_matmul.multiply, meaning="product of matrices of order n, three compiled loops"),
        square("dgemm", dgemm.multiply, meaning="product of matrices of order n, BLAS dgemm"),
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


def sized_kernel(name: str) -> SizedKernel:
    """The kernel of a name.

    Raises
    ------
    ScenarioError
        If there is none, with those there are.
    """
    if name not in SIZED_KERNELS:
        raise ScenarioError(f"kernel: {name!r} found, one of {', '.join(sorted(SIZED_KERNELS))} allowed")
    return SIZED_KERNELS[name]

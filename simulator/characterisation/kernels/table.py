"""All kernels of the study, by name."""

from simulator.base.errors import ScenarioError
from simulator.characterisation.kernels import cholesky, fft, integration, matmul, nbody, sieve, sort, stencil, triad
from simulator.characterisation.kernels.study import StudyKernel

STUDY_KERNELS: dict[str, StudyKernel] = {
    module.KERNEL.name: module.KERNEL
    for module in (integration, sort, matmul, cholesky, fft, stencil, sieve, nbody, triad)
}
"""The paper's three first."""


def study_kernel(name: str) -> StudyKernel:
    """The kernel of a name.

    Raises
    ------
    ScenarioError
        If there is none, with those there are.
    """
    if name not in STUDY_KERNELS:
        allowed = ", ".join(STUDY_KERNELS)
        raise ScenarioError(f"kernel: {name!r} found, {allowed} or FILE.py:FUNCTION allowed")
    return STUDY_KERNELS[name]

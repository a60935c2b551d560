"""Kernels that really run, each with its problem size and its volume of computation."""

from simulator.calibration.kernels.matmul import KERNELS, Kernel, kernel

__all__ = ["KERNELS", "Kernel", "kernel"]

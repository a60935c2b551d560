"""Merge sort of n whole numbers, bottom up."""

import numpy as np

from simulator.calibration.kernels.merge_sort import Numbers, fill_numbers, merge_sort
from simulator.characterisation.kernels.study import StudyKernel


def _arguments(n: int) -> tuple[Numbers, Numbers]:
    numbers = np.empty(n, dtype=np.int64)
    fill_numbers(numbers)
    return numbers, np.zeros(n, dtype=np.int64)


KERNEL = StudyKernel(
    "sort",
    "merge sort of n whole numbers",
    merge_sort,
    _arguments,
    "butterfly",
    sizes=(3_000, 10_000, 30_000),
    training_sizes=(2_000, 6_000, 18_000, 50_000),
    design={"access": "2*n*ceil(log2(n))", "step": "n*ceil(log2(n))", "decide": "n*ceil(log2(n))"},
    overwrites=True,
)

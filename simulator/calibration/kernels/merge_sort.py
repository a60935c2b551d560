"""Merge sort of n numbers, compiled: 2 n elements (numbers and buffer), n ceil(log2 n) merge steps."""

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import Prepared, SizedKernel, compiled, touched

Numbers = NDArray[np.int64]


def volume(n: int) -> float:
    """Numbers moved: all n in each of ceil(log2 n) passes; 1 for n = 1."""
    return float(max(1, n * (n - 1).bit_length()))


def shuffled(n: int) -> Numbers:
    """The same numbers each time."""
    numbers = np.empty(n, dtype=np.int64)
    fill(numbers)
    return numbers


def fill(numbers: Numbers) -> None:
    """Put the numbers into an array."""
    compiled(fill_numbers, "void(int64[::1])")(numbers)


def prepare(n: int) -> Prepared:
    """The shuffled numbers, and room for the buffer."""
    sort = compiled(merge_sort, "boolean(int64[::1], int64[::1])")
    numbers, buffer = shuffled(n), touched(n, np.int64)

    def run() -> Numbers:
        return buffer if sort(numbers, buffer) else numbers

    return Prepared(run, lambda: fill(numbers))


def merge_sort(numbers: Numbers, buffer: Numbers) -> bool:
    """Sort bottom up, in Python for Numba to compile; whether the result lies in the buffer."""
    n = numbers.size
    source, target = numbers, buffer
    width, swapped = 1, False
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for place in range(begin, end):
                if left < middle and (right >= end or source[left] <= source[right]):
                    target[place] = source[left]
                    left += 1
                else:
                    target[place] = source[right]
                    right += 1
        source, target = target, source
        width, swapped = 2 * width, not swapped
    return swapped


def fill_numbers(numbers: Numbers) -> None:
    """A linear congruence modulo 2^31 (Park and Miller's multiplier), so that any process makes the same numbers."""
    state = 12345
    for k in range(numbers.size):
        state = (state * 48271 + 11) % 2147483648
        numbers[k] = state


KERNEL = SizedKernel("sort", "merge sort of n whole numbers", lambda n: 2 * n, volume, prepare)

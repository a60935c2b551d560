"""Complex Fourier transform of n points: 4 n elements (input and output), 5 n log2 n floating point operations."""

from bisect import bisect_left
from functools import cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import LARGEST_N, WORD_BYTES, Prepared, SizedKernel, touched


def volume(n: int) -> float:
    """Floating point operations by the convention of FFT benchmarks, not as the algorithm counts; 1 for n = 1."""
    return 5 * n * log2(n) if n > 1 else 1.0


def snap(n: int) -> int:
    """The nearest n whose prime factors are 2, 3 and 5: others are slower by several times and make no smooth band."""
    known = smooth_numbers()
    place = bisect_left(known, n)
    return min(known[max(0, place - 1) : place + 1], key=lambda m: abs(m - n))


@cache
def smooth_numbers() -> list[int]:
    """All numbers without prime factors but 2, 3 and 5, ascending, to beyond the largest n."""
    found = [1]
    for prime in (2, 3, 5):
        powers = [prime**k for k in range(LARGEST_N.bit_length() + 1)]
        found = [m * power for m in found for power in powers if m * power <= 2 * LARGEST_N]
    return sorted(found)


def signal(n: int) -> NDArray[np.complex128]:
    """The input: entries between 0 and 1 in both parts."""
    values = np.empty(n, dtype=np.complex128)
    for first in range(0, n, 2**16):
        k = np.arange(first, min(n, first + 2**16))
        values[first : first + k.size] = (k * 7 % 11) / 11 + 1j * ((k * 3 % 13) / 13)
    return values


def prepare(n: int) -> Prepared:
    """Input and room for the output, by NumPy's transform on one thread."""
    points, found = signal(n), touched(n, np.complex128)

    def run() -> NDArray[np.complex128]:
        np.fft.fft(points, out=found)
        return found

    return Prepared(run)


KERNEL = SizedKernel(
    "fft",
    "complex Fourier transform of n points, n with factors 2, 3 and 5 only",
    lambda n: 4 * n,
    volume,
    prepare,
    # NumPy keeps tables of up to n points and, for large n, a work copy of them in addition to input and output
    memory_bytes=lambda n: 2 * WORD_BYTES * 4 * n,
    snap=snap,
)

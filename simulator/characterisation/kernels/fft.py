"""Complex Fourier transform of n points, n a power of two: bits reversed, then radix-2 butterflies in loops."""

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.kernels.study import StudyKernel

Vector = NDArray[np.float64]


def transform(real: Vector, imaginary: Vector, cosine: Vector, sine: Vector) -> None:
    """Write the transform over its input; cosine and sine of -2 pi k / n for the first n/2 k are given."""
    n = real.size
    j = 0
    for i in range(n - 1):
        if i < j:
            kept = real[i]
            real[i] = real[j]
            real[j] = kept
            kept = imaginary[i]
            imaginary[i] = imaginary[j]
            imaginary[j] = kept
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
    half = 1
    while half < n:
        stride = n // (2 * half)
        for first in range(0, n, 2 * half):
            for k in range(half):
                c = cosine[k * stride]
                s = sine[k * stride]
                upper = first + k
                lower = upper + half
                x = real[lower] * c - imaginary[lower] * s
                y = real[lower] * s + imaginary[lower] * c
                real[lower] = real[upper] - x
                imaginary[lower] = imaginary[upper] - y
                real[upper] += x
                imaginary[upper] += y
        half *= 2


def _arguments(n: int) -> tuple[Vector, Vector, Vector, Vector]:
    k = np.arange(n)
    angle = -2 * np.pi * np.arange(n // 2) / n
    return (k * 7 % 11) / 11, (k * 3 % 13) / 13, np.cos(angle), np.sin(angle)


KERNEL = StudyKernel(
    "fft",
    "Fourier transform of n points, n a power of two, radix 2",
    transform,
    _arguments,
    "butterfly",
    sizes=(1024, 4096, 16384),
    training_sizes=(512, 2048, 8192, 32768),
    design={"flop": "5*n*log2(n)", "access": "5*n*log2(n)", "step": "n/2*log2(n)"},
    overwrites=True,
)

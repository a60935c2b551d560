"""The kernels that characterisation methods are judged by: plain functions that Numba compiles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError, meant
from simulator.calibration.kernels import matmul, merge_sort, operands, triad
from simulator.calibration.kernels.integration import integrate
from simulator.calibration.kernels.operands import Matrix

Vector = NDArray[np.float64]
SWEEPS = 4


@dataclass(frozen=True)
class StudyKernel:
    """A kernel with one size n."""

    name: str
    meaning: str
    """What it does and what n is, one line."""
    function: Callable[..., Any]
    """Plain Python that Numba compiles; it returns a result, or leaves it in its arguments."""
    arguments: Callable[[int], tuple[Any, ...]]
    """Arguments of size n, the same ones each time."""
    sizes: tuple[int, ...]
    """Sizes that are judged by default; nothing is ever calibrated at them."""
    training_sizes: tuple[int, ...]
    """Sizes whose counts and times costs may be fitted to, around those that are judged."""
    design: Mapping[str, str]
    """What its designer expects before there is code: operation -> formula of n."""
    overwrites: bool = False
    """Whether a run spoils its arguments for the next one."""


def factor(a: Matrix) -> None:
    """Write the lower factor over the lower half of A."""
    n = a.shape[0]
    for j in range(n):
        total = a[j, j]
        for k in range(j):
            total -= a[j, k] * a[j, k]
        pivot = sqrt(total)
        a[j, j] = pivot
        for i in range(j + 1, n):
            rest = a[i, j]
            for k in range(j):
                rest -= a[i, k] * a[j, k]
            a[i, j] = rest / pivot


def _definite(n: int) -> tuple[Matrix]:
    """The matrix with entries 1 / (1 + |i - j|), positive definite (Polya)."""
    row, column = np.ogrid[0:n, 0:n]
    return (np.asarray(1.0 / (1.0 + np.abs(row - column))),)


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


def _signal(n: int) -> tuple[Vector, Vector, Vector, Vector]:
    k = np.arange(n)
    angle = -2 * np.pi * np.arange(n // 2) / n
    return (k * 7 % 11) / 11, (k * 3 % 13) / 13, np.cos(angle), np.sin(angle)


def relax(old: Matrix, new: Matrix, sweeps: int) -> None:
    """Give every inner point the mean of its neighbours, `sweeps` times, an even number; the result is in `old`."""
    n = old.shape[0]
    for _ in range(sweeps // 2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                old[i, j] = 0.25 * (new[i - 1, j] + new[i + 1, j] + new[i, j - 1] + new[i, j + 1])


def _grid(n: int) -> tuple[Matrix, Matrix, int]:
    row, column = np.ogrid[0:n, 0:n]
    grid = np.asarray(((row * 7 + column * 3) % 11) / 11)
    return grid, grid.copy(), SWEEPS


def count_primes(composite: NDArray[np.uint8]) -> int:
    """How many primes lie below the array's size; composites are marked in it."""
    n = composite.size
    for k in range(n):
        composite[k] = 0
    found = 0
    for k in range(2, n):
        if composite[k] == 0:
            found += 1
            if k * k < n:
                for multiple in range(k * k, n, k):
                    composite[multiple] = 1
    return found


def attract(x: Vector, y: Vector, z: Vector, fx: Vector, fy: Vector, fz: Vector) -> None:
    """Write the sum over all others of (difference / distance^3), softened by 0.01."""
    n = x.size
    for i in range(n):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz + 0.01
            weight = 1.0 / (square * sqrt(square))
            ax += dx * weight
            ay += dy * weight
            az += dz * weight
        fx[i] = ax
        fy[i] = ay
        fz[i] = az


def _bodies(n: int) -> tuple[Vector, ...]:
    k = np.arange(n)
    places = [(k * step % base) / base for step, base in ((7, 11), (3, 13), (5, 17))]
    return (*places, *(np.zeros(n) for _ in range(3)))


STUDY_KERNELS: dict[str, StudyKernel] = {
    kernel.name: kernel
    for kernel in (
        StudyKernel(
            "integration",
            "integral of 4 / (1 + x^2) from 0 to 1 by n midpoints",
            integrate,
            lambda n: (n, 0, n),
            sizes=(30_000, 100_000, 300_000),
            training_sizes=(20_000, 60_000, 180_000, 500_000),
            design={"flop": "5*n", "divide": "n", "step": "n"},
        ),
        StudyKernel(
            "sort",
            "merge sort of n whole numbers",
            merge_sort.merge_sort,
            lambda n: (merge_sort.shuffled(n), np.zeros(n, dtype=np.int64)),
            sizes=(3_000, 10_000, 30_000),
            training_sizes=(2_000, 6_000, 18_000, 50_000),
            design={"access": "2*n*ceil(log2(n))", "step": "n*ceil(log2(n))", "decide": "n*ceil(log2(n))"},
            overwrites=True,
        ),
        StudyKernel(
            "matmul",
            "product of matrices of order n, three loops",
            matmul.loops,
            lambda n: (operands.left(n, n), operands.right(n), np.zeros((n, n))),
            sizes=(100, 160, 260),
            training_sizes=(80, 128, 200, 320),
            design={"flop": "2*n**3", "access": "3*n**3", "step": "n**3"},
        ),
        StudyKernel(
            "cholesky",
            "Cholesky factor of a matrix of order n, three loops",
            factor,
            _definite,
            sizes=(100, 160, 260),
            training_sizes=(80, 128, 200, 320),
            design={"flop": "n**3/3 + n**2", "access": "n**3/3", "step": "n**3/6", "divide": "n**2/2"},
            overwrites=True,
        ),
        StudyKernel(
            "fft",
            "Fourier transform of n points, n a power of two, radix 2",
            transform,
            _signal,
            sizes=(1024, 4096, 16384),
            training_sizes=(512, 2048, 8192, 32768),
            design={"flop": "5*n*log2(n)", "access": "5*n*log2(n)", "step": "n/2*log2(n)"},
            overwrites=True,
        ),
        StudyKernel(
            "stencil",
            f"{SWEEPS} sweeps of a five-point stencil over n x n points",
            relax,
            _grid,
            sizes=(100, 180, 320),
            training_sizes=(75, 135, 240, 420),
            design={"flop": f"{4 * SWEEPS}*n**2", "access": f"{5 * SWEEPS}*n**2", "step": f"{SWEEPS}*n**2"},
        ),
        StudyKernel(
            "sieve",
            "sieve of Eratosthenes up to n",
            count_primes,
            lambda n: (np.zeros(n, dtype=np.uint8),),
            sizes=(30_000, 100_000, 300_000),
            training_sizes=(20_000, 60_000, 180_000, 500_000),
            design={"access": "n*(2 + log(log(n)))", "step": "n*(2 + log(log(n)))", "decide": "n"},
        ),
        StudyKernel(
            "nbody",
            "forces between n bodies, every pair",
            attract,
            _bodies,
            sizes=(100, 240, 560),
            training_sizes=(60, 150, 360, 850),
            design={"flop": "16*n**2", "divide": "2*n**2", "access": "3*n**2", "step": "n**2"},
        ),
        StudyKernel(
            "triad",
            "a = b + 3 c on vectors of n numbers",
            triad.add_scaled,
            triad.arguments,
            sizes=(6_000, 24_000, 96_000),
            training_sizes=(4_000, 12_000, 48_000, 200_000),
            design={"flop": "2*n", "access": "3*n", "step": "n"},
        ),
    )
}
"""By name, the paper's three first."""


def study_kernel(name: str) -> StudyKernel:
    """The kernel of a name."""
    if name not in STUDY_KERNELS:
        there_are = f"only {', '.join(STUDY_KERNELS)} or a function of yours as FILE.py:FUNCTION"
        raise ScenarioError(f"there is no kernel {name!r}, {there_are}{meant(name, STUDY_KERNELS)}")
    return STUDY_KERNELS[name]

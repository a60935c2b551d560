"""Kernels of one parameter: results against independent computations, sizes and volumes counted by hand."""

import math
import resource

import numpy as np
import pytest

from simulator import ScenarioError
from simulator.calibration import SIZED_KERNELS
from simulator.calibration.kernels import apexmap, fft, operands
from simulator.calibration.kernels.table import sized_kernel

# kernel: n, elements stored and processed, volume
COUNTED = {
    "matmul": (4, 48, 128),
    "dgemm": (4, 48, 128),
    "cholesky": (4, 16, 4**3 / 3 + 4**2 / 2 + 4 / 6),
    "fft": (8, 32, 120),
    "sort": (8, 16, 24),
    "integration": (10, 10, 60),
    "triad": (10, 30, 20),
    "apexmap": (64, 68, 64),
    "stencil": (10, 10 * 22, 500),
}


def test_every_kernel_is_counted_by_hand():
    assert COUNTED.keys() == SIZED_KERNELS.keys()
    for name, (n, size, volume) in COUNTED.items():
        kernel = SIZED_KERNELS[name]
        assert (kernel.size(n), kernel.volume(n)) == (size, pytest.approx(volume))
        assert kernel.n_of(size) == n


def test_dpotrf_counts_its_operations():
    """n square roots, and for each column j the divisions, products and differences of the textbook's loops."""
    n = 7
    counted = sum(1 + (n - j - 1) + (n - j - 1) * (n - j) for j in range(n))
    assert SIZED_KERNELS["cholesky"].volume(n) == pytest.approx(counted)


@pytest.mark.parametrize("name", ["matmul", "dgemm"])
def test_products(name):
    n = 37
    found = SIZED_KERNELS[name].prepare(n).run()
    expected = [
        [math.fsum(a * b for a, b in zip(row, col, strict=True)) for col in operands.right(n).T]
        for row in operands.left(n, n)
    ]
    assert np.allclose(found, expected, rtol=1e-13)


def test_cholesky_again_and_again():
    n = 30
    prepared = SIZED_KERNELS["cholesky"].prepare(n)
    i, j = np.ogrid[0:n, 0:n]
    for _ in range(2):
        prepared.reset()
        factor = np.tril(prepared.run())
        assert np.allclose(factor @ factor.T, 1 / (1 + np.abs(i - j)), rtol=1e-13)


def test_fft_by_its_definition():
    n = 30
    k = np.arange(n)
    expected = np.exp(-2j * np.pi * np.outer(k, k) / n) @ fft.signal(n)
    assert np.allclose(SIZED_KERNELS["fft"].prepare(n).run(), expected, atol=1e-12)


def test_fft_takes_only_smooth_n():
    smooth = [2**a * 3**b * 5**c for a in range(12) for b in range(8) for c in range(6)]
    for n in range(1, 1000):
        assert abs(fft.snap(n) - n) == min(abs(m - n) for m in smooth)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 1000])
def test_merge_sort_again_and_again(n):
    prepared = SIZED_KERNELS["sort"].prepare(n)
    for _ in range(2):
        prepared.reset()
        state, numbers = 12345, []
        for _ in range(n):
            state = (state * 48271 + 11) % 2**31
            numbers.append(state)
        assert prepared.run().tolist() == sorted(numbers)


def test_integration_gives_pi():
    assert SIZED_KERNELS["integration"].prepare(10_000).run()[0] == pytest.approx(math.pi, abs=1e-8)


def test_triad():
    assert SIZED_KERNELS["triad"].prepare(10).run().tolist() == [k + 6.0 for k in range(10)]


@pytest.mark.parametrize("n", [1, 5, 16, 1000])
def test_apexmap_reads_where_its_starts_say(n):
    length = min(16, n)
    expected = sum((start + k) % 13 for start in apexmap.draw_starts(n).tolist() for k in range(length))
    assert SIZED_KERNELS["apexmap"].prepare(n).run()[0] == expected


@pytest.mark.parametrize("name", SIZED_KERNELS)
def test_the_nearest_size(name):
    kernel = SIZED_KERNELS[name]
    for size in (1, 100, 12_345, 1e6, 1e9):
        n = kernel.n_of(size)
        assert n >= 1
        neighbours = [m for m in range(max(1, n - 3), n + 4) if kernel.snap(m) == m]
        assert all(abs(kernel.size(n) - size) <= abs(kernel.size(m) - size) for m in neighbours)


def test_an_unknown_kernel_is_named():
    with pytest.raises(ScenarioError, match="there is no kernel 'spam', only apexmap, cholesky, dgemm"):
        sized_kernel("spam")


@pytest.mark.parametrize("name", ["triad", "sort"])
def test_the_first_run_makes_no_pages(name):
    """400 pages of results that are not there yet would be timed: a third of a long triad."""
    SIZED_KERNELS[name].prepare(10).run()  # compiled
    prepared = SIZED_KERNELS[name].prepare(200_000)
    if prepared.reset is not None:
        prepared.reset()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    prepared.run()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100

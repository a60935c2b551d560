"""The kernels of the study compute what they say, and are judged where nothing is taught."""

import itertools

import numpy as np
import pytest

from simulator.base.formula import parse
from simulator.characterisation.costs.micro import SUITE
from simulator.characterisation.kernels import STUDY_KERNELS

SMALL = {"fft": 16, "sieve": 100, "sort": 37, "integration": 50}


def run(name, n=None):
    """Arguments before and after, and the result, of the plain function."""
    kernel = STUDY_KERNELS[name]
    before, after = (kernel.arguments(n or SMALL.get(name, 12)) for _ in range(2))
    return before, after, kernel.function(*after)


def test_no_size_that_is_judged_teaches():
    for kernel in STUDY_KERNELS.values():
        assert len(kernel.sizes) >= 3
        assert not set(kernel.sizes) & set(kernel.training_sizes)
        assert min(kernel.training_sizes) < min(kernel.sizes)
        assert max(kernel.sizes) < max(kernel.training_sizes)
        assert all(parse(amount, names=("n",)).evaluate({"n": 100}) > 0 for amount in kernel.design.values())


def test_cholesky():
    before, after, _ = run("cholesky")
    assert np.tril(after[0]) == pytest.approx(np.linalg.cholesky(before[0]))


def test_fft():
    before, after, _ = run("fft")
    assert after[0] + 1j * after[1] == pytest.approx(np.fft.fft(before[0] + 1j * before[1]))


def test_sieve():
    assert run("sieve")[2] == 25


def test_stencil():
    before, after, _ = run("stencil")
    old = before[0]
    for _ in range(before[2]):
        new = old.copy()
        new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        old = new
    assert after[0] == pytest.approx(old)


def test_nbody():
    before, after, _ = run("nbody")
    places = np.array(before[:3])
    apart = places[:, None, :] - places[:, :, None]
    square = (apart**2).sum(axis=0) + 0.01
    assert np.array(after[3:]) == pytest.approx((apart / square**1.5).sum(axis=2))


@pytest.mark.filterwarnings("ignore:overflow encountered")  # NumPy's whole numbers, as compiled ones, wrap
def test_micro_benchmarks_leave_a_result():
    """A number, or an array that differs from what it was: nothing of it may be dropped by a compiler."""
    for micro in SUITE:
        before, after = micro.arguments(), micro.arguments()
        result = micro.function(*(min(x, 200) if isinstance(x, int) else x for x in after))
        arrays = [(a, b) for a, b in itertools.zip_longest(before, after) if isinstance(a, np.ndarray)]
        assert result is not None or any(not np.array_equal(a, b) for a, b in arrays), micro.name

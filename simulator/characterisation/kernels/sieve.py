"""Sieve of Eratosthenes up to n."""

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.kernels.study import StudyKernel


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


KERNEL = StudyKernel(
    "sieve",
    "sieve of Eratosthenes up to n",
    count_primes,
    lambda n: (np.zeros(n, dtype=np.uint8),),
    "master_worker",
    sizes=(30_000, 100_000, 300_000),
    training_sizes=(20_000, 60_000, 180_000, 500_000),
    design={"access": "n*(2 + log(log(n)))", "step": "n*(2 + log(log(n)))", "decide": "n"},
)

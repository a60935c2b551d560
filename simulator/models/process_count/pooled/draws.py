"""Fixed quasi-random normal numbers, so that the members of an ensemble are the same wherever they are asked for."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from simulator.models.process_count.runs import Floats, Ints

MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


def coefficient_draws(covariance: Floats, number: int) -> Floats:
    """Draws around 0 with a covariance of shape (p, p), shape (number, p); the second half mirrors the first."""
    size = len(covariance)
    half = max((number + 1) // 2, 1)
    steps = np.sqrt(_primes(size))
    uniform = (0.5 + np.arange(1, half + 1)[:, None] * steps[None]) % 1.0
    normal = ndtri(np.clip(uniform, 1e-6, 1 - 1e-6))
    normal /= np.sqrt((normal**2).mean(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    # The symmetric root: there is but one, while eigenvectors have any sign, and any direction where values are equal.
    draws = normal @ ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
    return np.asarray(np.stack([draws, -draws], axis=1).reshape(-1, size)[:number])


def configuration_draws(allocations: Ints, number: int) -> Floats:
    """Standard normal draws that belong to each configuration, shape (number, n)."""
    code = np.zeros(len(allocations), dtype=np.uint64)
    for column in allocations.reshape(len(allocations), -1).T:
        code = _mixed(code + column.astype(np.uint64) + MIX[0])
    member = _mixed(np.arange(1, number + 1, dtype=np.uint64) * MIX[0])
    uniform = (_mixed(code[None] ^ member[:, None]) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.asarray(ndtri(np.clip(uniform, 1e-6, 1 - 1e-6)))


def _mixed(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits well mixed (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    code = (code ^ (code >> np.uint64(30))) * MIX[1]
    code = (code ^ (code >> np.uint64(27))) * MIX[2]
    return code ^ (code >> np.uint64(31))


def _primes(number: int) -> Floats:
    """The first primes."""
    limit = max(16, int(number * (np.log(number + 2) + 3)))
    sieve = np.ones(limit, bool)
    sieve[:2] = False
    for k in range(2, int(limit**0.5) + 1):
        sieve[k * k :: k] = False
    return np.flatnonzero(sieve)[:number].astype(np.float64)

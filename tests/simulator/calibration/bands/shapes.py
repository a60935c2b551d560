"""Recorded tables of many shapes, made from formulas: speed over size as real machines show it."""

import numpy as np

from simulator.calibration.bands import ReplaySource

SMALLEST, LARGEST, ROWS = 3e3, 5e7, 60


def matrix(sizes):
    return 2 * (sizes / 3) ** 1.5


def fourier(sizes):
    return 5 * sizes * np.log2(sizes)


def step(sizes, at, width):
    return 1 / (1 + (at / sizes) ** (1 / width))


def rise(sizes):
    return sizes / (sizes + 3e3)


def noise(sizes, sigma):
    return np.exp(np.random.default_rng(1).normal(0, sigma, sizes.size))


SHAPES = {
    "smooth decay": lambda x: 4e9 / (1 + (x / 3e6) ** 0.35),
    "cliff": lambda x: 4e9 * (1 - 0.6 * step(x, 1e6, 0.03)),
    "two cliffs": lambda x: 4e9 * (1 - 0.4 * step(x, 3e4, 0.05)) * (1 - 0.5 * step(x, 3e6, 0.05)),
    "rising then falling": lambda x: 5e9 * rise(x) ** 2 / (1 + (x / 1e7)),
    "rising": lambda x: 5e9 * rise(x * 0.1),
    "flat": lambda x: 3e9 + 0 * x,
    "noisy": lambda x: 4e9 * rise(x) / (1 + (x / 3e6) ** 0.3) * noise(x, 0.03),
    "dip": lambda x: 4e9 * (1 - 0.5 * np.exp(-((np.log(x / 2e5) / 0.15) ** 2))),
    "slow steps": lambda x: 2e9 * (1 - 0.5 * step(x, 1e5, 0.3)) * (1 - 0.4 * step(x, 4e6, 0.3)),
    "paging at the end": lambda x: 4e9 * (1 - 0.8 * step(x, 4e7, 0.05)),
}


def recorded(name, volume=matrix):
    sizes = np.geomspace(SMALLEST, LARGEST, ROWS)
    times = volume(sizes) / SHAPES[name](sizes)
    return ReplaySource(sizes, volume(sizes), times, times)


def errors(built, source):
    """Relative errors at 80 sizes that no builder chose: equal steps of the size, and of its logarithm."""
    share = (np.arange(40) + 0.5) / 40
    a, b = source.smallest, source.largest
    sizes = np.concatenate([a + (b - a) * share, a * (b / a) ** share])
    return np.abs(built.band.speed(sizes) / source.speeds(sizes) - 1)

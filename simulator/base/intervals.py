"""Stated intervals: where one run, a mean, a ratio or a difference lies, noise and doubt included.

Samples are replications of many rows on the same draws. A row's replications belong to truths: what one truth takes is
the mean of its replications, and truths differ by doubt. What few replications leave open of a truth's mean (the Monte
Carlo error) is taken off the spread of truths, and only decides whether more are run. Without truths nothing is
doubted, and what remains open of a mean is its Monte Carlo error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Truths = NDArray[np.int64]
"""Number of the truth that each replication has; (replication,)."""

LEVEL = 0.9
"""How often a stated interval holds, unless something else is asked for."""


@dataclass(frozen=True)
class Interval:
    """Both ends per row, NaN where replications tell none; (row,) each."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Chances:
    """Who is best over truths; (row,) each."""

    best: Floats
    """Share of the truths in which no other row takes less in the mean; rows that are alike share it."""
    near: Floats
    """Share of the truths in which it takes at most a margin more than the best."""
    loss: Floats
    """Expected loss: how much more it takes than the best one of each truth, as a share, in the mean over truths."""


def of_run(samples: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False) -> Interval:
    """Where one run lies, whatever the truth is; samples (row, replication)."""
    raise NotImplementedError


def of_mean(samples: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False) -> Interval:
    """Where the true mean lies; samples (row, replication)."""
    raise NotImplementedError


def of_ratio(
    base: Floats, others: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False
) -> Interval:
    """Where the base's true mean over each other row's lies (a gain); base (replication,) or as others."""
    raise NotImplementedError


def of_difference(
    base: Floats, others: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False
) -> Interval:
    """Where the true mean of each other row minus that of the base lies; as `of_ratio`."""
    raise NotImplementedError


def chances(
    samples: Floats, truths: Truths | None, *, seed: int, margin: float = 0.01, deterministic: bool = False
) -> Chances:
    """How likely each row is the best one, over truths; samples (row, replication) of what shall be least."""
    raise NotImplementedError

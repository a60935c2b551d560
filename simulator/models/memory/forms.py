"""Forms of Apex-MAP's time per word: models 0 to 3 and n levels, over arrays of (M, alpha, L)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MOST_LEVELS = 5
"""Levels that are tried: three caches, one between them and main memory (a TLB's reach, say), main memory."""


@dataclass(frozen=True)
class MemoryTimes:
    """Measured times per word; all arrays (points,)."""

    m_words: Floats
    alpha: Floats
    run_words: Floats
    """L."""
    time_s: Floats

    def __len__(self) -> int:
        """How many points."""
        return int(self.time_s.size)

    def take(self, rows: NDArray[np.generic]) -> "MemoryTimes":
        """Some of the points, by index or mask."""
        return MemoryTimes(*(column[rows] for column in (self.m_words, self.alpha, self.run_words, self.time_s)))

    def distinct(self) -> NDArray[np.intp]:
        """A number for each point that repetitions of the same (M, alpha, L) share, ascending in that order."""
        points = np.stack((self.m_words, self.alpha, self.run_words), axis=-1)
        return np.asarray(np.unique(points, axis=0, return_inverse=True)[1], dtype=np.intp).reshape(-1)


def scattered(count: int) -> NDArray[np.intp]:
    """0 to count - 1, each once, in an order without pattern that is always the same (splitmix64's mixing).

    What is left out of a grid in such an order is no whole row of it, as with every k-th point.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable"), dtype=np.intp)


@dataclass(frozen=True)
class Form:
    """What a model leaves to be fitted."""

    name: str
    levels: int
    runs: bool
    """Whether latency and gap differ: without, time does not depend on L (models 0 and 1)."""

    @property
    def parameters(self) -> int:
        """How many numbers are fitted, the capacities of all levels but the last among them."""
        return self.levels * (2 if self.runs else 1) + self.levels - 1

    @property
    def points_needed(self) -> int:
        """Distinct points that its fit asks for: two for each parameter, so that an error is left to be seen."""
        return 2 * self.parameters


FORMS = (
    Form("model 0", 1, runs=False),
    Form("model 1", 2, runs=False),
    Form("model 2", 1, runs=True),
    Form("model 3", 2, runs=True),
    *(Form(f"{levels} levels", levels, runs=True) for levels in range(3, MOST_LEVELS + 1)),
)
"""Models 0 to 3 of the paper (apex-map-memory-models, table 2; EQUATIONS section 5) and model 3 for more levels."""


def hit_rates(m_words: ArrayLike, alpha: ArrayLike, capacities_words: ArrayLike) -> Floats:
    """`P_k = min(1, c_k/M)^alpha`: chance that an access falls in the first c_k words; shape (points, capacities)."""
    m = np.asarray(m_words, dtype=np.float64)[:, np.newaxis]
    exponent = np.asarray(alpha, dtype=np.float64)[:, np.newaxis]
    return np.asarray(np.minimum(1.0, np.asarray(capacities_words, dtype=np.float64) / m) ** exponent)


def run_shares(run_words: ArrayLike, *, runs: bool) -> Floats:
    """What latency and gap add to a word, `1/L` and `(L-1)/L`; only a column of 1 without runs; shape (points, 2)."""
    run = np.asarray(run_words, dtype=np.float64)
    return np.stack((1 / run, 1 - 1 / run), axis=-1) if runs else np.ones((run.size, 1))


@dataclass(frozen=True)
class Constants:
    """Numbers of a form, whether or not they make physical sense; capacities ascend."""

    capacities_words: Floats
    """c of all levels but the last; (levels - 1,)."""
    latency_s: Floats
    """Seconds until the first word of a run; (levels,)."""
    gap_s: Floats
    """Seconds for each further word; (levels,). Equal to the latency in models 0 and 1."""

    def times_s(self, points: MemoryTimes) -> Floats:
        """`T = sum over k of (P_k - P_(k-1)) * (l_k + g_k*(L-1)) / L`, seconds per word; shape (points,)."""
        shares = self.level_shares(points)
        words_s = run_shares(points.run_words, runs=True) @ np.stack((self.latency_s, self.gap_s))
        return np.asarray(np.sum(shares * words_s, axis=-1))

    def level_shares(self, points: MemoryTimes) -> Floats:
        """`P_k - P_(k-1)`, the share of accesses that each level serves; shape (points, levels)."""
        inside = hit_rates(points.m_words, points.alpha, self.capacities_words)
        edge = np.ones((len(points), 1))
        return np.diff(np.concatenate((0 * edge, inside, edge), axis=-1), axis=-1)

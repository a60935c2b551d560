"""A guess of what runs of a process-count program take, by cost terms: to choose and to price runs before any is made.

Every process has the same part of the work. A process on a PE with m of them and l competitors has `min(1, c / (l+m))`
of a core (DESIGN, CPU semantics); a run lasts as long as its slowest kind and the communication. The guess is only as
good as the speeds; measured times correct it (`Corrections`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base import ties
from simulator.base.formula import Formula
from simulator.calibration.allocation.kinds import PEKind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ASSUMED_SPEED = 1e9
"""Units per second of a kind whose speed nobody knows, until a pilot run tells."""
_PER_SQUARE = 500.0
"""Units of volume per N^2 beside the work proper: panels and row swaps, at about their cost in real HPL runs."""
_CROWDED = 0.2
"""How much of its computation several processes on a PE may lose or win, as far as one knows before."""
_SLICE_S, _WAITS = 1e-3, 1 / 64
"""What a process waits where another one has its PE, and how often that happens per row of the matrix."""
_NOISE, _JITTER_S = 0.03, 0.01
"""Standard deviation of a run: a share of its time, and a time."""
_SPREAD_RIDGE = (2.0, 1.0, 1.0)
"""How far off the guess may be before anything is measured, in natural logarithms: in all, by kind, by size."""
_SCATTER = 0.2
"""How far single runs scatter about the corrected guess, likewise."""


@dataclass(frozen=True)
class CostGuess:
    """What is known of costs before any run."""

    kinds: tuple[PEKind, ...]
    work: Formula
    """Units of volume of a whole run, over N."""
    latency_s: float
    byte_s: float
    """Of messages between processes."""

    def terms(self, size: Floats, allocations: Ints) -> tuple[Floats, Ints]:
        """Seconds of each cost term, (runs, terms), and the slowest kind, (runs,).

        Parameters
        ----------
        size
            (runs,).
        allocations
            PEs and processes on each; (runs, kind, 2).
        """
        processes = allocations.prod(axis=2).sum(axis=1)
        work = np.broadcast_to(self.work.evaluate({"N": size}), size.shape)
        widest = max(kind.most for kind in self.kinds)
        own = np.zeros((size.size, len(self.kinds), 1 + 1 + 2 * max(0, widest - 1)))
        for k, kind in enumerate(self.kinds):
            m = allocations[:, k, 1]
            rate = (kind.speed or ASSUMED_SPEED) * np.minimum(1.0, kind.cores / np.maximum(1.0, kind.competitors + m))
            part = np.where(m > 0, work / processes / rate, 0.0)
            own[:, k, 0] = part
            own[:, k, 1] = np.where(m > 0, _PER_SQUARE * size**2 / rate, 0.0)
            for more in range(2, kind.most + 1):
                own[:, k, 2 * more - 2] = np.where(m == more, _CROWDED * part, 0.0)
                own[:, k, 2 * more - 1] = np.where(m == more, _SLICE_S * _WAITS * size, 0.0)
        slowest = np.argmax(ties.near_least(-own[:, :, :2].sum(axis=2), axis=1), axis=1)
        rows = np.arange(size.size)
        mine = np.zeros_like(own)
        mine[rows, slowest] = own[rows, slowest]
        together = processes > 1
        shared = np.stack(
            [
                np.where(together, 4 * size**2 * self.byte_s, 0.0),
                np.where(together, _WAITS * size * processes * self.latency_s, 0.0),
                np.full(size.shape, 1e-3),
            ],
            axis=1,
        )
        return np.concatenate([mine.reshape(size.size, -1), shared], axis=1), slowest

    def time_s(self, size: Floats, allocations: Ints) -> Floats:
        """Seconds of runs; (runs,)."""
        return np.asarray(self.terms(size, allocations)[0].sum(axis=1))

    def shares(self, size: Floats, allocations: Ints) -> tuple[Floats, Floats]:
        """Share of each term in a run's time, (runs, terms), and its relative noise, (runs,)."""
        found, _ = self.terms(size, allocations)
        total = found.sum(axis=1)
        return found / total[:, None], np.sqrt(_NOISE**2 + (_JITTER_S / total) ** 2)


class Corrections:
    """How far measured times are from the guess, by kind and size, learned run by run.

    Parameters
    ----------
    guess
        What is corrected.
    start_s
        Seconds until the processes of a run have started, before any is measured.
    """

    def __init__(self, guess: CostGuess, start_s: float) -> None:
        self._guess = guess
        self._start_s = start_s
        self._rows: list[tuple[float, Ints, float]] = []
        self._starts: list[float] = []

    def learn(self, size: float, allocation: Ints, *, time_s: float, wall_s: float) -> None:
        """Take in a run: what it measured, and what it took in all."""
        self._rows.append((size, allocation, max(time_s, 1e-6)))
        self._starts.append(max(0.0, wall_s - time_s))

    @property
    def start_s(self) -> float:
        """Seconds of a run beside what it measures."""
        return float(np.median(self._starts)) if self._starts else self._start_s

    def time_s(self, size: Floats, allocations: Ints) -> Floats:
        """Corrected seconds of runs, without their start; (runs,)."""
        expected = self._guess.time_s(size, allocations)
        if not self._rows:
            return expected
        sizes = np.array([row[0] for row in self._rows])
        done = np.array([row[1] for row in self._rows])
        ratio = np.log(np.array([row[2] for row in self._rows]) / self._guess.time_s(sizes, done))
        middle = float(np.median(sizes))
        A, sd = self._design(sizes, done, middle), self._spread()
        scaled = A * sd
        theta = sd * np.linalg.solve(scaled.T @ scaled + _SCATTER**2 * np.eye(sd.size), scaled.T @ ratio)
        return np.asarray(expected * np.exp(self._design(size, allocations, middle) @ theta))

    def wall_s(self, size: Floats, allocations: Ints) -> Floats:
        """Corrected seconds of runs in all; (runs,)."""
        return self.time_s(size, allocations) + self.start_s

    def _spread(self) -> Floats:
        whole, kind, by_size = _SPREAD_RIDGE
        return np.array([whole, *[kind] * len(self._guess.kinds), by_size])

    def _design(self, size: Floats, allocations: Ints, middle: float) -> Floats:
        slowest = self._guess.terms(size, allocations)[1]
        by_kind = np.eye(len(self._guess.kinds))[slowest]
        return np.column_stack([np.ones(size.size), by_kind, np.log(size / middle)])


def as_arrays(runs: Sequence[tuple[float, tuple[tuple[int, int], ...]]]) -> tuple[Floats, Ints]:
    """Sizes and allocations of runs as arrays; see `CostGuess.terms`."""
    return np.array([size for size, _ in runs], dtype=np.float64), np.array([a for _, a in runs], dtype=np.int64)

"""Measured runs of a program that gives every process the same work, on kinds of PEs; arrays only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class AllocationRuns:
    """Runs, one per row; rows that agree in everything but the time are repetitions."""

    kinds: tuple[str, ...]
    size: Floats
    """Problem size N; (runs,)."""
    allocations: Ints
    """PEs that took part and processes on each of them, both 0 for a kind that took no part; (runs, kind, 2)."""
    time_s: Floats
    """Of the whole run; (runs,)."""
    comp_s: Floats
    """Computation Ta of each kind's PEs, not a number where it was not measured; (runs, kind)."""
    comm_s: Floats
    """Communication Tc likewise; (runs, kind)."""

    @property
    def processes(self) -> Ints:
        """P of each run; (runs,)."""
        return np.asarray((self.allocations[..., 0] * self.allocations[..., 1]).sum(axis=1))

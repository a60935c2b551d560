"""A partition bettered by simulation, which knows what a model per PE leaves out: messages, order, fluctuation."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Partition = tuple[int, ...]
Simulate = Callable[[Partition], tuple[float, NDArray[np.float64]]]
"""Mean makespan of a partition, and the mean time at which each process ends computing; always on the same draws."""

LEAST_STEP = 1 / 500
"""Smallest move, as a share of all units."""


def refined(start: Partition, simulate: Simulate) -> Partition:
    """Move units from the process that computes longest to the one that is done first, while the mean makespan falls.

    Parameters
    ----------
    start
        The partition to better, for example the functional one.
    simulate
        See `Simulate`; called about 20 times.
    """
    best, (best_s, ends) = start, simulate(start)
    step = max(1, sum(start) // 25)
    while step >= max(1, sum(start) * LEAST_STEP):
        late, early = int(np.argmax(ends)), int(np.argmin(ends))
        for source, target in ((late, early), (early, late)):
            moved = min(step, best[source])
            candidate = list(best)
            candidate[source] -= moved
            candidate[target] += moved
            candidate_s, candidate_ends = simulate(tuple(candidate))
            if moved and candidate_s < best_s:
                best, best_s, ends = tuple(candidate), candidate_s, candidate_ends
                break
        else:
            step //= 2
    return best

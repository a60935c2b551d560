"""A partition bettered by simulation, which knows what a model per PE leaves out: messages, order, fluctuation."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator import ties


def whole_units(shares: NDArray[np.float64], units: int) -> NDArray[np.int64]:
    """Whole numbers that add up to all units, by largest remainders.

    Parameters
    ----------
    shares
        At least 0, adding up to `units` but for rounding; (process,).
    """
    whole = np.floor(shares).astype(np.int64)
    rest = units - int(whole.sum())
    order = ties.in_order(whole - shares, floor=64 * np.spacing(shares.max(initial=1.0)))
    whole[order[:rest]] += 1
    return whole


Partition = tuple[int, ...]
Simulate = Callable[[Partition], tuple[float, NDArray[np.float64]]]
"""Mean makespan of a partition, and the mean time at which each process ends computing; always on the same draws."""

LEAST_STEP = 1 / 500
"""Smallest move, as a share of all units."""
PARTS = (1.0, 0.5, 0.25)
"""Parts of the way to equal ends that a move of all processes goes, the boldest first."""
LEVELLINGS = 12
"""Moves of all processes, at most."""


def refined(start: Partition, simulate: Simulate) -> Partition:
    """Move units while the mean makespan falls: among all processes at once, then from the last to the first.

    Of many processes each has its own bias, which moves between two of them mend one at a time.

    Parameters
    ----------
    start
        The partition to better, for example the functional one.
    simulate
        See `Simulate`; called about 20 times, of more than two processes twice as often.
    """
    best, (best_s, ends) = _levelled(start, *simulate(start), simulate=simulate)
    step = max(1, sum(start) // 25)
    while step >= max(1, sum(start) * LEAST_STEP):
        late, early = ties.first_most(ends), ties.first_least(ends)
        for source, target in ((late, early), (early, late)):
            moved = min(step, best[source])
            candidate = list(best)
            candidate[source] -= moved
            candidate[target] += moved
            candidate_s, candidate_ends = simulate(tuple(candidate))
            if moved and ties.is_less(candidate_s, best_s):
                best, best_s, ends = tuple(candidate), candidate_s, candidate_ends
                break
        else:
            step //= 2
    return best


def _levelled(
    best: Partition, best_s: float, ends: NDArray[np.float64], *, simulate: Simulate
) -> tuple[Partition, tuple[float, NDArray[np.float64]]]:
    """Move units among all processes so that they end computing together, as long as that helps."""
    for _ in range(LEVELLINGS if np.count_nonzero(best) > 2 else 0):
        for part in PARTS:
            candidate = _moved(best, ends, part)
            if candidate == best:
                continue
            candidate_s, candidate_ends = simulate(candidate)
            if ties.is_less(candidate_s, best_s):
                best, best_s, ends = candidate, candidate_s, candidate_ends
                break
        else:
            break
    return best, (best_s, ends)


def _moved(partition: Partition, ends: NDArray[np.float64], part: float) -> Partition:
    """Units by the rates that the ends show; processes without units stay without."""
    units = np.array(partition, dtype=np.float64)
    busy = (units > 0) & (ends > 0)
    rates = np.divide(units, ends, out=np.zeros_like(units), where=busy)
    wanted = np.where(busy, (1 - part) * units + part * rates * (units[busy].sum() / rates.sum()), units)
    floor = np.where(units > 0, np.maximum(1.0, wanted), 0.0)
    return tuple(whole_units(floor * (units.sum() / floor.sum()), int(units.sum())).tolist())

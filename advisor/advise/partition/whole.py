"""Shares as whole units."""

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

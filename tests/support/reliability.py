"""Reliability: whether what was stated with a chance of 70 % came true in 70 % of cases."""

import numpy as np
from numpy.typing import ArrayLike


def deviation(stated: ArrayLike, came_true: ArrayLike, *, bins: int = 10) -> float:
    """The expected calibration error: the mean over cases of |stated - seen| of their bin, all bins of equal width."""
    chances, outcomes = np.asarray(stated, dtype=np.float64), np.asarray(came_true, dtype=np.float64)
    places = np.minimum((chances * bins).astype(np.int64), bins - 1)
    apart = np.bincount(places, weights=chances) - np.bincount(places, weights=outcomes)
    return float(np.abs(apart).sum()) / chances.size

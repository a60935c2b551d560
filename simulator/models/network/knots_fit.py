"""A smooth curve through measured message times: monotone, logarithms on both axes."""

import numpy as np
from numpy.typing import NDArray

from simulator.models.network.fitted import Fitted, TooFewPoints
from simulator.models.network.fitted_forms import KnotsModel
from simulator.models.network.points import NetworkPoints

Floats = NDArray[np.float64]
FEWEST_SIZES = 4
FEWEST_TRUST = 0.25
"""Points that are trusted less become no knots."""


def fit_knots(points: NetworkPoints) -> Fitted:
    """Knots where measured; times that fall with the size are pooled (isotonic regression of their logarithms).

    Raises
    ------
    TooFewPoints
        If some distance has too few sizes.
    """
    from scipy.optimize import isotonic_regression

    sizes, times = [], []
    for distance in points.distances:
        mine = (points.hops == distance) & (points.trust >= FEWEST_TRUST)
        if np.count_nonzero(mine) < FEWEST_SIZES:
            mine = points.hops == distance
        if np.count_nonzero(mine) < FEWEST_SIZES:
            found = f"{np.count_nonzero(mine)} sizes at {distance:g} hops found"
            raise TooFewPoints(f"{found}, at least {FEWEST_SIZES} needed at every distance")
        sizes.append(points.size_bytes[mine])
        pooled = isotonic_regression(np.log(points.time_s[mine]), weights=points.trust[mine]).x
        times.append(np.exp(np.maximum.accumulate(pooled)))
    knots = sum(column.size for column in sizes)
    note = f"{knots} knots, no parameters: it says nothing of what lies beyond the sizes measured"
    return Fitted(KnotsModel(points.distances, tuple(sizes), tuple(times)), (), knots, (note,))

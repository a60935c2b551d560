"""Mixtures of Student distributions, one per candidate structure, and their quantiles."""

import numpy as np
from scipy.special import stdtr, stdtrit

from simulator.models.regression.runs import Floats

QUANTILE_STEPS = 60
"""Most steps of false position; the bracket is tight, so that ten are usual."""
CLOSE = 1e-7
"""Error of a quantile's probability at which the search ends."""


def mixture_quantiles(
    weight: Floats, mean: Floats, variance: Floats, *, freedom: Floats, levels: tuple[float, ...]
) -> Floats:
    """Quantiles of a mixture of Student distributions, by false position (Illinois).

    Parameters
    ----------
    weight, freedom
        Shape (members,).
    mean, variance
        Shape (members, n).

    Returns
    -------
    array
        Shape (levels, n).
    """
    degrees, centre = freedom[:, None, None], mean[:, None]
    spread = np.sqrt(np.maximum(variance, 1e-18))[:, None]
    wanted = np.array(levels)[:, None]
    own = centre + spread * stdtrit(degrees, wanted)  # the mixture's quantile lies between its members'

    def excess(at: Floats) -> Floats:
        found: Floats = np.tensordot(weight, stdtr(degrees, (at - centre) / spread), axes=1) - wanted
        return found

    low, high = own.min(axis=0), own.max(axis=0)
    below, above = excess(low), excess(high)
    middle = (low + high) / 2
    for _ in range(QUANTILE_STEPS):
        width = np.maximum(above - below, 1e-300)
        middle = np.clip(low - below * (high - low) / width, low, high)
        found = excess(middle)
        if np.abs(found).max() <= CLOSE:
            break
        under = found < 0
        # An end that stays counts half the next time, or it would stay for ever (Illinois).
        low, high = np.where(under, middle, low), np.where(under, high, middle)
        below, above = np.where(under, found, below / 2), np.where(under, above / 2, found)
    return np.asarray(middle)

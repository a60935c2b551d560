"""How errors of predictions are summed up: mean, standard deviation, least, greatest, and an interval of the mean."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.documents import Record
from simulator.base.errors import ScenarioError

NORMAL_90 = 1.645
"""Normal quantile of a two-sided 90 % interval, with the digits that table 7 of the paper is made with."""


@dataclass(frozen=True)
class ErrorStatistics(Record):
    """Statistics of n errors, in their unit."""

    SPARSE = False

    n: int
    mean: float
    standard_deviation: float | None
    """Of the sample, with n - 1; None for one error."""
    min: float
    max: float
    ci90_low: float | None
    """Ends of the 90 % interval of the mean, mean -+ 1.645 standard deviations / sqrt(n); None for one error."""
    ci90_high: float | None


def error_statistics(errors: ArrayLike) -> ErrorStatistics:
    """Sum up errors; any shape, in any unit (characterisation paper, table 7).

    Raises ScenarioError if there is none, or one that is no finite number.
    """
    found = np.asarray(errors, dtype=np.float64).reshape(-1)
    if found.size == 0 or not np.isfinite(found).all():
        raise ScenarioError("errors: give at least one number, and none that is not finite")
    mean, n = float(found.mean()), int(found.size)
    low, high = float(found.min()), float(found.max())
    if n == 1:
        return ErrorStatistics(n, mean, None, low, high, None, None)
    deviation = float(found.std(ddof=1))
    half = NORMAL_90 * deviation / n**0.5
    return ErrorStatistics(n, mean, deviation, low, high, mean - half, mean + half)

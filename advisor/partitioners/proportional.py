"""Units in proportion to one speed per PE: the constant performance model."""

from collections.abc import Sequence

import numpy as np

from advisor.partitioners.functional import functional


def proportional(units: int, speeds: Sequence[float]) -> tuple[int, ...]:
    """The exact partition if every PE kept the one speed that was seen of it, whatever it is given.

    Parameters
    ----------
    units
        How much there is.
    speeds
        Above zero, in any one unit.
    """
    rates = np.asarray(speeds, dtype=np.float64)
    return functional(units, rates.size, lambda counts: counts / rates)

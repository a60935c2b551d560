"""Units in proportion to one speed per PE: the constant performance model, from a peak or from one benchmark.

Kalinov and Lastovetsky, "Heterogeneous Distribution of Computations Solving Linear Algebra Problems on Networks of
Heterogeneous Computers", Journal of Parallel and Distributed Computing 61 (2001).
"""

import numpy as np

from advisor.advise.partition.min_max import check_units, least_limit
from advisor.advise.partition.result import Partition, bound_s, of_shares
from advisor.advise.partition.speed_kinds import SpeedKinds


def proportional(units: int, pes: SpeedKinds, *, at: float | None = None, peak: bool = False) -> Partition:
    """The exact partition as if each PE kept one speed, evaluated with its real speeds; memory limits are kept.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.

    `units`, `pes`: what is divided, and by whom.
    `at`: size of the one benchmark; by default each PE's smallest size.
    `peak`: take each PE's greatest speed at any size instead.
    """
    check_units(units, pes)
    if peak:
        speeds = np.maximum.reduceat(pes.speeds, pes.starts[:-1])
    else:
        speeds = (
            pes.speeds[pes.starts[:-1]]
            if at is None
            else pes.speed_of(np.arange(len(pes.names)), np.full(len(pes.names), at))
        )
    shares = least_limit(units, pes.with_constant(speeds))[1]
    return of_shares("by-speed", pes, shares, bound_s(units, pes))

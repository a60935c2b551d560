"""The exact integer min-max partition for speed functions: the functional performance model.

Lastovetsky and Reddy, "Data Partitioning with a Functional Performance Model of Heterogeneous Processors",
International Journal of High Performance Computing Applications 21 (2007): a line through the origin, of slope 1 / T,
meets each speed function once, and is turned until the units under it are all. Here the whole numbers are exact too
(`min_max`).
"""

from dataclasses import replace

import numpy as np

from advisor.advise.partition.discontinuous import discontinuous
from advisor.advise.partition.min_max import check_units, least_limit
from advisor.advise.partition.result import Partition, of_shares
from advisor.advise.partition.speed_kinds import SpeedKinds


def functional(units: int, pes: SpeedKinds) -> Partition:
    """The partition with the least possible makespan.

    Times must grow with the units. Where they do not, or by less than rounding, `discontinuous` answers, and a warning
    says so.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.
    """
    check_units(units, pes)
    if pes.grows(units):
        limit_s, shares = least_limit(units, pes)
        return of_shares("functional", pes, shares, limit_s)
    found = discontinuous(units, pes)
    falling = np.flatnonzero(pes.falling(units))
    if not falling.size:
        return replace(found, method="functional")
    others = f" and {falling.size - 1} more" if falling.size > 1 else ""
    warning = (
        f"the time of {pes.names[falling[0]]}{others} falls somewhere while its units grow, which functional does not "
        "allow: discontinuous was used"
    )
    return replace(found, method="functional", warnings=(warning, *found.warnings))

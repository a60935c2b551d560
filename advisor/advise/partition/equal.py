"""The same number of units for every PE: what a parallel program does that knows nothing of its PEs."""

import numpy as np

from advisor.advise.partition.min_max import check_units, least_limit
from advisor.advise.partition.result import Partition, bound_s, of_shares
from advisor.advise.partition.speed_kinds import SpeedKinds


def equal(units: int, pes: SpeedKinds) -> Partition:
    """Split units evenly, or as evenly as memory limits allow; the first PEs take one more.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.
    """
    check_units(units, pes)
    alike = pes.with_constant(np.ones(len(pes.names)))
    return of_shares("equal", pes, least_limit(units, alike)[1], bound_s(units, pes), warnings=full_ones(units, pes))


def full_ones(units: int, pes: SpeedKinds) -> tuple[str, ...]:
    """A warning where an even share would not fit a PE's memory."""
    share = -(-units // pes.pe_count)
    small = np.flatnonzero(pes.limits < share)
    if not small.size:
        return ()
    first = f"{pes.names[small[0]]} (max_size {pes.limits[small[0]]})"
    others = f" and {small.size - 1} more" if small.size > 1 else ""
    return (f"an equal share of {share} units does not fit {first}{others}: full, and the rest goes to the others",)

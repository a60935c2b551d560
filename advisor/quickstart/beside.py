"""What the PEs of this machine lose to each other: sharing domains within the budget, and speeds without them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from advisor.quickstart.plan import KERNEL, SHORT_BUDGET_S
from simulator import ScenarioError, SpeedBand
from simulator.calibration import NeighboursModel, measure_neighbours

SHARE, LEAST_S = 0.1, 6.0
"""Share of the budget, and the seconds that it takes at least."""


def measure_domains(cpus: Sequence[int], *, budget_s: float, seed: int) -> tuple[NeighboursModel | None, str]:
    """What dgemm and streams lose to each other; or None, and why it is not known.

    Parameters
    ----------
    cpus
        Of the PEs.
    budget_s
        Of the whole quickstart, in seconds.
    """
    if len(cpus) < 2:
        return None, "one PE has no neighbour"
    if budget_s < SHORT_BUDGET_S:
        return None, f"a budget of {SHORT_BUDGET_S:g} s or more measures neighbours"
    try:
        return measure_neighbours(cpus, max(LEAST_S, SHARE * budget_s), kernels=(KERNEL,), seed=seed), ""
    except ScenarioError as fault:  # too little time on a slow machine: the rest of the loop needs none of it
        return None, str(fault)


def without_neighbours(band: SpeedBand, model: NeighboursModel | None, kernel: str, pes: int) -> SpeedBand:
    """The band of a PE alone, from one that was measured with a kernel at work on so many PEs at once."""
    if model is None or not model.sharing or kernel not in model.kernels:
        return band
    kept = np.array([model.together_share(kernel, float(size), pes) for size in band.sizes])
    return replace(band, low=band.low / kept, mid=band.mid / kept, high=band.high / kept)

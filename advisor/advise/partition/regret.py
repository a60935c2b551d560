"""The partition with the least worst regret when each PE's one speed lies anywhere in an interval.

Regret is the makespan minus what the best partition would have taken, had the speeds been known (Kouvelis and Yu,
"Robust Discrete Optimization and Its Applications", 1997). With constant speeds it is greatest at a corner: one PE slow
and the rest fast (all fast is worse for a PE only where its regret is below 0). At each corner PE i's part grows with
its units, so `by_times` finds the least maximum.
"""

import numpy as np

from advisor.advise.partition.by_times import by_times
from advisor.advise.partition.functional import functional
from advisor.advise.partition.result import Partition, of_units
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from simulator import ScenarioError


def least_regret(units: int, pes: SpeedKinds, *, low: Floats, high: Floats) -> Partition:
    """The partition whose worst regret is least; its makespan and bound are those of the middle speeds.

    The best partition of a corner is taken with parts of units: `units / sum of speeds`.

    Parameters
    ----------
    units, pes
        What is divided, and by whom: the middle speeds.
    low, high
        Lower and upper speeds at the knots of `pes`, the same at all knots of a kind.

    Raises
    ------
    ScenarioError
        If a speed is not constant, or a PE has a set-up cost or a memory limit.
    """
    first = pes.starts[:-1]
    for curve in (low, pes.speeds, high):
        changes = curve != np.repeat(curve[first], np.diff(pes.starts))
        if np.any(changes):
            kind = int(np.searchsorted(pes.starts, np.argmax(changes), "right")) - 1
            raise ScenarioError(
                f"{pes.names[kind]}: speeds: not the same at all sizes, objective regret needs one speed"
            )
    limited = (pes.setups > 0) | (pes.limits < units)
    if np.any(limited):
        name = pes.names[int(np.argmax(limited))]
        raise ScenarioError(f"{name}: setup_s or max_size found, objective regret allows neither")
    slow, fast = low[first][pes.kind_of_pe], high[first][pes.kind_of_pe]
    best_s = units / (fast.sum() - fast + slow)

    def regrets_s(counts: Ints) -> Floats:
        return np.asarray(counts / slow - best_s + best_s.max())

    found = np.array(by_times(units, pes.pe_count, regrets_s), np.int64)
    worst_s = float((regrets_s(found) - best_s.max()).max())
    details = {"objective": "regret", "worst_regret_s": worst_s}
    return of_units("banded", pes, found, functional(units, pes).lower_bound_s, details=details)

"""Times one by one, for problems small enough, and the bound of padded work that they give."""

from dataclasses import dataclass

import numpy as np

from advisor.advise.partition.min_max import weighted_least
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds

FEW_ENTRIES = 100_000
"""Up to so many times, over all kinds, all are looked at; beyond, those that a first partition does not rule out."""

ENTRIES_PER_CALL = 30
"""From so many times per kind, a call of `numpy.interp` for each kind is the quicker way to the same numbers."""


@dataclass(frozen=True)
class Table:
    """Times of each kind for 0, 1, 2, ... units, end to end."""

    starts: Ints
    kind: Ints
    """Kind of each entry."""
    units: Ints
    times_s: Floats


def tabulated(pes: SpeedKinds, reach: Ints) -> Table:
    """Times of each kind for 0 up to so many units, (K,)."""
    lengths = reach + 1
    starts = np.concatenate(([0], np.cumsum(lengths)))
    kind = np.repeat(np.arange(reach.size), lengths)
    units = np.arange(starts[-1]) - starts[kind]
    if starts[-1] < ENTRIES_PER_CALL * reach.size:
        return Table(starts, kind, units, pes.time_s(kind, units))
    x = units.astype(np.float64)
    speeds = np.empty(x.size)
    for one in range(reach.size):
        part, knots = slice(starts[one], starts[one + 1]), slice(pes.starts[one], pes.starts[one + 1])
        speeds[part] = np.interp(x[part], pes.sizes[knots], pes.speeds[knots])
    return Table(starts, kind, units, np.where(units > 0, pes.setups[kind] + x / speeds, 0.0))


def padding_bound(units: int, pes: SpeedKinds, table: Table) -> float:
    """The least makespan with `min(t_i(y) for y >= x)` in the place of `t_i(x)`: a partial sort of all of them."""
    padded_s = table.times_s.copy()
    falls = np.diff(padded_s) < 0
    falls[table.starts[1:-1] - 1] = False
    for kind in np.unique(table.kind[:-1][falls]).tolist():
        part = padded_s[table.starts[kind] : table.starts[kind + 1]]
        part[:] = np.minimum.accumulate(part[::-1])[::-1]
    some = table.units > 0
    times_s, weights = padded_s[some], pes.counts[table.kind[some]]
    return weighted_least(times_s, weights, units)

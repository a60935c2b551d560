"""What every partitioner answers: units per PE, the makespan they lead to, and a bound that no partition can beat."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from advisor.advise.partition.min_max import Shares, least_limit, narrowed, weighted_least
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from simulator import Share, gathered_shares, notebook, plots, units

# Times one by one, for problems small enough, and the bound of padded work that they give.


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


if TYPE_CHECKING:
    import pandas as pd

MOST_DRAWN = 5000
"""PEs up to which a notebook gathers them for a picture."""
ROUNDING = 1e-12
"""Makespans this close, relatively, differ by no more than rounding where times hardly grow with the units."""


@dataclass(frozen=True)
class Partition:
    """Units of every PE, and how good that is."""

    method: str
    pes: SpeedKinds
    values: Ints
    """Units of runs of PEs, in order."""
    repeats: Ints
    """PEs in each run."""
    makespan_s: float
    """Time of the PE that ends last, by the speed functions."""
    lower_bound_s: float
    """No partition has a lower makespan."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def units(self) -> Ints:
        """Units of every PE in order, (p,)."""
        return np.repeat(self.values, self.repeats)

    @property
    def times_s(self) -> Floats:
        """Seconds of every PE, (p,)."""
        return self.pes.times_s(self.units)

    def __repr__(self) -> str:
        count, makespan = int(self.repeats.sum()), units.show_duration(self.makespan_s)
        return f"Partition({self.method}, {int(self.units.sum())} units on {count} PEs, {makespan})"

    def _repr_html_(self) -> str:
        names = self.pes.pe_names(notebook.MOST_ROWS)
        times = self.times_s
        rows = [
            {"PE": name, "units": int(share), "time": units.show_duration(float(time))}
            for name, share, time in zip(names, self.units, times, strict=False)
        ]
        facts = {
            "makespan": units.show_duration(self.makespan_s),
            "no partition is below": units.show_duration(self.lower_bound_s),
        }
        table = notebook.table(rows, count=self.units.size)
        shown = (self._picture(), notebook.facts(facts), table)
        return notebook.page(f"Partition, {self.method}", *shown, warnings=self.warnings)

    def _picture(self) -> str:
        """Who gets how much, against the equal split; nothing of too many PEs."""
        if self.units.size > MOST_DRAWN:
            return ""
        equal = float(self.units.sum()) / self.units.size
        given = zip(self.pes.pe_names(), self.units.tolist(), self.times_s.tolist(), strict=True)
        shares = [Share(name, "", equal, gets, gets / took if took > 0 else None) for name, gets, took in given]
        rows, of = gathered_shares(shares)
        return plots.shares(rows, unit="units", of=of, names=("equal split", self.method)).svg()

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per PE: name, units, time_s."""
        import pandas as pd

        return pd.DataFrame({"pe": self.pes.pe_names(), "units": self.units, "time_s": self.times_s})

    @property
    def optimal(self) -> bool:
        """Whether no partition is better, by more than rounding."""
        return self.makespan_s <= self.lower_bound_s * (1 + ROUNDING)


def of_shares(
    method: str, pes: SpeedKinds, shares: Shares, lower_bound_s: float, *, warnings: tuple[str, ...] = ()
) -> Partition:
    """The partition of shares per kind, its makespan evaluated."""
    makespan_s = max(
        float(np.max(pes.time_s(np.flatnonzero(taken), units[taken]), initial=0.0))
        for units, taken in (
            (shares.top, shares.full > 0),
            (shares.odd, shares.full < shares.counts),
            (shares.base, shares.full + 1 < shares.counts),
        )
    )
    return Partition(method, pes, shares.values, shares.repeats, makespan_s, lower_bound_s, warnings)


def bound_s(units: int, pes: SpeedKinds) -> float:
    """A makespan that no partition can beat: the least one where times grow, else that of padded work.

    A PE whose time falls may do with fewer units as if it had more; one that cannot is no faster.
    """
    if pes.grows(units):
        return least_limit(units, pes)[0]
    reach = np.minimum(pes.limits, units)
    if int(reach.sum()) <= FEW_ENTRIES:
        return padding_bound(units, pes, tabulated(pes, reach))
    return narrowed(units, pes, envelope="last").low_s

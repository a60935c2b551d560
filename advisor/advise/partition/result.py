"""What every partitioner answers: units per PE, the makespan they lead to, and a bound that no partition can beat."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.advise.partition.min_max import Shares, least_limit, narrowed
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from advisor.advise.partition.tables import FEW_ENTRIES, padding_bound, tabulated
from simulator import notebook, units

if TYPE_CHECKING:
    import pandas as pd

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
    """Time of the PE that ends last, by the speed functions; of a band, what the method says."""
    lower_bound_s: float
    """No partition has a lower makespan."""
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """What only this method has to say, plain data."""

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
        told = {
            "makespan": units.show_duration(self.makespan_s),
            "no partition is below": units.show_duration(self.lower_bound_s),
        }
        table = notebook.table(rows, count=self.units.size)
        return notebook.page(f"Partition, {self.method}", notebook.facts(told), table, warnings=self.warnings)

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


def of_units(method: str, pes: SpeedKinds, units: Ints, lower_bound_s: float, **more: Any) -> Partition:
    """The partition of given units per PE, its makespan evaluated."""
    makespan_s = float(pes.times_s(units).max())
    return Partition(method, pes, units, np.ones_like(units), makespan_s, lower_bound_s, **more)


def bound_s(units: int, pes: SpeedKinds) -> float:
    """A makespan that no partition can beat: the least one where times grow, else that of padded work.

    A PE whose time falls may do with fewer units as if it had more; whoever cannot do that is no faster.
    """
    if pes.grows(units):
        return least_limit(units, pes)[0]
    reach = np.minimum(pes.limits, units)
    if int(reach.sum()) <= FEW_ENTRIES:
        return padding_bound(units, pes, tabulated(pes, reach))
    return narrowed(units, pes, envelope="last").low_s

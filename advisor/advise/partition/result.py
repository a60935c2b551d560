"""What every partitioner answers: units per PE, the makespan they lead to, and a bound that no partition can beat."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from simulator import Share, gathered_shares, notebook, plots, units

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
    units: Ints
    """Of every PE in order, (p,)."""
    lower_bound_s: float
    """No partition has a lower makespan."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def times_s(self) -> Floats:
        """Seconds of every PE, (p,)."""
        return self.pes.time_s(self.pes.kind_of_pe, self.units)

    @property
    def makespan_s(self) -> float:
        """Time of the PE that ends last, by the speed functions."""
        return float(self.times_s.max())

    def __repr__(self) -> str:
        makespan = units.show_duration(self.makespan_s)
        return f"Partition({self.method}, {self.units.sum()} units on {self.units.size} PEs, {makespan})"

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

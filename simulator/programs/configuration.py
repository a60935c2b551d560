"""Who does how much where: partition (work per process) and allocation (processes per PE), together a configuration."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from simulator.base import given
from simulator.base.errors import ScenarioError

AS_NOW = "as-now"
"""The configuration that says how the program is run today: what an advice gains is counted from it."""
MOST_PROCESSES = 1_000_000
"""Most processes of a configuration: ten times as many as the largest machines have nodes."""
MOST_PLACED = 10_000_000
"""Most processes of all configurations of a scenario together: each takes some 20 bytes before any is simulated."""
MOST_SHOWN = 16
"""Processes up to which a configuration is printed in full."""


@dataclass(frozen=True)
class Repartition:
    """When units move between processes while the program runs; decided as `scheduling/balance.py` says."""

    when: Literal["gain", "threshold", "every"] = "gain"
    """`gain`: where the expected gain over the calls to come exceeds the cost of moving; `threshold`: where the longest
    time over the mean one, minus 1, is above `threshold`; `every`: always."""
    every: int = 10
    """Iterations from one decision to the next."""
    threshold: float = 0.1

    def __post_init__(self) -> None:
        given.check_choice(self.when, get_args(type(self).__annotations__["when"]), where="repartition: when")
        given.whole(self.every, where="repartition: every", least=1)

    def __str__(self) -> str:
        limit = f" above {self.threshold:.0%}" if self.when == "threshold" else ""
        return f"{self.when}{limit}, every {self.every} iterations"


@dataclass(frozen=True)
class Configuration:
    """Work of each process, and the PE that each process runs on."""

    name: str
    partition: tuple[int, ...]
    """Units of work (for a matrix multiplication: rows) per process."""
    placement: tuple[int, ...] = ()
    """Index of the PE of each process; by default one process on each of the first PEs, in order."""
    grid: tuple[int, int] | None = None
    """Rows and columns of the grid of processes, which takes them row by row; None: as the application has it."""
    repartition: Repartition | None = None
    """When units move while it runs; None: never."""
    rule: str = field(default="", compare=False)
    """By which rule its units were divided, so that a file can say so; empty: they are a list. See `partitions`."""

    if TYPE_CHECKING:  # what a program may hand over becomes what the fields say

        def __init__(
            self,
            name: str,
            partition: Sequence[int],
            placement: Sequence[int] = (),
            grid: tuple[int, int] | None = None,
            repartition: Repartition | None = None,
            rule: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        given.check_name(self.name, where="configuration: name")
        where = f"configuration {self.name}"
        object.__setattr__(self, "partition", _wholes(self.partition, where=f"{where}: partition", of="units"))
        places = _wholes(self.placement, where=f"{where}: placement", of="PEs")
        object.__setattr__(self, "placement", places or tuple(range(len(self.partition))))
        if not self.partition:
            raise ScenarioError(f"{where}: partition: it has no process; give at least one")
        if any(units < 0 for units in self.partition) or not any(self.partition):
            raise ScenarioError(
                f"{where}: partition: it is {list(self.partition)}; give units of at least 0, not all 0"
            )
        if len(self.placement) != len(self.partition):
            found = f"it is {list(self.placement)[:MOST_SHOWN]} for {len(self.partition)} processes"
            raise ScenarioError(f"{where}: placement: {found}; give one PE per process")
        if self.grid is not None and (min(self.grid) < 1 or self.grid[0] * self.grid[1] != len(self.partition)):
            rows, columns = self.grid
            raise ScenarioError(
                f"{where}: grid: {rows} x {columns} is not the number of processes, {len(self.partition)}"
            )

    def __repr__(self) -> str:
        if len(self.partition) > MOST_SHOWN:
            return f"Configuration({self.name!r}, {len(self.partition)} processes, {sum(self.partition)} units)"
        grid = "" if self.grid is None else f", grid={self.grid}"
        moves = "" if self.repartition is None else f", repartition={self.repartition}"
        return f"Configuration({self.name!r}, partition={self.partition}, placement={self.placement}{grid}{moves})"

    @classmethod
    def one_each(cls, name: str, partition: tuple[int, ...], *, rule: str = "") -> "Configuration":
        """One process per PE, in order."""
        return cls(name, partition, tuple(range(len(partition))), rule=rule)

    @property
    def divided(self) -> tuple[tuple[int, ...], tuple[int, int] | None]:
        """How the work is divided, wherever processes run: what a program depends on."""
        return self.partition, self.grid

    def allocation(self, pe_count: int) -> tuple[int, ...]:
        """Processes per PE."""
        return tuple(self.placement.count(pe) for pe in range(pe_count))


def _wholes(values: Sequence[int], *, where: str, of: str) -> tuple[int, ...]:
    """Numbers of a list, a tuple or an array as a tuple of integers."""
    found = given.several(values, where=where, give=f"a list of whole numbers: the {of} of each process")
    if set(map(type, found)) <= {int}:
        return found
    return tuple(given.whole(value, where=where) for value in found)


def even_split(units: int, processes: int) -> tuple[int, ...]:
    """Units in equal parts, the first ones one larger where they do not divide."""
    share, rest = divmod(units, processes)
    return tuple(share + (process < rest) for process in range(processes))

"""Costs that a program hands over: a function of how many units a process has, or the cost of each unit.

Process 0 sends each other process the data of its units, if they have any; each computes its units, and gives what
comes of them back, if that is anything. The problem size is the number of units. No file names such an application.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import given, units
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Loop, Program, Recv, Row, Send

MOST_UNITS = 10_000_000
"""Most units: their volumes stand in one array, and a function is called as often."""
OUT, BACK = 1, 2
"""Tags of messages."""


@dataclass(frozen=True, eq=False)
class OwnCosts(Work):
    """Units with costs of the user's own; volumes are an array, made once."""

    volumes: Floats
    """Of the first 0, 1, 2 ... units together, or of a process with so many; (units + 1,)."""
    in_order: bool
    """Whether each unit has a cost of its own, so that it matters which ones a process has."""
    unit_bytes: int = 0
    result_bytes: int = 0

    @classmethod
    def of(
        cls,
        costs: Callable[[int], float] | ArrayLike,
        count: int | None,
        unit_bytes: str | int,
        result_bytes: str | int,
    ) -> "OwnCosts":
        """See `Application.of_costs`."""
        sizes = [
            int(given.quantity(size, units.SIZE, where=f"application: {name}", example="'8 KiB' or bytes", zero=True))
            for name, size in (("unit_bytes", unit_bytes), ("result_bytes", result_bytes))
        ]
        if not callable(costs):
            each = _numbers(costs)
            if count is not None and count != each.size:
                found = f"it is {given.shown(count)} and costs are of {each.size} units"
                raise ScenarioError(f"application: units: {found}; leave it out")
            return cls(
                np.concatenate(([0.0], np.cumsum(each))), in_order=True, unit_bytes=sizes[0], result_bytes=sizes[1]
            )
        if count is None:
            raise ScenarioError("application: units: a function of costs does not say how many units; give units=1000")
        count = given.whole(count, where="application: units", least=1)
        _check_count(count)
        each = _numbers([0.0, *(costs(number) for number in range(1, count + 1))])
        return cls(each, in_order=False, unit_bytes=sizes[0], result_bytes=sizes[1])

    @property
    def units(self) -> int:
        """How many there are."""
        return int(self.volumes.size - 1)

    @property
    def has_master(self) -> bool:
        """Process 0 handles all messages, if there are any."""
        return bool(self.unit_bytes or self.result_bytes)

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many units; of units with costs of their own the mean of them."""
        if self.in_order:
            mean = self.volumes[-1] / self.units
            return lambda count: Compute(float(mean * count), count)
        return lambda count: Compute(float(self.volumes[count]), count)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Data of units, and what comes back."""
        return tuple(units * size for size in (self.unit_bytes, self.result_bytes) if size)

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without units takes no part."""
        count = Team.of(configuration, total=self.units, noun="units", name="units").units
        volumes = np.asarray(self.volumes[count])
        if self.in_order:
            ends = np.cumsum(count)
            volumes = self.volumes[ends] - self.volumes[ends - count]
        compute = Compute(volumes, np.maximum(count, 1))
        others = np.flatnonzero(count[1:])[:, np.newaxis] + 1
        sent, back = count * self.unit_bytes, count * self.result_bytes
        master: Row = (
            *([Loop(others.size, (Send(others, sent[others], OUT),))] if self.unit_bytes and others.size else []),
            compute,
            *([Loop(others.size, (Recv(others, BACK),))] if self.result_bytes and others.size else []),
        )
        worker: Row = (
            *([Recv(0, OUT)] if self.unit_bytes else []),
            compute,
            *([Send(0, back, BACK)] if self.result_bytes else []),
        )
        rows = (master, *(worker if units else () for units in count[1:].tolist()))
        held = (self.unit_bytes + self.result_bytes) * count
        return Program(rows, tuple(held.tolist()))


def _check_count(count: int) -> None:
    if count > MOST_UNITS:
        raise ScenarioError(f"application: units: these are {count}; give at most {MOST_UNITS}, several in one")


def _numbers(costs: ArrayLike) -> Floats:
    """Finite numbers of at least 0, one at least; (units,)."""
    where, give = "application: costs", "a number of at least 0 for each unit, or a function of how many a process has"
    try:
        found = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScenarioError(f"{where}: it is {given.shown(costs)}; give {give}") from None
    if found.ndim != 1 or not found.size:
        shape = " x ".join(map(str, found.shape)) or "one number"
        raise ScenarioError(f"{where}: they are {shape} and no row of numbers; give {give}")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if wrong.size:
        raise ScenarioError(f"{where}: cost {wrong[0]} is {found[wrong[0]]:g}; give {give}")
    if not np.any(found):
        raise ScenarioError(f"{where}: all of them are 0; give {give}")
    _check_count(found.size)
    return found

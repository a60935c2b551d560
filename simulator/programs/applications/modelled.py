"""An application whose cost is a run-time model, fitted to real runs: no program is known, only how long it takes.

The model predicts `T(parameters, P)` seconds for `P` processes of equal share on the machine of the history, and `P` is
the number of processes that have units. Process i with `u_i` of all `units` computes `u_i / units * P * T` seconds of a
reference PE: with equal shares that is T each. A model without a parameter `P` is taken as that of one process, which
does all: process i computes `u_i / units * T`. The volume of a computation is therefore seconds of the reference PE,
and the speed bands of its kernel are relative speeds over units: 1.0 is a PE of the history's machine.

Everything that the runs spent is in T, messages too: all of it scales with the PE's speed, and no message is simulated.
The model's mean is used; intervals of simulated makespans do not hold what the model itself is unsure of.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.base.errors import ScenarioError
from simulator.programs.applications.parameters import Parameters
from simulator.programs.applications.process_grid import Shape
from simulator.programs.applications.team import wrong_sum
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import Predictions, RuntimeModel

PROCESSES = "P"
"""The model's parameter that is the number of processes with units."""
UNITS = "units"


@dataclass(frozen=True)
class Modelled:
    """Units of work whose time a run-time model predicts."""

    units: int
    parameters: Mapping[str, float]
    """All of the model's parameters but `P`."""
    model: "RuntimeModel"

    @property
    def varies_with_processes(self) -> bool:
        """More processes cost more in all, unless the model knows nothing of them."""
        return PROCESSES in self.model.names

    @property
    def has_master(self) -> bool:
        """No message is simulated."""
        return False

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - one computation of each
        """One."""
        return 1

    def grids(self, processes: int) -> tuple[Shape, ...]:  # noqa: ARG002 - nothing is known of them
        """None."""
        return ()

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:  # noqa: ARG002
        """Any partition will do."""
        return partition

    def time_s(self, processes: int) -> float:
        """T: seconds that the model predicts for so many processes of equal share.

        Raises
        ------
        ScenarioError
            If the model has no answer there, or one that is no time.
        """
        mean_s = float(self._predict(processes).mean_s[0])
        if not (math.isfinite(mean_s) and mean_s > 0):
            raise ScenarioError(
                f"application: model: {mean_s:.4g} s found for {processes} processes, a finite time above 0 s allowed"
            )
        return mean_s

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """Computations in seconds of the reference PE."""
        shares = processes if self.varies_with_processes else 1
        unit_s = shares * self.time_s(processes) / self.units
        return lambda units: Compute(units * unit_s, units)

    def messages_bytes(self, units: int) -> tuple[int, ...]:  # noqa: ARG002 - a model knows of none
        """None: the model's time has them in it."""
        return ()

    def program(self, configuration: Configuration) -> Program:
        """One computation for each process with units, and no messages."""
        partition = configuration.partition
        if sum(partition) != self.units:
            raise wrong_sum(configuration, sum(partition), total=self.units, noun="units", name="units")
        compute = self.compute(sum(units > 0 for units in partition))
        operations = tuple((compute(units),) if units else () for units in partition)
        return Program(operations, (0,) * len(partition))

    def warnings(self, processes: int) -> tuple[str, ...]:
        """Warnings of the fit and of this prediction."""
        predicted = [f"{line} (processes: {processes})" for line in self._predict(processes).warnings[0]]
        return tuple(f"application: model: {line}" for line in [*self.model.warnings, *predicted])

    def _predict(self, processes: int) -> "Predictions":
        values = dict(self.parameters) | {PROCESSES: float(processes)}
        wanted = {name: values[name] for name in self.model.names}
        return self.model.predict(wanted, labels=("application: model",))


def make(parameters: Parameters, model: "RuntimeModel | None") -> Modelled:
    """Check the parameters against the model.

    Parameters
    ----------
    parameters
        `units`, and what the model needs but `P`.
    model
        Written by `apportion fit`.

    Raises
    ------
    ScenarioError
        If there is no model, or the parameters do not fit it; one line per fault.
    """
    if model is None:
        raise ScenarioError("application: model: none found, a file written by `apportion fit` allowed")
    needed = dict.fromkeys([*(name for name in model.names if name != PROCESSES), UNITS])
    allowed = ", ".join(needed)
    faults = [
        f"application: parameters: {name} missing, {', '.join(parameters) or 'none'} found, {allowed} allowed"
        for name in needed
        if name not in parameters
    ]
    for name in parameters:
        if name == PROCESSES:
            faults.append(
                f"application: parameters: P = {parameters[name]} found, {allowed} allowed: "
                "P is the number of processes that have units"
            )
        elif name not in needed:
            faults.append(f"application: parameters: {name} found, {allowed} allowed")
    faults += [
        f"application: parameters: {name}: {value!r} found, a number allowed"
        for name, value in parameters.items()
        if isinstance(value, str)
    ]
    units = parameters.get(UNITS, 1)
    if not isinstance(units, int) or units < 1:
        faults.append(f"application: parameters: units: {units!r} found, an integer of at least 1 allowed")
    if faults or not isinstance(units, int):
        raise ScenarioError(faults)
    return Modelled(units, {name: float(value) for name, value in parameters.items()}, model)

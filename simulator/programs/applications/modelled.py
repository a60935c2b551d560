"""An application whose cost is a run-time model, fitted to real runs: no program is known, only how long it takes.

The model predicts `T(parameters, P)` seconds for `P` processes of equal share on the machine of the history, and `P` is
the number of processes that have units. Process i with `u_i` of all `units` computes `u_i / units * P * T` seconds of a
reference PE: with equal shares that is T each. A model without a parameter `P` is taken as that of one process, which
does all: process i computes `u_i / units * T`. The volume of a computation is therefore seconds of the reference PE,
and the speed bands of its kernel are relative speeds over units: 1.0 is a PE of the history's machine.

Everything that the runs spent is in T, messages too, and no message is simulated. A model of several responses has a
part for each, and a part acts on what its name says (`RESOURCES`): `communication` on links, `latency` on their
latencies, `io` on disks, all others on PEs. The first three are waits that are as many times as long as on the
history's machine as its bandwidth was larger (its latency smaller), which the parameters `MEASURED` say; where they do
not, the part scales with the PE's speed like the rest, and a warning says so. The slowest link between the processes
that take part counts; with one process none does.

The model's doubt is drawn once per truth and its noise once per run, alike for all processes and parts.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from simulator.base import units as quantities
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.models.doubt import Doubt, Noise
from simulator.programs.applications.parameters import Parameters
from simulator.programs.applications.work import Work, wrong_sum
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Operation, Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import Predictions, RuntimeModel
    from simulator.platform.nodes import Platform

PROCESSES = "P"
"""The model's parameter that is the number of processes with units."""
UNITS = "units"
MEASURED = {
    "network": "measured_bandwidth",
    "latency": "measured_latency",
    "disk": "measured_disk_bandwidth",
}
"""What a part acts on, and the parameter that says what the machine of the history had of it, with its unit."""
RESOURCES = {
    "network": ("network", "net", "comm", "communication", "communicate", "message", "messages", "mpi", "exchange"),
    "latency": ("latency", "latencies"),
    "disk": ("disk", "disks", "io", "file", "files", "storage"),
}
"""What a part acts on, and the words in its name that say so; what none of them says acts on PEs."""


@dataclass(frozen=True)
class Modelled(Work):
    """Units of work whose time a run-time model predicts."""

    count: int
    parameters: Mapping[str, float]
    """All of the model's parameters but `P`."""
    model: "RuntimeModel"
    measured: Mapping[str, float] = field(default_factory=dict)
    """What the machine of the history had, by `MEASURED`'s resources: bytes per second, or seconds."""
    deviate: float | None = None
    """Where in the model's doubt the one truth lies that is meant, in standard deviations; None: it is doubted."""

    def truth(self, deviate: float) -> "Modelled":
        """The same without doubt."""
        return replace(self, deviate=deviate)

    @property
    def units(self) -> int:
        """Units of work."""
        return self.count

    @property
    def varies_with_processes(self) -> bool:
        """More processes cost more in all, unless the model knows nothing of them."""
        return PROCESSES in self.model.names

    def time_s(self, processes: int) -> float:
        """T: seconds that the model predicts for so many processes of equal share."""
        mean_s = float(self._predict(processes).mean_s[0])
        if not (math.isfinite(mean_s) and mean_s > 0):
            found = f"it predicts {mean_s:.4g} s for {processes} processes, which is no time"
            raise ScenarioError(f"application: model: {found}; fit it to more runs")
        if self.deviate is None:
            return mean_s
        return mean_s * float(self.model.doubt(self._at(processes)).factor(1.0, self.deviate))

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """Computations in seconds of the reference PE."""
        unit_s = self._shares(processes) * self._parts_s(processes)["PE"] / self.units
        return lambda units: Compute(units * unit_s, units)

    @property
    def hosted(self) -> bool:
        """Whether some part acts on links or disks."""
        return any(self._acts_on(part.response) != "PE" for part in self.model.parts)

    def doubt(self, processes: int) -> Doubt | None:
        """Of the model's mean there; None where it has none."""
        return self._spread(processes)[0] if self.deviate is None else None

    def noise(self, processes: int) -> Noise | None:
        """Of one run there; None where all runs are alike."""
        return self._spread(processes)[1]

    def messages_bytes(self, units: int) -> tuple[int, ...]:  # noqa: ARG002 - a model knows of none
        """None: the model's time has them in it."""
        return ()

    def program(self, configuration: Configuration) -> Program:
        """One computation for each process with units, with links and disks as the history's machine had them."""
        return self._program(configuration, {})

    def hosted_on(self, configuration: Configuration, platform: "Platform") -> Program:
        """The same with the waits for links and disks of a platform."""
        return self._program(configuration, self._slower(configuration, platform))

    def _program(self, configuration: Configuration, slower: Mapping[str, Floats]) -> Program:
        """With each process's waits as many times as long, by resource; (process,)."""
        partition = configuration.partition
        if sum(partition) != self.units:
            raise wrong_sum(configuration, sum(partition), total=self.units, noun="units", name="units")
        processes = sum(units > 0 for units in partition)
        compute, waits = self.compute(processes), self._waits(processes)
        rows: list[tuple[Operation, ...]] = []
        for number, units in enumerate(partition):
            wait_s = units * sum(
                unit_s * float(slower[name][number] if name in slower else 1.0) for name, unit_s in waits
            )
            rows.append((compute(units), *((Delay(wait_s),) if wait_s > 0 else ())) if units else ())
        doubt, noise = self.doubt(processes), self.noise(processes)
        return Program(tuple(rows), (0,) * len(partition), doubt=doubt, noise=noise)

    def _waits(self, processes: int) -> list[tuple[str, float]]:
        """Seconds of a unit that wait for something else than a PE, by resource."""
        shares = self._shares(processes) / self.units
        return [(name, shares * part_s) for name, part_s in self._parts_s(processes).items() if name != "PE"]

    def _shares(self, processes: int) -> int:
        """How many times the model's time all processes spend in all."""
        return processes if self.varies_with_processes else 1

    def _parts_s(self, processes: int) -> dict[str, float]:
        """Seconds of T by what they act on, `PE` first."""
        total_s, predicted = self.time_s(processes), self._predict(processes)
        found = dict.fromkeys(("PE", *MEASURED), 0.0)
        for response, column in predicted.parts_s.items():
            found[self._acts_on(response)] += float(column[0] / predicted.mean_s[0]) * total_s
        if min(found.values()) < 0:  # a part of `ols` may come out so: only the sum is a time
            return {"PE": total_s}
        return {name: part_s for name, part_s in found.items() if part_s > 0 or name == "PE"}

    def _acts_on(self, response: str) -> str:
        found = resource_of(response)
        return found if found in self.measured else "PE"

    def _slower(self, configuration: Configuration, platform: "Platform") -> dict[str, Floats]:
        """How many times as long waits are as on the history's machine, by resource; (process,)."""
        taking = np.array(configuration.partition) > 0
        nodes, found = platform.node_of[np.array(configuration.placement)], dict[str, Floats]()
        if int(taking.sum()) > 1 and self.measured.keys() & {"network", "latency"}:
            latency_s, bandwidth = _slowest(platform, np.unique(nodes[taking]))
            for name, ratio in (("network", (bandwidth, -1)), ("latency", (latency_s, 1))):
                if name in self.measured:
                    found[name] = np.full(nodes.size, (ratio[0] / self.measured[name]) ** ratio[1])
        if "disk" in self.measured:
            found["disk"] = np.array([self.measured["disk"] / _disk(platform, int(node)) for node in nodes])
        return found

    def _spread(self, processes: int) -> tuple[Doubt | None, Noise | None]:
        known, key = self.model.known_spreads, tuple(self._at(processes).items())
        if key not in known:
            doubt = self.model.doubt(dict(key))
            known[key] = (doubt if float(doubt.sd.max()) > 0 else None, self.model.noise(dict(key)))
        return known[key]

    def warnings(self, processes: int) -> tuple[str, ...]:
        """Warnings of the fit and of this prediction."""
        predicted = [f"{line} (processes: {processes})" for line in self._predict(processes).warnings[0]]
        for part in self.model.parts:
            resource = resource_of(part.response)
            if resource != "PE" and resource not in self.measured:
                predicted.append(
                    f"part {part.response} scales with the speed of the PEs: parameter {MEASURED[resource]} is needed "
                    f"to scale it with the {resource} of the platform"
                )
        return tuple(f"application: model: {line}" for line in [*self.model.warnings, *predicted])

    def _predict(self, processes: int) -> "Predictions":
        return self.model.predict(self._at(processes), labels=("application: model",))

    def _at(self, processes: int) -> dict[str, float]:
        """The model's parameters there."""
        values = dict(self.parameters) | {PROCESSES: float(processes)}
        return {name: values[name] for name in self.model.names}


def resource_of(response: str) -> str:
    """What a part acts on by its name: `network`, `latency`, `disk` or `PE`."""
    words = set(re.split(r"[^a-z0-9]+", response.lower().replace("i/o", "io")))
    return next((resource for resource, names in RESOURCES.items() if words.intersection(names)), "PE")


def _slowest(platform: "Platform", nodes: Ints) -> tuple[float, float]:
    """Largest latency in seconds and least bandwidth in bytes per second between neighbours in a ring of nodes."""
    network = platform.network
    if nodes.size < 2 or network.topology is None:
        model = network.within if nodes.size < 2 else network.uniform_model
        return model.latency_s, model.bandwidth_bytes_per_s
    routes = network.routes(nodes, np.roll(nodes, -1))
    return float(routes.latencies_s.max()), float(routes.bandwidths.min())


def _disk(platform: "Platform", node: int) -> float:
    """Bytes per second of a node's disk."""
    found = platform.known_nodes[node]
    if found.disk is None:
        raise ScenarioError(
            f"platform: node {found.name} has no disk, but a part of the run-time model acts on disks; give it a disk, "
            f"or leave the parameter {MEASURED['disk']} out"
        )
    return found.disk.bandwidth_bytes_per_s


def make(parameters: Parameters, model: "RuntimeModel | None") -> Modelled:
    """Check the parameters against the model.

    `parameters`: `units`, and what the model needs but `P`.
    """
    if model is None:
        raise ScenarioError("application: model: it is missing; name a file that `apportion fit` wrote")
    needed = dict.fromkeys([*(name for name in model.names if name != PROCESSES), UNITS])
    acted_on = {resource_of(part.response) for part in model.parts} - {"PE"}
    optional = [
        MEASURED[resource] for resource in MEASURED if resource in acted_on and MEASURED[resource] not in needed
    ]
    known = ", ".join([*needed, *optional])
    faults = [f"application: parameters: {name} is missing; take {known}" for name in needed if name not in parameters]
    for name in parameters:
        if name == PROCESSES:
            faults.append(
                f"application: parameters: P is the number of processes that have units and no parameter; take {known}"
            )
        elif name not in needed and name not in optional:
            faults.append(
                f"application: parameters: {name} is unknown; take {known}{meant(name, [*needed, *optional])}"
            )
    faults += [
        f"application: parameters: {name}: {value!r} is not a number; give one"
        for name, value in parameters.items()
        if isinstance(value, str) and name in needed
    ]
    units = parameters.get(UNITS, 1)
    if not isinstance(units, int) or units < 1:
        faults.append(f"application: parameters: units: it is {units!r}; give an integer of at least 1")
    measured = {}
    for resource, name in MEASURED.items():
        if name in optional and name in parameters:
            try:
                measured[resource] = _measured(resource, parameters[name])
            except ScenarioError as error:
                faults += error.lines
    if faults or not isinstance(units, int):
        raise ScenarioError(faults)
    numbers = {name: float(value) for name, value in parameters.items() if name not in optional}
    return Modelled(units, numbers, model, measured)


def _measured(resource: str, value: float | str) -> float:
    """What a parameter says of the history's machine, in bytes per second or seconds."""
    place = f"application: parameters: {MEASURED[resource]}"
    if isinstance(value, str):
        kind = quantities.DURATION if resource == "latency" else quantities.BANDWIDTH
        found = quantities.parse(value, kind, field=place)
        if found > 0:
            return found
    example = "10us" if resource == "latency" else "1Gbit/s"
    raise ScenarioError(f"{place}: {value!r} cannot be used; give a text above 0 with its unit, such as {example}")

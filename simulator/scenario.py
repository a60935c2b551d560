"""A scenario: everything that decides a simulated result, resolved and frozen, nothing implicit."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator import randomness
from simulator.applications import Parameters, Work, make_work
from simulator.assembly import assemble
from simulator.columns import Kind
from simulator.configuration import Configuration
from simulator.errors import ScenarioError
from simulator.models.memory import MemoryUse
from simulator.networks import Listed
from simulator.platform import Platform
from simulator.program import Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel


@dataclass(frozen=True)
class Application:
    """What runs: an application, its parameters, and the kernel that its computations run at the speed of."""

    name: str
    kernel: str
    parameters: Parameters
    model: "RuntimeModel | None" = None
    """Its cost, for an application that is known by its run times only."""
    written: Program | None = None
    """The program itself, where no application of ours makes it; see `of_program`."""
    memory: MemoryUse | None = None
    """How its kernel uses memory, for what processes lose that share a level."""

    @classmethod
    def of_program(cls, program: Program, *, kernel: str) -> "Application":
        """A program written by hand, the same for every configuration."""
        return cls("program", kernel, {}, written=program)

    @property
    def work(self) -> Work:
        """What is computed, unit by unit.

        Raises
        ------
        ScenarioError
            If there is no such application, or its parameters or the model do not fit it.
        """
        return make_work(self.name, self.parameters, self.model)


@dataclass(frozen=True)
class Scenario:
    """A platform, an application, the configurations to compare, and how replications are drawn."""

    platform: Platform
    application: Application
    configurations: tuple[Configuration, ...]
    replications: int = 200
    seed: int = 0
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that it was read from and its hash, for provenance."""

    def __post_init__(self) -> None:
        names = Counter(configuration.name for configuration in self.configurations)
        for name in sorted(name for name, times in names.items() if times > 1):
            raise ScenarioError(f"configuration {name}: named twice, each name once allowed")
        if self.replications < 1 or self.seed < 0:
            raise ScenarioError(
                f"replications, seed: {self.replications}, {self.seed} found, at least 1 and at least 0 allowed"
            )
        for configuration in self.configurations:
            for pe in configuration.placement:
                if not 0 <= pe < len(self.platform.pes):
                    count = len(self.platform.pes)
                    raise ScenarioError(f"configuration {configuration.name}: PE {pe} found, 0 to {count - 1} allowed")

    def program(self, configuration: Configuration) -> Program:
        """What every process does under a configuration."""
        return self.application.written or self.application.work.program(configuration)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the simulated times are trusted; one line each."""
        if self.application.written is not None:
            return ()
        taking_part = {sum(units > 0 for units in configuration.partition) for configuration in self.configurations}
        work = self.application.work
        lines = [line for processes in sorted(taking_part) for line in work.warnings(processes)]
        return tuple(dict.fromkeys(lines))

    def with_configurations(self, configurations: tuple[Configuration, ...]) -> "Scenario":
        """The same scenario with other configurations to compare."""
        return replace(self, configurations=configurations)


def check_memory(platform: Platform, configuration: Configuration, footprints_bytes: NDArray[np.int64]) -> None:
    """Refuse footprints above all memory and swap of a node; (process,).

    Raises
    ------
    ScenarioError
        With the first such node.
    """
    if all(node.memory_bytes is None for node in platform.nodes):
        return
    nodes = platform.known_nodes
    places = platform.node_of[np.array(configuration.placement)]
    held = np.bincount(places, weights=footprints_bytes, minlength=len(nodes))
    for node, held_bytes in zip(nodes, held.tolist(), strict=True):
        if node.memory_bytes is not None and held_bytes > node.memory_bytes + node.swap_bytes:
            allowed = f"at most {node.memory_bytes + node.swap_bytes} bytes of memory and swap allowed"
            where = f"configuration {configuration.name}: node {node.name}: footprint"
            raise ScenarioError(f"{where}: {held_bytes:.0f} bytes found, {allowed}")


def check_routes(platform: Platform, configuration: Configuration, program: Program) -> None:
    """Refuse messages between nodes that no route joins, and within a node without a loopback.

    Raises
    ------
    ScenarioError
        With the first such pair of nodes.
    """
    network = platform.network
    if network.topology is None:
        return
    node_of = platform.node_of[np.array(configuration.placement)]
    shares_a_node = np.unique(node_of).size < node_of.size
    if not isinstance(network.topology, Listed) and (network.loopback is not None or not shares_a_node):
        return  # nothing can be missing
    columns = assemble(program)
    sends = np.flatnonzero((columns.kind == Kind.SEND) | (columns.kind == Kind.EXCHANGE))
    ends = np.unique(np.stack((node_of[columns.process[sends]], node_of[columns.partner[sends]]), axis=1), axis=0)
    within = ends[:, 0] == ends[:, 1]
    if np.any(within):
        network.loopback_s(np.zeros(1))
    if not np.all(within):
        network.routes(ends[~within, 0], ends[~within, 1])


@dataclass(frozen=True)
class Draws:
    """What differs between replications, each drawn from a stream keyed by (replication, PE name, use)."""

    load_starts_s: NDArray[np.float64]
    """Where in its trace each PE's load starts; axes (replication, PE)."""
    band_positions: NDArray[np.float64]
    """Where in its speed band each PE runs, 0 to 1; axes (replication, PE)."""


def draw(scenario: Scenario, *, first: int = 0) -> Draws:
    """The draws of all replications of a scenario, numbered from `first` on.

    The same seed and number give the same bits, whatever the other PEs and replications are.
    """
    shape = (scenario.replications, len(scenario.platform.pes))
    starts, positions = np.zeros(shape), np.full(shape, 0.5)
    for index, pe in enumerate(scenario.platform.pes):
        band = pe.speeds.get(scenario.application.kernel)
        wide = band is not None and band.wide
        loaded = pe.load is not None and pe.load.drawn and pe.load.trace.after_end == "cycle"
        if not wide and not loaded:
            continue  # each draw has a stream of its own: leaving out those that decide nothing shifts no other
        for replication in range(scenario.replications):
            key = scenario.seed, first + replication, pe.name
            if wide:
                positions[replication, index] = _uniform(*key, "speed")
            if pe.load is not None and loaded:
                starts[replication, index] = _uniform(*key, "load") * pe.load.trace.end_s
    return Draws(starts, positions)


@lru_cache(maxsize=2**16)
def _uniform(seed: int, replication: int, name: str, use: str) -> float:
    """One draw, remembered: a search simulates the same replications many times, and this depends on its key only."""
    return float(randomness.stream(seed, replication, name, use).random())

"""A scenario: everything that decides a simulated result, resolved and frozen, nothing implicit."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import given, notebook, units
from simulator.base.arrays import Floats, Ints
from simulator.base.documents import NOT_WRITTEN, Record
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.machine import check_room
from simulator.models.load import LoadTrace
from simulator.models.memory.levels import WORD_BYTES, MemoryUse
from simulator.models.neighbours import ShareTable, SharingDomain
from simulator.models.predicted_speed import UNKNOWN_USE
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Listed
from simulator.platform.nodes import Node, Platform
from simulator.programs.applications import GRAPH, Parameters, Work, make_work
from simulator.programs.applications.modelled import Modelled
from simulator.programs.applications.own_costs import OwnCosts
from simulator.programs.applications.recorded import RecordedWork
from simulator.programs.applications.work import Movable
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration, even_split
from simulator.programs.graphs.work import SegWork, with_parameters
from simulator.programs.moves import Moves, StatedMoves, with_moves
from simulator.programs.program import Farm, Loop, Program, Row

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel


MOST_GRIDS = 12
"""Grids that a fault names."""
MOST_PAGING_LINES = 20
MET = 3
"""Replications that have to meet a load for an interval to hold."""
HOUR_S = 3600.0
MOST_REPLICATIONS = 1_000_000
"""Most replications of a simulation: their mean is known to a thousandth of what one run is off by."""
RUNS_OF_A_TRUTH = 10
"""Replications of each truth by default, where these differ: truths say more of what is unknown than further runs."""
FEWEST_TRUTHS = 4
"""By default, where there are as many replications: an interval of two truths is hundreds of times their spread."""
STEP_BYTES = 450
"""Memory that a step of a process takes while it is simulated: some three operations of 150 bytes (measured)."""
DRAWN_BYTES = 32
"""Memory of what is drawn for a PE: in a replication where its load and speed lie, in a truth its deviates."""
KEPT_BYTES = 48
"""Memory of what is kept of a process in a replication: three times, twice while they are put together."""
Divided = Sequence[Configuration] | Configuration | Mapping[str, str | Sequence[int]]
"""Configurations as a program may hand them over; see `Scenario.configurations`."""
EQUAL, ONE_PER_CORE = "equal", "one-per-core"


@dataclass(frozen=True)
class Application:
    """What runs: an application, its parameters, and the kernel that its computations run at the speed of."""

    name: str
    kernel: str = ""
    """By default the one of the application's name."""
    parameters: Parameters = field(default_factory=dict)
    model: "RuntimeModel | None" = None
    """Its cost, for an application that is known by its run times only."""
    written: Program | None = None
    """The program itself, where no application of ours makes it; see `of_program`."""
    memory: MemoryUse | None = None
    """How its kernel uses memory, for what processes lose that share a level."""
    prepared: SegWork | None = None
    """What it computes and sends, where that is a software execution graph under a template."""
    deviate: float | None = None
    """In one truth: where in the doubt of its model that lies, in standard deviations; None: the model is doubted."""
    own: OwnCosts | None = None
    """Costs that a program handed over, see `of_costs`."""
    recorded: RecordedWork | None = None
    """What the ranks of an MPI program did; the speeds of `kernel` follow from it and the kernels that it names."""
    moves: StatedMoves | None = None
    """What processes move to and from GPUs; None: what the application itself says, see `moves_of`."""

    def __post_init__(self) -> None:
        known = "an application, such as 'stencil'"
        given.check_is(self.name, str, where="application: name", give=known)
        object.__setattr__(self, "kernel", self.kernel or self.name)
        give = "the name of a kernel that PEs have a speed of, such as 'dgemm'"
        given.check_name(self.kernel, where="application: kernel", give=give)
        example = "parameters by name, such as {'n': 4000}"
        given.check_is(self.parameters, Mapping, where="application: parameters", give=example)
        plain = {name: given.plain(value) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", plain)
        made = self.written or self.prepared or self.recorded
        if made is None and self.name != GRAPH:
            _ = self.work  # which says what is wrong with it

    @classmethod
    def of_costs(
        cls,
        costs: "Callable[[int], float] | ArrayLike",
        *,
        units: int | None = None,
        kernel: str = "own",
        unit_bytes: str | int = 0,
        result_bytes: str | int = 0,
    ) -> "Application":
        """Units whose cost you say: by a function of how many a process has, or by an array with the cost of each.

        A process gets its units from process 0, computes them, and gives its result back.

        Costs are volumes, which the speed of `kernel` turns into seconds: on a PE of speed 1 they are seconds, one of
        speed 2 takes half of them. Units of an array are divided in order: process 0 has the first ones, process 1 the
        next. The function is called once for 0 to `units` units, before anything runs.

        >>> import numpy as np
        >>> Application.of_costs(np.linspace(1.0, 3.0, 100)).work.units
        100
        >>> Application.of_costs(lambda units: 0.1 * units + 1e-4 * units**2, units=1000).name
        'own costs'

        Raises ScenarioError if a cost is no finite number of at least 0, or it is not known how many units there are.

        `costs`: volume of a process with so many units; or of each unit, (units,).
        `units`: how many there are; an array says it itself.
        `unit_bytes`, `result_bytes`: data that process 0 sends with each unit, and that comes back for each; `"8 KiB"`,
        or a number of bytes.
        """
        return cls("own costs", kernel, own=OwnCosts.of(costs, units, unit_bytes, result_bytes))

    @classmethod
    def of_program(cls, program: Program, *, kernel: str) -> "Application":
        """A program written by hand, the same for every configuration."""
        return cls("program", kernel, {}, written=program)

    @property
    def draws(self) -> bool:
        """Whether its units differ from run to run, by draws of their own: those of farms may."""
        if self.written is not None:
            return any(_draws(row) for row in {id(row): row for row in self.written.operations}.values())
        return (self.name == "farm" or self.recorded is not None) and self.work.draws

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those that PEs need speeds of."""
        return (self.kernel,) if self.recorded is None else self.recorded.mix.kernels

    @property
    def prepared_as(self) -> dict[str, str]:
        """Template and resource model, where it has them, as plain data for JSON."""
        if self.prepared is None:
            return {}
        return {"template": self.prepared.template.name, "resource_model": self.prepared.method}

    def moves_of(self, partition: tuple[int, ...]) -> Moves | None:
        """What the processes of a partition move to and from GPUs that they run on; None: nobody says it."""
        if self.moves is not None or self.written is not None:
            return None if self.moves is None else self.moves.moves(partition)
        return self.work.moves(partition)

    @property
    def work(self) -> Work:
        """What is computed, unit by unit.

        Raises ScenarioError if there is no such application, or its parameters or the model do not fit it.
        """
        found = self.prepared or self.own or self.recorded or make_work(self.name, self.parameters, self.model)
        return found if self.deviate is None or not isinstance(found, Modelled) else found.truth(self.deviate)


def _draws(row: Row) -> bool:
    """Whether units of some farm in a row of operations are drawn."""
    return any(
        (isinstance(item, Farm) and item.spread is not None) or (isinstance(item, Loop) and _draws(item.body))
        for item in row
    )


@dataclass(frozen=True)
class Change:
    """A field of a scenario file that something else was set in place of."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Extrapolation(Record):
    """A measured speed band rescaled to other memory levels, and how far that goes."""

    SPARSE = False
    node: str
    """As the file names the entry."""
    pes: str
    kernel: str
    levels: tuple[str, ...]
    """What differs from the levels that it was measured on."""
    lowest_factor: float
    """New speed over measured speed, at the size where that is least."""
    highest_factor: float
    compute_part_s: float
    """Seconds of a unit beyond its accesses."""
    compute_part_cut_off: bool
    """Whether it came out below 0: the model says more of memory than there was time for."""
    memory_share: float
    """Largest part of the predicted time that accesses take."""
    measured_elements: tuple[float, float] | None
    """Smallest and largest problem size measured; None for a speed given as a constant."""
    needed_elements: float
    """Largest problem size of the scenario's computations on these PEs."""
    band: SpeedBand = field(metadata=NOT_WRITTEN)
    beyond_levels: str = ""
    """What of the memory model was used in addition to its levels."""


def _configurations(divided: object, platform: Platform, application: Application) -> tuple[Configuration, ...]:
    """The configurations that are meant."""
    if isinstance(divided, Configuration):
        return (divided,)
    if isinstance(divided, Mapping):
        return tuple(_named(name, parts, platform, application) for name, parts in divided.items())
    example = "configurations, such as {'as-now': 'one-per-core'} or [Configuration('mine', [500, 1500])]"
    found = given.several(divided, where="scenario: configurations", give=example)
    for configuration in found:
        given.check_is(configuration, Configuration, where="scenario: configurations: one of them", give=example)
    return found


def _named(name: str, parts: object, platform: Platform, application: Application) -> Configuration:
    """The configuration of units, or of the name of a way to divide them, for each PE or for each core."""
    where = f"configuration {name}: partition"
    per_pe = tuple(range(len(platform.pes)))
    per_core = tuple(place for place, pe in enumerate(platform.pes) for _ in range(pe.cores))
    if isinstance(parts, str):
        given.check_choice(parts, (EQUAL, ONE_PER_CORE), where=where)
        placement = platform.at_once
        if parts == ONE_PER_CORE:
            placement = tuple(place for place in platform.at_once for _ in range(platform.pes[place].cores))
        work = application.work
        return Configuration(name, work.fitting(even_split(work.units, len(placement))), placement)
    units = given.several(parts, where=where, give="units for each PE, such as [500, 1500], 'equal' or 'one-per-core'")
    if len(units) not in (len(per_pe), len(per_core)):
        cores = "" if len(per_core) == len(per_pe) else f" with {len(per_core)} cores"
        each = "one for each PE" if not cores else "one for each PE or one for each core"
        raise ScenarioError(f"{where}: it has {len(units)} parts for {len(per_pe)} PEs{cores}; give {each}")
    return Configuration(name, units, per_pe if len(units) == len(per_pe) else per_core)


def lacking_kernel(known: Sequence[str], kernel: str) -> str:
    """What is wrong with a kernel that is none of those that PEs have a speed of, as a sentence; empty if it is one."""
    if kernel in known:
        return ""
    there = f"name one that they have ({some_names(known)})" if known else "they have no speeds; add some"
    return f"no PE has a speed of kernel {kernel!r}; {there}{meant(kernel, known)}"


@dataclass(frozen=True)
class Scenario:
    """A platform, an application, the configurations to compare, and how replications are drawn."""

    platform: Platform
    application: Application
    configurations: tuple[Configuration, ...] = ()
    """A program may also hand over a list, one configuration, or the units by name: `{"mine": [500, 1500]}`, of a
    process on each PE, or on each core; `"equal"` (a process on each PE) and `"one-per-core"` say equal units."""
    replications: int = 200
    seed: int = 0
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that it was read from and its hash, for provenance."""
    notes: tuple[str, ...] = ()
    """What is to be known of how it came about, for example which speeds are predicted; shown with its warnings."""
    changes: tuple[Change, ...] = field(default=(), compare=False)
    """What was set in place of what its file says."""
    extrapolations: tuple[Extrapolation, ...] = field(default=(), compare=False)
    """Speeds taken to memory levels on which they were not measured."""
    truths: int | None = None
    """Truths that replications share out; None: a tenth of the replications, see `truth_count`."""
    strata: int | None = None
    """Replications that starts of loads are stratified over; None: the scenario's own, see `stratum_count`."""

    if TYPE_CHECKING:  # what a program may hand over becomes what the fields say

        def __init__(  # noqa: PLR0913, PLR0917 - its fields
            self,
            platform: Platform,
            application: Application,
            configurations: Divided = (),
            replications: int = 200,
            seed: int = 0,
            inputs: Mapping[str, str] = ...,
            notes: tuple[str, ...] = (),
            changes: tuple[Change, ...] = (),
            extrapolations: tuple[Extrapolation, ...] = (),
            truths: int | None = None,
            strata: int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        wanted = "a Platform, such as star(nodes('fast[1-4]', speeds={'dgemm': '3 Gflop/s'}), link=...)"
        given.check_is(self.platform, Platform, where="scenario: platform", give=wanted)
        wanted = "an Application, such as Application('matmul', 'dgemm', {'n': 2000})"
        given.check_is(self.application, Application, where="scenario: application", give=wanted)
        made = _configurations(self.configurations, self.platform, self.application)
        object.__setattr__(self, "configurations", made)
        if self.application.recorded is not None and not any(
            self.application.kernel in pe.speeds for pe in self.platform.pes
        ):
            derived = with_recorded_speeds(self.platform, self.application.kernel, self.application.recorded)
            object.__setattr__(self, "platform", derived)
        for name in ("replications", "seed"):
            object.__setattr__(self, name, given.whole(getattr(self, name), where=f"scenario: {name}"))
        if not any(self.application.kernel in pe.speeds for pe in self.platform.pes):  # the first one has it, mostly
            kernels = sorted({name for pe in self.platform.pes for name in pe.speeds})
            raise ScenarioError(f"application: kernel: {lacking_kernel(kernels, self.application.kernel)}")
        names = Counter(configuration.name for configuration in self.configurations)
        for name in sorted(name for name, times in names.items() if times > 1):
            raise ScenarioError(f"two configurations are called {name}; give each its own name")
        for name in ("truths", "strata"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= MOST_REPLICATIONS:
                raise ScenarioError(f"{name}: {count} cannot be drawn; give 1 to {MOST_REPLICATIONS}")
        if not (1 <= self.replications <= MOST_REPLICATIONS and 0 <= self.seed < 2**63):
            found = f"replications is {self.replications} and seed {self.seed}"
            raise ScenarioError(f"{found}; give 1 to {MOST_REPLICATIONS} and 0 to 2**63 - 1")
        for configuration in self.configurations:
            for pe in configuration.placement:
                if not 0 <= pe < len(self.platform.pes):
                    count = len(self.platform.pes)
                    raise ScenarioError(
                        f"configuration {configuration.name}: there is no PE {pe}; give 0 to {count - 1}"
                    )

    def __repr__(self) -> str:
        count = len(self.configurations)
        held = f"{self.application.name} on {len(self.platform.pes)} PEs"
        what = f"{held}, {count} configuration{'' if count == 1 else 's'}"
        return f"Scenario({what}, {self.replications} replications, seed {self.seed})"

    def _repr_html_(self) -> str:
        shown = {"application": self.application.name, "kernel": self.application.kernel, **self.application.parameters}
        shown |= {"replications": self.replications, "seed": self.seed, "platform": repr(self.platform)}
        rows = [
            {
                "configuration": configuration.name,
                "processes": len(configuration.partition),
                "units": configuration.partition,
            }
            for configuration in self.configurations[: notebook.MOST_ROWS]
        ]
        table = notebook.table(rows, count=len(self.configurations))
        return notebook.page("Scenario", notebook.facts(shown), table, warnings=self.warnings)

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn (no start of a load, no noise, no truth): replications are then all alike."""
        return not (self.doubtful or self.noisy)

    @property
    def doubtful(self) -> bool:
        """Whether something that does not change from run to run is not known for certain, so that truths are drawn."""
        return self.structured or any(band.doubtful for band in self.bands) or self.application_spreads[0]

    @property
    def structured(self) -> bool:
        """Whether truths differ by more than speeds: by links, sharing domains or loads."""
        platform = self.platform
        loads = {id(pe.load): pe.load for pe in platform.pes if pe.load is not None}.values()
        of_platform = platform.network.doubtful or any(domain.doubt is not None for domain in platform.domains)
        of_platform = of_platform or any(pe.gpu is not None and pe.gpu.doubtful for pe in platform.pes)
        return of_platform or any(load.doubtful for load in loads)

    @property
    def noisy(self) -> bool:
        """Whether runs of one truth differ: by where a load or a quota's period starts, noise, drawn units."""
        return self.noisy_but_for_loads or any(pe.load is not None and pe.load.draws for pe in self.platform.pes)

    @property
    def noisy_but_for_loads(self) -> bool:
        """Whether runs of one truth differ even if all loads start at the same time."""
        speeds = any(band.noise is not None for band in self.bands)
        pes = bool(self.platform.quotas) or any(pe.takes_turns for pe in self.platform.pes)
        return speeds or self.application_spreads[1] or self.application.draws or pes

    @property
    def application_spreads(self) -> tuple[bool, bool]:
        """Whether the application itself has doubt, and noise, in some configuration: a model predicts its time."""
        if self.application.model is None:
            return False, False
        work = self.application.work
        counts = {sum(units > 0 for units in configuration.partition) for configuration in self.configurations}
        spreads = [(work.doubt(count), work.noise(count)) for count in counts if count]
        return any(doubt is not None for doubt, _ in spreads), any(noise is not None for _, noise in spreads)

    @property
    def bands(self) -> list[SpeedBand]:
        """The speed bands of the application's kernel, each once."""
        kernel = self.application.kernel
        distinct = {id(pe.speeds): pe.speeds for pe in self.platform.pes}.values()
        return list({id(band): band for speeds in distinct if (band := speeds.get(kernel)) is not None}.values())

    def check_memory_needed(self, *, candidates: int = 0) -> None:
        """Refuse a simulation that needs more memory than there is, before it starts.

        What is drawn and kept of each run is counted, and the programs of the configurations, which are assembled
        before the first run; how long it takes is not a reason.

        Raises ScenarioError with what it needs and what there is.

        `candidates`: configurations to count in place of the scenario's own, of a process on each PE.
        """
        runs, pes = self.replications, len(self.platform.pes)
        count = candidates or len(self.configurations)
        processes = candidates * pes or sum(len(configuration.placement) for configuration in self.configurations)
        needed_bytes = float(runs) * (pes * DRAWN_BYTES + processes * KEPT_BYTES)
        truths = truth_count(self) if self.doubtful else 0
        needed_bytes += float(truths) * pes * DRAWN_BYTES
        if self.application.written is None:
            programs = {configuration.divided: configuration for configuration in self.configurations}
            own = sum(_steps_of(self, configuration) for configuration in programs.values())
            needed_bytes += STEP_BYTES * (self.application.work.rounds(pes) * processes if candidates else own)
        shared = f" of {truths} truths" if truths else ""
        what = f"{runs} replications{shared} of {count} configurations with {processes} processes in all"
        check_room(what, needed_bytes, instead="fewer replications, configurations or processes need less")

    def program(self, configuration: Configuration) -> Program:
        """What every process does under a configuration.

        Raises ScenarioError if the application cannot do it, or what all processes do is more than memory holds.
        """
        made = self._program(configuration)
        placed = configuration.placement
        gpus = [self.platform.pes[pe].gpu for pe in placed] if self.platform.gpu_hosts else []
        if not any(gpus):
            return made
        check_hosts(self, configuration)
        moves = self.application.moves_of(configuration.partition)
        if moves is None:
            name, pe = (
                self.application.name,
                next(self.platform.pes[pe].name for pe in placed if self.platform.pes[pe].gpu),
            )
            raise ScenarioError(
                f"configuration {configuration.name}: nobody says what {name} moves to GPU {pe}; say it as moves of "
                "the application, or place it on cores"
            )
        streams = np.array([0 if gpu is None else gpu.streams for gpu in gpus])
        return replace(made, assembled=with_moves(assemble(made), moves, streams))

    def _program(self, configuration: Configuration) -> Program:
        """The same without what moves to GPUs."""
        if self.application.written is not None:
            return self.application.written
        self._check_grid(configuration)
        check_room(
            f"configuration {configuration.name}: a program of {len(configuration.partition)} processes",
            _steps_of(self, configuration) * STEP_BYTES,
            instead="fewer processes, or steps of the application, need less",
        )
        prepared = self.application.prepared
        if prepared is None:
            work = self.application.work
            return work.hosted_on(configuration, self.platform) if work.hosted else work.program(configuration)
        return prepared.program_on(configuration, self._resources(configuration))

    def _check_grid(self, configuration: Configuration) -> None:
        """Refuse a grid that the application cannot use."""
        if configuration.grid is None:
            return
        known = () if self.application.prepared else self.application.work.grids(len(configuration.partition))
        if configuration.grid in known:
            return
        rows, columns = configuration.grid
        where = f"configuration {configuration.name}: grid: {rows} x {columns} cannot be used"
        if not known:
            raise ScenarioError(f"{where}: {self.application.name} has no grid of processes: leave the grid out")
        shown = ", ".join(f"{known_rows} x {known_columns}" for known_rows, known_columns in known[:MOST_GRIDS])
        raise ScenarioError(f"{where}: {self.application.name} can use {shown}")

    def program_key(self, configuration: Configuration) -> Hashable:
        """What the program of a configuration depends on: equal keys, equal programs."""
        if self.platform.gpu_hosts and any(pe in self.platform.gpu_hosts for pe in configuration.placement):
            return configuration.divided, tuple(configuration.placement)
        if self.application.prepared is None:
            if self.application.model is not None and self.application.work.hosted:
                return configuration.divided, tuple(configuration.placement)
            return configuration.divided
        return configuration.divided, tuple(map(id, self._resources(configuration)))

    def _resources(self, configuration: Configuration) -> list[HardwareModel]:
        """The resource model of each process's PE."""
        found = []
        for place in configuration.placement:
            pe = self.platform.pes[place]
            if pe.resource is None:
                why = f"application {self.application.name} needs it"
                raise ScenarioError(f"platform: PE {pe.name}: resource is missing and {why}; add it")
            found.append(pe.resource)
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the simulated times are trusted; one line each."""
        lines = [*self.notes, *self.assumed, *_assumed_ends(self.platform), *self._paging_warnings()]
        lines += [*_seldom_met(self.platform, self.replications), *_unknown_uses(self.platform, self.application)]
        if self.application.written is not None:
            return tuple(lines)
        taking_part = {sum(units > 0 for units in configuration.partition) for configuration in self.configurations}
        work = self.application.work
        lines += [line for processes in sorted(taking_part) for line in work.warnings(processes)]
        return tuple(dict.fromkeys(lines))

    @property
    def assumed(self) -> tuple[str, ...]:
        """Defaults of the platform that its messages use, one line each: results name them."""
        network = self.platform.network
        if not network.assumes_loopback or not any(map(self._sends_within_a_node, self.configurations)):
            return ()
        model = network.within
        latency, bandwidth = units.show_duration(model.latency_s), units.show_rate(model.bandwidth_bytes_per_s, "B/s")
        found = "platform.network.loopback is not given; messages within a node take the default"
        return (f"{found}, {latency} + bytes / {bandwidth}",)

    def _sends_within_a_node(self, configuration: Configuration) -> bool:
        """Whether two processes that may send each other messages are on one node."""
        if self.application.written is None and not self.application.work.messages_bytes(1):
            return False
        nodes = self.platform.node_of[self.placed(configuration)]
        return bool(np.unique(nodes).size < nodes.size)

    @property
    def pages(self) -> bool:
        """Whether processes of some configuration need more than the memory of their node."""
        return bool(self._paging_warnings())

    def _paging_warnings(self) -> list[str]:
        """Nodes whose processes need more than its memory, and what is assumed of that."""
        limits = self.platform.memory_limits_bytes
        if np.all(np.isinf(limits)):
            return []
        nodes = self.platform.known_nodes
        lines: list[str] = []
        paging: set[int] = set()
        footprints: dict[Hashable, Ints] = {}
        for configuration in self.configurations:
            if configuration.divided not in footprints:
                needed = self.program(configuration).footprints_bytes
                footprints[configuration.divided] = np.array(needed, dtype=np.int64)
            held = held_bytes(self.platform, configuration, footprints[configuration.divided])
            for number in np.flatnonzero(held > limits).tolist():
                found = (
                    f"its processes need {units.show_size(held[number])} and it has {units.show_size(limits[number])}"
                )
                lines.append(f"configuration {configuration.name}: node {nodes[number].name} pages: {found}")
                paging.add(number)
        if len(lines) > MOST_PAGING_LINES:
            lines[MOST_PAGING_LINES:] = [f"{len(lines) - MOST_PAGING_LINES} more nodes page"]
        return lines + _assumed_of_paging([nodes[number] for number in sorted(paging)], self.application)

    def check_routes(self, configuration: Configuration) -> None:
        """Refuse a configuration whose messages no route takes.

        Raises ScenarioError with what is missing.
        """
        check_routes(self.platform, configuration, self.program(configuration))

    def check_memory(self, configuration: Configuration) -> None:
        """Refuse a configuration whose processes need more than memory and swap of a node, where these are said.

        Raises ScenarioError with the first such node, what is needed there and how much that is too much.
        """
        footprints = np.array(self.program(configuration).footprints_bytes, dtype=np.int64)
        check_memory(self, configuration, footprints)

    def movable(self, configuration: Configuration) -> Movable:
        """How units of a configuration change their process between iterations.

        Raises ScenarioError if they cannot, or a process has none to begin with.
        """
        where = f"configuration {configuration.name}: repartition"
        known = self.application.written is None
        movable = self.application.work.movable(configuration) if known else None
        if movable is None:
            can = "stencil, or matmul_2d with one column of processes"
            raise ScenarioError(f"{where}: units of {self.application.name} cannot move between iterations; take {can}")
        if self.platform.quotas:
            raise ScenarioError(f"{where}: it cannot be simulated under quotas of PEs; leave one of them out")
        if any(units < movable.quantum for units in configuration.partition):
            raise ScenarioError(f"{where}: a process has no units to begin with; give each {movable.quantum} or more")
        return movable

    def placed(self, configuration: Configuration) -> Ints:
        """The PE of each process that takes part: those with units, and a master; (process,)."""
        taking_part = np.array(configuration.partition) > 0
        taking_part[0] |= self.application.written is None and self.application.work.has_master
        return np.array(configuration.placement, dtype=np.int64)[taking_part]

    def lacking_bytes(self, configuration: Configuration) -> float:
        """Bytes of footprints for which the nodes have neither memory nor swap, in all; 0 where it can run.

        Nodes that do not say how much memory and swap they have hold any footprint.
        """
        nodes = self.platform.known_nodes
        unlimited = all(node.memory_bytes is None or node.swap_bytes is None for node in nodes)
        if unlimited and not self.platform.gpu_hosts:
            return 0.0
        footprints = np.array(self.program(configuration).footprints_bytes, dtype=np.int64)
        beyond = sum(beyond_gpus(self, configuration, footprints).values())
        limits = [
            math.inf if node.memory_bytes is None or node.swap_bytes is None else node.memory_bytes + node.swap_bytes
            for node in nodes
        ]
        return beyond + float(np.maximum(held_bytes(self.platform, configuration, footprints) - limits, 0).sum())

    def with_parameters(self, parameters: Parameters) -> "Scenario":
        """The same with other parameters of the application; speeds that follow from a graph are derived again.

        Raises ScenarioError if a graph or its template cannot do with them.
        """
        application = replace(self.application, parameters=parameters)
        if application.recorded is not None:
            application = replace(application, recorded=application.recorded.with_parameters(application.parameters))
            platform = without_derived_speeds(self.platform, application)
            return replace(self, platform=platform, application=application)
        if application.prepared is None:
            return replace(self, application=application)
        work = with_parameters(application.prepared, parameters)
        platform = with_derived_speeds(self.platform, application.kernel, work)
        return replace(self, platform=platform, application=replace(application, prepared=work))

    def with_configurations(self, configurations: tuple[Configuration, ...]) -> "Scenario":
        """The same scenario with other configurations to compare."""
        return replace(self, configurations=configurations)

    def with_draws(self, replications: int | None, seed: int | None) -> "Scenario":
        """The same scenario with so many replications and this seed; None leaves its own."""
        count = self.replications if replications is None else replications
        return replace(self, replications=count, seed=self.seed if seed is None else seed)


def truth_count(scenario: Scenario) -> int:
    """How many truths the replications of a scenario share out: as it says, else by default.

    By default a tenth of the replications, at least `FEWEST_TRUTHS`, where runs of one truth differ; where they do not,
    each replication is a truth of its own. 1 where nothing is doubted.
    """
    if not scenario.doubtful:
        return 1
    if scenario.truths is not None:
        return scenario.truths
    runs = scenario.replications
    return max(min(runs, FEWEST_TRUTHS), runs // RUNS_OF_A_TRUTH) if scenario.noisy else runs


def stratum_count(scenario: Scenario) -> int:
    """Over how many replications starts of loads are stratified: as the scenario says, else over its own."""
    return scenario.replications if scenario.strata is None else scenario.strata


def _steps_of(scenario: Scenario, configuration: Configuration) -> float:
    """Steps of all processes that take part."""
    processes = sum(units > 0 for units in configuration.partition)
    return float(scenario.application.work.rounds(processes)) * processes


def with_derived_speeds(platform: Platform, kernel: str, work: SegWork) -> Platform:
    """The same PEs, with the speeds that follow from a graph and their resource models."""
    derived: dict[tuple[int, int], Mapping[str, SpeedBand]] = {}
    pes = []
    for pe in platform.pes:
        if pe.resource is None:
            pes.append(pe)
            continue
        key = id(pe.speeds), id(pe.resource)
        if key not in derived:
            derived[key] = {**pe.speeds, kernel: work.band(pe.resource)}
        pes.append(replace(pe, speeds=derived[key]))
    return replace(platform, pes=tuple(pes))


def with_recorded_speeds(platform: Platform, kernel: str, work: RecordedWork) -> Platform:
    """The same PEs, those that have speeds of its kernels with the speed of a recorded program too.

    What it takes of caches and memory of their nodes follows likewise, at the speeds of a node's first such PE.
    """
    mix, sizes, quiet = work.mix, work.sizes, work.draws
    derived: dict[tuple[int, bool], Mapping[str, SpeedBand]] = {}
    pes, first = [], dict[str, Mapping[str, SpeedBand]]()
    for pe in platform.pes:
        key = id(pe.speeds), pe.name == mix.recorded_on
        if key not in derived:
            able = all(name in pe.speeds for name in mix.kernels)
            own = {kernel: mix.band(pe.speeds, sizes, pe=pe.name, quiet=quiet)} if able else {}
            derived[key] = {**pe.speeds, **own}
        pes.append(replace(pe, speeds=derived[key]))
        first.setdefault(pe.node, derived[key])
    nodes = []
    for node in platform.nodes:
        uses = mix.uses(node.uses, first.get(node.name, {}), sizes)
        nodes.append(node if uses is None else replace(node, uses={**node.uses, kernel: uses}))
    return replace(platform, pes=tuple(pes), nodes=tuple(nodes))


def without_derived_speeds(platform: Platform, application: Application) -> Platform:
    """The platform without the speeds that follow from what runs, and without the uses that follow from other ones."""
    kernel, kernels = application.kernel, {*application.kernels} - {application.kernel}
    kept: dict[Hashable, Mapping[str, SpeedBand]] = {}
    pes = []
    for pe in platform.pes:
        others = {name: band for name, band in pe.speeds.items() if name != kernel}
        key = tuple((name, id(band)) for name, band in others.items())
        pes.append(replace(pe, speeds=kept.setdefault(key, others)))
    nodes = (
        replace(one, uses={name: use for name, use in one.uses.items() if name != kernel})
        if kernels & {*one.uses}
        else one
        for one in platform.nodes
    )
    return replace(platform, pes=tuple(pes), nodes=tuple(nodes))


def _assumed_of_paging(nodes: list[Node], application: Application) -> list[str]:
    """What is not known of the swap of nodes that page, and of the accesses that meet it."""
    lines = []
    for node in nodes:
        times, whence = node.paging_levels[-1], node.swap_is_from
        if whence != "given":
            shown = f"{units.show_duration(times.latency_s)} and {units.show_duration(times.gap_s)} a further word"
            lines.append(f"swap: not measured, {whence}: latency {shown}")
    if nodes and application.memory is None:
        use = f"{UNKNOWN_USE.accesses_per_unit:g} word per unit of volume in sweeps of {UNKNOWN_USE.run_words:g}"
        lines.append(f"application: memory: not said, assumed for paging: {use}")
    return list(dict.fromkeys(lines))


def held_bytes(platform: Platform, configuration: Configuration, footprints_bytes: Ints) -> Floats:
    """Footprints of the processes on each node together; (node,)."""
    places = platform.node_of[np.array(configuration.placement)]
    return np.bincount(places, weights=footprints_bytes, minlength=len(platform.node_names)).astype(np.float64)


def check_memory(scenario: Scenario, configuration: Configuration, footprints_bytes: Ints) -> None:
    """Refuse footprints above memory and swap of a node that says how much swap it has, or of a GPU; (process,)."""
    platform = scenario.platform
    for gpu, lacking in beyond_gpus(scenario, configuration, footprints_bytes).items():
        where = f"configuration {configuration.name}: GPU {platform.pes[gpu].name}"
        raise ScenarioError(f"{where}: what runs there needs {units.show_size(lacking)} more than its memory holds")
    if all(node.memory_bytes is None or node.swap_bytes is None for node in platform.nodes):
        return
    held = held_bytes(platform, configuration, footprints_bytes)
    for node, here_bytes in zip(platform.known_nodes, held.tolist(), strict=True):
        if node.memory_bytes is None or node.swap_bytes is None:
            continue
        there_bytes = node.memory_bytes + node.swap_bytes
        if here_bytes > there_bytes:
            over = f"{units.show_size(here_bytes - there_bytes)} more than its memory and swap hold"
            where = f"configuration {configuration.name}: node {node.name}"
            raise ScenarioError(f"{where}: its processes need {units.show_size(here_bytes)}, {over}")


def check_hosts(scenario: Scenario, configuration: Configuration) -> None:
    """Refuse a process beside that of a GPU on its host core."""
    platform, busy = scenario.platform, set(scenario.placed(configuration).tolist())
    for gpu, host in platform.gpu_hosts.items():
        if gpu in busy and host in busy:
            names = f"the process on GPU {platform.pes[gpu].name} occupies {platform.pes[host].name}"
            raise ScenarioError(f"configuration {configuration.name}: {names}; place nothing else there")


def beyond_gpus(scenario: Scenario, configuration: Configuration, footprints_bytes: Ints) -> dict[int, float]:
    """Bytes of footprints that GPUs lack, by the GPU; (process,). What a master has besides its share stays behind."""
    platform, placed, found = scenario.platform, np.array(configuration.placement), dict[int, float]()
    if not platform.gpu_hosts:
        return found
    held, work = footprints_bytes.astype(np.float64), scenario.application.work
    if scenario.application.written is None and work.has_master:
        units = configuration.partition[0]
        held[0] = WORD_BYTES * np.max(work.compute(placed.size)(units).size) if units else 0.0
    for gpu in platform.gpu_hosts:
        memory = None if (one := platform.pes[gpu].gpu) is None else one.memory_bytes
        over = -1.0 if memory is None else float(held[placed == gpu].sum()) - memory
        if over > 0:
            found[gpu] = over
    return found


def check_routes(platform: Platform, configuration: Configuration, program: Program) -> None:
    """Refuse messages between nodes that no route joins."""
    network = platform.network
    if not isinstance(network.topology, Listed):
        return  # nothing can be missing
    node_of = platform.node_of[np.array(configuration.placement)]
    columns = assemble(program)
    sends = np.flatnonzero(columns.sends)
    ends = np.unique(np.stack((node_of[columns.process[sends]], node_of[columns.partner[sends]]), axis=1), axis=0)
    between = ends[ends[:, 0] != ends[:, 1]]
    if between.size:
        network.routes(between[:, 0], between[:, 1])


def _assumed_ends(platform: Platform) -> list[str]:
    """The end in use of each load's trace that does not say its own."""
    names: dict[int, list[str]] = {}
    traces: dict[int, LoadTrace] = {}
    for pe in platform.pes:
        if pe.load is not None and pe.load.trace.end_assumed and pe.load.trace.after_end != "hold":
            names.setdefault(id(pe.load.trace), []).append(pe.name)
            traces[id(pe.load.trace)] = pe.load.trace
    lines = []
    for key, pes in names.items():
        others = f" and {len(pes) - 1} more {'PE' if len(pes) == 2 else 'PEs'}" if len(pes) > 1 else ""
        end_s = traces[key].end_s
        lasts = f"{end_s:g} s" + (f" ({end_s / HOUR_S:.4g} h)" if end_s >= HOUR_S else "")
        lines.append(
            f"load of {pes[0]}{others}: the trace does not say its end and its steps are unequal; it is taken to last"
            f" {lasts}, its last row as long as the one before it: write '# end: SECONDS' into the file"
        )
    return lines


def seldom_loads(platform: Platform, replications: int) -> dict[int, float]:
    """The loads that replications hardly meet, by the PE whose clock they have: the share of time they are there."""
    loads = [(clock, platform.pes[clock].load) for clock in sorted(set(platform.load_clocks))]
    drawn = {clock: load for clock, load in loads if load is not None and load.draws}
    shares = {clock: load.trace.durations_s[load.there].sum() / load.trace.end_s for clock, load in drawn.items()}
    return {clock: float(share) for clock, share in shares.items() if 0 < share * replications < MET}


def _seldom_met(platform: Platform, replications: int) -> list[str]:
    """The load that replications meet least, if hardly, and how many would do, in one line."""
    if replications == 1 or not (seldom := seldom_loads(platform, replications)):
        return []
    clock = min(seldom, key=seldom.__getitem__)
    there = f"load of {platform.pes[clock].name}: it is there {100 * seldom[clock]:.2g} % of the time"
    return [f"{there}, which {replications} replications hardly meet; take {math.ceil(MET / seldom[clock])}"]


def _unknown_uses(platform: Platform, application: Application) -> list[str]:
    """Sharing domains in which nothing is known of what the kernel takes, and what to write, in one line."""
    kernel, nodes, silent = application.kernel, platform.known_nodes, list[SharingDomain]()
    for domain in platform.domains:
        node = nodes[platform.node_of[domain.pes[0]]]
        uses = node.uses.get(kernel)
        known = isinstance(domain.law, ShareTable) or (uses is not None and domain.level in uses.demands)
        derived = domain.kind == "memory" or domain.level in {level.name for level in node.levels[:-1]}
        if not known and not (application.memory is not None and derived):
            silent.append(domain)
    if not silent:
        return []
    first, more = silent[0], f" and {len(silent) - 1} more" if len(silent) > 1 else ""
    taken = "demand: 12GB/s, sensitivity: 0.9" if first.kind == "memory" else "demand: 20MiB, sensitivity: 0.4"
    found = f"{first.name}{more}: what {kernel} takes there is not known, so neighbours do not slow it there"
    written = f"uses: {{{kernel}: {{{first.level}: {{{taken}}}}}}} in the node"
    return [f"{found}; measure it (apportion calibrate neighbours) or write it, such as {written}"]

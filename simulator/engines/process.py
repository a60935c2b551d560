"""The reference engine: every process a SimPy generator, readable and extensible."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
import simpy
from simpy.events import ProcessGenerator

from simulator.engines import faults
from simulator.engines.costs import Costs, ServiceTable, Ticks, lower, service_table, start_ticks, to_ticks
from simulator.engines.resources.cpu import ControlGroup, OwnPE, Service, SharedPE, Site, Usage
from simulator.engines.resources.flows import FairLinks, deciding
from simulator.engines.resources.instant import Clock, Instant, Occurrence
from simulator.engines.resources.links import (
    Barriers,
    Farms,
    FarmTerms,
    FifoLinks,
    Messages,
    Movements,
    NoContention,
    Request,
    Transfers,
)
from simulator.engines.resources.neighbours import DomainPE, Neighbourhood
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.platform.nodes import PE
from simulator.programs.columns import KIND_NAMES, Columns, Kind
from simulator.programs.program import ANY
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import Draws
from simulator.scheduling import chunks

__all__ = ["CustomOperation", "Progress", "Sharing", "run"]

AnyPE = OwnPE | SharedPE | DomainPE
COMPUTE = int(Kind.COMPUTE)
COMPOUND = frozenset((Kind.EXCHANGE, Kind.FARM, Kind.CUSTOM))
"""Kinds that may wait more than once."""
POLLS = frozenset((Kind.SEND, Kind.RECV, Kind.WAIT, Kind.BARRIER))
"""Other kinds in which a process waits for others."""
Progress = Callable[[int, int], None]
"""Called with how many runs are done, of how many."""


@dataclass(frozen=True)
class Listing:
    """The columns of a program as lists, which Python reads faster than arrays."""

    first: list[int]
    kind: list[int]
    partner: list[int]
    source: list[int]
    tag: list[int]

    @classmethod
    def of(cls, columns: Columns) -> "Listing":
        """Of all rows."""
        return cls(*(getattr(columns, name).tolist() for name in cls.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Setup:
    """What the runs of a block of costs share."""

    scenario: Scenario
    costs: Costs
    service: Callable[[int, int], Service]
    """For a PE and a number of processes."""
    operations: Mapping[str, Callable[..., Any]]
    tick_s: float

    @cached_property
    def listing(self) -> Listing:
        """The program's operations."""
        return Listing.of(self.costs.columns)

    @cached_property
    def eager(self) -> list[bool]:
        """By row."""
        found: list[bool] = self.costs.eager.tolist()
        return found

    @cached_property
    def from_anyone(self) -> set[tuple[int, int]]:
        """Receiver and tag of the receives from anyone."""
        columns = self.costs.columns
        rows = np.flatnonzero((columns.kind == Kind.RECV) & (columns.partner == ANY))
        return set(zip(columns.process[rows].tolist(), columns.tag[rows].tolist(), strict=True))

    @cached_property
    def farms(self) -> list[FarmTerms]:
        """By farm."""
        columns = self.costs.columns
        costs, tables = self.costs, []
        for table, pull, serve in zip(columns.farm_tables, costs.pull_ticks, costs.serve_ticks, strict=True):
            told, units, processes = table.scheduling, table.volumes.size, len(table.processes)
            notes = tuple(chunks.begin(told, units, processes, chunk=table.chunk))
            tables.append(FarmTerms(units, processes, chunks.number_of(told), notes, pull, serve))
        return [tables[table] for table in columns.farms.tolist()]

    @cached_property
    def routes(self) -> list[tuple[int, ...]]:
        """Directed links of each route."""
        links = self.costs.route_links.tolist()
        return [tuple(links[a:b]) for a, b in pairwise(self.costs.route_first.tolist())]

    @cached_property
    def deciding(self) -> list[tuple[int, ...]]:
        """Those of them that can hold flows back."""
        return deciding(self.routes, self.costs.capacities.tolist())

    @lru_cache(maxsize=1)  # noqa: B019 - runs of one configuration follow each other
    def movements(self, configuration: int, place: int) -> Movements:
        """What is sent in a configuration of the block, in the replication at a place of it, 0 where all are alike."""
        ticks, units, route = (
            _at(values, configuration) for values in (self.costs.ticks, self.costs.units, self.costs.route)
        )
        return Movements(_at(ticks, place).tolist(), units.tolist(), route.tolist(), self.routes)

    def ticks(self, configuration: int, replication: int) -> list[int]:
        """What each operation takes where it meets nobody, computations included; by row."""
        costs, place = self.costs, self.costs.replications.index(replication)
        ticks = _at(_at(costs.ticks, configuration), place).copy()
        nominal = _at(_at(costs.nominal_ticks, configuration), place)
        computes = costs.computation >= 0
        ticks[computes] = nominal[costs.computation[computes]]
        found: list[int] = ticks.tolist()
        return found

    @lru_cache(maxsize=1)  # noqa: B019 - as above
    def data_ticks(self, configuration: int) -> list[list[list[int]]]:
        """Per farm table and process of it: what the data of so many units takes."""
        tables = zip(self.costs.data_ticks, self.costs.data_rows, strict=True)
        return [[ticks[row].tolist() for row in rows[configuration].tolist()] for ticks, rows in tables]

    def farm_ticks(self, configuration: int, replication: int) -> list[list[list[int]]]:
        """Per farm table and row: nominal ticks of all units before one."""
        place = self.costs.replications.index(replication)
        return [_at(_at(ticks, configuration), place).tolist() for ticks in self.costs.farm_ticks]


def _at(values: Ticks, place: int) -> Ticks:
    """An entry of a first axis that has length 1 where all are alike."""
    return np.asarray(values[min(place, values.shape[0] - 1)])


CustomOperation = Callable[["Context", Mapping[str, float]], ProcessGenerator]
"""An operation of the user's own: a generator that yields the events that it waits for."""


class Simulation:
    """One configuration in one replication."""

    def __init__(self, setup: Setup, configuration: int, replication: int, *, starts: list[int], logged: bool) -> None:
        costs, self.setup = setup.costs, setup
        processes = costs.columns.processes
        self.env = Clock()
        self.instant = Instant(self.env)
        self.placement: list[int] = costs.placement[configuration].tolist()
        self.ticks = setup.ticks(configuration, replication)
        self.transfers = self._transfers(configuration, replication)
        self.messages = Messages(self.env, self.instant, self.transfers, from_anyone=setup.from_anyone)
        self.barriers = Barriers(self.env, costs.columns.barriers.tolist())
        self.farms = Farms(self.env, self.instant, setup.farms)
        self.farm_ticks = setup.farm_ticks(configuration, replication)
        self.data_ticks = setup.data_ticks(configuration) if setup.farms else []
        self.usage = Usage(processes)
        self.finish = [0] * processes
        """When each process ended."""
        self.log: list[LoggedOperation] | None = [] if logged else None
        self.waiting = [-1] * processes
        """Row of the operation that each process was last seen waiting in; -1 once it has ended."""
        self.shared: dict[str, Any] = {}
        self.pes = self._pes(configuration, starts, self._groups(replication))
        self._name = setup.scenario.configurations[costs.configurations[configuration]].name

    def run(self) -> None:
        """Let all processes run to their ends.

        Raises SimulationError, TraceError as `process.run`.
        """
        for number in range(len(self.placement)):
            self.env.process(_Actor(self, number).live())
        self.env.run()
        stuck = [row for row in self.waiting if row >= 0]
        if stuck:
            raise faults.stuck(self.setup.costs, self._name, stuck)
        unreceived = self.messages.unreceived()
        if unreceived:
            raise faults.unreceived(self.setup.costs, self._name, unreceived)

    def _transfers(self, configuration: int, replication: int) -> Transfers:
        setup, costs = self.setup, self.setup.costs
        place = costs.replications.index(replication) if costs.ticks.shape[1] > 1 else 0
        movements = setup.movements(configuration, place)
        if costs.contention == "fair":
            capacities: list[int] = costs.capacities.tolist()
            name_of = partial(faults.link_name, setup.scenario.platform)
            return FairLinks(self.env, self.instant, movements, setup.deciding, capacities=capacities, name_of=name_of)
        if costs.contention == "fifo":
            return FifoLinks(self.instant, movements)
        return NoContention(movements)

    def _groups(self, replication: int) -> dict[int, ControlGroup]:
        """The control groups with quotas, by PE."""
        quotas = self.setup.costs.quotas
        if quotas is None:
            return {}
        phases = quotas.phases[self.setup.costs.replications.index(replication)]
        terms = zip(quotas.members, quotas.budgets.tolist(), quotas.periods.tolist(), phases.tolist(), strict=True)
        found = {}
        for pes, budget, period, phase in terms:
            group = ControlGroup(self.env, self.instant, budget=budget, period=period, phase=phase)
            found.update(dict.fromkeys(pes, group))
        return found

    def _pes(self, configuration: int, starts: list[int], groups: dict[int, ControlGroup]) -> dict[int, AnyPE]:
        """Those that run something."""
        every = self.setup.scenario.platform.pes
        alone = not self.setup.costs.columns.customs  # those may compute several things at once
        pes: dict[int, AnyPE] = {}
        near, inside = self._neighbourhood(configuration, starts)
        for place, processes in Counter(self.placement).items():
            kind = OwnPE if alone and processes == 1 and place not in groups else SharedPE
            service = partial(self.setup.service, place)
            site = Site(place, every[place].name, service, starts[place], groups.get(place))
            if near is not None and inside[place]:
                pes[place] = DomainPE(self.env, self.instant, self.usage, site, near)
            else:
                pes[place] = kind(self.env, self.instant, self.usage, site)
        return pes

    def _neighbourhood(self, configuration: int, starts: list[int]) -> tuple[Neighbourhood | None, list[bool]]:
        """The sharing domains, and the PEs that are in some."""
        sharing = self.setup.costs.sharing
        if sharing is None:
            return None, []
        near = Neighbourhood(self.env, self.instant, sharing, configuration, starts)
        near.cores({number: pe.cores for number, pe in enumerate(self.setup.scenario.platform.pes)})
        inside: list[bool] = sharing.inside[configuration].tolist()
        return near, inside


class _Actor:
    """One process."""

    def __init__(self, simulation: Simulation, number: int) -> None:
        self._simulation, self._number = simulation, number
        self._env, self._listing, self._ticks = simulation.env, simulation.setup.listing, simulation.ticks
        self._pe = simulation.pes[simulation.placement[number]]
        self._messages, self._transfers = simulation.messages, simulation.transfers
        self._polls = simulation.setup.costs.columns.polls and isinstance(self._pe, SharedPE | DomainPE)
        self._requests: dict[int, Occurrence | None] = {}
        """What each open request ends with, None for what ended at once."""

    def live(self) -> ProcessGenerator:
        """Its operations, one after the other; what takes no time waits for nothing."""
        number, listing, waiting = self._number, self._listing, self._simulation.waiting
        log, polls, compute, ticks = self._simulation.log, self._polls, self._pe.compute, self._ticks
        rows = range(listing.first[number], listing.first[number + 1])
        for row, kind in zip(rows, listing.kind[rows.start : rows.stop], strict=True):
            waiting[number] = row
            begin = self._env.now if log is not None else 0
            if kind == COMPUTE:
                yield compute(ticks[row], number)
            elif kind in COMPOUND:
                yield from HANDLERS[kind](self, row)
            elif (event := HANDLERS[kind](self, row)) is not None:
                if polls and kind in POLLS:
                    yield from self._poll(event)
                else:
                    yield event
            if log is not None:
                log.append(self._entry(row, begin))
        waiting[number] = -1
        self._simulation.finish[number] = self._env.now

    def send(self, row: int) -> Occurrence | None:
        channel = self._number, self._listing.partner[row], self._listing.tag[row]
        return self._messages.send(row, channel, eager=self._simulation.setup.eager[row])

    def receive(self, row: int) -> simpy.Event | None:
        sender, tag = self._listing.partner[row], self._listing.tag[row]
        if sender == ANY:
            return self._messages.receive_from_anyone((self._number, tag))
        return self._messages.receive((sender, self._number, tag))

    def exchange(self, row: int) -> ProcessGenerator:
        sent = self.send(row)
        received = self._messages.receive((self._listing.source[row], self._number, self._listing.tag[row]))
        for event in (sent, received):
            if event is not None:
                yield from self._poll(event)

    def post_send(self, row: int) -> None:
        self._requests[self._listing.source[row]] = self.send(row)

    def post_receive(self, row: int) -> None:
        channel = self._listing.partner[row], self._number, self._listing.tag[row]
        self._requests[self._listing.source[row]] = self._messages.receive(channel)

    def wait(self, row: int) -> simpy.Event | None:
        event = self._requests.pop(self._listing.source[row])
        return None if event is None or event.over else event

    def barrier(self, row: int) -> simpy.Event | None:
        return self._simulation.barriers.arrive(self._listing.partner[row])

    def farm(self, row: int) -> ProcessGenerator:
        number = self._listing.partner[row]
        costs, farms = self._simulation.setup.costs, self._simulation.farms
        table = int(costs.columns.farms[number])
        place = costs.columns.farm_tables[table].processes.index(self._number)
        before = self._simulation.farm_ticks[table][int(costs.farm_rows[table][place])]
        request = Request(self._number, number, place, self._simulation.data_ticks[table][place])
        more = True
        while more:
            first, after = yield from self._poll(farms.pull(request))
            if first == after:
                return
            begin = self._env.now
            yield self._pe.compute(max(1, before[after] - before[first]), self._number)
            more = farms.computed(request, after - first, self._env.now - begin)

    def wait_until(self, row: int) -> simpy.Event | None:
        left = self._ticks[row] - self._env.now
        return simpy.Timeout(self._env, left) if left > 0 else None

    def delay(self, row: int) -> simpy.Event:
        return Occurrence(self._env).after(self._ticks[row])

    def read_write(self, row: int) -> simpy.Event:
        done = Occurrence(self._env)
        self._transfers.start(row, done)
        return done

    def custom(self, row: int) -> ProcessGenerator:
        name, arguments = self._simulation.setup.costs.columns.customs[self._listing.partner[row]]
        operation = self._simulation.setup.operations[name]
        yield from operation(Context(self._simulation, self._number, self._pe), arguments)

    def _poll(self, event: simpy.Event) -> ProcessGenerator:
        """Wait for others, which may keep the PE busy; the event's value."""
        if not self._polls or not isinstance(self._pe, SharedPE | DomainPE):
            return (yield event)
        self._pe.poll(+1)
        value = yield event
        self._pe.poll(-1)
        return value

    def _entry(self, row: int, begin: int) -> LoggedOperation:
        columns, scenario = self._simulation.setup.costs.columns, self._simulation.setup.scenario
        pe = scenario.platform.pes[self._simulation.placement[self._number]].name
        name = KIND_NAMES[Kind(self._listing.kind[row])]
        return LoggedOperation(self._number, pe, name, int(columns.index[row]), begin, self._env.now)


Handler = Callable[[_Actor, int], Any]
HANDLERS: dict[int, Handler] = {
    Kind.SEND: _Actor.send,
    Kind.RECV: _Actor.receive,
    Kind.EXCHANGE: _Actor.exchange,
    Kind.POST_SEND: _Actor.post_send,
    Kind.POST_RECV: _Actor.post_receive,
    Kind.WAIT: _Actor.wait,
    Kind.BARRIER: _Actor.barrier,
    Kind.FARM: _Actor.farm,
    Kind.WAIT_UNTIL: _Actor.wait_until,
    Kind.DELAY: _Actor.delay,
    Kind.READ_WRITE: _Actor.read_write,
    Kind.CUSTOM: _Actor.custom,
}
"""By kind: a row's operation to the event that it ends with (None: at once), or of compound kinds to a generator."""


class Context:
    """What an operation of the user's own may do; it waits by yielding the events that these methods return."""

    def __init__(self, simulation: Simulation, process: int, pe: AnyPE) -> None:
        self._simulation, self._pe = simulation, pe
        self.process = process
        """Number of the process that does it."""
        self.environment = simulation.env
        """The SimPy environment, for events and resources of the user's own; its time is in ticks, delays are ints."""
        self.shared = simulation.shared
        """A dictionary that all such operations of one run share, for example for a `simpy.Resource`."""

    def ticks(self, seconds: float) -> int:
        """Seconds as ticks, at least one."""
        return int(to_ticks(seconds, self._simulation.setup.tick_s))

    def compute(self, seconds: float) -> simpy.Event:
        """Compute on the process's PE what takes so long alone and without load."""
        return self._pe.compute(self.ticks(seconds), self.process)

    def delay(self, seconds: float) -> simpy.Event:
        """Sleep; the PE is left to others."""
        return Occurrence(self.environment).after(self.ticks(seconds))


class Sharing(Protocol):
    """A rule by which a PE is shared: what one of `processes` runnable processes attains on it, as integers."""

    def __call__(self, pe: PE, processes: int, *, tick_s: float) -> ServiceTable:
        """The service of one of `processes`; knots in ticks from the start of the PE's load trace."""


def run(
    scenario: Scenario,
    draws: Draws,
    *,
    tick_s: float,
    log_replications: int = 0,
    operations: Mapping[str, CustomOperation] | None = None,
    sharing: Sharing = service_table,
    progress: Progress | None = None,
) -> RunSet:
    """Simulate every configuration and replication of a scenario.

    Raises SimulationError for a deadlock, a message that nobody receives, a stalled PE or a link with too many flows,
    with names; TraceError if a trace that ends does so before the run.

    `scenario`: its configurations are run on the same draws (paired).
    `draws`: axes (replication, PE).
    `log_replications`: keep the operation log of this many first replications of each configuration.
    `operations`: what the program's `Custom` operations do, by name; see `Context`.
    `sharing`: how processes share a PE, in place of equal shares of what its load leaves.
    """
    starts = start_ticks(draws, tick_s=tick_s).tolist()
    services, of_services = _services(scenario, sharing, tick_s), scenario
    results = _Results(scenario)
    done, runs = 0, len(scenario.configurations) * scenario.replications
    for costs in lower(scenario, draws, tick_s=tick_s):
        faults.check_customs(costs, operations or {})
        if costs.scenario is not of_services:  # of another truth
            services, of_services = _services(costs.scenario, sharing, tick_s), costs.scenario
        setup = Setup(costs.scenario, costs, services, dict(operations or {}), tick_s)
        for configuration, replication in product(range(len(costs.configurations)), costs.replications):
            place = costs.configurations[configuration]
            logged = replication < log_replications
            simulation = Simulation(setup, configuration, replication, starts=starts[replication], logged=logged)
            simulation.run()
            results.add(place, replication, simulation)
            done += 1
            if progress is not None:
                progress(done, runs)
    return results.run_set(scenario, tick_s)


def _services(scenario: Scenario, sharing: Sharing, tick_s: float) -> Callable[[int, int], Service]:
    """The service for a PE and a number of our processes, made once for all runs."""
    pes = scenario.platform.pes
    # Tables of ours depend on nothing but a PE's load, cores and slice, a user's may depend on anything.
    keys = [(id(pe.load), pe.cores, pe.slice_s) for pe in pes]
    alike = {key: place for place, key in reversed(list(enumerate(keys)))}
    same = [alike[key] if sharing is service_table else place for place, key in enumerate(keys)]
    made = cache(lambda place, processes: Service(sharing(pes[place], processes, tick_s=tick_s)))
    return lambda place, processes: made(same[place], processes)


class _Results:
    """The arrays of a `RunSet` while runs come in."""

    def __init__(self, scenario: Scenario) -> None:
        count = scenario.replications
        self._makespans = np.zeros((len(scenario.configurations), count), dtype=np.int64)
        shapes = [(count, len(configuration.placement)) for configuration in scenario.configurations]
        self._computed, self._busy, self._finish = (
            tuple(np.zeros(shape, dtype=np.int64) for shape in shapes) for _ in range(3)
        )
        self._logs: dict[tuple[int, int], tuple[LoggedOperation, ...]] = {}

    def add(self, place: int, replication: int, simulation: Simulation) -> None:
        """Note a run that has ended."""
        self._makespans[place, replication] = max(simulation.finish)
        self._computed[place][replication] = simulation.usage.computed
        self._busy[place][replication] = simulation.usage.busy
        self._finish[place][replication] = simulation.finish
        if simulation.log is not None:
            self._logs[place, replication] = tuple(
                sorted(simulation.log, key=lambda entry: (entry.process, entry.index))
            )

    def run_set(self, scenario: Scenario, tick_s: float) -> RunSet:
        """All runs."""
        names = tuple(configuration.name for configuration in scenario.configurations)
        arrays = self._makespans, self._computed, self._busy, self._finish
        return RunSet(names, tick_s, *arrays, "process", scenario.seed, self._logs)

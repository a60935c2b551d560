"""Runs of programs whose units move between iterations: stretch after stretch simulated, and a decision between two.

A stretch is a program of its own that begins, by WAIT_UNTIL, when the last one ended; loads and draws go on. All
processes are at its last operation then, a barrier, so nothing of one stretch is under way in the next, and the chain
means what one long program would. The rule sees what a real program would: the seconds that each process computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from math import ceil

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.programs.applications.work import Movable, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    NOBODY,
    Barrier,
    Broadcast,
    Exchange,
    Gather,
    Operation,
    Program,
    WaitUntil,
)
from simulator.scenario_file.scenario import Scenario
from simulator.scheduling.balance import Band, Rule, State, begin, decide, save

Simulate = Callable[[Scenario, int], RunSet]
"""Called with a scenario of one configuration and the number of the replication."""
TIME_BYTES = 8
"""Of a process's seconds in the gather, and of its units in the broadcast."""
POINTS = 12
"""Units at which a process's speed is handed to the rule."""
FEW_BYTES, MANY_UNITS = 1.0, 64
"""What a message and a unit cost is read off the times of these payloads."""


@dataclass(frozen=True)
class Moves:
    """What one replication of a configuration came to; arrays are (process,)."""

    finish_s: Floats
    computed_s: Floats
    busy_s: Floats
    partitions: tuple[tuple[float, tuple[int, ...]], ...]
    """Since when, in seconds, processes had which units."""
    stretches: tuple[Program, ...]
    """What was simulated, one after the other."""

    @property
    def program(self) -> Program:
        """All of it as one program: the same operations at the same ticks; footprints are those at the end."""
        rows = zip(*(one.operations for one in self.stretches), strict=True)
        return replace(self.stretches[-1], operations=tuple(tuple(chain.from_iterable(row)) for row in rows))


def run_moves(scenario: Scenario, configuration: Configuration, simulate: Simulate) -> list[Moves]:
    """All replications of a configuration with a rule.

    Raises ScenarioError if units cannot move, or there are fewer than processes; SimulationError as of any program.
    """
    work, movable = scenario.application.work, scenario.movable(configuration)
    state = first_state(scenario, configuration, work, movable)
    return [
        _one_run(scenario, configuration, state, movable, partial(_numbered, simulate, number))
        for number in range(scenario.replications)
    ]


def _numbered(simulate: Simulate, number: int, scenario: Scenario) -> RunSet:
    return simulate(scenario, number)


def first_state(scenario: Scenario, configuration: Configuration, work: Work, movable: Movable) -> State:
    """What the rule knows before the first iteration: units, speeds in the middle of bands, what moving costs."""
    rule, processes = configuration.repartition, len(configuration.partition)
    if rule is None:
        raise TypeError("the configuration has a rule")
    pairs = list(pairwise(configuration.placement))
    sizes = np.array([FEW_BYTES, FEW_BYTES + MANY_UNITS * movable.size_bytes])
    times = np.array([message_times_s(scenario, one, other, sizes) for one, other in pairs] or [[0.0, 0.0]])
    few, many = times.max(axis=0).tolist()
    calls = max(1, ceil(work.rounds(processes) / rule.every) - 1)
    made = Rule(
        rule.when,
        threshold=rule.threshold,
        message_s=few,
        unit_s=max(0.0, (many - few) / MANY_UNITS),
        calls=calls,
    )
    units = [units // movable.quantum for units in configuration.partition]
    each_call = work.rounds(processes) / rule.every
    speeds = {
        pe: speed_of(scenario, pe, sum(units), processes, movable, each_call)
        for pe in dict.fromkeys(configuration.placement)
    }
    return begin(units, speeds=[speeds[pe] for pe in configuration.placement], rule=made)


def balance_text(scenario: Scenario, configuration: Configuration) -> str:
    """What the rule of a configuration knows before the first iteration, as real programs restore it.

    Raises ScenarioError if units cannot move.
    """
    return save(first_state(scenario, configuration, scenario.application.work, scenario.movable(configuration)))


def speed_of(
    scenario: Scenario, pe: int, total: int, processes: int, movable: Movable, each_call: float
) -> Band | float:
    """Units per second of a call on a PE alone; one number where more units would take less time somewhere."""
    compute = scenario.application.work.compute(processes)
    speed = scenario.platform.pes[pe].speeds[scenario.application.kernel]
    units = np.unique(np.rint(np.geomspace(1, max(total, 2), POINTS))).astype(np.int64)
    steps = [compute(int(count) * movable.quantum) for count in units]
    found = []
    for position in (0.0, 1.0):
        seconds = [float(np.sum(step.volume / speed.speed(np.asarray(step.size), position=position))) for step in steps]
        found.append(tuple(float(count) * each_call / second for count, second in zip(units, seconds, strict=True)))
    try:
        return Band(tuple(map(float, units)), *found)
    except ScenarioError:
        middle = int(np.searchsorted(units, max(1, total // processes)))
        return 0.5 * (found[0][middle] + found[1][middle])


def message_times_s(scenario: Scenario, one: int, other: int, sizes_bytes: Floats) -> list[float]:
    """Message times between two PEs without contention; (sizes,)."""
    platform, network = scenario.platform, scenario.platform.network
    source, destination = platform.node_of[[one]], platform.node_of[[other]]
    if source[0] == destination[0]:
        times = network.within.time_s(sizes_bytes)
    elif network.topology is not None:
        routes = network.routes(source, destination)
        times = network.times_s(routes, np.zeros(sizes_bytes.size, dtype=np.int64), sizes_bytes)
    else:
        times = np.zeros(sizes_bytes.size) if network.model is None else network.model.time_s(sizes_bytes)
    found: list[float] = np.asarray(times, dtype=np.float64).tolist()
    return found


def _one_run(
    scenario: Scenario,
    configuration: Configuration,
    state: State,
    movable: Movable,
    simulate: Callable[[Scenario], RunSet],
) -> Moves:
    """One replication, stretch by stretch."""
    work, rule, processes = scenario.application.work, configuration.repartition, len(configuration.partition)
    every = 1 if rule is None else rule.every
    rounds, done, begun_s = work.rounds(processes), 0, 0.0
    busy_s, before, now = np.zeros(processes), None, replace(configuration, repartition=None)
    happened, stretches = [(0.0, now.partition)], list[Program]()
    while True:
        count = min(every, rounds - done)
        last = done + count == rounds
        program = stretch(work, before, now, movable, done, count, begun_s=begun_s, last=last)
        stretches.append(program)
        application = replace(scenario.application, written=program)
        found = simulate(replace(scenario, application=application, configurations=(now,)))
        seconds = found.busy_ticks[0][0] * found.tick_s
        busy_s, done, before = busy_s + seconds, done + count, None
        begun_s = float(found.finish_ticks[0][0].max() * found.tick_s)
        if last:
            finish, computed = found.finish_ticks[0][0], found.computed_ticks[0][0]
            ends = finish * found.tick_s, computed * found.tick_s, busy_s
            return Moves(*ends, tuple(happened), tuple(stretches))
        state, units = decide(state, seconds.tolist())
        if units is not None:
            before = now
            now = replace(now, partition=tuple(one * movable.quantum for one in units))
            happened.append((begun_s, now.partition))


def stretch(
    work: Work,
    before: Configuration | None,
    now: Configuration,
    movable: Movable,
    first: int,
    count: int,
    *,
    begun_s: float,
    last: bool,
) -> Program:
    """Some iterations, with what moves before them, and the gather, broadcast and barrier of the decision after them.

    `before`: who had which units up to now; None if the same.
    """
    made, processes = work.stretch(now, first, count), len(now.partition)
    head: tuple[Operation, ...] = (WaitUntil(begun_s),) if begun_s else ()
    if before is not None:
        head += moved(before.partition, now.partition, movable)
    tail: tuple[Operation, ...] = ()
    if not last:
        tail = (Gather(0, TIME_BYTES), Broadcast(0, TIME_BYTES * processes, "binomial"), Barrier())
    rows = {id(row): (*head, *row, *tail) for row in made.operations}
    return replace(made, operations=tuple(rows[id(row)] for row in made.operations))


def moved(before: Sequence[int], now: Sequence[int], movable: Movable) -> tuple[Exchange, ...]:
    """What is sent, as units lie in the order of the processes: in step s to the process s further on, in a circle."""
    processes = len(now)
    (old_first, old_end), (new_first, new_end) = (
        (edges[:-1], edges[1:]) for edges in (np.cumsum([0, *units]) for units in (before, now))
    )
    shared = np.minimum(old_end[:, np.newaxis], new_end) - np.maximum(old_first[:, np.newaxis], new_first)
    shared = np.maximum(shared, 0) * movable.size_bytes // movable.quantum
    own, found = np.arange(processes), []
    for step in range(1, processes):
        to, source = (own + step) % processes, (own - step) % processes
        sent, received = shared[own, to], shared[source, own]
        if np.any(sent):
            found.append(Exchange(np.where(sent > 0, to, NOBODY), np.where(received > 0, source, NOBODY), sent))
    return tuple(found)


def written_out(scenario: Scenario, configuration: Configuration, program: Program) -> Scenario:
    """One run of a configuration with a rule, whose program is known, without the rule."""
    application = replace(scenario.application, written=program)
    return replace(scenario, application=application, configurations=(replace(configuration, repartition=None),))


def with_moves(
    static: RunSet,
    moves: dict[str, list[Moves]],
    names: Sequence[str],
    kept: Mapping[tuple[int, int], tuple[Program, tuple[LoggedOperation, ...]]],
) -> RunSet:
    """Runs of all configurations, those with a rule in the place of the same without it.

    `kept`: programs and logs of those with a rule, by configuration and replication.
    """

    def all_of(what: str, kept: Sequence[Ints]) -> tuple[Ints, ...]:
        own = {name: np.array([getattr(run, what) for run in found]) for name, found in moves.items()}
        ticks = {name: np.rint(found / static.tick_s).astype(np.int64) for name, found in own.items()}
        return tuple(ticks.get(name, before) for name, before in zip(names, kept, strict=True))

    finish, makespan = all_of("finish_s", static.finish_ticks), static.makespan_ticks.copy()
    for number, name in enumerate(names):
        if name in moves:
            makespan[number] = finish[number].max(axis=1)
    return replace(
        static,
        makespan_ticks=makespan,
        computed_ticks=all_of("computed_s", static.computed_ticks),
        busy_ticks=all_of("busy_s", static.busy_ticks),
        finish_ticks=finish,
        logs={**static.logs, **{key: log for key, (_, log) in kept.items()}},
        programs={key: program for key, (program, _) in kept.items()},
        partitions={name: tuple(run.partitions for run in found) for name, found in moves.items()},
    )

"""The allocation problem of a scenario: its kinds of PEs, its makespans by simulation, and an analytic model of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, rates_of
from advisor.advise.partition import even_split
from advisor.advise.problem import Allocations, EqualWork, Floats, Kind, Model, Problem, Runs, ShareTimes
from simulator import (
    PE,
    Configuration,
    Platform,
    RunSet,
    Scenario,
    ScenarioError,
    SpeedBand,
    availability,
    kept_shares,
    ties,
)
from simulator.experiments.sweep import run_or_recall

GRID = 24
"""Numbers of processes at which shares are looked at exactly, up to here all; further ones are interpolated."""
COMM_GRID = 8
"""Numbers of processes at which messages are simulated; further ones are interpolated."""
ENDLESS_SPEED = 1e30
"""Of the PEs on which only messages take time."""
SAME = 1e-9
"""Relative difference up to which kinds differ by factors only."""


def kinds_of(scenario: Scenario, *, most: int | None = None, across: bool = False) -> tuple[Kind, ...]:
    """The kinds of PEs of a scenario: those with the same speed band, cores, load, time slice, cost and power.

    PEs of a kind share with as many others by the same laws. The first ones of a node lie in different sharing domains,
    so that as few as can be share one.

    Parameters
    ----------
    most
        Most processes on one PE; by default its cores.
    across
        The first PEs lie on different nodes, too, where these have domains; else one node comes after the other.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    known = scenario.platform.known_nodes
    prices = [known[node].price_per_hour for node in scenario.platform.node_of.tolist()]
    shared = _shared_by(scenario)
    for index, pe in enumerate(scenario.platform.pes):
        band = pe.speed_of(scenario.application.kernel)
        load = None
        if pe.load is not None:
            trace = pe.load.trace
            starts = pe.load.draws, pe.load.start_s, pe.load.own, trace.after_end
            load = trace.values.tobytes(), trace.durations_s.tobytes(), pe.load.rule, *starts
        speeds = band.sizes.tobytes(), band.low.tobytes(), band.high.tobytes()
        rates = pe.cost_per_s, pe.power_w, prices[index]
        key = speeds, pe.cores, load, rates, pe.slice_s, *shared.get(index, ())
        alike.setdefault(key, []).append(index)
    pes = scenario.platform.pes
    return tuple(
        Kind(pes[same[0]].name, _spread(scenario.platform, same, across=across), most or pes[same[0]].cores)
        for same in alike.values()
    )


def _shared_by(scenario: Scenario) -> dict[int, tuple[object, ...]]:
    """What the PEs that are in sharing domains share, and the uses that hold there."""
    platform, found = scenario.platform, dict[int, tuple[object, ...]]()
    nodes = platform.known_nodes if platform.domains else ()
    for domain in platform.domains:
        for pe in domain.pes:
            uses = nodes[platform.node_of[pe]].uses.get(scenario.application.kernel)
            found[pe] = (*found.get(pe, (id(uses),)), domain.level, domain.law, len(domain.pes))
    return found


def _spread(platform: Platform, pes: Sequence[int], *, across: bool) -> tuple[int, ...]:
    """PEs in an order in which the first ones share as few domains as can be: the smallest domains count first."""
    members, ranks = set(pes), dict[int, list[int]]()
    for domain in sorted(platform.domains, key=lambda domain: len(domain.pes)):
        for rank, pe in enumerate(pe for pe in domain.pes if pe in members):
            ranks.setdefault(pe, []).append(rank)
    if not ranks:
        return tuple(pes)
    return tuple(sorted(pes, key=lambda pe: (0 if across else int(platform.node_of[pe]), ranks.get(pe, []), pe)))


def configuration_of(
    scenario: Scenario, kinds: Sequence[Kind], allocation: NDArray[np.int64], name: str
) -> Configuration:
    """The configuration of an allocation (kind, 2): equal shares, processes in the order of the PEs."""
    each = [
        (pe, processes)
        for kind, (count, processes) in zip(kinds, allocation.tolist(), strict=True)
        for pe in kind.pes[:count]
    ]
    placement = tuple(pe for pe, processes in sorted(each) for _ in range(processes))
    work = scenario.application.work
    return Configuration(name, work.fitting(even_split(work.units, len(placement))), placement)


def runs_as(scenario: Scenario, processes: int) -> bool:
    """Whether an application runs as so many processes: grids and powers of two have their own numbers."""
    work = scenario.application.work
    if not 1 <= processes <= work.units:
        return False
    try:
        parts = work.fitting(even_split(work.units, processes))
        work.program(Configuration("asked", parts, (0,) * processes))
    except ScenarioError:
        return False
    return True


def simulated_runs(
    scenario: Scenario,
    kinds: Sequence[Kind],
    *,
    first: int = 0,
    objective: Objective = "mean",
    run: Callable[..., RunSet] = run_or_recall,
) -> Runs:
    """Makespans (costs, energies) of allocations; replication r has the draws of `first + r` in `simulator.run`."""

    def runs(allocations: Allocations, replications: NDArray[np.int64]) -> Floats:
        configurations = tuple(
            configuration_of(scenario, kinds, allocation, f"allocation {place}")
            for place, allocation in enumerate(allocations)
        )
        return simulate(scenario, configurations, first + replications, objective=objective, run=run)

    return runs


def simulate(
    scenario: Scenario,
    configurations: tuple[Configuration, ...],
    replications: NDArray[np.int64],
    *,
    objective: Objective = "mean",
    run: Callable[..., RunSet] = run_or_recall,
) -> Floats:
    """Makespans (costs, energies) of some replications, by number; (configuration, replication)."""
    asked = scenario.with_configurations(configurations)
    parts = [
        run(asked, replications=stretch.size, first_replication=int(stretch[0])).makespan_s
        for stretch in np.split(replications, np.flatnonzero(np.diff(replications) != 1) + 1)
    ]
    return rates_of(scenario, configurations, objective)[:, np.newaxis] * np.concatenate(parts, axis=1)


def problem_of(
    scenario: Scenario,
    *,
    most: int | None = None,
    objective: Objective = "mean",
    budget: int = 200,
    first: int = 0,
    run: Callable[..., RunSet] = run_or_recall,
) -> Problem:
    """The allocation problem of a scenario, with its model; the scenario's own configurations are not looked at.

    The runs that the model's messages were simulated with (up to 8) are taken off the budget.

    Parameters
    ----------
    most
        Most processes on one PE; by default its cores.
    budget
        Simulated runs.
    first
        Number of the first replication.
    run
        The simulator, or what counts its runs.
    """
    kinds = kinds_of(scenario, most=most)
    model, spent = model_of(scenario, kinds, run=run)
    left = max(1, budget - spent)
    runs = simulated_runs(scenario, kinds, first=first, objective=objective, run=run)
    return Problem(kinds, runs, model, objective, left, seed=scenario.seed)


def model_of(
    scenario: Scenario, kinds: Sequence[Kind], *, run: Callable[..., RunSet] = run_or_recall
) -> tuple[Model, int]:
    """An analytic model of a scenario's allocations, and the simulated runs that it took.

    A PE with m processes computes the largest of P equal shares at the middle of its band and under the mean of its
    load, m / cores times as long if m is above its cores. Messages take what they take on PEs that compute in no time,
    simulated at a few P. In sharing domains they keep what they keep where all PEs of a kind work. What depends on
    where processes run, on waiting for each other and on fluctuation is left out.
    """
    processes = np.arange(sum(kind.count * kind.most for kind in kinds) + 1)
    shares = _pe_s(scenario, kinds, processes)
    comm_s, spent = _comm_s(scenario, kinds, processes, run)
    reference = shares[0, 0]
    loads = shares[:, :, 1] / reference[1]
    used = np.flatnonzero(np.isfinite(reference))[1:]  # up to as many processes as there are units
    with np.errstate(invalid="ignore"):
        off = np.abs(shares[:, :, used] / (loads[:, :, np.newaxis] * reference[used]) - 1)
    if np.all(off[np.isfinite(loads)] < SAME):
        return EqualWork(loads, reference, comm_s), spent
    return ShareTimes(shares, comm_s), spent


def _pe_s(scenario: Scenario, kinds: Sequence[Kind], processes: NDArray[np.int64]) -> Floats:
    work, most = scenario.application.work, max(kind.most for kind in kinds)
    looked_at = _grid(min(processes.size - 1, work.units), GRID)
    volumes, sizes = np.zeros(processes.size), np.zeros(processes.size)
    if not work.varies_with_processes:
        compute = work.compute(1)
        largest = -(-work.units // np.maximum(processes, 1))
        found = {share: compute(share) for share in np.unique(largest).tolist()}
        for share, computation in found.items():
            volumes[largest == share], sizes[largest == share] = computation.volume, computation.size
    else:
        computations = [work.compute(count)(-(-work.units // count)) for count in looked_at.tolist()]
        for target, values in ((volumes, [c.volume for c in computations]), (sizes, [c.size for c in computations])):
            target[:] = np.interp(processes, looked_at, np.array(values, dtype=np.float64))
    pe_s = np.full((len(kinds), most, processes.size), np.inf)
    for place, kind in enumerate(kinds):
        pe = scenario.platform.pes[kind.pes[0]]
        alone_s = volumes / pe.speed_of(scenario.application.kernel).speed(sizes)
        each = np.array([mean_share(pe, processes=count) for count in range(1, kind.most + 1)])
        each = each * _kept_by_count(scenario, kind)
        pe_s[place, : kind.most] = alone_s / each[:, np.newaxis]
    pe_s[:, :, work.units + 1 :] = np.inf  # the others would have nothing to do
    return pe_s


def process_times(scenario: Scenario, placement: Sequence[int], *, led: bool) -> Callable[[int, int], float]:
    """Seconds that a process takes for so many units, messages included, by its place and the units.

    Under mean load, or under what follows where a load starts at a time that is known. In sharing domains each keeps
    what it keeps while all compute on equal parts. A master also waits for everyone's messages: a set-up cost, taken at
    the equal partition.

    Parameters
    ----------
    placement
        The PE of each process; those on one PE share its cores.
    led
        Whether the first process is a master.
    """
    work, platform, kernel = scenario.application.work, scenario.platform, scenario.application.kernel
    busy, first, compute = Counter(placement), placement[0], work.compute(len(placement))
    usual = -(-work.units // len(placement))
    kept = _kept(scenario, placement, usual)

    @cache  # only those asked for: of PEs that are alike, callers ask for one
    def speed_of(pe: int) -> tuple[SpeedBand, Callable[[float], float]]:
        return platform.pes[pe].speed_of(kernel), _taken(platform.pes[pe], busy[pe])

    @cache  # a bisection asks for the same units again and again
    def messages_s(pe: int, units: int) -> float:
        sizes_bytes = work.messages_bytes(units)
        other = first if work.has_master or pe != first else placement[-1]  # the first PE's own go to another one
        return float(platform.message_s(other, pe, np.array(sizes_bytes)).sum()) if sizes_bytes else 0.0

    @cache
    def alone_s(pe: int, units: int) -> float:
        computation, (band, taken_s) = compute(units), speed_of(pe)
        return taken_s(float(computation.volume / float(band.speed(computation.size))) / kept.get(pe, 1.0))

    setup_s = sum((count - (pe == first)) * messages_s(pe, usual) for pe, count in busy.items()) if led else 0.0

    def process_s(process: int, units: int) -> float:
        pe = placement[process]
        return alone_s(pe, units) + (setup_s if led and process == 0 else messages_s(pe, units))

    return process_s


def crowds(scenario: Scenario, placement: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """How many processes there are in each sharing domain of a PE, by PE; empty without domains."""
    busy, found = Counter(placement), dict[int, tuple[int, ...]]()
    for domain in scenario.platform.domains:
        here = sum(busy[pe] for pe in domain.pes)
        for pe in domain.pes:
            found[pe] = (*found.get(pe, ()), here)
    return found


def _kept_by_count(scenario: Scenario, kind: Kind) -> Floats:
    """What processes keep of their speed with so many on each PE of a kind, from 1 on; (most,)."""
    work, found = scenario.application.work, np.ones(kind.most)
    for count in range(1, kind.most + 1) if scenario.platform.domains else ():
        placement = tuple(pe for pe in sorted(kind.pes) for _ in range(count))
        if len(placement) <= work.units:
            found[count - 1] = min(_kept(scenario, placement, -(-work.units // len(placement))).values())
    return found


def _kept(scenario: Scenario, placement: Sequence[int], units: int) -> dict[int, float]:
    """What processes keep of their speed with neighbours, by PE; empty without sharing domains."""
    if not scenario.platform.domains:
        return {}
    size = float(scenario.application.work.compute(len(placement))(units).size)
    shares = kept_shares(scenario.platform, scenario.application.kernel, placement, [size] * len(placement))
    return dict(zip(placement, shares.tolist(), strict=True))


def mean_share(pe: PE, *, processes: int = 1) -> float:
    """Mean share of a core that the load of a PE leaves to each of our processes on it."""
    if pe.load is None:
        return min(1.0, pe.cores / processes)
    left = availability(pe.load.trace.values, pe.load.rule, processes=processes, cores=pe.cores)
    return float(np.average(left, weights=pe.load.trace.durations_s))


def _taken(pe: PE, processes: int) -> Callable[[float], float]:
    """How long each of our processes on a PE computes, by its seconds on an idle core."""
    load = pe.load
    if load is not None and not load.draws and load.trace.after_end == "cycle" and load.trace.times_s.size > 1:
        return load.taken(processes=processes, cores=pe.cores)
    share = mean_share(pe, processes=processes)
    return lambda idle_s: idle_s / share


def _comm_s(
    scenario: Scenario, kinds: Sequence[Kind], processes: NDArray[np.int64], run: Callable[..., RunSet]
) -> tuple[Floats, int]:
    """Seconds of messages per P, simulated on PEs that compute in no time, and the runs that took."""
    kernel, platform = scenario.application.kernel, scenario.platform
    swift = tuple(replace(pe, speeds={kernel: SpeedBand.constant(ENDLESS_SPEED)}, load=None) for pe in platform.pes)
    idle = replace(
        scenario,
        platform=Platform(swift, platform.network, platform.nodes),
        application=replace(scenario.application, memory=None),
    )
    # The fastest PEs first, one process on each, then a second one ...
    fastest = ties.in_order([-_speed(scenario, kind) for kind in kinds]).tolist()
    order = [pe for place in fastest for pe in kinds[place].pes]
    most = [kind.most for pe in order for kind in kinds if pe in kind.pes]
    spread = np.array([pe for turn in range(max(most)) for pe, limit in zip(order, most, strict=True) if turn < limit])
    work = scenario.application.work
    looked_at = _grid(min(processes.size - 1, work.units), COMM_GRID, dense=False)
    found = [
        simulate(
            idle,
            (
                Configuration(
                    "messages", work.fitting(even_split(work.units, count)), tuple(sorted(spread[:count].tolist()))
                ),
            ),
            np.arange(1),
            run=run,
        )[0, 0]
        for count in looked_at.tolist()
    ]
    return np.interp(processes, looked_at, found), len(found)


def _speed(scenario: Scenario, kind: Kind) -> float:
    pe = scenario.platform.pes[kind.pes[0]]
    return float(pe.speed_of(scenario.application.kernel).mid[-1]) * mean_share(pe)


def _grid(most: int, count: int, *, dense: bool = True) -> NDArray[np.int64]:
    """Numbers from 1 to `most`, evenly spaced in the logarithm; with `dense`, all up to `count` too."""
    spaced = np.rint(np.geomspace(1, most, count)).astype(np.int64)
    return np.unique(np.concatenate((spaced, np.arange(1, min(count, most) + 1)))) if dense else np.unique(spaced)

"""The allocation problem of a scenario: its kinds of PEs, its makespans by simulation, and an analytic model of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.kinds import kinds_of
from advisor.advise.objectives import Objective, rates_of
from advisor.advise.problem import Allocations, EqualWork, Floats, Kind, Model, Problem, Runs, ShareTimes
from simulator import (
    Configuration,
    Platform,
    RunSet,
    Scenario,
    ScenarioError,
    SpeedBand,
    partitions,
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
    parts = work.fitting(partitions.even_split(work.units, len(placement)))
    return Configuration(name, parts, placement, rule="equal")


def runs_as(scenario: Scenario, processes: int) -> bool:
    """Whether an application runs as so many processes: grids and powers of two have their own numbers."""
    work = scenario.application.work
    if not 1 <= processes <= work.units:
        return False
    try:
        parts = work.fitting(partitions.even_split(work.units, processes))
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
        each = np.array([partitions.mean_share(pe, processes=count) for count in range(1, kind.most + 1)])
        each = each * _kept_by_count(scenario, kind)
        pe_s[place, : kind.most] = alone_s / each[:, np.newaxis]
    pe_s[:, :, work.units + 1 :] = np.inf  # the others would have nothing to do
    return pe_s


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
            found[count - 1] = min(
                partitions.kept_where(scenario, placement, -(-work.units // len(placement))).values()
            )
    return found


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
                    "messages",
                    work.fitting(partitions.even_split(work.units, count)),
                    tuple(sorted(spread[:count].tolist())),
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
    return float(pe.speed_of(scenario.application.kernel).mid[-1]) * partitions.mean_share(pe)


def _grid(most: int, count: int, *, dense: bool = True) -> NDArray[np.int64]:
    """Numbers from 1 to `most`, evenly spaced in the logarithm; with `dense`, all up to `count` too."""
    spaced = np.rint(np.geomspace(1, most, count)).astype(np.int64)
    return np.unique(np.concatenate((spaced, np.arange(1, min(count, most) + 1)))) if dense else np.unique(spaced)

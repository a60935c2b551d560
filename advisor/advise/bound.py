"""A lower bound of the makespan of whatever could be advised: all PEs at their best, nobody waits for anything."""

import numpy as np

from advisor.advise.space import Space
from simulator import PE, Scenario, availability, partitions


def lower_bound_s(scenario: Scenario, *, most: int | None) -> float:
    """Seconds that no configuration of those that may be advised is below, in any replication.

    The whole work at the top of all speed bands, under the least of all loads, without messages, as if it could be
    divided at will. Where an application only estimates its computations, so does this.

    `most`: most processes on one PE; its cores if None.
    """
    limits = [pe.cores if most is None else most for pe in scenario.platform.pes]
    kernel = scenario.application.kernel
    speed = sum(
        float(pe.speed_of(kernel).high.max()) * _best_share(pe, limit)
        for pe, limit in zip(scenario.platform.pes, limits, strict=True)
    )
    if scenario.application.work.by_rank:
        return _of_ranks_s(scenario, limits, speed)
    return _least_volume(scenario, sum(limits)) / speed


def _of_ranks_s(scenario: Scenario, limits: list[int], speed: float) -> float:
    """The same of ranks that cannot be divided: the heaviest ones have the best cores there are to themselves.

    `speed`: of all PEs together.
    """
    kernel, pes = scenario.application.kernel, scenario.platform.pes
    heaviest = np.cumsum(np.sort(Space(scenario).exchanged.volumes)[::-1])
    cores = [
        float(pe.speed_of(kernel).high.max()) * _best_share(pe, 1)
        for pe, limit in zip(pes, limits, strict=True)
        for _ in range(min(limit, pe.cores))
    ]
    best = np.cumsum(np.sort(cores)[::-1])[: heaviest.size]
    return max(float(np.max(heaviest[: best.size] / best)), float(heaviest[-1]) / speed)


def _best_share(pe: PE, most: int) -> float:
    """The most cores' worth that up to so many processes ever get of a PE."""
    if pe.load is None:
        return float(min(most, pe.cores))
    load = pe.load
    shares = [
        count * float(availability(load.trace.values, load.rule, processes=count, cores=pe.cores).max())
        for count in range(1, most + 1)
    ]
    return max(shares)


def _least_volume(scenario: Scenario, most: int) -> float:
    """The least that all processes compute together, for any number of them and as one or in equal parts."""
    work = scenario.application.work
    counts = partitions.sizes(min(most, work.units)) if work.varies_with_processes else [1, min(most, work.units)]
    volumes = []
    for count in counts:
        compute = work.compute(count)
        volumes += [compute(work.units).volume, count * compute(work.units // count).volume]
    return min(float(volume) for volume in volumes)

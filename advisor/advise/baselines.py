"""The named naive strategies that every recommendation is compared with."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from advisor.advise.candidates import plain_allocations
from advisor.advise.problem import Allocations, Kind, Model, Problem, model_times_s
from advisor.advise.simulated import configuration_of, runs_as
from simulator import Configuration, Scenario, partitions, ties


def baselines(
    units: int,
    *,
    benchmark_speeds: Sequence[float],
    sustained_speeds: Sequence[float],
    peak_speeds: Sequence[float],
    kinds: Sequence[Sequence[int]],
) -> list[Configuration]:
    """The baselines for a partition of units over PEs, one process on each, in order; `one-per-pe` is `equal`.

    Parameters
    ----------
    units
        What is to be divided.
    benchmark_speeds
        What one small benchmark showed on each PE: the constant model.
    sustained_speeds
        Best knowledge of each PE's speed with its load: picks the fastest PE.
    peak_speeds
        Highest speed of each PE at any size, without load.
    kinds
        PEs that are alike, by index: that of the fastest PE is the fastest kind.
    """
    count, fastest = len(sustained_speeds), ties.first_most(sustained_speeds)
    alone, same = [0] * count, [0] * count
    alone[fastest] = units
    members = next(kind for kind in kinds if fastest in kind)
    for pe, share in zip(members, partitions.even_split(units, len(members)), strict=True):
        same[pe] = share
    named = {
        "equal": partitions.even_split(units, count),
        "peak": partitions.in_proportion(units, peak_speeds),
        "constant": partitions.in_proportion(units, benchmark_speeds),
        "fastest-pe": tuple(alone),
        "fastest-kind": tuple(same),
        "one-per-pe": partitions.even_split(units, count),
    }
    return [Configuration.one_each(name, partition, rule=_rule(name)) for name, partition in named.items()]


def _rule(name: str) -> str:
    """The rule that made a baseline of this name, which a file can then say."""
    return name if name in partitions.RULES else ""


def core_baselines(scenario: Scenario) -> list[Configuration]:
    """What people start by hand or by their launcher, with a process per core where it says so.

    - `one-per-core`, `per-core-by-speed`: on every core, equal units, or units in proportion to the speed in one small
      benchmark;
    - `one-per-node`: one process on the first PE of each node, equal units;
    - `fastest-node`: on every core of the node whose cores have the most speed together, equal units;
    - `slurm-block`, `slurm-cyclic`: on every core, ranks filled node by node, or dealt out over the nodes in turns.
    """
    platform, work = scenario.platform, scenario.application.work
    kernel = scenario.application.kernel
    nodes: dict[int, list[int]] = {}
    for pe, node in enumerate(platform.node_of.tolist()):
        nodes.setdefault(node, []).extend([pe] * platform.pes[pe].cores)
    speed = [float(pe.speed_of(kernel).mid[0]) for pe in platform.pes]
    left = [one * partitions.mean_share(pe) for one, pe in zip(speed, platform.pes, strict=True)]
    strongest = list(nodes.values())[ties.first_most([sum(left[pe] for pe in cores) for cores in nodes.values()])]
    everywhere = [pe for pe, one in enumerate(platform.pes) for _ in range(one.cores)]
    block = [pe for cores in nodes.values() for pe in cores]
    turns = max(map(len, nodes.values()))
    cyclic = [cores[turn] for turn in range(turns) for cores in nodes.values() if turn < len(cores)]
    placed = {
        "one-per-core": everywhere,
        "one-per-node": sorted(cores[0] for cores in nodes.values()),
        "fastest-node": strongest,
        "slurm-block": block,
        "slurm-cyclic": cyclic,
    }
    split = {
        name: partitions.even_split(work.units, len(pes)) for name, pes in placed.items() if runs_as(scenario, len(pes))
    }
    placed["per-core-by-speed"] = everywhere
    if "one-per-core" in split:
        split["per-core-by-speed"] = partitions.in_proportion(work.units, [speed[pe] for pe in everywhere])
    rules = {"per-core-by-speed": "constant"}
    return [
        Configuration(name, work.fitting(parts), tuple(placed[name]), rule=rules.get(name, "equal"))
        for name, parts in split.items()
    ]


def allocation_baselines(scenario: Scenario, problem: Problem) -> list[Configuration]:
    """The baselines for an allocation: what one would do without a search. Those that come to the same share an entry.

    - `equal`, `one-per-pe`: every PE, one process on each, equal shares;
    - `peak`: the same with shares in proportion to the highest speed at any size, without load;
    - `constant`: with shares in proportion to the speed at the smallest size, as one benchmark shows it;
    - `speed-ratio`, `fastest-pe`, `fastest-kind`: see `plain_allocations`, by speeds under load;
    - `greedy`: PEs taken in, fastest first, while the model's makespan falls; without a model there is none.
    """
    kinds, kernel = problem.kinds, scenario.application.kernel
    pes = scenario.platform.pes
    bands = [pe.speed_of(kernel) for pe in pes]
    speeds = np.array([bands[kind.pes[0]].mid[-1] * partitions.mean_share(pes[kind.pes[0]]) for kind in kinds])
    units = scenario.application.work.units
    named = {
        "equal": partitions.even_split(units, len(pes)),
        "peak": partitions.in_proportion(units, [float(band.mid.max()) for band in bands]),
        "constant": partitions.in_proportion(units, [float(band.mid[0]) for band in bands]),
    }
    fitting = scenario.application.work.fitting
    found = [Configuration.one_each(name, fitting(partition), rule=_rule(name)) for name, partition in named.items()]
    for name, allocation in plain_allocations(kinds, speeds).items():
        found.append(configuration_of(scenario, kinds, allocation, name))
    if problem.model is not None:
        found.append(configuration_of(scenario, kinds, _greedy(problem.model, kinds, speeds=speeds), "greedy"))
    return _joined(found)


def _greedy(model: Model, kinds: Sequence[Kind], *, speeds: np.ndarray) -> Allocations:
    """PEs one by one, fastest kind first, one process on each, until the model's makespan no longer falls."""
    order = ties.in_order(-speeds)
    turns = np.repeat(order, [kinds[place].count for place in order.tolist()])
    taken = np.cumsum(turns[:, np.newaxis] == np.arange(speeds.size), axis=0)
    allocations = np.stack((taken, np.minimum(taken, 1)), axis=2)
    times_s = model_times_s(model, allocations)
    worse = np.flatnonzero(~(times_s[1:] < (1 - ties.SAME) * times_s[:-1]))
    return np.asarray(allocations[worse[0] if worse.size else -1])


def _joined(configurations: list[Configuration]) -> list[Configuration]:
    """Each once, under all its names; processes without units do not count."""
    names: dict[tuple[tuple[int, int] | None, tuple[tuple[int, int], ...]], list[Configuration]] = {}
    for configuration in configurations:
        work = zip(configuration.placement, configuration.partition, strict=True)
        key = configuration.grid, tuple((pe, units) for pe, units in work if units)
        names.setdefault(key, []).append(configuration)
    return [replace(same[0], name=", ".join(one.name for one in same)) for same in names.values()]

"""The named naive strategies that every recommendation is compared with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from advisor.advise.candidates import plain_allocations
from advisor.advise.problem import Kind
from advisor.advise.space import runs_as
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


def allocation_baselines(scenario: Scenario, kinds: Sequence[Kind]) -> list[Configuration]:
    """The baselines for an allocation: what one would do without a search.

    - `equal`, `one-per-pe`: every PE, one process on each, equal shares;
    - `peak`: the same with shares in proportion to the highest speed at any size, without load;
    - `constant`: with shares in proportion to the speed at the smallest size, as one benchmark shows it;
    - `speed-ratio`, `fastest-pe`, `fastest-kind`: see `plain_allocations`, by speeds under load.
    """
    kernel, work, pes = scenario.application.kernel, scenario.application.work, scenario.platform.pes
    bands = [pe.speed_of(kernel) for pe in pes]
    speeds = np.array([bands[kind.pes[0]].mid[-1] * partitions.mean_share(pes[kind.pes[0]]) for kind in kinds])
    named = {
        "equal": partitions.even_split(work.units, len(pes)),
        "peak": partitions.in_proportion(work.units, [float(band.mid.max()) for band in bands]),
        "constant": partitions.in_proportion(work.units, [float(band.mid[0]) for band in bands]),
    }
    whole = [Configuration.one_each(name, work.fitting(parts), rule=_rule(name)) for name, parts in named.items()]
    allocations = plain_allocations(kinds, speeds).items()
    return [*whole, *(configuration_of(scenario, kinds, allocation, name) for name, allocation in allocations)]


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

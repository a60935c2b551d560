"""The named naive strategies that every recommendation is compared with."""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from advisor import wording
from advisor.advise.kinds import USUAL_BYTES, Kind, Order
from advisor.advise.space import Space, over_all, runs_as
from advisor.advise.strategies import EQUAL_WORK
from advisor.results import NodeKind
from simulator import PE, Configuration, Scenario, ScenarioError, availability, partitions, patterns_of, ties

MOST_WITHOUT = 4
"""Kinds of nodes, the worst first, without which all others are compared."""
FREE = 0.99
"""A load that leaves more than this is none, in words and in strategies."""
FAR = 1.5
"""Times as long as over the best links that a usual message takes over bad ones."""
LEAST = 1e-9
"""Share of a PE that is taken for none: in proportion to nothing nothing can be."""
MOST_ENDS = 33
"""Nodes to which such a message is looked at."""


def baselines(scenario: Scenario, kinds: Sequence[Kind]) -> list[Configuration]:
    """The baselines for a partition over PEs, one process on each, in order.

    - `equal`, `one-per-pe`: equal units;
    - `peak`: in proportion to the highest speed at any size, without load;
    - `constant`: in proportion to the speed at the smallest size, as one small benchmark shows it;
    - `fastest-pe`, `fastest-kind`: all on the PE that is the fastest under its load, or evenly on those like it.
    """
    work, count = scenario.application.work, len(scenario.platform.pes)
    fastest = ties.first_most(partitions.sustained_speeds(scenario, range(count)))
    members = next(kind.pes for kind in kinds if fastest in kind.pes)
    rows = [work.units if pe == fastest else 0 for pe in range(count)]
    same = np.zeros(count, dtype=np.int64)
    same[list(members)] = partitions.even_split(work.units, len(members))
    found = {one.name: one for one in _one_each(scenario)}
    if scenario.platform.gpu_hosts:
        alone = {"fastest-pe": (fastest,), "fastest-kind": members}
        kinds_alone = [
            Configuration(name, work.fitting(partitions.even_split(work.units, len(pes))), pes)
            for name, pes in alone.items()
        ]
        return [*found.values(), *kinds_alone, replace(found["equal"], name="one-per-pe")]
    named = {"fastest-pe": tuple(rows), "fastest-kind": tuple(same.tolist()), "one-per-pe": found["equal"].partition}
    return [*found.values(), *(Configuration.one_each(name, work.fitting(parts)) for name, parts in named.items())]


def _one_each(scenario: Scenario) -> list[Configuration]:
    """`equal`, `peak` and `constant`: a process on each PE."""
    return [partitions.on_each(rule, rule, scenario) for rule in ("equal", "peak", "constant")]


def core_baselines(scenario: Scenario) -> list[Configuration]:
    """What people start by hand or by their launcher, with a process per core where it says so.

    - `one-per-core`, `per-core-by-speed`: on every core, equal units, or units in proportion to the speed in one small
      benchmark;
    - `fastest-node`: on every core of the node whose cores have the most speed together, equal units;
    - `slurm-block`, `slurm-cyclic`: on every core, ranks filled node by node, or dealt out over the nodes in turns.
    """
    platform, work = scenario.platform, scenario.application.work
    kernel = scenario.application.kernel
    nodes: dict[int, list[int]] = {}
    for pe in platform.at_once:
        nodes.setdefault(int(platform.node_of[pe]), []).extend([pe] * platform.pes[pe].cores)
    speed = [float(pe.speed_of(kernel).mid[0]) for pe in platform.pes]
    left = [one * partitions.mean_share(pe) for one, pe in zip(speed, platform.pes, strict=True)]
    strongest = list(nodes.values())[ties.first_most([sum(left[pe] for pe in cores) for cores in nodes.values()])]
    everywhere = [pe for pe in platform.at_once for _ in range(platform.pes[pe].cores)]
    block = [pe for cores in nodes.values() for pe in cores]
    turns = max(map(len, nodes.values()))
    cyclic = [cores[turn] for turn in range(turns) for cores in nodes.values() if turn < len(cores)]
    placed = {
        "one-per-core": everywhere,
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


def rank_baselines(space: Space) -> list[Configuration]:
    """Where launchers start ranks, with a rank on each core: `block`, `cyclic` and, heavy ones on fast PEs, `by-speed`.

    Raises ScenarioError if there are more ranks than may be placed.
    """
    scenario, ranks, pes = space.scenario, space.units, space.scenario.platform.pes
    rounds, nodes = -(-ranks // sum(pes[pe].cores for pe in space.order.pes)), dict[int, list[int]]()
    for pe in space.order.pes:
        slots = min(space.limit(pe), pes[pe].cores * rounds)
        nodes.setdefault(int(scenario.platform.node_of[pe]), []).extend([pe] * slots)
    cores = [pe for mine in nodes.values() for pe in mine]
    if len(cores) < ranks:
        more = "more PEs, or allow several ranks on a core (--oversubscribe)"
        raise ScenarioError(f"platform: its PEs have {len(cores)} cores, and the program {ranks} ranks; give {more}")
    turns = max(map(len, nodes.values()))
    cyclic = [mine[turn] for turn in range(turns) for mine in nodes.values() if turn < len(mine)]
    by_speed = _by_speed(space)
    placed = {"block": cores[:ranks], "cyclic": cyclic[:ranks], "by-speed": by_speed}
    return [Configuration(name, (1,) * ranks, tuple(pes)) for name, pes in placed.items()]


def _by_speed(space: Space) -> list[int]:
    """Rank by rank, the heaviest first, on the PE that is fastest for it beside those that are there already."""
    scenario, placed = space.scenario, [0] * space.units

    def slow(pe: int, beside: int) -> float:
        model = scenario.platform.pes[pe]
        speed = float(model.speed_of(scenario.application.kernel).mid[-1])
        return -speed * partitions.mean_share(model, processes=beside + 1)

    heap = [(slow(pe, 0), place, pe, 0) for place, pe in enumerate(space.order.pes)]
    heapq.heapify(heap)
    for rank in ties.in_order([-one for one in space.exchanged.volumes]).tolist():
        _, place, pe, held = heapq.heappop(heap)
        placed[rank] = pe
        if held + 1 < space.limit(pe):
            heapq.heappush(heap, (slow(pe, held + 1), place, pe, held + 1))
    return placed


def loaded_baselines(scenario: Scenario, known: Sequence[Configuration], *, cores: bool) -> list[Configuration]:
    """Units in proportion to what PEs do under their loads; nothing where no node is loaded or badly linked.

    - `by-loaded-speed`: on every core;
    - `without-X`: on all but those of nodes X, for each kind of node that is loaded or badly linked; of many the worst.

    `known`: others, none of which comes again.
    `cores`: whether there is a process on each core, or one on each PE.
    """
    work, pes = scenario.application.work, scenario.platform.pes
    placement = [place for place in scenario.platform.at_once for _ in range(pes[place].cores if cores else 1)]
    bad = [kind for kind in node_kinds(scenario) if kind.why]
    worst = [bad[place] for place in ties.in_order([kind.left for kind in bad])][:MOST_WITHOUT]
    if not worst:
        return []
    speeds = _speeds(scenario, len(placement))
    rates = [
        speed * max(partitions.mean_share(pe, processes=pe.cores if cores else 1), LEAST)
        for pe, speed in zip(pes, speeds, strict=True)
    ]
    placed = {"by-loaded-speed": placement}
    for kind in worst:
        left_out = {pe for some in kind.pes for pe in some}
        patterns = patterns_of(kind.names)
        name = patterns[0] if len(patterns) == 1 else kind.names[0]
        placed[f"without-{name}"] = [pe for pe in placement if pe not in left_out]
    found, taken = list[Configuration](), {_busy_part(one) for one in known}
    for name, some in placed.items():
        if runs_as(scenario, len(some)):
            even = scenario.application.name in EQUAL_WORK
            parts = partitions.in_proportion(work.units, [1.0 if even else rates[pe] for pe in some])
            one = Configuration(name, work.fitting(parts), tuple(some))
            found += [] if _busy_part(one) in taken else [over_all(scenario, one)]
            taken.add(_busy_part(one))
    return found


def _busy_part(one: Configuration) -> tuple[tuple[int, int], ...]:
    """PE and units of each process that has some."""
    return tuple((pe, units) for pe, units in zip(one.placement, one.partition, strict=True) if units)


def _speeds(scenario: Scenario, processes: int) -> list[float]:
    """Of one core of each PE without load, at an equal share; (PE,)."""
    work, kernel = scenario.application.work, scenario.application.kernel
    size = work.compute(processes)(max(1, work.units // processes)).size
    return [float(pe.speed_of(kernel).speed(size)) for pe in scenario.platform.pes]


def node_kinds(scenario: Scenario) -> tuple[NodeKind, ...]:
    """The kinds of nodes, those that do most under their load first; PEs stand for nodes that hold several kinds.

    They do not tell apart what hangs on switches that are alike.
    """
    platform, order, pes = scenario.platform, Order(scenario), scenario.platform.pes
    keys = [
        (own, joined[:-1], shared)
        for own, joined, shared in cast("list[tuple[Hashable, tuple[Hashable, ...], Hashable]]", order.keys)
    ]
    on: dict[int, list[int]] = {}
    for pe in order.pes:
        on.setdefault(int(platform.node_of[pe]), []).append(pe)
    found: dict[Hashable, list[tuple[str, tuple[int, ...]]]] = {}
    for node, own in on.items():
        alike = len({keys[pe] for pe in own}) == 1
        for some in [own] if alike else [[pe] for pe in own]:
            name = platform.node_names[node] if alike else pes[some[0]].name
            found.setdefault((keys[some[0]], len(some)), []).append((name, tuple(some)))
    firsts = [int(platform.node_of[members[0][1][0]]) for members in found.values()]
    speeds = _speeds(scenario, len(pes))
    kinds = []
    for members, late in zip(found.values(), _later(scenario, firsts, list(on)), strict=True):
        first = members[0][1]
        place = first[0]
        share, far = partitions.mean_share(pes[place], processes=pes[place].cores), late >= FAR
        why = [_busy(pes[place], share)] if share < FREE else []
        why += [f"linked {wording.digits(late, 2)} times slower"] if far else []
        kinds.append(
            NodeKind(
                tuple(name for name, _ in members),
                tuple(some for _, some in members),
                sum(pes[pe].cores for pe in first),
                speeds[place],
                min(share, 1 / late if far else 1.0),
                " and ".join(why),
            )
        )
    return tuple(kinds)


def _busy(pe: PE, share: float) -> str:
    """How long its load is there, where that comes and goes; else what it leaves."""
    load, free = pe.load, f"only {wording.percent(share)} free"
    if load is None or load.trace.after_end != "cycle":
        return free
    shares = availability(load.trace.values, load.rule, processes=pe.cores, cores=pe.cores)
    hours = np.array([load.trace.durations_s[shares < FREE].sum(), load.trace.end_s]) / 3600
    if hours[0] >= FREE * hours[1]:
        return free
    if hours[1] >= 2 and np.all(np.abs(hours - np.rint(hours)) < 0.02) and hours[0] >= 1:
        return f"busy {hours[0]:.0f} h of {hours[1]:.0f}"
    return f"busy {max(1, round(100 * float(hours[0] / hours[1])))} % of the time"


def _later(scenario: Scenario, nodes: Sequence[int], others: Sequence[int]) -> list[float]:
    """How many times as long as for the best linked of some nodes a usual message to most others takes for each."""
    network, ends = (
        scenario.platform.network,
        np.array(others)[np.unique(np.linspace(0, len(others) - 1, min(MOST_ENDS, len(others))).astype(np.int64))],
    )
    if network.topology is None or len(others) < 2:
        return [1.0] * len(nodes)
    times = []
    for node in nodes:
        away = ends[ends != node]
        try:
            routes = network.routes(np.full(away.size, node), away)
        except ScenarioError:  # not all nodes are joined: nothing is said of that
            return [1.0] * len(nodes)
        each_s = network.times_s(routes, np.arange(away.size), np.full(away.size, float(USUAL_BYTES)))
        times.append(float(np.sort(each_s)[(away.size - 1) // 2]))
    return [time / min(times) for time in times]


def allocation_baselines(scenario: Scenario, kinds: Sequence[Kind]) -> list[Configuration]:
    """The baselines for an allocation: what one would do without a search.

    - `equal`, `peak`, `constant`: see `baselines`;
    - `one-per-pe`, `speed-ratio`, `fastest-pe`, `fastest-kind`: see `plain_allocations`, by speeds under load.
    """
    firsts = [scenario.platform.pes[kind.pes[0]] for kind in kinds]
    kernel = scenario.application.kernel
    speeds = np.array([pe.speed_of(kernel).mid[-1] * partitions.mean_share(pe) for pe in firsts])
    allocations = plain_allocations(kinds, speeds).items()
    return [
        *_one_each(scenario),
        *(configuration_of(scenario, kinds, allocation, name) for name, allocation in allocations),
    ]


def plain_allocations(kinds: Sequence[Kind], speeds: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
    """What one would do without a search, each (kind, 2), by the speed of a PE of each kind.

    - `one-per-pe`: every PE, one process on each;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one;
    - `fastest-pe`, `fastest-kind`: one process on that PE, or on each PE of that kind.
    """
    counts, most = (np.array([getattr(kind, name) for kind in kinds]) for name in ("count", "most"))
    only = (np.arange(counts.size) == ties.first_most(speeds)).astype(np.int64)
    pairs = {
        "one-per-pe": (counts, np.ones_like(counts)),
        "speed-ratio": (counts, np.clip(np.rint(speeds / speeds.min() * (1 + ties.SAME)), 1, most)),
        "fastest-pe": (only, only),
        "fastest-kind": (only * counts, only),
    }
    return {name: np.stack(pair, axis=1).astype(np.int64) for name, pair in pairs.items()}


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

"""Units of processes by a rule: what a configuration's `partition` may say in place of numbers, and what that is."""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats, Ints
from simulator.models.load import availability
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE, kept_shares
from simulator.programs.applications.work import Shape, whole_shares
from simulator.programs.configuration import Configuration, even_split
from simulator.scenario_file.scenario import ONE_PER_CORE, Scenario

__all__ = [
    "RULES",
    "Times",
    "by_times",
    "divided",
    "even_split",
    "functional",
    "functional_over",
    "in_proportion",
    "kept_where",
    "mean_share",
    "model_times",
    "process_times",
    "rule_of",
    "scaled",
    "sizes",
    "sustained_speeds",
]

Units = Ints
Times = Callable[[Units], Floats]
"""Seconds that each process needs for its units, (p,) to (p,); not decreasing in the units, 0 for none."""
FEW = 8
"""Up to so many processes each number of them is looked at; beyond, each power of two and the most."""
Rule = Callable[[Scenario, Sequence[int]], tuple[int, ...]]
"""From a scenario and the PE of each process to units of each."""


def in_proportion(units: int, speeds: Sequence[float]) -> tuple[int, ...]:
    """The exact partition if every process kept one speed, whatever it is given; the first of equals has more.

    `units`: how much there is; at least 1.
    """
    total = sum(speeds)
    found = [max(0, int(units * speed / total) - 1) for speed in speeds]  # no limit that all fit gives anyone less
    ends = [((count + 1) / speed, process) for process, (count, speed) in enumerate(zip(found, speeds, strict=True))]
    heapq.heapify(ends)
    for _ in range(units - sum(found)):
        process = ends[0][1]
        found[process] += 1
        heapq.heapreplace(ends, ((found[process] + 1) / speeds[process], process))
    return tuple(found)


def by_times(units: int, processes: int, times_s: Times) -> tuple[int, ...]:
    """The partition with the least possible latest finish.

    For a limit T, process i can take `c_i(T) = max{k : t_i(k) <= T}` units, so T can be met if and only if the `c_i(T)`
    add up to all units. Bisection ends at the least float T that can be met; what is too much is taken from those that
    finish last. Times grow with the units where a line through the origin meets each speed function at most once; where
    they do not, all units are given, and another partition may be better.
    """
    nobody, everything = np.zeros(processes, dtype=np.int64), np.full(processes, units, dtype=np.int64)
    low, high = 0.0, float(np.max(times_s(everything)))
    fewest, most = nobody, everything  # that the two limits allow: what a limit between them allows lies between
    while low < (middle := (low + high) / 2) < high:
        if np.all(most - fewest <= 1):
            high = _last_limit(times_s, fewest, most, units)
            break
        within = _most(times_s, fewest, most, middle)
        if int(within.sum()) >= units:
            high, most = middle, within
        else:
            low, fewest = middle, within
    partition = _most(times_s, nobody, everything, high)
    # Who would end at the same time but for rounding may take a unit more alike: else rounding would choose.
    alike = _most(times_s, nobody, everything, high * (1 + ties.SAME))
    if np.all(alike - partition <= 1):
        partition = alike
    while (surplus := int(partition.sum()) - units) > 0:
        last, fewer = _last(times_s, partition), max(1, surplus // processes)
        if fewer == 1:
            partition[last[:surplus]] -= 1
        else:
            partition[last[0]] -= min(surplus, int(partition[last[0]]), fewer)
    while (lacking := units - int(partition.sum())) > 0:  # where times fall with the units, bisection misses some
        more = max(1, lacking // processes)
        partition[ties.first_least(times_s(partition + more))] += more
    return tuple(int(count) for count in partition)


def _last(times_s: Times, partition: Units) -> Units:
    """The processes that finish last; where taking a unit from one of them might change who does, the first."""
    finish = np.where(partition > 0, times_s(partition), -np.inf)
    last = np.flatnonzero(ties.near_least(-finish))
    if last.size > 1 and np.all(finish[last] == finish[last[0]]):
        fewer = partition.copy()
        fewer[last] -= 1
        if np.all(times_s(fewer)[last] < finish[last[0]] * (1 - 2 * ties.SAME)):
            return last
    return last[:1]


def _last_limit(times_s: Times, fewest: Units, most: Units, units: int) -> float:
    """The least limit that can be met where each process takes its fewest units, which are too few, or one more."""
    open_to_one = most > fewest
    limits = np.sort(times_s(most)[open_to_one])
    return float(limits[units - int(fewest.sum()) - 1])


def _most(times_s: Times, fewest: Units, most: Units, limit_s: float) -> Units:
    """The most units that each process finishes within the limit, by bisection over all processes at once."""
    low, high = fewest.copy(), most.copy()
    high[times_s(most) <= limit_s] += 1  # low can be done, high cannot
    while np.any(high - low > 1):
        middle = (low + high) // 2
        fits = times_s(np.minimum(middle, most)) <= limit_s
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        low = np.minimum(low, most)
    return low


def process_times(scenario: Scenario, placement: Sequence[int], *, led: bool) -> Callable[[int, int], float]:
    """Seconds that a process takes for so many units, messages included, by its place and the units.

    Under mean load, or under what follows where a load starts at a time that is known. In sharing domains each keeps
    what it keeps while all compute on equal parts. A master also waits for everyone's messages: a set-up cost, taken at
    the equal partition.
    """
    return _process_times(scenario, placement, led=led)[0]


def _process_times(
    scenario: Scenario, placement: Sequence[int], *, led: bool
) -> tuple[Callable[[int, int], float], list[int]]:
    """See `process_times`; and of each process the first one whose times are the same as its own."""
    work, platform, kernel = scenario.application.work, scenario.platform, scenario.application.kernel
    busy, first, compute = Counter(placement), placement[0], work.compute(len(placement))
    usual = -(-work.units // len(placement))
    kept, as_far = kept_where(scenario, placement, usual), _as_far(scenario, placement)
    like = _alike(scenario, placement, kept)

    @cache  # only those asked for: of PEs that are alike, callers ask for one
    def speed_of(pe: int) -> tuple[SpeedBand, Callable[[float], float]]:
        return platform.pes[pe].speed_of(kernel), _taken(platform.pes[pe], busy[pe])

    @cache  # a bisection asks for the same units again and again, and of ways that are alike one is asked for
    def way_s(other: int, pe: int, units: int) -> float:
        sizes_bytes = work.messages_bytes(units)
        return float(platform.message_s(other, pe, np.array(sizes_bytes)).sum()) if sizes_bytes else 0.0

    def messages_s(pe: int, units: int) -> float:
        if pe == first and not work.has_master:  # the first PE's own go to another one
            return way_s(placement[-1], pe, units)
        return way_s(first, as_far[pe], units)

    @cache
    def alone_s(pe: int, units: int) -> float:
        computation, (band, taken_s) = compute(units), speed_of(pe)
        computing_s = taken_s(float(computation.volume / float(band.speed(computation.size))) / kept.get(pe, 1.0))
        return computing_s + (moves_s(scenario, pe, units) if pe in platform.gpu_hosts else 0.0)

    setup_s = sum((count - (pe == first)) * messages_s(pe, usual) for pe, count in busy.items()) if led else 0.0

    def process_s(process: int, units: int) -> float:
        pe = placement[process]
        return alone_s(like[pe], units) + (setup_s if led and process == 0 else messages_s(pe, units))

    firsts: dict[tuple[int, int, bool], int] = {}
    same = [firsts.setdefault((like[pe], as_far[pe], pe == first), place) for place, pe in enumerate(placement)]
    if led and len(same) > 1:  # only the first process waits for all others
        alone = [place for place in range(1, len(same)) if same[place] == 0]
        same[1:] = [alone[0] if place == 0 else place for place in same[1:]]
    return process_s, same


BEYOND_MEMORY = 1e6
"""Times as long as it computes takes, in the model, what a GPU's memory does not hold: no share ends there."""


def moves_s(scenario: Scenario, pe: int, units: int) -> float:
    """Seconds in which a process on a GPU moves what it needs for so many units, and what comes back."""
    gpu, work = scenario.platform.pes[pe].gpu, scenario.application.work
    moves = scenario.application.moves_of((units, work.units - units))
    if gpu is None or moves is None or not units:
        return 0.0
    links, often = scenario.platform.host_links, work.rounds(1)
    parts = ((moves.into, 1), (moves.each_into, often)), ((moves.out, 1), (moves.each_out, often))
    held = 8.0 * float(np.max(work.compute(1)(units).size))
    over = gpu.memory_bytes is not None and held > gpu.memory_bytes
    moved = [
        count * float(links.times_s(links.of_pe[pe, [way]], amount[:1] / gpu.streams)[0])
        for way, some in enumerate(parts)
        for amount, count in some
        if amount[0] > 0
    ]
    return sum(moved) + (BEYOND_MEMORY * held if over else 0.0)


def _as_far(scenario: Scenario, placement: Sequence[int]) -> dict[int, int]:
    """The first PE to which messages from the first one of a placement take the times that they take to each."""
    platform, pes = scenario.platform, np.unique(np.array(placement, dtype=np.int64))
    home, nodes = int(platform.node_of[placement[0]]), platform.node_of[pes]
    others = np.unique(nodes[nodes != home])
    ways: dict[int, object] = {
        home: None,
        **dict(zip(others.tolist(), platform.network.alike(home, others), strict=True)),
    }
    first = dict[object, int]()
    return {pe: first.setdefault(ways[node], pe) for pe, node in zip(pes.tolist(), nodes.tolist(), strict=True)}


def _alike(scenario: Scenario, placement: Sequence[int], kept: Mapping[int, float]) -> dict[int, int]:
    """The first PE that computes as each PE of a placement does: with its speeds, load, cores, processes and share."""
    found, first = dict[int, int](), dict[tuple[object, ...], int]()
    for place, count in Counter(placement).items():
        pe = scenario.platform.pes[place]
        own = id(pe.speed_of(scenario.application.kernel)), id(pe.load), pe.quota
        key = (*own, pe.cores, count, kept.get(place, 1.0))
        found[place] = first.setdefault(key, place)
    return found


def kept_where(scenario: Scenario, placement: Sequence[int], units: int) -> dict[int, float]:
    """What processes keep of their speed with neighbours, by PE; empty without sharing domains."""
    if not scenario.platform.domains:
        return {}
    size = float(scenario.application.work.compute(len(placement))(units).size)
    shares = kept_shares(scenario.platform, scenario.application.kernel, placement, [size] * len(placement))
    return dict(zip(placement, shares.tolist(), strict=True))


def mean_share(pe: PE, *, processes: int = 1) -> float:
    """Mean share of a core that the load and the quota of a PE leave to each of our processes on it."""
    most = 1.0 if pe.quota is None else pe.quota.cpu / processes
    if pe.load is None:
        return min(1.0, pe.cores / processes, most)
    left = availability(pe.load.trace.values, pe.load.rule, processes=processes, cores=pe.cores)
    return min(most, float(np.average(left, weights=pe.load.trace.durations_s)))


def _taken(pe: PE, processes: int) -> Callable[[float], float]:
    """How long each of our processes on a PE computes, by its seconds on an idle core."""
    load = pe.load if pe.quota is None else None
    if load is not None and not load.draws and load.trace.after_end == "cycle" and load.trace.times_s.size > 1:
        return load.taken(processes=processes, cores=pe.cores)
    share = mean_share(pe, processes=processes)
    return lambda idle_s: idle_s / share


def model_times(scenario: Scenario, placement: Sequence[int] | None = None, *, led: bool | None = None) -> Times:
    """Seconds per process for its units, as `by_times` wants them; see `process_times`."""
    placement = range(len(scenario.platform.pes)) if placement is None else placement
    first = placement[0] == 0 if led is None else led
    process_s, firsts = _process_times(scenario, placement, led=scenario.application.work.has_master and first)
    same, kinds = np.unique(np.array(firsts, dtype=np.int64), return_inverse=True)

    def times_s(counts: Units) -> Floats:
        width = int(counts.max(initial=0)) + 1
        asked, which = np.unique(kinds.reshape(-1) * width + counts, return_inverse=True)
        times = [
            process_s(int(same[kind]), count) if count else 0.0
            for kind, count in (divmod(one, width) for one in asked.tolist())
        ]
        return np.asarray(np.array(times, dtype=np.float64)[which.reshape(-1)])

    return times_s


def functional_over(
    scenario: Scenario, placement: Sequence[int], *, led: bool | None = None
) -> tuple[tuple[int, ...], float]:
    """The functional partition over some processes, and the seconds that the model says it takes; see `model_times`."""
    times_s = model_times(scenario, placement, led=led)
    part = by_times(scenario.application.work.units, len(placement), times_s)
    return part, float(times_s(np.array(part)).max())


def sustained_speeds(scenario: Scenario, placement: Sequence[int]) -> Floats:
    """Best knowledge of each process's speed with its load, in one unit for all: with all units on it; (process,)."""
    everything = np.full(len(placement), scenario.application.work.units, dtype=np.int64)
    return np.asarray(1 / model_times(scenario, placement, led=True)(everything))


def sizes(most: int) -> list[int]:
    """Numbers of processes to try."""
    return sorted({2**k for k in range(most.bit_length()) if 2**k > FEW} | {*range(1, min(most, FEW) + 1), most})


# The rules


def equal(scenario: Scenario, placement: Sequence[int]) -> tuple[int, ...]:
    """As many units for each process as for any other; the first ones one more where it does not come out even."""
    return even_split(scenario.application.work.units, len(placement))


def by_speed(scenario: Scenario, placement: Sequence[int]) -> tuple[int, ...]:
    """In proportion to the speed of each process's PE at an equal share, without load."""
    work = scenario.application.work
    share = work.compute(len(placement))(max(1, work.units // len(placement)))
    return _by_one_speed(scenario, placement, lambda band: float(band.speed(share.size)))


def peak(scenario: Scenario, placement: Sequence[int]) -> tuple[int, ...]:
    """In proportion to the highest speed of each process's PE at any size, without load."""
    return _by_one_speed(scenario, placement, lambda band: float(band.mid.max()))


def constant(scenario: Scenario, placement: Sequence[int]) -> tuple[int, ...]:
    """In proportion to the speed of each process's PE at its smallest size, as one small benchmark shows it."""
    return _by_one_speed(scenario, placement, lambda band: float(band.mid[0]))


def functional(scenario: Scenario, placement: Sequence[int]) -> tuple[int, ...]:
    """So that all end together, by speed functions, mean loads, messages and neighbours.

    Where more processes cost more in all, over the best number of the fastest of them.
    """
    count, found = len(placement), list[tuple[float, tuple[int, ...]]]()
    if not scenario.application.work.varies_with_processes:
        return functional_over(scenario, placement, led=True)[0]
    fastest = ties.in_order(-sustained_speeds(scenario, placement)).tolist()
    for size in sizes(count):
        some = sorted(fastest[:size])
        part, longest_s = functional_over(scenario, [placement[process] for process in some], led=some[0] == 0)
        whole = np.zeros(count, dtype=np.int64)
        whole[some] = part
        found.append((longest_s, tuple(whole.tolist())))
    longest = ties.levels([longest_s for longest_s, _ in found]).tolist()
    return min((level, part) for level, (_, part) in zip(longest, found, strict=True))[1]


RULES: Mapping[str, Rule] = {
    "equal": equal,
    ONE_PER_CORE: equal,
    "by-speed": by_speed,
    "peak": peak,
    "constant": constant,
    "functional": functional,
}
"""What a partition may be called in a file; an advice calls the same partitions so."""


def divided(rule: str, scenario: Scenario, placement: Sequence[int], grid: Shape | None = None) -> tuple[int, ...]:
    """The units of each process by a rule, as near to it as the application can use."""
    work, parts = scenario.application.work, RULES[rule](scenario, placement)
    if grid is not None and grid not in work.grids(len(placement)):
        return parts  # the grid's fault comes with the program's
    return work.fitting(parts, grid)


def on_each(name: str, rule: str, scenario: Scenario) -> Configuration:
    """A process on each PE that may run at once with the others, units by a rule."""
    at_once = scenario.platform.at_once
    return Configuration(name, divided(rule, scenario, at_once), at_once, rule=rule)


def rule_of(scenario: Scenario, configuration: Configuration) -> str:
    """The rule by which a configuration's units are what they are, or nothing: they may have been changed since."""
    rule, placement = configuration.rule, configuration.placement
    return rule if rule and divided(rule, scenario, placement, configuration.grid) == configuration.partition else ""


def scaled(units: int, partition: Sequence[int]) -> tuple[int, ...]:
    """Other units in the proportion of a partition, by largest remainders."""
    return tuple(whole_shares(units, np.array(partition, dtype=np.float64)).tolist())


def _by_one_speed(scenario: Scenario, placement: Sequence[int], speed: Callable[[SpeedBand], float]) -> tuple[int, ...]:
    """In proportion to one speed of each PE, over as many processes as are there on each core."""
    busy, kernel, pes = Counter(placement), scenario.application.kernel, scenario.platform.pes
    each = {pe: speed(pes[pe].speed_of(kernel)) * min(1.0, pes[pe].cores / count) for pe, count in busy.items()}
    return in_proportion(scenario.application.work.units, [each[pe] for pe in placement])

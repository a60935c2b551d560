"""Sets of PEs to begin with: nested by value, without one kind or switch, each kind or switch alone, parts of all."""

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence

from advisor.advise.judge import Judge
from advisor.advise.kinds import Kind
from advisor.advise.objectives import rate_of, rates
from advisor.advise.space import Space
from advisor.results import NO_TIMES
from simulator import Configuration, partitions, ties

PARTS = (0.75, 0.5, 0.25, 0.125)
"""Parts of the PEs of each kind that are tried."""
WORST = 0.5
"""Part of these sets, the best first, whose units are also by what the most load leaves: as good in every draw."""
MOST_SETS = 128
"""Sets of PEs up to which all numbers of each kind are tried."""
MOST_COUNTS = 512
"""Numbers of processes on each PE up to which all are tried."""
Team = tuple[tuple[int, int], ...]
"""For each kind, how many of its PEs (its first ones) take part, and the processes on each; (0, 0) for none."""


def propose(space: Space, judge: Judge) -> Iterator[Configuration]:
    """The sets that a model finds best, those of each sort in turns, as many as there is patience for."""
    sorts = [list(dict.fromkeys(sort)) for sort in _sorts(space)]
    seen: set[tuple[int, ...]] = set()
    found: list[tuple[float, int, Configuration]] = []
    for turn, sort in enumerate(sorts):
        for placement in sort:
            if placement and placement not in seen:
                seen.add(placement)
                made, seconds = space.balanced(placement)
                found.append((seconds * judge.rate(made), turn, made))
    order = ties.in_order([value for value, _, _ in found]).tolist()
    chosen = order[: judge.patience]
    for turn in range(len(sorts)):  # what the model leaves out may be what decides: the best of each sort is tried
        chosen += [place for place in order if found[place][1] == turn and place not in chosen][:1]
    yield from (found[place][2] for place in chosen)
    if space.worst is not None and space.unequal:
        yield from (
            space.worst.divided(found[place][2].placement) for place in chosen[: math.ceil(len(chosen) * WORST)]
        )


def _sorts(space: Space) -> Iterator[Iterable[tuple[int, ...]]]:
    """Placements, sort by sort."""
    yield _all_counts(space)
    for kinds in (space.kinds, space.across) if space.across != space.kinds else (space.kinds,):
        for each in _processes_on_each(space, kinds):
            for chosen in _chosen(space, kinds):
                yield (_placed(space, kinds, team) for team in _teams(chosen, kinds, each))
            yield (_placed(space, kinds, _parted(kinds, each, part)) for part in PARTS)
            if math.prod(kind.count + 1 for kind in kinds) <= MOST_SETS:
                counts = itertools.product(*(range(kind.count + 1) for kind in kinds))
                yield (_placed(space, kinds, tuple(zip(one, each, strict=True))) for one in counts)
            yield (
                _placed(space, kinds, tuple((count, each[n]) if n == place else (0, 0) for n in range(len(kinds))))
                for place, kind in enumerate(kinds)
                for count in _counts(kind)
            )


def _all_counts(space: Space) -> Iterator[tuple[int, ...]]:
    """Every number of processes on each PE, where these are few: by coarse units no steps may lead to the best."""
    pes = space.order.pes
    if math.prod(space.limit(pe) + 1 for pe in pes) <= MOST_COUNTS:
        for counts in itertools.product(*(range(space.limit(pe) + 1) for pe in pes)):
            spread = [pe for pe, count in zip(pes, counts, strict=True) for _ in range(count)]
            yield space.sorted(space.trimmed(tuple(spread)))


def _counts(kind: Kind) -> list[int]:
    """Numbers of PEs of one kind alone: one, two, four, ..."""
    return sorted({2**power for power in range(kind.count.bit_length())} | {kind.count})


def _processes_on_each(space: Space, kinds: Sequence[Kind]) -> list[tuple[int, ...]]:
    """A process per core, per core that is free, on a half, a quarter ... of the cores, and one per PE."""
    pes = [space.scenario.platform.pes[kind.pes[0]] for kind in kinds]
    loads = [0.0 if pe.load is None else pe.load.trace.mean() for pe in pes]
    most = [kind.most for kind in kinds]
    free = [min(limit, max(1, round(pe.cores - load))) for pe, load, limit in zip(pes, loads, most, strict=True)]
    usual = [min(limit, pe.cores) for pe, limit in zip(pes, most, strict=True)]
    parts = range(1, max(usual).bit_length())
    fewer = [tuple(max(1, -(-count >> part)) for count in usual) for part in parts]
    ways = [tuple(usual), tuple(free), *fewer, (1,) * len(kinds), tuple(most)]
    return list(dict.fromkeys(ways if max(most) > 1 else [(1,) * len(kinds)]))


def _chosen(space: Space, kinds: Sequence[Kind]) -> Iterator[list[set[int]]]:
    """Sets of kinds: nested by each value, all without one, by switches."""
    every = set(range(len(kinds)))
    for values in _values(space, kinds):
        order = ties.in_order(values).tolist()
        yield [set(order[:first]) for first in range(len(kinds), 0, -1)]
    yield [every - {one} for one in every if len(every) > 1]
    switches: dict[Hashable, set[int]] = {}
    for number, kind in enumerate(kinds):
        switches.setdefault(space.order.switch_of[kind.pes[0]], set()).add(number)
    if len(switches) > 1:
        yield list(switches.values())
        yield [every - members for members in switches.values()]


def _values(space: Space, kinds: Sequence[Kind]) -> Iterator[list[float]]:
    """By what kinds are ordered, the best first: as they stand (speed), message time, memory, and what speed costs."""
    scenario, platform = space.scenario, space.scenario.platform
    yield [float(number) for number in range(len(kinds))]
    payload = max(scenario.application.work.messages_bytes(-(-space.units // len(platform.pes))), default=1)
    others = [kind.pes[0] for kind in kinds]
    yield [
        min((float(platform.message_s(pe, to, payload)) for to in (*others, *kind.pes[1:2]) if to != pe), default=0.0)
        for kind, pe in zip(kinds, others, strict=True)
    ]
    memory = [platform.known_nodes[int(platform.node_of[pe])].memory_bytes for pe in others]
    if any(size is not None for size in memory):
        yield [-math.inf if size is None else -float(size) for size in memory]
    if space.objective in NO_TIMES:
        known = rates(scenario)[space.objective]
        speed = [_speed(space, pe) for pe in others]
        cost = [rate_of(scenario, Configuration("one", (1,), (pe,)), known) for pe in others]
        yield [one / max(fast, 1e-300) for one, fast in zip(cost, speed, strict=True)]


def _speed(space: Space, pe: int) -> float:
    """Of all cores of a PE under its load."""
    known = space.scenario.platform.pes[pe]
    mid = known.speed_of(space.scenario.application.kernel).mid[-1]
    return float(mid) * known.cores * partitions.mean_share(known, processes=known.cores)


def _teams(chosen: Iterable[set[int]], kinds: Sequence[Kind], each: Sequence[int]) -> Iterator[Team]:
    for some in chosen:
        yield tuple((kind.count, each[n]) if n in some else (0, 0) for n, kind in enumerate(kinds))


def _parted(kinds: Sequence[Kind], each: Sequence[int], part: float) -> Team:
    return tuple((math.ceil(part * kind.count), count) for kind, count in zip(kinds, each, strict=True))


def _placed(space: Space, kinds: Sequence[Kind], team: Team) -> tuple[int, ...]:
    """The placement of a team, with as many processes as there are units for and the application runs as."""
    turns = max((each for _, each in team), default=0)
    spread = [
        pe
        for turn in range(turns)
        for kind, (count, each) in zip(kinds, team, strict=True)
        if turn < each
        for pe in kind.pes[:count]
    ]
    return space.sorted(space.trimmed(tuple(spread)))

"""The search over partition and allocation together: which PEs take part, with how many processes and units each.

1. PEs that are alike form a kind; a team says, for each kind, how many PEs take part and how many processes each runs.
2. A model of a team gives its processes the units with which they all end together (`by_times`); alike ones get alike.
3. Teams are simulated on a few common draws: those that the model finds best, then what lies one move from the best.
4. The units of the best teams are levelled by the ends that simulation shows (`refined`).

What is found competes with all baselines on fresh common draws (`recommend`), and so does what lies one step from it.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from advisor.advise.judge import Judge
from advisor.advise.partition import refined
from advisor.advise.partition.refined import whole_units
from advisor.advise.problem import Kind
from advisor.advise.simulated import crowds, kinds_of, runs_as
from advisor.advise.spending import OutOfBudgetError
from advisor.advise.strategies import renamed
from simulator import Configuration, Scenario, ScenarioError, partitions, ties

Floats = NDArray[np.float64]
Team = tuple[tuple[int, int], ...]
"""For each kind, how many of its PEs (its first ones) take part, and the processes on each; (0, 0) for none."""

JOINT = "joint"
"""The name of what is found."""
STARTS = 12
"""Teams that are simulated first, at most."""
TRIED = 8
"""Moves from the best team that are simulated at a time: those that the model finds best."""
ROUNDS = 8
"""Moves in a row, at most."""
LEVELLED = 2
"""Teams whose units are levelled by simulation."""
NEAR = 1.1
"""A team this many times as slow as the best is not worth levelling."""
LEVELLING = (0.03, 0.01)
"""Units that a move takes from one kind to another while they are levelled, as a share of all."""
UNIT_STEPS = (0.01, 0.0025)
"""The same for a step from the best candidate."""
MOST_HEADS = 4
"""Kinds up to which units are moved between each two of them."""
PARTS = (0.5, 0.25, 0.125)
"""Parts of the PEs of each kind that are tried from the start."""


Group = tuple[int, ...]
"""Processes of a team that are alike, by their places in the configuration; a master is alone."""


def search_jointly(judge: Judge, *, most: int | None = None) -> list[Configuration]:
    """The best configurations that were found, the best first; empty where memory holds no team.

    Parameters
    ----------
    most
        Most processes on one PE; by default its cores.
    """
    made: list[tuple[float, Configuration]] = []
    try:
        for value, one in _searched(judge, most):
            made.append((value, one))
    except OutOfBudgetError:
        judge.spending.cut.append(JOINT)
    best = judge.best
    if best is not None and best.name == JOINT and all(best != one for _, one in made):
        made.append((judge.value(best), best))  # seen on the way
    ranked = [made[place][1] for place in ties.in_order([value for value, _ in made]).tolist()]
    named = [renamed(one, f"{JOINT}-{n}" if n else JOINT) for n, one in enumerate(ranked)]
    return [over_all(judge.scenario, one) for one in named]


def _searched(judge: Judge, most: int | None) -> Iterator[tuple[float, Configuration]]:
    """The best teams with their units levelled, and their objective.

    Where PEs share domains and there are several nodes, both are searched: node after node, and all nodes alike.
    """
    platform = judge.scenario.platform
    for across in (False, True) if platform.domains and len(platform.node_names) > 1 else (False,):
        yield from _searched_in(judge, kinds_of(judge.scenario, most=most, across=across))


def _searched_in(judge: Judge, kinds: Sequence[Kind]) -> Iterator[tuple[float, Configuration]]:
    """The best teams of the first PEs of each kind."""
    found = _judged(judge, kinds, _likeliest(judge, kinds, _starts(judge.scenario, kinds), STARTS))
    for _ in range(ROUNDS):
        best = _best(found)
        if best is None:
            return
        moves = [team for team in _moves(kinds, best) if team not in found]
        found |= _judged(judge, kinds, _likeliest(judge, kinds, moves, TRIED))
        if _best(found) == best:
            break
    teams = list(found)
    order = ties.in_order([found[team] for team in teams])[:LEVELLED].tolist()
    for place in order:
        if found[teams[place]] <= NEAR * found[teams[order[0]]]:
            yield _levelled(judge, kinds, teams[place])


def over_all(scenario: Scenario, configuration: Configuration) -> Configuration:
    """One process on some PEs written as one on each, those of the others without units, as partitions are."""
    pes, count = configuration.placement, len(scenario.platform.pes)
    if configuration.grid is not None:
        return configuration
    if len(set(pes)) < len(pes) or (scenario.application.work.has_master and pes[0] != 0):
        return configuration
    partition = np.zeros(count, dtype=np.int64)
    partition[list(pes)] = configuration.partition
    try:
        parts = scenario.application.work.fitting(tuple(partition.tolist()))
    except ScenarioError:  # of a grid that so many processes do not fill
        return configuration
    whole = Configuration(configuration.name, parts, tuple(range(count)))
    return whole if parts == tuple(partition.tolist()) else configuration


def one_step_from(
    scenario: Scenario,
    configuration: Configuration,
    *,
    most: int | None = None,
    unit_steps: Sequence[float] = UNIT_STEPS,
) -> list[Configuration]:
    """What lies one step from a configuration: one PE or process less, one process more, a step of units.

    Units of a process that goes are spread over the others, and a new one takes its part of all, in proportion.

    Parameters
    ----------
    most
        As in `search_jointly`.
    unit_steps
        How many units move, as shares of all.
    """
    work, kinds = scenario.application.work, kinds_of(scenario, most=most)
    if work.has_master and not configuration.partition[0]:
        return []  # the master would be another
    busy = [(pe, units) for pe, units in zip(configuration.placement, configuration.partition, strict=True) if units]
    pes, units = [pe for pe, _ in busy], np.array([units for _, units in busy], dtype=np.float64)
    steps = [*_steps_of_processes(kinds, pes, units), *_steps_of_units(scenario, kinds, pes, units, unit_steps)]
    runnable = {count: runs_as(scenario, count) for count in {len(placed) for placed, _ in steps}}
    made = []
    for number, (placed, wanted) in enumerate(steps):
        if runnable[len(placed)]:
            whole = whole_units(wanted * (work.units / wanted.sum()), work.units)
            grid = configuration.grid if len(placed) == len(configuration.placement) else None
            parts = work.fitting(tuple(whole.tolist()), grid)
            made.append(Configuration(f"step {number}", parts, tuple(placed), grid))
    return [over_all(scenario, one) for one in made if scenario.lacking_bytes(one) <= 0]


def _steps_of_processes(
    kinds: Sequence[Kind], pes: Sequence[int], units: Floats
) -> Iterator[tuple[Sequence[int], Floats]]:
    """Of each kind one PE less, one process less on its last PE, one more on its first free one."""
    for kind in kinds:
        used = [pe for pe in kind.pes if pe in pes]
        free = [pe for pe in kind.pes if pes.count(pe) < kind.most]
        if used and len(set(pes)) > 1:
            stay = [place for place, pe in enumerate(pes) if pe != used[-1]]
            yield [pes[place] for place in stay], units[stay]
        if used and pes.count(used[-1]) > 1:
            gone = max(place for place, pe in enumerate(pes) if pe == used[-1])
            yield [*pes[:gone], *pes[gone + 1 :]], np.delete(units, gone)
        if free:
            alike = [count for pe, count in zip(pes, units.tolist(), strict=True) if pe in used]
            more = sorted([*zip(pes, units.tolist(), strict=True), (free[0], float(np.mean(alike or units)))])
            yield [pe for pe, _ in more], np.array([count for _, count in more])


def _steps_of_units(
    scenario: Scenario, kinds: Sequence[Kind], pes: Sequence[int], units: Floats, unit_steps: Sequence[float]
) -> Iterator[tuple[Sequence[int], Floats]]:
    """Units moved from the processes on PEs of one kind to those of another; a master counts by itself."""
    leads = [[0]] if scenario.application.work.has_master else []
    alike = [[place for place, pe in enumerate(pes) if pe in kind.pes and (place or not leads)] for kind in kinds]
    heads = [places for places in [*leads, *alike] if places]
    shares = np.array([units[places].sum() for places in heads])
    for step in unit_steps:
        for moved in _moved_units(shares, step):
            shifted = units.copy()
            for places, before, after in zip(heads, shares, moved, strict=True):
                shifted[places] *= after / before
            yield pes, shifted


def _judged(judge: Judge, kinds: Sequence[Kind], teams: Sequence[Team]) -> dict[Team, float]:
    made = [_balanced(judge.scenario, kinds, team)[0] for team in teams]
    return {team: value for team, (value, _) in zip(teams, judge.of(made), strict=True)}


def _best(found: dict[Team, float]) -> Team | None:
    teams = [team for team, value in found.items() if math.isfinite(value)]
    return teams[ties.first_least([found[team] for team in teams])] if teams else None


def _likeliest(judge: Judge, kinds: Sequence[Kind], teams: Iterable[Team], most: int) -> list[Team]:
    """Those that the model finds best, each once."""
    distinct = [team for team in dict.fromkeys(teams) if judge.takes(sum(pes * each for pes, each in team))]
    if len(distinct) <= most:
        return distinct
    seconds = [_balanced(judge.scenario, kinds, team)[1] for team in distinct]
    return [distinct[place] for place in ties.in_order(seconds)[:most].tolist()]


def _starts(scenario: Scenario, kinds: Sequence[Kind]) -> Iterator[Team]:
    """All PEs or the fastest kinds alone: a process per core, per core that is free, and per PE; and parts of them."""
    pes = [scenario.platform.pes[kind.pes[0]] for kind in kinds]
    kernel = scenario.application.kernel
    speeds = [float(pe.speed_of(kernel).mid[-1]) * partitions.mean_share(pe, processes=pe.cores) for pe in pes]
    order = ties.in_order([-speed for speed in speeds]).tolist()
    loads = [0.0 if pe.load is None else pe.load.trace.mean() for pe in pes]
    free = [max(1, round(pe.cores - load)) for pe, load in zip(pes, loads, strict=True)]
    for each in ([pe.cores for pe in pes], free, [1] * len(pes)):
        for first in range(len(kinds), 0, -1):
            chosen = set(order[:first])
            yield _team((kind.count if n in chosen else 0, each[n]) for n, kind in enumerate(kinds))
        for part in PARTS:
            yield _team((math.ceil(part * kind.count), each[n]) for n, kind in enumerate(kinds))
        yield _team((int(n == order[0]), each[n]) for n in range(len(kinds)))
    if scenario.platform.domains:  # where neighbours slow each other down, fewer processes on each PE
        for part in PARTS:
            yield _team((kind.count, math.ceil(part * pe.cores)) for kind, pe in zip(kinds, pes, strict=True))


def _team(parts: Iterable[tuple[int, int]]) -> Team:
    return tuple((pes, each) if pes else (0, 0) for pes, each in parts)


def _moves(kinds: Sequence[Kind], team: Team) -> Iterator[Team]:
    """More or fewer PEs of one kind, a quarter or one at a time, none or all; another number of processes on each."""
    for place, (kind, (pes, each)) in enumerate(zip(kinds, team, strict=True)):
        step = max(1, kind.count // 4)
        counts = {pes - step, pes - 1, pes + 1, pes + step, 0, kind.count} - {pes}
        moved = [(count, each or kind.most) for count in sorted(counts) if 0 <= count <= kind.count]
        moved += [(pes, more) for more in (each - 1, each + 1, 1, kind.most) if pes and 1 <= more <= kind.most]
        for one in moved:
            whole = _team([*team[:place], one, *team[place + 1 :]])
            if whole != team and any(count for count, _ in whole):
                yield whole


def _groups(scenario: Scenario, kinds: Sequence[Kind], team: Team) -> tuple[list[Group], tuple[int, ...]]:
    """Processes that are alike, and the PE of each process: in the order of the PEs, those of one PE side by side."""
    of_pe = {pe: place for place, (kind, (pes, _)) in enumerate(zip(kinds, team, strict=True)) for pe in kind.pes[:pes]}
    placement = [pe for pe in sorted(of_pe) for _ in range(team[of_pe[pe]][1])]
    members: dict[tuple[object, ...], list[int]] = {}
    crowded = crowds(scenario, placement)
    for process, pe in enumerate(placement):
        leads = scenario.application.work.has_master and process == 0
        members.setdefault((of_pe[pe], leads, crowded.get(pe)), []).append(process)
    return [tuple(processes) for processes in members.values()], tuple(placement)


def _balanced(scenario: Scenario, kinds: Sequence[Kind], team: Team) -> tuple[Configuration, float]:
    """The team with the units with which all end together by the model, and the seconds that the model says."""
    groups, placement = _groups(scenario, kinds, team)
    work = scenario.application.work
    process_s = partitions.process_times(scenario, placement, led=work.has_master)

    def times_s(counts: NDArray[np.int64]) -> Floats:
        each = [-(-count // len(group)) for group, count in zip(groups, counts.tolist(), strict=True)]
        return np.array(
            [process_s(group[0], units) if units else 0.0 for group, units in zip(groups, each, strict=True)]
        )

    parts = partitions.by_times(work.units, len(groups), times_s)
    return _configured(scenario, groups, placement, parts), float(times_s(np.array(parts)).max())


def _configured(
    scenario: Scenario, groups: Sequence[Group], placement: tuple[int, ...], parts: Sequence[int]
) -> Configuration:
    """Each group's units divided evenly among its processes."""
    partition = np.zeros(len(placement), dtype=np.int64)
    for group, units in zip(groups, parts, strict=True):
        partition[list(group)] = partitions.even_split(units, len(group))
    return Configuration(JOINT, scenario.application.work.fitting(tuple(partition.tolist())), placement)


def _moved_units(shares: Floats, step: float) -> Iterator[Floats]:
    """A step of units, as a share of all, from one group to another: between any two of a few, else to and from all."""
    amount = step * float(shares.sum())
    if shares.size <= MOST_HEADS:
        for source, target in itertools.permutations(range(shares.size), 2):
            if shares[source] > amount:
                moved = shares.copy()
                moved[source] -= amount
                moved[target] += amount
                yield moved
        return
    for place in range(shares.size):
        for sign in (1.0, -1.0):
            if shares[place] + sign * amount > 0:
                moved = shares * (1 - sign * amount / (shares.sum() - shares[place]))
                moved[place] = shares[place] + sign * amount
                yield moved


def _levelled(judge: Judge, kinds: Sequence[Kind], team: Team) -> tuple[float, Configuration]:
    """The team with units moved between its groups while simulation gets faster."""
    scenario = judge.scenario
    groups, placement = _groups(scenario, kinds, team)
    balanced = np.array(_balanced(scenario, kinds, team)[0].partition)
    start = tuple(int(balanced[list(group)].sum()) for group in groups)

    def simulated(parts: tuple[int, ...]) -> tuple[float, Floats]:
        ((value, ends),) = judge.of([_configured(scenario, groups, placement, parts)])
        known = ends if ends.size else np.zeros(len(placement))
        return value, np.array([known[list(group)].mean() for group in groups])

    if len(groups) == 1:
        return simulated(start)[0], _configured(scenario, groups, placement, start)
    parts = refined(start, simulated)
    best_s = simulated(parts)[0]
    for step in LEVELLING:
        for _ in range(ROUNDS):
            moves = [
                tuple(whole_units(moved, scenario.application.work.units).tolist())
                for moved in _moved_units(np.array(parts, dtype=np.float64), step)
            ]
            values = [value for value, _ in judge.of([_configured(scenario, groups, placement, one) for one in moves])]
            if not moves or not ties.is_less(min(values), best_s):
                break
            place = ties.first_least(values)
            parts, best_s = moves[place], values[place]
    return best_s, _configured(scenario, groups, placement, parts)

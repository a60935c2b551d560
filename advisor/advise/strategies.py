"""Strategies by name: each configuration once, those that cannot run left out, and what a scenario lets one vary."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator import AS_NOW, Configuration, Scenario, ScenarioError, given, ties, units

EQUAL_WORK = ("hpl",)
"""Applications that give each process as much as any other: unequal PEs need unequal numbers of processes."""
MOST_RATIO = 8
"""Most processes on a PE of one core: as many as its speed is worth, up to here."""
TIE = 0.01
"""Expected loss to the best, as a share, up to which candidates are a tie, of which the simplest is advised."""
WORTH_MOVING = 0.03
"""The same where units move in the best: that has to be written into the program, and speeds are known to no better."""


@dataclass(frozen=True)
class Strategies:
    """What is compared: candidates that differ, further names of them, and what was left out."""

    candidates: tuple[Configuration, ...]
    also: Mapping[str, str]
    """Further name -> the candidate that it is, too."""
    left_out: tuple[str, ...]
    """One line for each strategy that cannot run."""

    def names_of(self, candidate: str) -> list[str]:
        """Further names of a candidate."""
        return [name for name, same in self.also.items() if same == candidate]


def strategies(scenario: Scenario, found: Sequence[Configuration], *, left_out: Sequence[str] = ()) -> Strategies:
    """Each of some configurations once, in order, if memory and swap hold it.

    Raises ScenarioError if nothing can run, with how much memory the least of them lacks.

    `found`: of equal ones the first stands for all.
    `left_out`: lines on what else was left out.
    """
    master = scenario.application.work.has_master
    kept: dict[object, Configuration] = {}
    also: dict[str, str] = {}
    lacking: dict[str, float] = {}
    for one in found:
        placed = zip(one.placement, one.partition, strict=True)
        # a process without units does nothing, unless it is the master
        busy = tuple((pe, count) for process, (pe, count) in enumerate(placed) if count or (master and process == 0))
        key = one.grid, busy, one.repartition
        if key in kept:
            if one.name != kept[key].name:
                also.setdefault(one.name, kept[key].name)
            continue
        missing = scenario.lacking_bytes(one)
        if missing > 0:
            lacking[one.name] = missing
            continue
        kept[key] = one
    if not kept:
        raise _no_memory(lacking)
    names = {one.name for one in kept.values()}
    without_memory = [
        f"strategy {name}: left out, its processes need {units.show_size(missing)} more than memory and swap hold"
        for name, missing in lacking.items()
        if name not in names
    ]
    return Strategies(tuple(kept.values()), also, (*left_out, *without_memory))


def _no_memory(lacking: Mapping[str, float]) -> ScenarioError:
    name = min(lacking, key=lambda one: lacking[one])
    found = f"memory and swap of the nodes hold no configuration that was tried; {name} lacks the least"
    better = "give the nodes more (`memory`, `swap`), add nodes, or make the problem smaller"
    return ScenarioError(f"platform: nodes: {found}, {units.show_size(lacking[name])}; {better}")


def uneven(scenario: Scenario, configuration: Configuration) -> bool:
    """Whether an application of equal work shall give some processes more than others."""
    shares = [count for count in configuration.partition if count]
    return scenario.application.name in EQUAL_WORK and max(shares) - min(shares) > 1


def without_uneven(
    scenario: Scenario, vary: Sequence[str], found: Sequence[Configuration]
) -> tuple[list[Configuration], tuple[str, ...]]:
    """What an application of equal work can run as it is, where only the allocation varies; and a line on the rest."""
    if "partition" in vary:
        return list(found), ()
    kept = [one for one in found if not uneven(scenario, one)]
    left = [one.name for one in found if one not in kept and one.name != "allocation"]  # the best of the others
    why = f"left out: {scenario.application.name} gives each process as much as any other (--vary both shows them)"
    return kept, (f"strategies {', '.join(left)}: {why}",) if left else ()


def usual_vary(scenario: Scenario, *, oversubscribe: bool = False) -> tuple[str, ...]:
    """What to vary where nobody says it.

    The allocation for applications of equal work; both where PEs have several cores, which one process on each would
    leave idle, or more processes than cores are allowed; else the partition.
    """
    if scenario.application.name in EQUAL_WORK or scenario.application.work.by_rank:
        return ("allocation",)
    several = oversubscribe or any(pe.cores > 1 for pe in scenario.platform.pes)
    return ("partition", "allocation") if several else ("partition",)


WORDS = {"partition": ("partition",), "allocation": ("allocation",), "both": ("partition", "allocation")}
"""Words for what varies, but `scheduling`, which comes on top of the others or of what is usual."""


def vary_of(words: Sequence[str], scenario: Scenario, *, where: str, oversubscribe: bool = False) -> tuple[str, ...]:
    """What some words say varies; what is usual where they name neither partition nor allocation.

    Raises ScenarioError for a word that is none.
    """
    for word in words:
        given.check_choice(word, (*WORDS, "scheduling"), where=where)
    named = dict.fromkeys(name for word in words for name in WORDS.get(word, ()))
    found = tuple(named) or usual_vary(scenario, oversubscribe=oversubscribe)
    return (*found, "scheduling") if "scheduling" in words else found


def most_processes(scenario: Scenario, vary: Sequence[str], *, oversubscribe: bool = False) -> int | None:
    """Most processes on one PE in a search: its cores (None), or more where these are allowed.

    More are where PEs have one core and shares must be equal: what the fastest PE is worth. Where unequal shares do the
    same, more processes than cores gain only at the expense of other programs, and have to be asked for.

    `vary`: what may vary; without `allocation` each PE has one process.
    `oversubscribe`: allow them in any case: what the fastest PE is worth, twice the cores at the least; of a few ranks
    that are like no others all, as loads too say what a PE is worth.
    """
    if "allocation" not in vary:
        return 1
    cores, work = max(pe.cores for pe in scenario.platform.pes), scenario.application.work
    if work.by_rank and not oversubscribe:
        return None
    equal = scenario.application.name in EQUAL_WORK or "partition" not in vary
    if not oversubscribe and (cores > 1 or not equal):
        return None
    speeds = [float(pe.speed_of(scenario.application.kernel).mid[-1]) for pe in scenario.platform.pes]
    ratio = max(speeds) / max(min(speeds), 1e-300)
    worth = int(min(MOST_RATIO, max(1, np.ceil(ratio - 1e-9))))
    least = max(-(-work.units // len(scenario.platform.pes)), min(work.units, MOST_RATIO)) if work.by_rank else 1
    return max(worth, 2 * cores, least) if oversubscribe else worth


def advisable(scenario: Scenario, configuration: Configuration, most: int | None) -> bool:
    """Whether a configuration may be advised: with more processes than cores only if that is so now, or allowed.

    `most`: most processes on one PE in the search; its cores if None.
    """
    return configuration.name == AS_NOW or not oversubscribed(scenario, configuration, most)


def tied(values: Sequence[float], losses: Sequence[float | None], moving: Sequence[bool] = ()) -> list[int]:
    """Places of candidates that are a tie, the best among them: expected to lose at most `TIE`.

    Where no losses are known, what is nearly the least objective is a tie too. Where units move in the best and the
    best of the others loses at most `WORTH_MOVING`, the tie is among those others.

    `values`, `losses`, `moving`: objective, expected loss and whether its units move, by default not; (candidate,).
    """
    moving = moving or [False] * len(values)
    best = ties.first_least(values)
    apart = [value / values[best] - 1 if loss is None else loss for value, loss in zip(values, losses, strict=True)]
    fixed = [place for place, moves in enumerate(moving) if not moves]
    if fixed and moving[best]:
        stays = min(fixed, key=lambda place: apart[place])
        if not ties.is_less(WORTH_MOVING, apart[stays]):
            return [place for place in fixed if not ties.is_less(apart[stays] + TIE, apart[place])]
    return [place for place, loss in enumerate(apart) if place == best or not ties.is_less(TIE, loss)]


def simplest(configurations: Sequence[Configuration], values: Sequence[float], *, stay: bool = False) -> int:
    """The place of the simplest: units stay, few PEs, few processes, equal units, ranks as in the file, the best.

    `stay`: whether what runs now is simpler than anything else.
    """
    keys = []
    for one, level in zip(configurations, ties.levels(values).tolist(), strict=True):
        busy = [(pe, count) for pe, count in zip(one.placement, one.partition, strict=True) if count]
        units_of = [count for _, count in busy]
        pes, moves = [pe for pe, _ in busy], one.repartition is not None or (stay and one.name != AS_NOW)
        unlike = max(units_of) - min(units_of) > 1, pes != sorted(pes)
        keys.append((moves, len(set(pes)), len(busy), *unlike, level))
    return min(range(len(keys)), key=lambda place: keys[place])


def oversubscribed(scenario: Scenario, configuration: Configuration, most: int | None = None) -> bool:
    """Whether a PE has more processes with units than cores, or than what is allowed if that is more."""
    placed = zip(configuration.placement, configuration.partition, strict=True)
    busy = Counter(pe for pe, units in placed if units)
    return any(count > max(scenario.platform.pes[pe].cores, most or 0) for pe, count in busy.items())


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, or with the first number behind it that nothing is called yet."""
    known = set(taken)
    return next(one for n in range(len(known) + 1) if (one := f"{name}-{n + 1}" if n else name) not in known)


def renamed(configuration: Configuration, name: str) -> Configuration:
    """The same under another name."""
    return replace(configuration, name=name)

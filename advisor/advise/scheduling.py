"""Static or dynamic: the best fixed partition against units that move while the program runs, on the same draws.

And how far that holds: how strong the load, how long its levels last and how slow the network may be, until the other
of the two is better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

from advisor.advise import changes
from advisor.advise.spending import Spending
from simulator import Configuration, Load, LoadTrace, Repartition, Scenario, ScenarioError, ties, units
from simulator.experiments.sweep import run_or_recall
from simulator.programs.applications import Parameters

DECISIONS = (100, 30, 10)
"""In a run, of the rules that are tried."""
THRESHOLD = 0.1
FEW, MOST_RUNS = 6, 10
"""Replications by which rules are chosen; by which break-evens are found."""
FACTORS = (0.02, 0.1, 0.3, 1.0, 3.0, 10.0, 50.0)
PAYS = 0.01
"""Gain, as a share, from which on moving units pays: below it the simpler way is as good."""


@dataclass(frozen=True)
class Axis:
    """How one thing that may differ decides between static and dynamic."""

    what: str
    factors: tuple[float, ...]
    gains: tuple[float, ...]
    """Mean makespan of the best static candidate there over that of the dynamic one, minus 1, at each factor."""
    break_even: float | None
    """The factor at which dynamic begins, or ceases, to pay; None: at none of those tried."""


@dataclass(frozen=True)
class TriedRule:
    """What a farm takes under a chunk rule."""

    name: str
    parameters: Parameters
    """Of the application, in the place of its own."""
    mean_s: float


@dataclass(frozen=True)
class Scheduling:
    """Whether units should move while the program runs."""

    static: str
    dynamic: str
    """The best of each, by the names of candidates."""
    rule: str
    moves: float | None
    """How often units moved in a run of the best rule, on average; None of a farm, whose processes pull."""
    pays: bool
    predicted_s: float
    """Mean makespan of the dynamic one."""
    gain: float
    gain_low: float | None
    gain_high: float | None
    """How many times as long the static one takes, with its interval."""
    axes: tuple[Axis, ...]
    rules: tuple[TriedRule, ...] = ()
    """Of a farm: all chunk rules that were tried, the best first."""
    now_s: float | None = None
    """Of a farm: mean makespan under the rule that it has."""


def dynamic_candidates(scenario: Scenario, static: Sequence[Configuration]) -> list[Configuration]:
    """The best rules on few draws, from the first and the last of some static partitions whose units can move.

    Raises ScenarioError if units cannot move.

    `static`: the best first.
    """
    held = [one for one in static if all(one.partition)]
    if not held:  # a process that has nothing to begin with would teach nothing
        raise ScenarioError("vary: scheduling: the best static partition leaves PEs without units; nothing can move")
    can = [one for one in held if movable(scenario, one)]
    if not can:
        scenario.movable(held[0])  # which says why not
    starts = can[:1] if can[-1].divided == can[0].divided else [can[0], can[-1]]
    rounds = scenario.application.work.rounds(len(starts[0].partition))
    every = list(dict.fromkeys(max(1, rounds // (count + 1)) for count in DECISIONS))
    tried = [named(one, Repartition("gain", count)) for one in starts for count in every]
    tried += [named(starts[0], Repartition("threshold", count, THRESHOLD)) for count in every]
    values = mean_s(scenario, tried, FEW)
    return [tried[place] for place in ties.in_order(values)[:2].tolist()]


def movable(scenario: Scenario, one: Configuration) -> bool:
    """Whether units of a configuration can move between iterations, and all its processes have some to begin with."""
    if scenario.application.written is not None or scenario.platform.quotas:
        return False
    return all(one.partition) and bool(scenario.application.work.movable(one))


def named(one: Configuration, rule: Repartition) -> Configuration:
    """A configuration with a rule, under a name that says it."""
    return replace(one, name=f"{one.name}+{rule.when}-{rule.every}", repartition=rule)


def mean_s(scenario: Scenario, tried: Sequence[Configuration], runs: int) -> list[float]:
    """Mean makespans of some configurations over the first replications."""
    count = min(runs, scenario.replications)
    found = run_or_recall(scenario.with_configurations(tuple(tried)), replications=count)
    means: list[float] = found.makespan_s.mean(axis=1).tolist()
    return means


FARM = "farm"
"""The application whose units are pulled by a chunk rule."""
OWN_OF_RULES = ("rule", "chunk", "least", "first", "last", "assumed_cv")
"""Parameters of a farm that say how units are handed out."""
CHUNKS = (1, 100, 10)
"""Of `ss`: one unit, and the share of a process over these."""


def under(scenario: Scenario, asked: Parameters) -> Scenario:
    """A farm with other parameters of its rule, or other costs; those of its own rule are left out."""
    kept = {key: value for key, value in scenario.application.parameters.items() if key not in OWN_OF_RULES}
    return replace(scenario, application=replace(scenario.application, parameters={**kept, **asked}))


def chunk_rules(units_of: int, processes: int) -> dict[str, Parameters]:
    """Chunk rules to try, by name; parameters of each."""
    share = max(1, units_of // processes)
    chunks = dict.fromkeys([1, *(max(1, share // parts) for parts in CHUNKS[1:])])
    found: dict[str, Parameters] = {f"ss, chunk {chunk}": {"rule": "ss", "chunk": chunk} for chunk in chunks}
    return found | {rule: {"rule": rule} for rule in ("gss", "tss", "fac2", "awf-b", "af")}


def tried_rules(scenario: Scenario, one: Configuration) -> list[TriedRule]:
    """All chunk rules, and that of the scenario where it is none of these, on all draws; the best first."""
    rules = chunk_rules(scenario.application.work.units, len(one.partition))
    own = {key: value for key, value in scenario.application.parameters.items() if key in OWN_OF_RULES}
    if own not in rules.values() and own.get("rule", "ss") != "static":
        rules["as it is"] = own
    found = [
        TriedRule(name, asked, mean_s(under(scenario, asked), (one,), scenario.replications)[0])
        for name, asked in rules.items()
    ]
    return sorted(found, key=lambda tried: tried.mean_s)


Side = tuple[Scenario, Sequence[Configuration]]
"""A scenario, and configurations of which the best one counts."""


def axes_of(static: Side, dynamic: Side, spending: Spending) -> Iterator[Axis]:
    """What decides, each changed by itself on both sides while there is time; loads only where there are some."""
    scenario, found = static[0], list[tuple[str, Callable[[Scenario, float], Scenario]]]()
    if any(pe.load is not None for pe in scenario.platform.pes):
        found = [("how long levels of load last", lasting), ("strength of the load", changes.with_load)]
    if scenario.application.name != FARM:
        found.append(("latency and transfer times", slower_links))
    elif dynamic[0].application.work.pull_s + dynamic[0].application.work.serve_s > 0:  # type: ignore[attr-defined]
        found.append(("times of a pull", dearer_pulls))
    for what, change in found:
        if spending.left_s <= 0:
            return
        gains = []
        for factor in FACTORS:
            fixed_s, moving_s = (
                min(mean_s(change(one, factor), configurations, MOST_RUNS)) for one, configurations in (static, dynamic)
            )
            gains.append(fixed_s / moving_s - 1)
        yield Axis(what, FACTORS, tuple(gains), crossing(FACTORS, gains))


def crossing(factors: Sequence[float], gains: Sequence[float]) -> float | None:
    """The factor nearest to 1 at which gains pass `PAYS`, between two by their logarithms."""
    found = []
    for place in range(len(factors) - 1):
        one, other = gains[place] - PAYS, gains[place + 1] - PAYS
        if (one > 0) != (other > 0):
            part = one / (one - other)
            found.append(exp(log(factors[place]) * (1 - part) + log(factors[place + 1]) * part))
    return min(found, key=lambda factor: abs(log(factor)), default=None)


def lasting(scenario: Scenario, factor: float) -> Scenario:
    """The same with loads whose levels last so many times as long."""

    def longer(load: Load) -> Load:
        trace = load.trace
        made = LoadTrace(trace.times_s * factor, trace.values, trace.end_s * factor, trace.after_end)
        return replace(load, trace=made, recording=load.recording or trace, start_s=load.start_s * factor)

    pes = scenario.platform.pes
    return changes.with_pes(scenario, [pe if pe.load is None else replace(pe, load=longer(pe.load)) for pe in pes])


def slower_links(scenario: Scenario, factor: float) -> Scenario:
    """The same with so many times the latency, and a bandwidth that is so many times less."""
    return changes.with_link(scenario, latency=factor, bandwidth=1 / factor)


def dearer_pulls(scenario: Scenario, factor: float) -> Scenario:
    """A farm whose pulls take so many times as long, at the process and at the pool."""
    parameters = dict(scenario.application.parameters)
    work: Any = scenario.application.work
    for name, seconds in (("pull", work.pull_s), ("serve", work.serve_s)):
        if seconds:
            parameters[name] = f"{seconds * factor!r}s"
    return replace(scenario, application=replace(scenario.application, parameters=parameters))


WHERE = {
    "how long levels of load last": "where levels of load last {} times as long",
    "strength of the load": "where the load is {} times as strong",
    "latency and transfer times": "where messages take {} times as long",
    "times of a pull": "where a pull takes {} times as long",
}
"""What is changed -> how a break-even is said."""


def sentence(found: Scheduling) -> str:
    """What to do, and until when that holds, in words."""
    low, high = found.gain_low, found.gain_high
    between = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    pulls = found.moves is None
    rule = found.rule if pulls else f"{found.rule}; {found.moves:.1f} moves a run"
    moving = "pulling units" if pulls else "letting units move"
    if found.pays:
        act = "Let processes pull their units" if pulls else "Let units move while it runs"
        said = (
            f"{act} ({rule}): {found.gain:.2f} times as fast{between} as the best static "
            f"partition, {units.show_duration(found.predicted_s)} predicted"
        )
        said += "" if found.now_s is None else f" ({units.show_duration(found.now_s)} under the rule as it is)"
    else:
        said = f"Stay static: {moving} ({rule}) is predicted {found.gain:.2f} times as fast{between}"
    ends = [WHERE[axis.what].format(f"{axis.break_even:.2g}") for axis in found.axes if axis.break_even is not None]
    what = "this" if found.pays else "it"
    if ends:
        return f"{said}; {what} {'ceases' if found.pays else 'begins'} to pay {', or '.join(ends)}."
    if not found.axes:
        return f"{said}."
    tried = ", ".join(axis.what for axis in found.axes)
    return f"{said}; {FACTORS[0]:g} to {FACTORS[-1]:g} times of these change nothing: {tried}."

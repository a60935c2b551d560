"""Static or dynamic: the best fixed partition against units that move while the program runs, on the same draws.

And how far that holds: how strong the load, how long its levels last and how slow the network may be, until the other
of the two is better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from simulator import Configuration, Load, LoadTrace, Repartition, Scenario, ScenarioError, ties, units
from simulator.experiments.sweep import run_or_recall

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
class Scheduling:
    """Whether units should move while the program runs."""

    static: str
    dynamic: str
    """The best of each, by the names of candidates."""
    rule: str
    moves: float
    """How often units moved in a run of the best rule, on average."""
    pays: bool
    predicted_s: float
    """Mean makespan of the dynamic one."""
    gain: float
    gain_low: float | None
    gain_high: float | None
    """How many times as long the static one takes, with its interval."""
    axes: tuple[Axis, ...]


def dynamic_candidates(scenario: Scenario, static: Sequence[Configuration]) -> list[Configuration]:
    """The best rules on few draws, from the first and the last of some static partitions whose units can move.

    Parameters
    ----------
    static
        The best first.

    Raises
    ------
    ScenarioError
        If units cannot move.
    """
    held = [one for one in static if all(one.partition)]
    if not held:  # a process that has nothing to begin with would teach nothing
        raise ScenarioError("vary: scheduling: the best static partition leaves PEs without units; nothing can move")
    can = [one for one in held if scenario.application.written is None and scenario.application.work.movable(one)]
    if not can:
        scenario.movable(held[0])  # which says why not
    starts = can[:1] if can[-1].divided == can[0].divided else [can[0], can[-1]]
    rounds = scenario.application.work.rounds(len(starts[0].partition))
    every = list(dict.fromkeys(max(1, rounds // (count + 1)) for count in DECISIONS))
    tried = [named(one, Repartition("gain", count)) for one in starts for count in every]
    tried += [named(starts[0], Repartition("threshold", count, THRESHOLD)) for count in every]
    values = mean_s(scenario, tried, FEW)
    return [tried[place] for place in ties.in_order(values)[:2].tolist()]


def named(one: Configuration, rule: Repartition) -> Configuration:
    """A configuration with a rule, under a name that says it."""
    return replace(one, name=f"{one.name}+{rule.when}-{rule.every}", repartition=rule)


def mean_s(scenario: Scenario, tried: Sequence[Configuration], runs: int) -> list[float]:
    """Mean makespans of some configurations over the first replications."""
    count = min(runs, scenario.replications)
    found = run_or_recall(scenario.with_configurations(tuple(tried)), replications=count)
    means: list[float] = found.makespan_s.mean(axis=1).tolist()
    return means


def axes_of(scenario: Scenario, static: Sequence[Configuration], dynamic: Configuration) -> Iterator[Axis]:
    """What decides, each thing changed by itself; loads only where there are some.

    Parameters
    ----------
    static
        Candidates of which the best one under each change is compared.
    """
    loaded = any(pe.load is not None for pe in scenario.platform.pes)
    changes: list[tuple[str, Callable[[Scenario, float], Scenario]]] = [("latency and transfer times", slower_links)]
    if loaded:
        changes = [("how long levels of load last", lasting), ("strength of the load", stronger), *changes]
    for what, change in changes:
        gains = []
        for factor in FACTORS:
            *fixed_s, moving_s = mean_s(change(scenario, factor), (*static, dynamic), MOST_RUNS)
            gains.append(min(fixed_s) / moving_s - 1)
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


def _with_loads(scenario: Scenario, change: Callable[[Load], Load]) -> Scenario:
    pes = tuple(pe if pe.load is None else replace(pe, load=change(pe.load)) for pe in scenario.platform.pes)
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def lasting(scenario: Scenario, factor: float) -> Scenario:
    """The same with loads whose levels last so many times as long."""

    def longer(load: Load) -> Load:
        trace = load.trace
        made = LoadTrace(trace.times_s * factor, trace.values, trace.end_s * factor, trace.after_end)
        return replace(load, trace=made, recording=load.recording or trace, start_s=load.start_s * factor)

    return _with_loads(scenario, longer)


def stronger(scenario: Scenario, factor: float) -> Scenario:
    """The same with so many times the load; of a share that is left, so many times what is taken."""

    def more(load: Load) -> Load:
        trace, values = load.trace, load.trace.values
        changed = np.clip(1 - factor * (1 - values), 0.01, 1.0) if load.rule == "given" else values * factor
        made = LoadTrace(trace.times_s, changed, trace.end_s, trace.after_end)
        return replace(load, trace=made, recording=load.recording or trace)

    return _with_loads(scenario, more)


def slower_links(scenario: Scenario, factor: float) -> Scenario:
    """The same with so many times the latency, and a bandwidth that is so many times less."""
    network = scenario.platform.network.scaled(latency=factor, bandwidth=1 / factor)
    return replace(scenario, platform=replace(scenario.platform, network=network))


def sentence(found: Scheduling) -> str:
    """What to do, and until when that holds, in words."""
    low, high = found.gain_low, found.gain_high
    between = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    rule = f"{found.rule}; {found.moves:.1f} moves a run"
    if found.pays:
        said = (
            f"Let units move while it runs ({rule}): {found.gain:.2f} times as fast{between} as the best static "
            f"partition, {units.show_duration(found.predicted_s)} predicted"
        )
    else:
        said = f"Stay static: letting units move ({rule}) is predicted {found.gain:.2f} times as fast{between}"
    ends = [f"{axis.what} x {axis.break_even:.2g}" for axis in found.axes if axis.break_even is not None]
    if ends:
        return f"{said}; moving {'ceases' if found.pays else 'begins'} to pay at {', or at '.join(ends)}."
    tried = ", ".join(axis.what for axis in found.axes)
    return f"{said}; {FACTORS[0]:g} to {FACTORS[-1]:g} times of these change nothing: {tried}."

"""Switch points: problem sizes and loads at which other PEs should be used, by bisection on simulated makespans."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from advisor.advise.explanation import changes
from advisor.advise.explanation.optimum import Advised, Placement, best_over, fastest_first
from advisor.advise.explanation.simulations import OutOfRuns, Seen, Simulations
from advisor.advise.ranking import Gain
from simulator import Scenario, ScenarioError, ties

SIZE_RANGE = (0.25, 4.0)
"""Times the asked problem size."""
LOAD_RANGE = (0.0, 2.0)
"""Times the loads of the scenario."""
GRID = 5
"""Values that are looked at before bisection."""
BISECTIONS = 6
"""Of each interval in which the best strategy changes: it ends 64 times as narrow."""
MOST_SETS = 6
"""Sets of PEs that are compared, at most."""
MOST_NAMES = 4
"""PEs of a strategy that are named one by one."""


@dataclass(frozen=True)
class Side:
    """What is best on one side of a switch point."""

    strategy: str
    at: float
    """A value on this side where both were simulated."""
    gain: float | None
    """How many times longer the other side's strategy takes there, with its 95 % interval; None if it was not seen."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SwitchPoint:
    """A value from which on another strategy is best."""

    of: str
    """`problem size` or `load`."""
    parameter: str
    """Name of the problem size, or what the load is multiplied with."""
    value: float
    """The least one seen from which the strategy above is best."""
    last_below: float
    """The largest one seen where the strategy below was."""
    below: Side
    above: Side

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Switches:
    """All switch points that were found over one range."""

    of: str
    parameter: str
    low: float
    high: float
    asked: float
    strategy: str | None
    """Best at the asked value, among those compared; None if nothing was looked at."""
    points: tuple[SwitchPoint, ...]
    note: str | None = None
    """Why the range was not looked at, or not all of it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**vars(self), "points": [point.to_dict() for point in self.points]}


@dataclass(frozen=True)
class _Axis:
    of: str
    parameter: str
    asked: float
    values: tuple[float, ...]
    """Ascending."""
    middle: Callable[[float, float], float]
    change: Callable[[float], Scenario]


def switches_of_size(advised: Advised, simulations: Simulations, *, span: tuple[float, float] = SIZE_RANGE) -> Switches:
    """Switch points over the problem size, from and to so many times the asked one."""
    scenario = advised.scenario
    name = changes.size_parameter(scenario)
    if name is None:
        return Switches("problem size", "", *span, 1.0, None, (), "the application has no parameter that is its size")
    asked = int(scenario.application.parameters[name])
    ends = [max(1.0, asked * factor) for factor in span]
    values = {round(value) for value in np.geomspace(ends[0], ends[1], GRID).tolist()} | {asked}
    axis = _Axis(
        "problem size",
        name,
        asked,
        tuple(float(value) for value in sorted(values)),
        lambda low, high: float(round(math.sqrt(low * high))),
        lambda value: changes.with_size(scenario, int(value)),
    )
    return _switches(advised, axis, simulations)


def switches_of_load(advised: Advised, simulations: Simulations, *, span: tuple[float, float] = LOAD_RANGE) -> Switches:
    """Switch points over the load of all loaded PEs, times a factor."""
    scenario = advised.scenario
    if all(pe.load is None for pe in scenario.platform.pes):
        return Switches("load", "factor", *span, 1.0, None, (), "no PE has a load")
    values = {float(value) for value in np.linspace(span[0], span[1], GRID)} | {1.0}
    axis = _Axis(
        "load",
        "factor",
        1.0,
        tuple(sorted(values)),
        lambda low, high: (low + high) / 2,
        lambda factor: changes.with_load(scenario, factor),
    )
    return _switches(advised, axis, simulations)


class _Strategies:
    """What is best at a value: each set of PEs with the best partition found for it; values are remembered."""

    def __init__(self, advised: Advised, axis: _Axis, simulations: Simulations) -> None:
        self._advised, self._axis, self._simulations = advised, axis, simulations
        self._placements = self._compared()
        self._seen: dict[float, list[Seen]] = {}

    def at(self, value: float) -> list[Seen]:
        """Best first; empty where the scenario cannot be run."""
        if value not in self._seen:
            self._seen[value] = []
            with suppress(ScenarioError):  # no such size
                found = self._all(self._axis.change(value) if value != self._axis.asked else self._advised.scenario)
                values = [self._simulations.value_s(seen.makespans_s) for seen in found]
                self._seen[value] = [found[place] for place in ties.in_order(values)]
        return self._seen[value]

    def gain(self, then: Seen, now: Seen, *, deterministic: bool) -> Gain:
        """How many times longer one strategy takes than another."""
        return self._simulations.gain(then.makespans_s, now.makespans_s, deterministic=deterministic)

    def _all(self, changed: Scenario) -> list[Seen]:
        few, _, _ = self._simulations.planned(changed, len(self._advised.placement))
        starts = [
            one
            for placement in self._placements
            for one in self._advised.divided(changed, self._advised.model(changed, placement))
        ]
        if starts:
            self._simulations.seen(changed, starts, few)  # all at once
        found = []
        for placement in self._placements:
            with suppress(ScenarioError):  # too large, or too small, for these PEs
                found.append(best_over(self._advised, changed, self._simulations, placement))
        return found

    def _compared(self) -> list[Placement]:
        """The advised PEs, all, and the fastest ones at both ends and at the asked value."""
        advised, found = self._advised, [self._advised.placement]
        for value in (self._axis.asked, self._axis.values[-1], self._axis.values[0]):
            try:
                order = fastest_first(advised, self._axis.change(value))
            except ScenarioError:
                continue
            found += [advised.over(order[:count]) for count in (1, len(order), -(-len(order) // 2))]
        return list(dict.fromkeys(found))[:MOST_SETS]


def _switches(advised: Advised, axis: _Axis, simulations: Simulations) -> Switches:
    scenario, strategies = advised.scenario, _Strategies(advised, axis, simulations)
    points: list[SwitchPoint] = []
    note, best = None, None
    try:
        asked = strategies.at(axis.asked)
        best = _name(scenario, asked[0]) if asked else None
        usable = [value for value in axis.values if strategies.at(value)]
        if len(usable) < len(axis.values):
            note = "some values cannot be simulated"
        for low, high in pairwise(usable):
            points += _between(scenario, axis, strategies, low, high)
    except OutOfRuns:
        note = "not all looked at: the runs allowed were spent"
    return Switches(axis.of, axis.parameter, axis.values[0], axis.values[-1], axis.asked, best, tuple(points), note)


def _between(
    scenario: Scenario, axis: _Axis, strategies: _Strategies, low: float, high: float
) -> Iterator[SwitchPoint]:
    """The switch point between two values, if another strategy is best at each; one of them, if there are several."""
    ends = low, high
    first, second = (strategies.at(value) for value in ends)
    if _key(first[0]) == _key(second[0]):
        return
    for _ in range(BISECTIONS):
        middle = axis.middle(low, high)
        found = strategies.at(middle) if low < middle < high else []
        if not found:
            break
        if _key(found[0]) == _key(first[0]):
            low = middle
        else:
            high = middle
    other = strategies.at(high)[0]  # not the end's, where a third one is best in between
    at = ends[1] if _key(strategies.at(ends[1])[0]) == _key(other) else high
    below = _side(scenario, strategies, ends[0], other)
    above = _side(scenario, strategies, at, first[0])
    yield SwitchPoint(axis.of, axis.parameter, high, low, below, above)
    if _key(other) != _key(second[0]):
        yield from _between(scenario, axis, strategies, high, ends[1])


def _side(scenario: Scenario, strategies: _Strategies, at: float, other: Seen) -> Side:
    seen = strategies.at(at)
    rival = next((one for one in seen if _key(one) == _key(other)), None)
    if rival is None:
        return Side(_name(scenario, seen[0]), at, None, None, None)
    found = strategies.gain(rival, seen[0], deterministic=scenario.deterministic)
    return Side(_name(scenario, seen[0]), at, found.mean, found.low, found.high)


def _key(seen: Seen) -> frozenset[int]:
    return seen.pes


def _name(scenario: Scenario, seen: Seen) -> str:
    pes = sorted(seen.pes)
    names = [scenario.platform.pes[pe].name for pe in pes]
    if len(names) == 1:
        return f"{names[0]} alone"
    if len(names) <= MOST_NAMES:
        return " + ".join(names)
    everyone = len(names) == len(scenario.platform.pes)
    return f"all {len(names)} PEs" if everyone else f"{len(names)} PEs from {names[0]} to {names[-1]}"

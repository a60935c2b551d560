"""Sensitivity: what a changed speed, link, load or memory makes of the advice, and what the advice regrets then."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from advisor.advise import changes
from advisor.advise.explanation.questions import Questions
from advisor.advise.kinds import Kind, kinds_of
from advisor.advise.spending import OutOfBudgetError
from simulator import Configuration, Scenario, ScenarioError, capacity_of, ties

STEP = 0.1
"""Each parameter is changed by so much, down and up."""
SAME_REGRET = 1e-6
"""Regrets that differ by less are equal, and makespans decide."""
MOST_KINDS = 8
"""Kinds of PEs, those with most units; the others are not looked at."""
FIRST_KINDS = 4
"""Of these, those that are asked about before links and memory."""

Change = Callable[[float], Scenario]
"""The scenario with a parameter times a factor."""


@dataclass(frozen=True)
class Effect:
    """What one changed parameter does."""

    change: float
    """-0.1: the parameter is a tenth less."""
    makespan: float
    """Change of the recommended configuration's mean makespan, as a share, with its 95 % interval if there is one."""
    low: float | None
    high: float | None
    regret: float
    """So much longer than the best found in the changed scenario on the same draws, as a share; at least 0."""


@dataclass(frozen=True)
class Sensitivity:
    """What a calibrated parameter decides."""

    parameter: str
    what: str
    """`speed`, `load`, `latency`, `bandwidth`, `capacity` of domains, `memory size` or `memory access`."""
    effects: tuple[Effect, ...]
    regret: float
    """The larger one."""

    @property
    def makespan(self) -> float:
        """The larger change of the makespan, as a size."""
        return max(abs(effect.makespan) for effect in self.effects)


def sensitivities(asked: Questions) -> tuple[tuple[Sensitivity, ...], tuple[str, ...]]:
    """The effect of each calibrated parameter, the most regretted first, and what was left out for want of runs."""
    found: list[Sensitivity] = []
    missing: list[str] = []
    for name, what, _, change in parameters(asked.scenario, asked.chosen):
        try:
            effects = tuple(effect(asked, change(1 + by), by) for by in (-STEP, STEP))
            found.append(Sensitivity(name, what, effects, max(one.regret for one in effects)))
        except (OutOfBudgetError, ScenarioError):
            missing.append(name)
    order = ties.in_order([-one.regret for one in found], [-one.makespan for one in found], floor=SAME_REGRET)
    return tuple(found[place] for place in order), tuple(missing)


def parameters(scenario: Scenario, chosen: Configuration) -> Iterator[tuple[str, str, tuple[int, ...], Change]]:
    """What a scenario was calibrated with: name, sort, PEs, and how it is changed."""
    kinds = busiest(scenario, chosen)
    yield from _of_kinds(scenario, kinds[:FIRST_KINDS])
    yield from _of_domains(scenario, chosen)
    if len(scenario.platform.pes) > 1:
        yield "link latency", "latency", (), lambda factor: changes.with_link(scenario, latency=factor)
        yield "link bandwidth", "bandwidth", (), lambda factor: changes.with_link(scenario, bandwidth=factor)
    shares = scenario.application.memory is not None and any(node.levels for node in scenario.platform.nodes)
    if shares or scenario.with_configurations((chosen,)).pages:
        yield "memory size", "memory size", (), lambda factor: changes.with_memory(scenario, capacity=factor)
    if shares:
        yield "memory access time", "memory access", (), lambda factor: changes.with_memory(scenario, access=factor)
    yield from _of_kinds(scenario, kinds[FIRST_KINDS:])


def _of_kinds(scenario: Scenario, kinds: Sequence[Kind]) -> Iterator[tuple[str, str, tuple[int, ...], Change]]:
    """Their speeds, then their loads."""
    for kind in kinds:
        yield f"speed of {called(scenario, kind)}", "speed", kind.pes, partial(_speed, scenario, kind.pes)
    for kind in kinds:
        if scenario.platform.pes[kind.pes[0]].load is not None:
            yield f"load of {called(scenario, kind)}", "load", kind.pes, partial(_load, scenario, kind.pes)


def _of_domains(scenario: Scenario, chosen: Configuration) -> Iterator[tuple[str, str, tuple[int, ...], Change]]:
    """Capacities of memory and caches that PEs of the configuration share; of one law together."""
    used, alike = set(chosen.placement), dict[tuple[object, ...], list[int]]()
    for place, domain in enumerate(scenario.platform.domains):
        if capacity_of(domain) is not None and not used.isdisjoint(domain.pes):
            alike.setdefault((domain.level, domain.law), []).append(place)
    for places in list(alike.values())[:FIRST_KINDS]:
        first = scenario.platform.domains[places[0]]
        name = first.name if len(places) == 1 else f"{first.name} (and {len(places) - 1} alike)"
        yield f"capacity of {name}", "capacity", first.pes, partial(changes.with_capacity, scenario, tuple(places))


def _speed(scenario: Scenario, pes: tuple[int, ...], factor: float) -> Scenario:
    return changes.with_speed(scenario, pes, factor)


def _load(scenario: Scenario, pes: tuple[int, ...], factor: float) -> Scenario:
    return changes.with_load(scenario, factor, pes)


def busiest(scenario: Scenario, chosen: Configuration) -> Sequence[Kind]:
    """Kinds of PEs, those with most units first, at most `MOST_KINDS`."""
    units = np.bincount(chosen.placement, weights=chosen.partition, minlength=len(scenario.platform.pes))
    return sorted(kinds_of(scenario), key=lambda kind: -float(units[list(kind.pes)].sum()))[:MOST_KINDS]


def called(scenario: Scenario, kind: Kind) -> str:
    """A kind in words."""
    first = scenario.platform.pes[kind.pes[0]].name
    return first if kind.count == 1 else f"{first} (and {kind.count - 1} alike)"


def effect(asked: Questions, changed: Scenario, by: float) -> Effect:
    """The recommended configuration in a changed scenario, against before and against the best found there.

    Raises OutOfBudgetError if no more may be asked; ScenarioError if memory does not hold it there.
    """
    before, judge = asked.now, asked.judge(changed)
    certain = asked.scenario.deterministic and changed.deterministic
    longer = asked.gain(asked.kept(judge), asked.kept(before), deterministic=certain)
    return Effect(by, *longer.change, asked.regret(judge))

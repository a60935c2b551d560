"""The explanation of an advice: why, where it switches, what it is sensitive to, and what to measure next."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from advisor.advise.explanation.neighbours import Other, others
from advisor.advise.explanation.next_measurement import NextMeasurement, next_measurement
from advisor.advise.explanation.optimum import Advised, best_of
from advisor.advise.explanation.reasons import Reasons, reasons
from advisor.advise.explanation.sensitivity import Sensitivity, sensitivities
from advisor.advise.explanation.simulations import EFFORT, OutOfRuns, Seen, Simulations, same
from advisor.advise.explanation.switch_points import Switches, SwitchPoint, switches_of_load, switches_of_size
from advisor.advise.objectives import UNITS, statistic
from advisor.advise.recommendation import Recommendation, adopted
from advisor.advise.strategies import TIE, advisable
from simulator import Configuration, Scenario, ScenarioError, notebook, ties

__all__ = [
    "Explanation",
    "NextMeasurement",
    "Other",
    "Reasons",
    "Sensitivity",
    "SwitchPoint",
    "Switches",
    "explain",
]

MOST_RUNS = 200_000
"""Simulated runs that an explanation may take by default."""
MOST_ADOPTED = 12
"""Better configurations that take the advice's place in a row, at most."""
AT_ONCE = 4
"""Configurations that seem better whose further replications are run together."""
SURELY = 3.0
"""Standard errors by which a configuration has to seem better to be run further once the effort is spent."""
PORTIONS = {"near": 0.35, "why": 0.25, "sensitivity": 0.5, "load": 0.5, "size": 1.0}
"""Part of the effort left that each section may take."""


@dataclass(frozen=True)
class Explanation:
    """Why an advice is as it is, and how far it holds; what there were no runs for is None or named."""

    why: Reasons | None
    switch_points: tuple[Switches, ...]
    """Over the problem size and over the load."""
    sensitivity: tuple[Sensitivity, ...]
    """The most regretted parameter first."""
    measure_next: NextMeasurement
    runs: int
    """Simulated runs spent."""
    most_runs: int
    replications: int
    """Of each configuration that was asked about."""
    search_regret: float | None
    """What the short search gains on these draws where nothing is changed: regrets up to here mean nothing."""
    recommendation: Recommendation
    """What is explained: the one given, or a better one that was found by asking, which took its place."""
    adopted: tuple[str, float] | None
    """If so: what was recommended before, and how much longer it takes, as a share, in all replications."""
    left_out: tuple[str, ...]
    """Questions that the runs did not suffice for, or whose changed scenario cannot be run."""

    def __repr__(self) -> str:
        return f"Explanation({self.runs} simulated runs, {len(self.sensitivity)} parameters)"

    def _repr_html_(self) -> str:
        parts = []
        if self.why is not None:
            limits = [
                {"PE": one.pe, "of the critical path": f"{one.path_share:.0%}", "last": f"{one.computes_last:.0%}"}
                for one in self.why.limits
            ]
            saved = [{"without": one.of, "saves": f"{one.share:.1%}"} for one in self.why.costs]
            parts += [notebook.table(limits), notebook.table(saved)]
        points = [
            {
                "over": f"{point.of} ({point.parameter})",
                "from": point.value,
                "best below": point.below.strategy,
                "best above": point.above.strategy,
            }
            for one in self.switch_points
            for point in one.points
        ]
        sensitive = [{"parameter": one.parameter, "regret": f"{one.regret:.2%}"} for one in self.sensitivity]
        parts += [notebook.table(points)] if points else []
        parts += [notebook.table(sensitive)] if sensitive else []
        best = self.measure_next.best
        facts = notebook.facts({"measure next": None if best is None else best.source, "simulated runs": self.runs})
        return notebook.page("Why the advice is as it is", *parts, facts, warnings=self.left_out)

    def to_dict(self) -> dict[str, Any]:
        """The fields `why`, `switch_points`, `sensitivity`, `doubt`, `measure_next` and `explanation` of an advice."""
        return {
            "why": None if self.why is None else self.why.to_dict(),
            "switch_points": [one.to_dict() for one in self.switch_points],
            "sensitivity": [one.to_dict() for one in self.sensitivity],
            **self.measure_next.to_dict(),
            "explanation": {
                "simulated_runs": self.runs,
                "most_runs": self.most_runs,
                "replications": self.replications,
                "search_regret": self.search_regret,
                "objective": self.recommendation.objective,
                "adopted_instead_of": None if self.adopted is None else self.adopted[0],
                "adopted_gain": None if self.adopted is None else self.adopted[1],
                "left_out": list(self.left_out),
            },
        }


def check_explained(objective: str) -> None:
    """Whether there is an explanation for an objective.

    Raises
    ------
    ScenarioError
        If it is no time.
    """
    if objective in UNITS:
        why = f"an explanation asks what a makespan hangs on, and {objective} is no time"
        raise ScenarioError(f"objective: {why}; leave out --explain, or ask for mean, p95 or worst")


def explain(scenario: Scenario, recommendation: Recommendation, *, most_runs: int = MOST_RUNS) -> Explanation:
    """Ask the simulator about a recommended configuration, everything on the same draws.

    Of all that was simulated for the scenario as it is, searches and rows of the explanation, `recommendation` of what
    is returned has the least objective on the same draws, but for ties: what asking shows to be better takes the
    advice's place, and that is explained. Regrets are against the best that a short search finds in the changed
    scenario.

    Parameters
    ----------
    scenario
        What the recommendation is for; seed and replications are the recommendation's.
    most_runs
        Simulated runs (a configuration in a replication) that may be spent; what they do not suffice for is left out.

    Raises
    ------
    ScenarioError
        If the objective of the recommendation is no time.
    """
    check_explained(recommendation.objective)
    runs = recommendation.runs
    whole = replace(runs.drawn(scenario), replications=runs.makespan_ticks.shape[1])
    asked = replace(whole, replications=_replications(whole, whole.replications))
    simulations = Simulations(
        limit=most_runs,
        replications=asked.replications,
        seed=runs.seed,
        objective=recommendation.objective,
        truths=runs.truth_count,
        level=recommendation.level,
    )
    made = _settled(whole, asked, _remembered(asked, recommendation, simulations), simulations)
    found = _explained(asked, made, simulations)
    for _ in range(MOST_ADOPTED):
        after = _next(whole, asked, made, simulations)
        if after is made:
            break
        made = _settled(whole, asked, after, simulations)
        found = _explained(asked, made, simulations)
    return replace(found, adopted=_instead(recommendation, made))


def _replications(scenario: Scenario, replications: int) -> int:
    """One where nothing is drawn: all would be alike."""
    return 1 if scenario.deterministic else replications


def _instead(before: Recommendation, after: Recommendation) -> tuple[str, float] | None:
    if after is before or same(after.configuration, before.configuration):
        return None
    name = before.configuration.name
    took, takes = (statistic(one.runs.of(one.configuration.name), one.objective) for one in (before, after))
    return name, float(took / takes - 1)


def _remembered(scenario: Scenario, recommendation: Recommendation, simulations: Simulations) -> Recommendation:
    """The recommendation, its runs taken over."""
    named = {one.name: one for one in (*recommendation.candidates, recommendation.configuration)}
    for row, name in enumerate(recommendation.runs.configurations):
        if advisable(scenario, named[name], recommendation.most):
            simulations.remember(scenario, named[name], recommendation.runs, row)
    return recommendation


def _settled(whole: Scenario, asked: Scenario, made: Recommendation, simulations: Simulations) -> Recommendation:
    """A recommendation that nothing near it is better than, as far as asking shows."""
    for _ in range(MOST_ADOPTED):
        advised = Advised(asked, made.configuration, made.varied)
        with suppress(OutOfRuns), simulations.portion(PORTIONS["near"]):
            best_of(advised, asked, simulations)
            others(advised, simulations)
        after = _next(whole, asked, made, simulations)
        if after is made:
            break
        made = after
    return made


def _next(whole: Scenario, asked: Scenario, made: Recommendation, simulations: Simulations) -> Recommendation:
    """The recommendation with the best that was found in the place of what it advised; the same where nothing is."""
    better = _better(asked, made, simulations)
    if better is None:
        return made
    names = {one.name for one in made.candidates}
    number = next(n for n in range(1, len(names) + 2) if _called(n) not in names)
    after = adopted(whole, made, replace(better, name=_called(number)))
    return made if after is made else _remembered(asked, after, simulations)


def _called(number: int) -> str:
    return "explained" if number == 1 else f"explained-{number}"


def _better(scenario: Scenario, made: Recommendation, simulations: Simulations) -> Configuration | None:
    """What has a smaller objective than the advice in all replications, of what was simulated in some of them."""
    (mine,) = (one for one in simulations.known(scenario) if same(one.configuration, made.configuration))
    every = mine.makespans_s.size if not scenario.deterministic else 1

    def ahead(one: Seen) -> float:
        seen = one.makespans_s.size
        mean_s = simulations.value_s(mine.makespans_s[:seen])
        gained = mean_s - simulations.value_s(one.makespans_s) - TIE * mean_s  # what is nearer is a tie
        if not ties.is_less(-gained, 0.0, floor=ties.SAME * mean_s):
            return 0.0
        if simulations.effort > EFFORT and 1 < seen < every:
            error = float(np.std(mine.makespans_s[:seen] - one.makespans_s, ddof=1)) / np.sqrt(seen)
            return gained / mean_s if gained > SURELY * error else 0.0
        return gained / mean_s

    waiting = sorted((one for one in simulations.known(scenario) if ahead(one) > 0), key=ahead, reverse=True)
    while waiting:
        some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        while some and (seen := max(one.makespans_s.size for one in some)) < every:
            wanted = min(every, 2 * seen)
            some = simulations.seen(scenario, [one.configuration for one in some], wanted, forced=True)
            some = [one for one in some if ahead(one) > 0]
        if some:
            whole = simulations.seen(scenario, [one.configuration for one in some], every, forced=True)
            whole = [one for one in whole if ahead(one) > 0]
            if whole:
                return max(whole, key=ahead).configuration
    return None


def _explained(scenario: Scenario, made: Recommendation, simulations: Simulations) -> Explanation:
    """All sections for one recommendation."""
    advised = Advised(scenario, made.configuration, made.varied)
    left_out: list[str] = []
    simulations.reserve(1 - PORTIONS["near"])
    why, unchanged = None, None
    try:
        with simulations.portion(PORTIONS["why"]):
            why = reasons(advised, made, simulations)
            why = replace(why, others=others(advised, simulations))
    except OutOfRuns:
        left_out.append("why" if why is None else "other PEs")
    with suppress(OutOfRuns):
        best = best_of(advised, scenario, simulations)
        (kept,) = simulations.seen(scenario, [made.configuration], best.makespans_s.size)
        unchanged = max(0.0, simulations.value_s(kept.makespans_s) / simulations.value_s(best.makespans_s) - 1)
    with simulations.portion(PORTIONS["sensitivity"]):
        sensitive, missing = sensitivities(advised, simulations)
    switches = []
    for name, find in (("load", switches_of_load), ("size", switches_of_size)):
        with simulations.portion(PORTIONS[name]):
            switches.append(find(advised, simulations))
    left_out += [f"sensitivity to the {name}" for name in missing]
    _, many, _ = simulations.planned(scenario, len(advised.placement))
    return Explanation(
        why,
        tuple(switches),
        sensitive,
        next_measurement(scenario, made),
        simulations.spent,
        simulations.limit,
        many,
        unchanged,
        made,
        None,
        tuple(left_out),
    )

"""The explanation of an advice: why, what it is sensitive to, and what to measure next."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from advisor.advise.explanation.neighbours import Other, others
from advisor.advise.explanation.next_measurement import Doubt, NextMeasurement, next_measurement
from advisor.advise.explanation.questions import Questions
from advisor.advise.explanation.reasons import Reasons, reasons
from advisor.advise.explanation.sensitivity import Sensitivity, sensitivities
from advisor.advise.objectives import statistic
from advisor.advise.recommendation import Recommendation, adopted
from advisor.advise.space import over_all
from advisor.advise.spending import OutOfBudgetError
from advisor.advise.strategies import unused
from advisor.results import NO_TIMES
from simulator import Configuration, Scenario, ScenarioError, documents, notebook

__all__ = ["Doubt", "Effort", "Explanation", "NextMeasurement", "Other", "Reasons", "Sensitivity", "explain"]

MOST_RUNS = 200_000
"""Simulated runs after which nothing more is asked by default."""
MOST_ADOPTED = 4
"""Better configurations that take the advice's place in a row, at most."""


@dataclass(frozen=True)
class Effort:
    """What explaining took, and what it found on the way."""

    simulated_runs: int
    replications: int
    """Of each configuration that was asked about."""
    search_regret: float | None
    """What the short search gains on these draws where nothing is changed: regrets up to here mean nothing."""
    objective: str
    adopted_instead_of: str | None
    """What was recommended before something better was found by asking, which took its place."""
    adopted_gain: float | None
    """How much longer that takes, as a share, in all replications."""
    left_out: tuple[str, ...]
    """Questions that the runs did not suffice for, or whose changed scenario cannot be run."""


@dataclass(frozen=True)
class Explanation:
    """Why an advice is as it is, and how far it holds; what there were no runs for is None or named."""

    doubt: Doubt | None
    """None where nothing is doubted."""
    measure_next: NextMeasurement
    why: Reasons | None = None
    sensitivity: tuple[Sensitivity, ...] = ()
    """The most regretted parameter first."""
    effort: Effort | None = field(default=None, metadata=documents.named("explanation"))
    """None where only the doubt was looked at."""
    recommendation: Recommendation | None = field(default=None, metadata=documents.NOT_WRITTEN)
    """What is explained: the one given, or a better one that was found by asking, which took its place."""

    def __repr__(self) -> str:
        runs = 0 if self.effort is None else self.effort.simulated_runs
        return f"Explanation({runs} simulated runs, {len(self.sensitivity)} parameters)"

    def _repr_html_(self) -> str:
        parts = []
        if self.why is not None:
            limits = [
                {"PE": one.pe, "of the critical path": f"{one.path_share:.0%}", "last": f"{one.computes_last:.0%}"}
                for one in self.why.limits
            ]
            saved = [{"without": one.of, "saves": f"{one.share:.1%}"} for one in self.why.costs]
            parts += [notebook.table(limits), notebook.table(saved)]
        sensitive = [{"parameter": one.parameter, "regret": f"{one.regret:.2%}"} for one in self.sensitivity]
        parts += [notebook.table(sensitive)] if sensitive else []
        runs, left_out = (0, ()) if self.effort is None else (self.effort.simulated_runs, self.effort.left_out)
        facts = notebook.facts({"measure next": self.measure_next.measure, "simulated runs": runs})
        return notebook.page("Why the advice is as it is", *parts, facts, warnings=left_out)


def check_explained(objective: str) -> None:
    """Whether there is an explanation for an objective.

    Raises ScenarioError if it is no time.
    """
    if objective in NO_TIMES:
        why = f"an explanation asks what a makespan hangs on, and {objective} is no time"
        raise ScenarioError(f"objective: {why}; leave out --explain, or ask for mean, p95 or worst")


def explain(scenario: Scenario, recommendation: Recommendation, *, most_runs: int = MOST_RUNS) -> Explanation:
    """Ask the simulator about a recommended configuration, everything on the same draws.

    What asking shows to be better than the advice takes its place, and that is explained. Regrets are against the best
    that a short search finds in the changed scenario.

    Raises ScenarioError if the objective of the recommendation is no time.

    `scenario`: what the recommendation is for; seed and replications are the recommendation's.
    `most_runs`: simulated runs (a configuration in a replication) after which nothing more is asked; what they do not
    suffice for is left out.
    """
    check_explained(recommendation.objective)
    spent, asked, rows = 0, *_asked(scenario, recommendation, most_runs)
    for _ in range(MOST_ADOPTED):
        after = _bettered(asked)
        if after.configuration == asked.made.configuration:
            break
        spent += asked.runs
        asked, rows = _asked(scenario, after, most_runs - spent)
    return _explained(asked, rows, spent, _instead(recommendation, asked.made))


def _asked(scenario: Scenario, made: Recommendation, most_runs: int) -> tuple[Questions, tuple[Other, ...] | None]:
    """Questions about a recommendation, and what lies near it; None if that may not be asked."""
    asked = Questions(scenario, made, most_runs=most_runs)
    try:
        return asked, others(asked)
    except OutOfBudgetError:
        return asked, None


def _instead(before: Recommendation, after: Recommendation) -> tuple[str, float] | None:
    if after is before:
        return None
    name = before.configuration.name
    took, takes = (statistic(one.runs.of(one.configuration.name), one.objective) for one in (before, after))
    return name, float(took / takes - 1)


def _bettered(asked: Questions) -> Recommendation:
    """The recommendation with what seems to be better in the place of what it advised, if all its draws say so."""
    made, found = asked.made, list[Configuration]()
    for one in asked.better:
        name = unused("explained", [*(other.name for other in (*made.candidates, *found)), *made.strategies.also])
        found.append(over_all(asked.scenario, replace(one, name=name)))
    return adopted(asked.scenario, made, *found) if found else made


def _explained(
    asked: Questions, rows: tuple[Other, ...] | None, spent: int, instead: tuple[str, float] | None
) -> Explanation:
    """All sections for one recommendation."""
    why, unchanged, left_out = None, None, list[str]()
    with suppress(OutOfBudgetError):
        unchanged = asked.regret(asked.now)
        why = replace(reasons(asked), others=rows or ())
    if why is None or rows is None:
        left_out.append("why" if why is None else "other PEs")
    sensitive, missing = sensitivities(asked)
    left_out += [f"sensitivity to the {name}" for name in missing]
    before, gain = instead or (None, None)
    objective = asked.made.objective
    effort = Effort(spent + asked.runs, asked.draws, unchanged, objective, before, gain, tuple(left_out))
    return Explanation(*next_measurement(asked.scenario, asked.made), why, sensitive, effort, asked.made)

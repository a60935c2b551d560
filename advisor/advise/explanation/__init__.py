"""The explanation of an advice: why, where it switches, what it is sensitive to, and what to measure next."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from advisor.advise.explanation.next_measurement import NextMeasurement, next_measurement
from advisor.advise.explanation.optimum import alternatives, best_of
from advisor.advise.explanation.reasons import Other, Reasons, others, reasons
from advisor.advise.explanation.sensitivity import Sensitivity, sensitivities
from advisor.advise.explanation.simulations import OutOfRuns, Simulations
from advisor.advise.explanation.switch_points import Switches, SwitchPoint, switches_of_load, switches_of_size
from advisor.advise.recommendation import Recommendation
from simulator import Configuration, Scenario, notebook

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

BETTER = 0.005
"""Regret of the unchanged scenario from which on the better partition is told."""
MOST_RUNS = 200_000
"""Simulated runs that an explanation may take by default."""


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
    better: Configuration | None
    """What it found there, if that is half a percent faster: the advice itself can be bettered."""
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
        told = notebook.facts({"measure next": None if best is None else best.parameter, "simulated runs": self.runs})
        return notebook.page("Why the advice is as it is", *parts, told, warnings=self.left_out)

    def to_dict(self) -> dict[str, Any]:
        """The fields `why`, `switch_points`, `sensitivity`, `measure_next` and `explanation` of an advice."""
        return {
            "why": None if self.why is None else self.why.to_dict(),
            "switch_points": [one.to_dict() for one in self.switch_points],
            "sensitivity": [one.to_dict() for one in self.sensitivity],
            "measure_next": self.measure_next.to_dict(),
            "explanation": {
                "simulated_runs": self.runs,
                "most_runs": self.most_runs,
                "replications": self.replications,
                "search_regret": self.search_regret,
                "better_partition": None if self.better is None else list(self.better.partition),
                "left_out": list(self.left_out),
            },
        }


def explain(scenario: Scenario, recommendation: Recommendation, *, most_runs: int = MOST_RUNS) -> Explanation:
    """Ask the simulator about a recommended configuration, everything on the same draws.

    Regrets are against the best that a short search finds in the changed scenario on the same draws, by mean makespan.

    Parameters
    ----------
    scenario
        What the recommendation is for; seed and replications are the recommendation's.
    most_runs
        Simulated runs (a configuration in a replication) that may be spent; what they do not suffice for is left out.
    """
    runs, chosen = recommendation.runs, recommendation.configuration
    drawn = _replications(scenario, runs.makespan_ticks.shape[1])
    scenario = replace(scenario, seed=runs.seed, replications=drawn)
    simulations = Simulations(limit=most_runs, replications=drawn, seed=runs.seed)
    left_out: list[str] = []
    why, unchanged, better = None, None, None
    try:
        why = reasons(scenario, recommendation, simulations)
        why = replace(why, others=others(scenario, recommendation, simulations))
    except OutOfRuns:
        left_out.append("why" if why is None else "other PEs")
    with suppress(OutOfRuns):
        kept_s = float(simulations.makespans_s(scenario, chosen).mean())
        best = best_of(scenario, simulations, [chosen, *alternatives(scenario, chosen)])
        unchanged = max(0.0, kept_s / best.mean_s - 1)
        better = best.configuration if unchanged >= BETTER else None
    sensitive, missing = sensitivities(scenario, chosen, simulations)
    measure = next_measurement(scenario, chosen, simulations, least=unchanged or 0.0)
    switches = tuple(find(scenario, chosen, simulations) for find in (switches_of_load, switches_of_size))
    left_out += [f"sensitivity to the {name}" for name in missing]
    return Explanation(
        why,
        switches,
        sensitive,
        measure,
        simulations.spent,
        most_runs,
        simulations.replications,
        unchanged,
        better,
        tuple(left_out),
    )


def _replications(scenario: Scenario, replications: int) -> int:
    """One where nothing is drawn: all would be alike."""
    return 1 if scenario.deterministic else replications

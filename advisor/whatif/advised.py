"""What a sweep asks of a point where work is divided again: the configuration recommended there, and what runs now."""

from dataclasses import dataclass
from typing import Any, ClassVar

from advisor.advise.recommendation import recommend
from advisor.advise.strategies import usual_vary
from simulator import AS_NOW, Scenario, ScenarioError, documents, idle_cores
from simulator.experiments.sweep import Ask, simulated, times_of

ADVISED, EQUAL = "advised", "equal"
NOW = {AS_NOW: "as now", EQUAL: "in equal shares"}
"""What stands beside it, in words: the first of these that was compared."""


@dataclass(frozen=True)
class PointAdvice:
    """What is recommended at a point."""

    recommended: str
    varied: tuple[str, ...]
    partition: tuple[int, ...]
    pes: tuple[str, ...]
    idle: str | None
    """Cores that it leaves idle, as a sentence."""

    @property
    def shares(self) -> list[str]:
        """Who gets how much."""
        return [f"{pe} {part}" for pe, part in zip(self.pes, self.partition, strict=True)]


@dataclass(frozen=True)
class Advised:
    """Advice for a point: makespans of what is recommended and of what runs now, on the point's draws."""

    runs: int | None = None
    """Simulated runs that each search of it may take; None: as many as it wants."""
    name: ClassVar[str] = ADVISED

    def __call__(self, scenario: Scenario, threads: int) -> dict[str, Any]:  # noqa: ARG002 - the question's form
        """The reference engine does not confirm it: that would take longer than all the rest."""
        recommendation = recommend(scenario, vary=usual_vary(scenario), runs=self.runs, confirm=0)
        runs, chosen = recommendation.runs, recommendation.configuration
        names = {ADVISED: chosen.name}
        if (now := next((name for name in NOW if name in recommendation.baselines), None)) is not None:
            names[now] = recommendation.strategies.also.get(now, now)
        pes, idle = scenario.platform.pes, idle_cores(scenario, chosen)
        advice = PointAdvice(
            chosen.name,
            recommendation.varied,
            tuple(map(int, chosen.partition)),
            tuple(pes[place].name for place in chosen.placement),
            None if idle is None else idle.text,
        )
        warnings = [*scenario.with_configurations((chosen,)).warnings, *recommendation.strategies.left_out]
        return {**times_of(runs, names), "advice": documents.to_dict(advice), "warnings": warnings}


advised = Advised()


def asking(runs: int | None, *, advise: bool) -> Ask:
    """What is asked of each point: advice, for which each search may take so many runs, or its own configurations."""
    if runs is not None and not advise:
        raise ScenarioError("--runs: nothing is divided again here, so nothing is searched; leave it out")
    return simulated if not advise else advised if runs is None else Advised(runs)

"""What a sweep asks of a point where work is divided again: the configuration recommended there, and what runs now."""

from typing import Any

from advisor.advise.recommendation import recommend
from advisor.advise.strategies import usual_vary
from simulator import AS_NOW, Scenario

ADVISED, EQUAL = "advised", "equal"
NOW = {AS_NOW: "as now", EQUAL: "in equal shares"}
"""What stands beside it, in words: the first of these that was compared."""


def advised(scenario: Scenario, threads: int) -> dict[str, Any]:  # noqa: ARG001 - the question's form
    """Advice for a point: makespans of what is recommended and of what runs now, on the point's draws.

    The reference engine does not confirm it: that would take longer than all the rest.
    """
    recommendation = recommend(scenario, vary=usual_vary(scenario), confirm=0)
    runs, chosen = recommendation.runs, recommendation.configuration
    names = {ADVISED: chosen.name}
    if (now := next((name for name in NOW if name in recommendation.baselines), None)) is not None:
        names[now] = recommendation.strategies.also.get(now, now)
    places = {name: runs.configurations.index(of) for name, of in names.items()}
    pes = scenario.platform.pes
    return {
        "configurations": [
            {"name": name, "tick_s": runs.tick_s, "makespan_ticks": runs.makespan_ticks[place].tolist()}
            for name, place in places.items()
        ],
        "deterministic": runs.deterministic,
        "truths": runs.truth_count,
        "advice": {
            "recommended": chosen.name,
            "varied": list(recommendation.varied),
            "partition": list(chosen.partition),
            "pes": [pes[place].name for place in chosen.placement],
        },
        "warnings": list(scenario.with_configurations((chosen,)).warnings),
    }

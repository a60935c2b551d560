"""What a sweep asks of a point with `--advise`: the configuration recommended there, and the equal split."""

from typing import Any

from advisor.advise.recommendation import recommend
from advisor.advise.strategies import usual_vary
from simulator import Scenario

ADVISED, EQUAL = "advised", "equal"


def advised(scenario: Scenario, threads: int) -> dict[str, Any]:  # noqa: ARG001 - the question's form
    """Advice for a point: makespans of what is recommended and of the equal split, on the point's draws.

    The reference engine does not confirm it: that would take longer than all the rest.
    """
    recommendation = recommend(scenario, vary=usual_vary(scenario), confirm=0)
    runs, chosen = recommendation.runs, recommendation.configuration
    names = {ADVISED: chosen.name}
    if EQUAL in recommendation.baselines:
        names[EQUAL] = recommendation.strategies.also.get(EQUAL, EQUAL)
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

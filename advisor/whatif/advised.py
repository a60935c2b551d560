"""What a sweep asks of a point with `--advise`: the configuration recommended there, and the equal split beside it."""

from typing import Any

from advisor.recommendation import recommend
from advisor.strategies import certain, usual_vary
from simulator import Scenario, ScenarioError, read_template
from simulator.sweep import Plan

ADVISED, EQUAL = "advised", "equal"
_DRAWN_BY = ("load", "speed", "trace", "resource", "kernel", "application.name")
"""Parts of paths that may bring in what is drawn."""


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
        "advice": {
            "recommended": chosen.name,
            "varied": list(recommendation.varied),
            "partition": list(chosen.partition),
            "pes": [pes[place].name for place in chosen.placement],
        },
        "warnings": list(scenario.with_configurations((chosen,)).warnings),
    }


def nothing_drawn(plan: Plan) -> bool:
    """Whether it is known that every replication is the same at all points; False where it is not known."""
    if any(word in path for path in plan.before for word in _DRAWN_BY):
        return False
    if any(isinstance(value, dict | list) for point in plan.points for value in point.values.values()):
        return False
    try:
        scenario = read_template(plan.path).divided_equally().scenario(oversized=True)
        return all(pe.resource is None for pe in scenario.platform.pes) and certain(scenario)
    except ScenarioError:
        return False

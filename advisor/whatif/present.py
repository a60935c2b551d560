"""What a scenario has at the fields that a what-if varies, defaults that its file leaves unsaid included."""

from typing import Any

from advisor.whatif.advised import advised
from simulator import ApportionError, dump_scenario, read_template
from simulator.experiments.sweep import Plan

MOST_TRIED = 12
"""Values of a field that are tried: each takes as long as reading the scenario."""


def present_values(plan: Plan) -> dict[str, Any]:
    """The value at each varied path; None where it is a default that no value asked for agrees with.

    A value is the default if the resolved scenario with it is that without it.
    """
    found = dict(plan.before)
    for path in (path for path, value in plan.before.items() if value is None):
        asked = {
            change: point.values[path]
            for point in plan.points[1:]
            for change, of in zip(point.changes, point.values, strict=True)
            if of == path
        }
        for change, value in list(asked.items())[:MOST_TRIED]:
            if _changes_nothing(plan, change):
                found[path] = value
                break
    return found


def _changes_nothing(plan: Plan, change: str) -> bool:
    try:
        template = read_template(plan.path)
        if plan.ask is advised:
            template = template.divided_equally()
        return dump_scenario(template.scenario([change], oversized=plan.oversized)) == plan.resolved
    except ApportionError:
        return False

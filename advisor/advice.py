"""The document of an advice: what `apportion advise` prints and writes."""

from typing import Any

from advisor.recommendation import Recommendation
from simulator import Scenario, provenance


def advice_document(scenario: Scenario, recommendation: Recommendation) -> dict[str, Any]:
    """Plain data for JSON and for `report.render_advice`.

    Parameters
    ----------
    scenario
        What the recommendation is for.
    """
    seed, replications = recommendation.runs.seed, recommendation.runs.makespan_ticks.shape[1]
    application = scenario.application
    return {
        "format": 1,
        "command": "advise",
        "application": {
            "name": application.name,
            "kernel": application.kernel,
            "parameters": dict(application.parameters),
        },
        "pes": [pe.name for pe in scenario.platform.pes],
        "recommended": recommendation.configuration.name,
        "partition": list(recommendation.configuration.partition),
        "baselines": recommendation.to_dict(),
        "replications": replications,
        "seed": seed,
        "warnings": list(scenario.with_configurations(recommendation.candidates).warnings),
        "provenance": provenance.provenance(seed=seed, inputs=scenario.inputs),
    }

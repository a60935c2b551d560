"""Documents as commands hand them to the page, from shipped scenarios."""

from functools import cache
from pathlib import Path

from advisor.advise.advice import application_facts
from advisor.report.illustrated import compared, illustrated
from simulator import load_scenario, run

TUTORIAL = Path(__file__).parents[2] / "scenarios" / "tutorial"


@cache
def simulated(name="shared-pes.yaml", replications=None, changes=()):
    """What `simulate -o` shows of a tutorial's scenario."""
    scenario = load_scenario(TUTORIAL / name, changes=changes)
    runs = run(scenario, replications=replications, engine="process")
    judged = compared(scenario, runs)
    document = {
        "command": "simulate",
        "application": application_facts(scenario),
        "pes": [pe.name for pe in scenario.platform.pes],
        "engine": runs.engine,
        "replications": int(runs.makespan_ticks.shape[1]),
        "seed": runs.seed,
        "deterministic": runs.deterministic,
        "configurations": [
            {
                "name": configuration.name,
                "processes": [
                    {"process": process, "pe": scenario.platform.pes[place].name, **spent}
                    for process, (place, spent) in enumerate(
                        zip(configuration.placement, runs.breakdown(configuration.name), strict=True)
                    )
                ],
            }
            for configuration in scenario.configurations
        ],
        "changes": [],
        "extrapolation": [],
        "warnings": [],
        **judged,
    }
    return scenario, runs, illustrated(document, scenario, runs, (judged["recommended"], *runs.configurations))

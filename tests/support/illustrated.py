"""Documents as commands hand them to the page, from shipped scenarios."""

from functools import cache
from pathlib import Path

from advisor.report.illustrated import illustration
from advisor.report.simulation import compared, simulation_of
from simulator import documents, load_scenario, run

TUTORIAL = Path(__file__).parents[2] / "scenarios" / "tutorial"


@cache
def simulated(name="shared-pes.yaml", replications=None, changes=()):
    """What `simulate -o` shows of a tutorial's scenario."""
    scenario = load_scenario(TUTORIAL / name, changes=changes)
    runs = run(scenario, replications=replications, engine="process")
    judged = compared(scenario, runs)
    document = documents.to_dict(simulation_of(scenario, runs)) | documents.to_dict(judged)
    return scenario, runs, document | illustrated(scenario, runs, (judged.recommended, *runs.configurations))


def illustrated(scenario, runs, names):
    """What a page shows beyond the document."""
    return documents.to_dict(illustration(scenario, runs, names))

"""Documents as commands hand them to the page, from shipped scenarios."""

from functools import cache
from pathlib import Path

from advisor.report.illustrated import illustration
from advisor.report.picture import reference
from advisor.report.simulation import ShownSimulation, compared, simulation_of, simulation_page
from simulator import documents, load_scenario, run

TUTORIAL = Path(__file__).parents[2] / "scenarios" / "tutorial"


@cache
def simulated(name="shared-pes.yaml", replications=None, changes=()):
    """What `simulate -o` shows of a tutorial's scenario."""
    scenario = load_scenario(TUTORIAL / name, changes=changes)
    runs = run(scenario, replications=replications, engine="process")
    judged = compared(scenario, runs)
    document = documents.to_dict(simulation_of(scenario, runs)) | documents.to_dict(judged)
    return (
        scenario,
        runs,
        document | illustrated(scenario, runs, (judged.recommended, *runs.configurations), before=reference(judged)),
    )


@cache
def simulated_page(name="shared-pes.yaml"):
    """The page of `simulate -o`, with the platform."""
    scenario, runs, _ = simulated(name)
    judged = compared(scenario, runs)
    drawn = illustration(scenario, runs, (judged.recommended, *runs.configurations), before=_name(reference(judged)))
    return simulation_page(ShownSimulation(simulation_of(scenario, runs), judged, drawn))


def _name(strategy):
    return "" if strategy is None else strategy.name


def illustrated(scenario, runs, names, *, before=None):
    """What a page shows beyond the document, but for the platform."""
    drawn = documents.to_dict(illustration(scenario, runs, names, before=_name(before)))
    return {name: value for name, value in drawn.items() if name != "platform"}

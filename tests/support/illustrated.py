"""Simulations as commands hand them to the page, of shipped scenarios."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from advisor.report.illustrated import Illustration, illustration
from advisor.report.picture import reference
from advisor.report.simulation import Simulation, compared, simulation_of, simulation_page
from advisor.results import Compared
from simulator import load_scenario, run

TUTORIAL = Path(__file__).parents[2] / "scenarios" / "tutorial"


@dataclass(frozen=True)
class Shown:
    """What the page of a simulation is made of."""

    simulation: Simulation
    compared: Compared
    illustration: Illustration

    @property
    def page(self):
        return simulation_page(self.simulation, self.compared, self.illustration)


@cache
def simulated(name="shared-pes.yaml", replications=None):
    """A tutorial's scenario, its runs, and what `simulate -o` shows of them."""
    scenario = load_scenario(TUTORIAL / name)
    runs = run(scenario, replications=replications, engine="process")
    judged = compared(scenario, runs)
    before = reference(judged)
    names = (judged.recommended, *runs.configurations)
    drawn = illustration(scenario, runs, names, before="" if before is None else before.name)
    return scenario, runs, Shown(simulation_of(scenario, runs), judged, drawn)


def simulated_page(name="shared-pes.yaml", replications=None):
    """The page of `simulate -o`."""
    return simulated(name, replications)[2].page

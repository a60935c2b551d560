"""Which grid of processes a configuration should form: all that the application can use, simulated on common draws."""

from dataclasses import dataclass, replace

import numpy as np

from advisor.advise.objectives import Objective, statistic
from simulator import Configuration, Scenario
from simulator.experiments.sweep import run_or_recall


@dataclass(frozen=True)
class GridChoice:
    """The configuration with the best grid, and what every grid takes."""

    configuration: Configuration
    """Named as the one that was asked about; itself where the application knows no other grid."""
    objective_s: dict[tuple[int, int], float]
    """Of each grid, (rows, columns), the flattest first; empty where the application knows no grids."""


def grids_of(scenario: Scenario, configuration: Configuration) -> tuple[Configuration, ...]:
    """The configuration on each grid that its number of processes can form, the units divided as each grid needs.

    Processes stay where they are; the names say the grid. None where the application knows no grids.
    """
    if scenario.application.prepared is not None or scenario.application.written is not None:
        return ()
    work = scenario.application.work
    return tuple(
        replace(
            configuration,
            name=f"{configuration.name}, {shape[0]} x {shape[1]}",
            partition=work.fitting(configuration.partition, shape),
            grid=shape,
        )
        for shape in work.grids(len(configuration.partition))
    )


def best_grid(
    scenario: Scenario,
    configuration: Configuration,
    *,
    objective: Objective = "mean",
    replications: int | None = None,
) -> GridChoice:
    """The grid with the least objective, all simulated on the scenario's draws; the flattest of equals.

    The configuration as it is takes part, so the choice is never worse on these draws; it wins where it is as good.

    Parameters
    ----------
    replications
        The scenario's by default.
    """
    candidates = grids_of(scenario, configuration)
    if not candidates:
        return GridChoice(configuration, {})
    asked = scenario.with_configurations((configuration, *candidates))
    runs = run_or_recall(asked, replications=replications or scenario.replications)
    found = statistic(runs.makespan_s, objective)
    place = int(np.argmin(found))
    objective_s = {one.grid: float(value) for one, value in zip(candidates, found[1:], strict=True) if one.grid}
    best = configuration if place == 0 else replace(candidates[place - 1], name=configuration.name)
    return GridChoice(best, objective_s)

"""The simulated runs of an explanation: all on the same draws, counted, and no more than allowed."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator import Configuration, RunSet, Scenario
from simulator.experiments.sweep import run_or_recall

MOST_REPLICATIONS = 40
"""Replications that questions are asked with; the recommendation's own figures have all of its."""


class OutOfRuns(Exception):  # noqa: N818 - no fault: what is left out is told
    """The next simulation would pass the limit."""


class Simulations:
    """Runs scenarios and counts: one configuration in one replication is one run."""

    def __init__(self, *, limit: int, replications: int, seed: int) -> None:
        self.limit, self.spent = limit, 0
        self.replications, self.seed = min(replications, MOST_REPLICATIONS), seed

    def runs(self, scenario: Scenario, configurations: tuple[Configuration, ...], *, logged: int = 0) -> RunSet:
        """Run them in the first replications; names do not matter.

        Raises
        ------
        OutOfRuns
            If there are not enough left.
        """
        replications = min(self.replications, logged) if logged else self.replications
        needed = replications * len(configurations)
        if self.spent + needed > self.limit:
            raise OutOfRuns
        self.spent += needed
        named = tuple(replace(one, name=f"{place}") for place, one in enumerate(configurations))
        asked = scenario.with_configurations(named)
        return run_or_recall(asked, replications=replications, seed=self.seed, log_replications=logged)

    def makespans_s(self, scenario: Scenario, configuration: Configuration) -> NDArray[np.float64]:
        """Of one configuration; (replication,)."""
        return np.asarray(self.runs(scenario, (configuration,)).makespan_s[0])

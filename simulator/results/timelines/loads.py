"""The loads of a replication over simulated time, as PEs meet them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.results.timelines.counters import load_points
from simulator.scenario_file.draws import draw
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.truths import of_replication

__all__ = ["load_profiles"]

Floats = NDArray[np.float64]


def load_profiles(scenario: Scenario, *, replication: int, end_s: float, most: int) -> dict[str, tuple[Floats, Floats]]:
    """Of each PE with a load times in seconds of the run, and the load (or the share left) from each of them on.

    Parameters
    ----------
    scenario
        With the seed and the number of truths of the run.
    replication
        Its number decides where in their traces the loads start.
    end_s
        How long the run is; beyond `most` changes, means over equal steps are given.
    """
    scenario = of_replication(scenario, replication)
    starts_s = draw(replace(scenario, replications=1), first=replication).load_starts_s[0]
    return {
        pe.name: load_points(pe.load.trace, float(start_s), end_s, most)
        for pe, start_s in zip(scenario.platform.pes, starts_s, strict=True)
        if pe.load is not None and end_s > 0
    }

"""Objectives: the one number that a configuration is judged by, from its makespans."""

from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from simulator import ScenarioError

Objective = Literal["mean", "p95", "worst"]
"""Mean, 95 % quantile or largest makespan over replications; least is best."""


def statistic(makespans_s: NDArray[np.float64], objective: Objective) -> NDArray[np.float64]:
    """The objective over the last axis, replications; seconds."""
    if objective == "mean":
        return np.asarray(np.mean(makespans_s, axis=-1))
    if objective == "p95":
        return np.asarray(np.quantile(makespans_s, 0.95, axis=-1))
    return np.asarray(np.max(makespans_s, axis=-1))


def check_objective(objective: str) -> Objective:
    """The objective of that name.

    Raises
    ------
    ScenarioError
        If there is none, with those that there are.
    """
    for known in get_args(Objective):
        if objective == known:
            return cast("Objective", known)
    raise ScenarioError(f"objective: {objective!r} found, one of {', '.join(get_args(Objective))} allowed")

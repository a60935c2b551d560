"""Objectives: the one number that a configuration is judged by, from its makespans."""

from collections.abc import Sequence
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from advisor.results import NO_TIMES
from simulator import Configuration, Scenario, ScenarioError

Objective = Literal["mean", "p95", "worst", "cost", "energy"]
"""Mean, 95 % quantile or largest makespan over replications (where there is doubt the largest mean of a truth), or mean
cost or energy of a run; least is best."""
HOUR_S = 3600


def statistic(
    makespans_s: NDArray[np.float64], objective: Objective, truths: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """The objective over the last axis, replications, of seconds (for cost and energy: of what each run takes).

    `truths`: number of the truth of each replication; None where nothing is doubted. The worst is then the largest of
    the truths' means, else the largest replication; the other objectives are over truths and noise at once.
    """
    if over_runs(objective) == "mean":
        return np.asarray(np.mean(makespans_s, axis=-1))
    if objective == "p95":
        return np.asarray(np.quantile(makespans_s, 0.95, axis=-1))
    if truths is None:
        return np.asarray(np.max(makespans_s, axis=-1))
    _, places = np.unique(truths, return_inverse=True)
    order = np.argsort(places, kind="stable")
    runs = np.bincount(places)
    starts = np.concatenate(([0], np.cumsum(runs)[:-1]))
    means = np.add.reduceat(makespans_s[..., order], starts, axis=-1) / runs
    return np.asarray(np.max(means, axis=-1))


def over_runs(objective: Objective) -> Literal["mean", "p95", "worst"]:
    """What of all replications an objective is; of cost and energy the mean."""
    return "p95" if objective == "p95" else "worst" if objective == "worst" else "mean"


def check_objective(objective: str) -> Objective:
    """The objective of that name.

    Raises ScenarioError if there is none, with those that there are.
    """
    for known in get_args(Objective):
        if objective == known:
            return cast("Objective", known)
    raise ScenarioError(f"objective: there is no {objective!r}; name one of {', '.join(get_args(Objective))}")


def rates_of(scenario: Scenario, configurations: Sequence[Configuration], objective: Objective) -> NDArray[np.float64]:
    """What a second of each configuration counts for: 1 where time is the objective, else its cost or watts.

    Raises ScenarioError if cost or energy is asked for and PEs or nodes do not all say theirs.
    """
    if objective not in NO_TIMES:
        return np.ones(len(configurations))
    if objective not in (known := rates(scenario)):
        said_where = {"cost": "`price: 2.50` (per hour) with the nodes or `cost: 0.02` (per second) with the PEs"}
        field = said_where.get(objective, "`power: 150W` with the PEs")
        raise ScenarioError(f"objective: no {objective} of anything is known; say {field}")
    return np.array([rate_of(scenario, one, known[objective]) for one in configurations])


def rates(scenario: Scenario) -> dict[str, NDArray[np.float64]]:
    """Cost per second and watts of each PE and, for what a node takes as a whole, of each node after them.

    Raises ScenarioError if some PEs or nodes say theirs and others do not.
    """
    platform, found = scenario.platform, {}
    nodes = [None if node.price_per_hour is None else node.price_per_hour / HOUR_S for node in platform.known_nodes]
    for of, field, name in (("cost", "cost_per_s", "cost"), ("energy", "power_w", "power")):
        said = [getattr(pe, field) for pe in platform.pes]
        whole = nodes if of == "cost" else [None] * len(nodes)
        if all(value is None for value in (*said, *whole)):
            continue
        for place, value in enumerate(said):
            if value is None and whole[platform.node_of[place]] is None:
                asked = f"a {name} for each PE" + (", or a price for its node" if of == "cost" else "")
                raise ScenarioError(
                    f"platform: PE {platform.pes[place].name} has no {name}, others have one: say {asked}"
                )
        found[of] = np.array([value or 0.0 for value in (*said, *whole)], dtype=np.float64)
    return found


def rate_of(scenario: Scenario, one: Configuration, per_second: NDArray[np.float64]) -> float:
    """What a second of a configuration counts for: all PEs that take part (the master's, hosts of GPUs), their nodes.

    `per_second`: of `rates`.
    """
    master, platform = scenario.application.work.has_master, scenario.platform
    placed = zip(one.placement, one.partition, strict=True)
    used = {pe for process, (pe, units) in enumerate(placed) if units or (master and process == 0)}
    taken = sorted(used | {host for gpu, host in platform.gpu_hosts.items() if gpu in used})
    nodes = sorted({len(platform.pes) + int(platform.node_of[pe]) for pe in taken})
    return float(per_second[[*taken, *nodes]].sum())

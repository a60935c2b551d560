"""Quotas of control groups in ticks: their PEs, what they grant in each period, and when periods begin."""

from dataclasses import dataclass, replace

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.engines.costs.ticks import Ticks, to_ticks
from simulator.platform.nodes import Platform
from simulator.scenario_file.truths import Draws


@dataclass(frozen=True)
class Quotas:
    """Control groups that grant less than their PEs have; G groups."""

    members: tuple[tuple[int, ...], ...]
    """PEs of each group, in index order."""
    budgets: Ticks
    """Ticks of processor time in each period; (G,)."""
    periods: Ticks
    """(G,)."""
    phases: Ticks
    """How much of its period each group has behind it at tick 0; (replication, G)."""

    def of(self, rows: slice) -> "Quotas":
        """Of some replications."""
        return replace(self, phases=self.phases[rows])


def quotas_of(platform: Platform, draws: Draws, *, polls: bool, tick_s: float) -> Quotas | None:
    """The quotas of a platform; None where none grants less than its PEs have.

    Raises ScenarioError if a program polls on PEs that share a quota: who waits could use it up for ever.

    `draws`: of the replications.
    """
    members, budgets, periods = [], [], []
    for quota, pes in platform.quotas:
        cores, period = sum(platform.pes[pe].cores for pe in pes), int(to_ticks(quota.period_s, tick_s))
        budget = int(to_ticks(quota.cpu * quota.period_s, tick_s))
        if budget < period * cores:
            if polls and len(pes) > 1:
                where = f"platform: PEs {platform.pes[pes[0]].name} and {platform.pes[pes[1]].name} share a quota"
                raise ScenarioError(f"{where}, and the program polls while it waits; give each PE a quota of its own")
            members.append(pes)
            budgets.append(budget)
            periods.append(period)
    if not members:
        return None
    ticks = np.array(periods, dtype=np.int64)
    shape = draws.load_starts_s.shape[0], len(members)
    places = np.zeros(shape) if draws.quota_places is None else draws.quota_places[:, [pes[0] for pes in members]]
    phases = np.minimum(np.floor(places * ticks).astype(np.int64), ticks - 1)
    return Quotas(tuple(members), np.array(budgets, dtype=np.int64), ticks, phases)

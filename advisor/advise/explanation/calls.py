"""Calls of a recorded program: in which of them its ranks wait, and which ranks send each other most."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simulator import Configuration, RunSet, Scenario

UNKNOWN = "calls whose site is not known"
MOST_CALLS, MOST_TALKS = 8, 8


@dataclass(frozen=True)
class Call:
    """A call site."""

    site: str
    share: float
    """Part of the makespan that a rank spends there, messages and waiting for others, in the mean."""


@dataclass(frozen=True)
class Talk:
    """Two ranks that send each other messages."""

    ranks: tuple[int, int]
    sent_bytes: float
    """Both ways."""
    site: str
    """The call that sends most of it."""
    nodes: tuple[str, ...]
    """Where they are advised to be: one node, or two."""


@dataclass(frozen=True)
class Told:
    """What is to be known of the calls of a recorded program."""

    calls: tuple[Call, ...]
    """Those that take most first."""
    talks: tuple[Talk, ...]
    """Those that send most first."""


def told(scenario: Scenario, chosen: Configuration, logged: RunSet) -> Told | None:
    """What the log of an advised configuration says of calls; None for what is no recorded program."""
    if scenario.application.recorded is None:
        return None
    return Told(tuple(_calls(scenario, logged)), tuple(_talks(scenario, chosen)))


def _calls(scenario: Scenario, logged: RunSet) -> Iterable[Call]:
    work, spent = scenario.application.recorded, defaultdict[str, float](float)
    for (_, replication), log in logged.logs.items():
        makespan = int(logged.makespan_ticks[0, replication]) * len(logged.logs)
        for one in log:
            if work is not None and one.operation not in {"compute", "delay"}:
                site = work.site_of(one.process, one.index) or UNKNOWN
                spent[site] += (one.end_ticks - one.start_ticks) / makespan / work.units
    return sorted((Call(*one) for one in spent.items()), key=lambda one: -one.share)[:MOST_CALLS]


def _talks(scenario: Scenario, chosen: Configuration) -> Iterable[Talk]:
    work, platform = scenario.application.recorded, scenario.platform
    if work is None:
        return
    columns, action = work.expansion.columns, work.expansion.action
    rows = np.flatnonzero((columns.partner >= 0) & (columns.amount > 0))
    ends = np.sort([columns.process[rows], columns.partner[rows]], axis=0).T
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    pair, site = pair.reshape(-1), work.recording.site[action[rows]]
    sent = np.bincount(pair, columns.amount[rows], len(pairs))
    for place in np.argsort(-sent, kind="stable")[:MOST_TALKS].tolist():
        mine = pair == place
        most = int(np.argmax(np.bincount(site[mine] + 1, columns.amount[rows[mine]]))) - 1
        nodes = [platform.pes[chosen.placement[rank]].node for rank in pairs[place].tolist()]
        name = work.recording.described.sites[most] if most >= 0 else UNKNOWN
        one, other = pairs[place].tolist()
        yield Talk((one, other), float(sent[place]), name, tuple(dict.fromkeys(nodes)))

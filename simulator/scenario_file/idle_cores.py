"""Cores that no process of a configuration runs on: how many, and on which nodes, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.base.errors import some_names
from simulator.base.names import compact
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

MOST_GROUPS = 3
"""Groups of nodes that are alike, each of which is described."""


@dataclass(frozen=True)
class IdleCores:
    """What a configuration leaves idle."""

    configuration: str
    idle: int
    """Cores without a process, which host none on a GPU either; loads of other programs are not looked at."""
    cores: int
    text: str
    """A sentence without the configuration's name: `7 of 8 cores stay idle: node fast runs 1 process on 8`."""


def idle_cores(scenario: Scenario, configuration: Configuration) -> IdleCores | None:
    """The cores that a configuration leaves idle; None if a process runs on each."""
    platform = scenario.platform
    cores = np.array([0 if pe.gpu else pe.cores for pe in platform.pes], dtype=np.int64)
    processes = np.bincount(scenario.placed(configuration), minlength=cores.size)
    hosts = [host for gpu, host in platform.gpu_hosts.items() if processes[gpu]]
    used = np.minimum(cores, processes + np.bincount(hosts, minlength=cores.size))
    if np.array_equal(used, cores):
        return None
    count = len(platform.node_names)
    by_node = [np.bincount(platform.node_of, weights=each, minlength=count) for each in (processes, used, cores)]
    alike: dict[tuple[int, int, int], list[str]] = {}
    for name, figures in zip(platform.node_names, np.stack(by_node, axis=1).astype(np.int64).tolist(), strict=True):
        if figures[1] < figures[2]:
            alike.setdefault(tuple(figures), []).append(name)
    parts = [_group(names, *figures) for figures, names in list(alike.items())[:MOST_GROUPS]]
    rest = [len(names) for names in list(alike.values())[MOST_GROUPS:]]
    if rest:
        parts.append(f"{sum(rest)} more node{'s leave' if sum(rest) > 1 else ' leaves'} cores idle")
    idle = int(cores.sum() - used.sum())
    said = f"{idle} of {int(cores.sum())} cores {'stays' if idle == 1 else 'stay'} idle: {'; '.join(parts)}"
    return IdleCores(configuration.name, idle, int(cores.sum()), said)


def _group(names: Sequence[str], processes: int, used: int, cores: int) -> str:
    """What nodes run that are alike."""
    several = len(names) > 1
    who = f"nodes {compact(names) or some_names(names)} run" if several else f"node {names[0]} runs"
    what = "no process" if not processes else f"{processes} process{'es' if processes > 1 else ''}"
    there = f"{used} of {cores}" if 0 < used < processes else str(cores)
    return f"{who} {what} on {there} core{'s' if cores > 1 else ''}{' each' if several else ''}"

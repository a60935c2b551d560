"""Which rank of a real run is where and gets what: a configuration without the processes that have nothing to do."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from simulator import Configuration, Scenario, ScenarioError

HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names that every launcher takes as they are."""
ADVICE = " (say `host:` with the node)"


@dataclass(frozen=True)
class Rank:
    """One process of a real run."""

    host: str
    """What a launcher reaches the node by."""
    pe: str
    cpu: int | None
    """The logical processor that the PE stands for, where it is known."""
    first: int
    """Its first unit of work; ranks have consecutive units in order."""
    units: int
    cores: int = 1
    """Of the PE: its ranks take them in turns."""
    gpu: int | None = None
    """The number of its GPU on the host, where it has one."""


@dataclass(frozen=True)
class Layout:
    """All ranks, in order."""

    application: str
    ranks: tuple[Rank, ...]

    @cached_property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """Hosts with the number of ranks that follow one another there, in rank order."""
        return tuple((host, len(list(ranks))) for host, ranks in groupby(self.ranks, key=lambda rank: rank.host))

    @cached_property
    def rounds(self) -> tuple[tuple[str, int], ...]:
        """The first of these runs, which all others repeat; all where they do not."""
        runs, last = self.runs, len(self.runs) - 1
        for count in range(1, last + 1):
            again = [runs[place % count] for place in range(len(runs))]
            if again[:-1] == [*runs[:-1]] and again[-1][0] == runs[-1][0] and again[-1][1] >= runs[-1][1]:
                return runs[:count]
        return runs

    @property
    def scattered(self) -> bool:
        """Whether a host comes again before all others have come."""
        return len({host for host, _ in self.rounds}) < len(self.rounds)

    @cached_property
    def slots(self) -> dict[str, int]:
        """Ranks of each host, hosts in order of their first rank."""
        found: dict[str, int] = {}
        for host, count in self.runs:
            found[host] = found.get(host, 0) + count
        return found

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """Which of the cores of its PE each rank has, counted from 0: ranks of a PE take them in turns."""
        taken: Counter[tuple[str, str]] = Counter()
        found = []
        for rank in self.ranks:
            found.append(taken[rank.host, rank.pe] % rank.cores)
            taken[rank.host, rank.pe] += 1
        return tuple(found)

    @cached_property
    def cores(self) -> tuple[int, ...]:
        """The core of its host that each rank has.

        Where it is not known which core a PE begins with, PEs of a host take its cores in order.
        """
        firsts: dict[str, dict[str, int]] = {}
        taken: Counter[str] = Counter()
        found = []
        for rank, turn in zip(self.ranks, self.turns, strict=True):
            known = firsts.setdefault(rank.host, {})
            if rank.pe not in known:
                known[rank.pe] = taken[rank.host] if rank.cpu is None else rank.cpu
                taken[rank.host] += rank.cores
            found.append(known[rank.pe] + turn)
        return tuple(found)

    @property
    def gpus(self) -> dict[str, set[int]]:
        """GPUs in use of each host that has some."""
        found: dict[str, set[int]] = {}
        for rank in self.ranks:
            if rank.gpu is not None:
                found.setdefault(rank.host, set()).add(rank.gpu)
        return found

    @property
    def oversubscribed(self) -> bool:
        """Whether a PE has more ranks than cores."""
        busy = Counter((rank.host, rank.pe, rank.cores) for rank in self.ranks)
        return any(count > cores for (_, _, cores), count in busy.items())

    @property
    def units(self) -> int:
        """Units of work of all ranks."""
        return sum(rank.units for rank in self.ranks)


def layout_of(scenario: Scenario, configuration: Configuration) -> Layout:
    """The ranks of a configuration, on hosts that launchers can name.

    Raises ScenarioError if a host has a name that launchers do not take.
    """
    layout = ranks_of(scenario, configuration)
    check_hosts((rank.host for rank in layout.ranks), "platform: node", advice=ADVICE)
    return layout


def ranks_of(scenario: Scenario, configuration: Configuration) -> Layout:
    """The ranks of a configuration; a process without units is left out, but for a master, which is rank 0."""
    work = scenario.application.work
    hosts = {node.name: node.host or node.name for node in scenario.platform.known_nodes}
    platform, ranks, first = scenario.platform, [], 0
    numbers, seen = dict[int, int](), Counter[str]()
    for gpu in platform.gpu_hosts:
        numbers[gpu] = seen[platform.pes[gpu].node]
        seen[platform.pes[gpu].node] += 1
    for process, (units, place) in enumerate(zip(configuration.partition, configuration.placement, strict=True)):
        if units or (work.has_master and process == 0):
            pe, core = platform.pes[place], platform.pes[platform.gpu_hosts.get(place, place)]
            ranks.append(Rank(hosts[pe.node], pe.name, core.cpu, first, units, pe.cores, numbers.get(place)))
        first += units
    return Layout(scenario.application.name, tuple(ranks))


def check_hosts_of(scenario: Scenario) -> None:
    """Refuse, before anything is searched, nodes that no host file can name: what launchers do not take, and repeats.

    Raises ScenarioError with the first node of such a name.
    """
    nodes: dict[str, str] = {}
    for node in scenario.platform.known_nodes:
        host = node.host or node.name
        check_hosts([host], f"platform: node {node.name}", advice=ADVICE)
        if nodes.setdefault(host, node.name) != node.name:
            both = f"nodes {nodes[host]} and {node.name} have the same host {host!r}"
            raise ScenarioError(f"platform: {both}, which launchers take for one machine; say `host:` with each node")


def check_hosts(hosts: Iterable[str], place: str, *, advice: str = "") -> None:
    """Refuse the first name that launchers do not take.

    Raises ScenarioError with the place where it was found.
    """
    for host in dict.fromkeys(hosts):
        if not HOST.fullmatch(host):
            allowed = f"give letters, digits, dots and hyphens{advice}"
            raise ScenarioError(f"{place}: host is {host!r}; {allowed}")

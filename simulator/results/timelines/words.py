"""A run to be shown, and the words for its operations, messages and links."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from simulator.engines.faults import link_name
from simulator.platform.nodes import Platform
from simulator.programs.columns import COLLECTIVE_TAG, KIND_NAMES, Kind
from simulator.results.timelines.happened import Happened

NAMES = {int(kind): name for kind, name in KIND_NAMES.items()}

CATEGORIES = {
    Kind.COMPUTE: "working",
    Kind.FARM: "working",
    Kind.CUSTOM: "working",
    Kind.READ_WRITE: "disk",
    Kind.SEND: "message",
    Kind.RECV: "message",
    Kind.EXCHANGE: "message",
    Kind.BARRIER: "waiting",
    Kind.WAIT_UNTIL: "waiting",
    Kind.DELAY: "waiting",
}
OF_KIND = {int(kind): category for kind, category in CATEGORIES.items()}


@dataclass(frozen=True)
class View:
    """A run and where it goes in the file."""

    run: Happened
    platform: Platform
    load_starts_s: Sequence[float]
    """Where in its trace the load of each PE starts; (PE,)."""
    first_pid: int
    first_tid: int
    first_flow: int
    prefix: str
    """Of the names of its nodes: the configuration, where a file has several."""

    @property
    def prefix_id(self) -> str:
        """Of the ids of its processes' own tracks."""
        return f"{self.first_pid}."

    @cached_property
    def pid(self) -> list[int]:
        """Of each PE."""
        found: list[int] = (self.first_pid + self.platform.node_of).tolist()
        return found

    @property
    def network_pid(self) -> int:
        """Of the links."""
        return self.first_pid + len(self.platform.node_names)

    def route(self, row: int) -> str:
        """Links that an operation's bytes pass, in order; empty where nothing is said of links."""
        route = int(self.run.costs.route[0, row])
        return "" if route < 0 else self._routes[route]

    @cached_property
    def _routes(self) -> list[str]:
        names = [self.link(directed) for directed in self.run.costs.route_links.tolist()]
        return [" ".join(names[a:b]) for a, b in pairwise(self.run.costs.route_first.tolist())]

    def link(self, directed: int) -> str:
        """Name of a link or disk, with the direction where it has two."""
        links = self.platform.network.links
        name = link_name(self.platform, directed)
        if directed >= 2 * len(links):
            return name
        if self._named[name] > 1:
            name += f" {directed // 2}"
        return name if links[directed // 2].shared else f"{name} {('up', 'down')[directed % 2]}"

    @cached_property
    def _named(self) -> Counter[str]:
        """How many links have a name: programs in Python may name several alike."""
        return Counter(link.name for link in self.platform.network.links)

    @cached_property
    def customs(self) -> list[str]:
        """Names of the user's own operations."""
        return [name for name, _ in self.run.columns.customs]

    @cached_property
    def received(self) -> dict[int, int]:
        """Message of each operation that receives one."""
        return {row: message for message, row in enumerate(self.run.receives.tolist())}

    @property
    def end_s(self) -> float:
        """When the last operation ends."""
        return float(self.run.end.max(initial=0)) * self.run.tick_s


def details(view: View, row: int, kind: int) -> dict[str, Any]:
    """What an operation computes, sends or receives, by name."""
    columns = view.run.columns
    if kind == Kind.COMPUTE:
        return {"volume": columns.amount[row], "size": columns.size[row]}
    if kind == Kind.READ_WRITE:
        return {"bytes": columns.amount[row], "disk": view.route(row)}
    if kind == Kind.BARRIER:
        return {"processes": columns.barriers[columns.partner[row]]}
    found: dict[str, Any] = {}
    if kind in (Kind.SEND, Kind.EXCHANGE):
        found |= {"to": columns.partner[row], "bytes": columns.amount[row], "route": view.route(row)}
    if row in view.received:
        sender = view.run.sends[view.received[row]]
        found |= {"from": view.run.process[sender], "received_bytes": columns.amount[sender]}
    if columns.tag[row] == COLLECTIVE_TAG and kind in (Kind.SEND, Kind.RECV, Kind.EXCHANGE):
        found["collective"] = True
    return found

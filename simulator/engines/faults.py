"""What can go wrong in a run, in the words that both engines use."""

from collections.abc import Collection, Iterable

import numpy as np

from simulator.base.errors import ScenarioError, SimulationError, TraceError
from simulator.engines.costs import Costs
from simulator.platform.nodes import Platform
from simulator.programs.columns import Kind
from simulator.programs.program import ANY

__all__ = ["check_customs", "ended_trace", "link_name", "no_rate", "stalled", "stuck", "unreceived"]


def stuck(costs: Costs, name: str, waiting: Iterable[int]) -> SimulationError:
    """A deadlock.

    `waiting`: rows of the operations in which processes wait, one of each process that has not ended.
    """
    lines = []
    for row in sorted(waiting):
        process = int(costs.columns.process[row])
        where = f"process {process} waits in operation {costs.columns.index[row]}"
        lines.append(f"configuration {name}: deadlock: {where} ({describe(costs, row)})")
    return SimulationError(lines)


def unreceived(costs: Costs, name: str, rows: Iterable[int]) -> SimulationError:
    """Eager messages that nobody had received when all processes had ended; rows of their operations."""
    return SimulationError(
        [
            f"configuration {name}: process {costs.columns.process[row]}, operation {costs.columns.index[row]} "
            f"({describe(costs, row)}): received by nobody"
            for row in sorted(rows)
        ]
    )


def stalled(pe: str) -> SimulationError:
    """A PE that stands still for ever."""
    return SimulationError(f"PE {pe}: its load leaves nothing for ever; give a load that leaves a share at some time")


def ended_trace() -> TraceError:
    """A question about load after the end of a trace that ends."""
    return TraceError("load trace: it ends before the run does; give a longer one, or after_end `cycle` or `hold`")


def no_rate(link: str) -> SimulationError:
    """A link with more flows than its capacity has units."""
    return SimulationError(
        f"link {link}: there are more flows than it can carry at this tick; give it fewer, or a faster link"
    )


def link_name(platform: Platform, directed: int) -> str:
    """The link, or disk, that a directed link of `Costs.capacities` belongs to."""
    links = platform.network.links
    if directed < 2 * len(links):
        return links[directed // 2].name
    nodes, place = platform.known_nodes, directed - 2 * len(links)
    if place >= len(nodes):
        moved = np.flatnonzero(np.any(platform.host_links.of_pe == place - len(nodes), axis=1))
        return f"host link of {platform.pes[int(moved[0])].name}"
    disk = nodes[place].disk
    return "" if disk is None else disk.name


def check_customs(costs: Costs, known: Collection[str]) -> None:
    """Refuse operations of the user's own that nobody has defined."""
    for name, _ in costs.columns.customs:
        if name not in known:
            allowed = (
                f"give one of {', '.join(sorted(known))}" if known else "define it with `run(..., operations={...})`"
            )
            raise ScenarioError(f"program: nothing defines operation {name!r}; {allowed}")


def describe(costs: Costs, row: int) -> str:
    """An operation, for people."""
    columns = costs.columns
    partner, source, tag = int(columns.partner[row]), int(columns.source[row]), int(columns.tag[row])
    label = "a collective" if tag < 0 else f"tag {tag}"
    match Kind(columns.kind[row]):
        case Kind.SEND | Kind.POST_SEND:
            return f"send to process {partner}, {label}"
        case Kind.RECV | Kind.POST_RECV:
            return f"receive from {'any process' if partner == ANY else f'process {partner}'}, {label}"
        case Kind.EXCHANGE:
            return f"exchange: send to process {partner}, receive from process {source}, {label}"
        case Kind.BARRIER:
            return f"barrier of {columns.barriers[partner]} processes"
        case Kind.WAIT:
            request = f"request {source}: " if source >= 0 else ""
            return f"wait for {request}{describe(costs, _opened(costs, row))}"
        case kind:
            return kind.name.lower()


def _opened(costs: Costs, row: int) -> int:
    """The row of the post that a WAIT waits for: the one before it of the same process and request."""
    columns = costs.columns
    mine = np.arange(columns.first[columns.process[row]], row)
    posts = np.isin(columns.kind[mine], (Kind.POST_SEND, Kind.POST_RECV)) & (
        columns.source[mine] == columns.source[row]
    )
    return int(mine[posts][-1])

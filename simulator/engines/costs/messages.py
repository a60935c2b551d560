"""Messages, delays and disk transfers as ticks, routes and units to deliver.

`placement` is the PE of each process; (configuration, process).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.engines.costs.ticks import Ticks, rounded, to_ticks
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Platform
from simulator.programs.columns import Columns, Kind

# What a process waits for its PE before it takes part in a message: the time slices of the others there.


def turns_s(platform: Platform, columns: Columns, placement: Ticks) -> Floats | None:
    """Seconds until a process that waited is given its PE again, where PEs have time slices: a round of the others.

    The others are the mean load under the rule `fair`, and, if the program polls, the other processes of ours there.
    With c cores, l competitors and m runnable processes of ours that is max(0, l + m - c) / c slices, m = 1 if waiting
    processes leave the PE; (configuration, process), None where no PE has time slices.
    """
    pes = platform.pes
    slices_s = np.array([0.0 if pe.takes_turns else pe.slice_s for pe in pes])
    if not slices_s.any():
        return None
    competitors = np.array([_competitors(pe) if pe.slice_s else 0.0 for pe in pes])
    cores = np.array([pe.cores for pe in pes])
    takes_part = np.diff(columns.first) > 0
    ours = np.ones(placement.shape)
    if columns.polls:
        for row, places in enumerate(placement):
            ours[row] = np.maximum(1, np.bincount(places[takes_part], minlength=len(pes)))[places]
    ahead = np.maximum(0.0, competitors[placement] + ours - cores[placement])
    return np.asarray(slices_s[placement] * ahead / cores[placement])


def _competitors(pe: PE) -> float:
    """Mean number; not known under rules that say shares."""
    if pe.load is None or pe.load.rule != "fair":
        return 0.0
    return pe.load.trace.mean()


UNITS_PER_BYTE = 2**10
"""What a flow has to deliver is counted in these."""
MAX_BYTES = 2**50
SMALL = 2048
"""Nodes up to which pairs of nodes are numbered through a table of all pairs."""


@dataclass(frozen=True)
class MessageCosts:
    """What is sent, lowered; see `Costs`."""

    ticks: Ticks
    units: Ticks
    route: Ticks
    route_first: Ticks
    route_links: Ticks


@dataclass(frozen=True)
class Sent:
    """Messages and disk transfers of all configurations in one line; (configuration x operation,)."""

    row: Ticks
    operation: Ticks
    source: Ticks
    """Node."""
    destination: Ticks
    """Node; that of the source for a disk."""
    size_bytes: Floats
    disk: NDArray[np.bool_]
    """Whether it is a move to or from a disk or a GPU."""
    host_link: Ticks
    """Of a GPU over which it moves; -1 of all others."""

    @property
    def ends(self) -> tuple[Ticks, Ticks, Floats]:
        """Source, destination and bytes."""
        return self.source, self.destination, self.size_bytes


def message_costs(platform: Platform, columns: Columns, placement: Ticks, *, tick_s: float) -> MessageCosts:
    """The integer costs of all operations but computations.

    Raises ScenarioError for messages that are too large, and routes or disks that do not exist.
    """
    kind, network = columns.kind, platform.network
    moves = np.flatnonzero(columns.sends | (kind == Kind.READ_WRITE))
    if np.any(columns.amount[moves] > MAX_BYTES):
        raise ScenarioError(f"program: a message has more than {MAX_BYTES:.3g} bytes; send smaller ones")
    turns = turns_s(platform, columns, placement)
    aside = np.any(kind == Kind.READ_WRITE) or (platform.gpu_hosts and np.any(columns.directions >= 0))
    alike = network.topology is None and network.loopback is None and not aside and turns is None
    rows = 1 if alike else placement.shape[0]
    ticks = np.zeros((rows, kind.size), dtype=np.int64)
    for sleep, converted in ((Kind.DELAY, to_ticks), (Kind.WAIT_UNTIL, rounded)):
        asleep = np.flatnonzero(kind == sleep)
        ticks[:, asleep] = converted(columns.amount[asleep], tick_s)
    if alike or not moves.size:
        if moves.size:
            ticks[0, moves] = to_ticks(network.within.time_s(columns.amount[moves]), tick_s)
        nothing = np.zeros((1, kind.size), dtype=np.int64)
        return MessageCosts(ticks, nothing, nothing - 1, np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    made = _routed(platform, columns, placement, moves, ticks=ticks, tick_s=tick_s)
    if turns is not None:
        sends = moves[(kind[moves] != Kind.READ_WRITE) & (columns.directions[moves] < 0)]
        made.ticks[:, sends] += rounded(turns[:, columns.partner[sends]], tick_s)
    return made


def alone_s(network: Network, sources: Ticks, destinations: Ticks, sizes_bytes: Floats) -> Floats:
    """Seconds of messages between processes on nodes, or on one node, that meet no others; (messages,)."""
    found, away = np.empty(sizes_bytes.size), sources != destinations
    found[~away] = network.within.time_s(sizes_bytes[~away])
    if network.topology is not None and np.any(away):
        nodes = int(max(sources.max(), destinations.max())) + 1
        pairs, pair = _numbered(sources[away] * nodes + destinations[away], nodes)
        found[away] = network.times_s(network.routes(pairs // nodes, pairs % nodes), pair, sizes_bytes[away])
    elif np.any(away):
        found[away] = (network.within if network.model is None else network.model).time_s(sizes_bytes[away])
    return found


def capacities(platform: Platform, *, tick_s: float) -> Ticks:
    """Per directed link, disk and host link: `round(bytes per tick * 2**50)`; zeros unless flows share them."""
    speeds = platform.speeds_of_links
    if platform.network.contention != "fair":
        return np.zeros(speeds.size, dtype=np.int64)
    return np.rint(np.minimum(speeds * tick_s * 2.0**50, 2.0**61)).astype(np.int64)


def _routed(
    platform: Platform, columns: Columns, placement: Ticks, moves: Ticks, *, ticks: Ticks, tick_s: float
) -> MessageCosts:
    network, nodes, count = platform.network, len(platform.node_names), columns.kind.size
    rows, flows = placement.shape[0], network.contention == "fair"
    units, route = np.zeros((rows, count), dtype=np.int64), np.full((rows, count), -1, dtype=np.int64)
    sent = sent_of(platform, columns, placement, moves)
    away = (sent.source != sent.destination) & ~sent.disk
    timed = ~sent.disk & ~(away & (flows and network.topology is not None))
    ticks[sent.row[timed], sent.operation[timed]] = to_ticks(
        alone_s(network, *(one[timed] for one in sent.ends)), tick_s
    )
    first, links = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if network.topology is not None and np.any(away):
        at = sent.row[away], sent.operation[away]
        pairs, pair = _numbered(sent.source[away] * nodes + sent.destination[away], nodes)
        routes = network.routes(pairs // nodes, pairs % nodes)
        first, links, route[at] = routes.first, routes.links, pair
        if flows:
            ticks[at], units[at] = _flow(routes.latencies_s[pair], sent.size_bytes[away], tick_s)
    if np.any(sent.host_link >= 0):
        first, links = _host_links(platform, sent, first, links, into=(ticks, units, route), tick_s=tick_s)
    if np.any(sent.disk & (sent.host_link < 0)):
        first, links = _disks(platform, sent, first, links, into=(ticks, units, route), tick_s=tick_s)
    return MessageCosts(ticks, units, route, first, links)


def sent_of(platform: Platform, columns: Columns, placement: Ticks, moves: Ticks) -> Sent:
    """What some operations send in all configurations."""
    rows = placement.shape[0]
    place = platform.node_of[placement]
    direction, process = columns.directions[moves], columns.process[moves]
    disk = (columns.kind[moves] == Kind.READ_WRITE) | (direction >= 0)
    partner = np.where(disk, process, columns.partner[moves])
    host_link = np.full((rows, moves.size), -1, dtype=np.int64)
    if platform.gpu_hosts:
        host_link[:, direction >= 0] = platform.host_links.of_pe[placement[:, process], direction][:, direction >= 0]
    return Sent(
        np.repeat(np.arange(rows), moves.size),
        np.tile(moves, rows),
        place[:, process].reshape(-1),
        place[:, partner].reshape(-1),
        np.tile(columns.amount[moves], rows),
        np.tile(disk, rows),
        host_link.reshape(-1),
    )


def _numbered(keys: Ticks, nodes: int) -> tuple[Ticks, Ticks]:
    """Distinct pairs of nodes, and the place among them of each key; a table of all pairs saves sorting."""
    if nodes > SMALL:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place
    seen = np.zeros(nodes * nodes, dtype=np.bool_)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    number = np.zeros(nodes * nodes, dtype=np.int64)
    number[distinct] = np.arange(distinct.size)
    return distinct, number[keys]


def _flow(latencies_s: Floats, sizes_bytes: Floats, tick_s: float) -> tuple[Ticks, Ticks]:
    """Latency and units; what delivers nothing lasts at least a tick."""
    empty = sizes_bytes == 0
    ticks = np.where((latencies_s > 0) | empty, to_ticks(latencies_s, tick_s), 0)
    return ticks, np.rint(sizes_bytes * UNITS_PER_BYTE).astype(np.int64)


def _host_links(
    platform: Platform, sent: Sent, first: Ticks, links: Ticks, *, into: tuple[Ticks, Ticks, Ticks], tick_s: float
) -> tuple[Ticks, Ticks]:
    """Moves to and from GPUs: routes of one link each, behind those of messages."""
    ticks, units, route = into
    known, moved = platform.host_links, sent.host_link >= 0
    used, place = np.unique(sent.host_link[moved], return_inverse=True)
    at, size_bytes = (sent.row[moved], sent.operation[moved]), sent.size_bytes[moved]
    route[at] = first.size - 1 + place
    if platform.network.contention == "fair":
        latency = np.array([link.latency_s for link in known.links])[sent.host_link[moved]]
        ticks[at], units[at] = _flow(latency, size_bytes, tick_s)
    else:
        ticks[at] = to_ticks(known.times_s(sent.host_link[moved], size_bytes), tick_s)
    ends = first[-1] + np.arange(1, used.size + 1)
    behind = 2 * len(platform.network.links) + len(platform.node_names)
    return np.concatenate((first, ends)), np.concatenate((links, behind + used))


def _disks(
    platform: Platform, sent: Sent, first: Ticks, links: Ticks, *, into: tuple[Ticks, Ticks, Ticks], tick_s: float
) -> tuple[Ticks, Ticks]:
    """Transfers to disks: routes of one link each, behind those of messages."""
    ticks, units, route = into
    network: Network = platform.network
    mine = sent.disk & (sent.host_link < 0)
    node = sent.source[mine]
    used = np.unique(node)
    disks = [platform.known_nodes[number].disk for number in used.tolist()]
    for number, disk in zip(used.tolist(), disks, strict=True):
        if disk is None:
            raise ScenarioError(
                f"platform: node {platform.node_names[number]} has no disk, and the application does I/O; give it one"
            )
    place = np.searchsorted(used, node)
    latency = np.array([disk.latency_s for disk in disks if disk])[place]
    speed = np.array([disk.bandwidth_bytes_per_s for disk in disks if disk])[place]
    at, size_bytes = (sent.row[mine], sent.operation[mine]), sent.size_bytes[mine]
    route[at] = first.size - 1 + place
    if network.contention == "fair":
        ticks[at], units[at] = _flow(latency, size_bytes, tick_s)
    else:
        ticks[at] = to_ticks(latency + size_bytes / speed, tick_s)
    ends = first[-1] + np.arange(1, used.size + 1)
    return np.concatenate((first, ends)), np.concatenate((links, 2 * len(network.links) + used))

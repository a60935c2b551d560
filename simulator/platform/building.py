"""Platforms in a few lines of Python: nodes of some cores, what joins them, and loads at times of day."""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack, get_args

import numpy as np

from simulator.base import given, units
from simulator.base.errors import ScenarioError, some_names
from simulator.base.names import expanded
from simulator.models.load import DAY_S, AvailabilityRule, LoadTrace
from simulator.models.network import LinkModel, MessageModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import (
    ASSUMED_LOOPBACK,
    Bus,
    Contention,
    Link,
    Mesh,
    Network,
    Star,
    Topology,
    Torus,
    Tree,
)
from simulator.platform.nodes import PE, Load, Node, Platform, bands_of

A_LINK = "a Link, such as Link('10 GbE', '30us', '10 Gbit/s')"
TimeOfDay = str | datetime.time
"""`"13:00"`, `"9:30"`, `"13h"`, or a time of the `datetime` module."""
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


@dataclass(frozen=True)
class Nodes:
    """Nodes that are alike; `star`, `tree` and others join them."""

    pes: tuple[PE, ...]
    nodes: tuple[Node, ...]
    link: Link | None = None
    """Of each node, where it is not the one that all have."""

    def __repr__(self) -> str:
        names, pe = [node.name for node in self.nodes], self.pes[0]
        kernels = ", ".join(sorted(pe.speeds)) or "none"
        loaded = "" if pe.load is None else ", load"
        return f"Nodes({some_names(names)}: {pe.cores} cores each, kernels: {kernels}{loaded})"


Group = Nodes | PE | Sequence[Nodes | PE]
"""What can be joined: nodes, a PE that was made by hand, or several of them."""


def nodes(  # noqa: PLR0913 - all by name
    names: str,
    *,
    speeds: Mapping[str, SpeedBand | str | float],
    cores: int = 1,
    load: Load | None = None,
    memory: str | float | None = None,
    swap: str | float | None = None,
    power: str | float | None = None,
    price_per_hour: float | None = None,
    link: Link | None = None,
) -> Nodes:
    """Nodes that are alike.

    >>> nodes("fast[1-4]", cores=8, speeds={"stencil": "3 Gflop/s"})
    Nodes(fast1, fast2, fast3, fast4: 8 cores each, kernels: stencil)

    Raises ScenarioError if one of these is nothing of the kind.

    `names`: a name, or a pattern: `fast[1-4]` is four nodes.
    `speeds`: by kernel, of one core: a text such as `"3 Gflop/s"`, a number of units of volume per second, or a speed
    band.
    `cores`: processes that run side by side on each.
    `load`: background load of each: `busy(...)`, or `Load(read_trace(...), "fair")`.
    `memory`, `swap`, `power`: texts such as `"64 GiB"` and `"150W"`, or bytes and watts.
    `price_per_hour`: of a node, in a unit of yours.
    `link`: its own link, where not all nodes have the same.
    """
    given.check_name(names, where="nodes: names")
    where = f"nodes {names}"
    if link is not None:
        given.check_is(link, Link, where=f"{where}: link", give=A_LINK)
    bands = bands_of(speeds, where=where)
    try:
        all_names = expanded(names)
    except ScenarioError as error:
        raise ScenarioError(f"nodes: names: {error.lines[0]}") from None
    pes = tuple(PE(name, name, bands, load, cores=cores, power_w=power) for name in all_names)
    return Nodes(pes, tuple(Node(name, memory, swap, price_per_hour=price_per_hour) for name in all_names), link)


class Meeting(TypedDict, total=False):
    """What messages do on their way."""

    contention: Contention
    """`none` (they do not meet), `fifo` or `fair`; see `Network`."""
    eager: str | float
    """Messages up to this size do not wait for their receiver."""
    loopback: Link


def star(
    *groups: Group, link: Link | None = None, backbone: Link | None = None, **meeting: Unpack[Meeting]
) -> Platform:
    """Nodes with a link each to a switch that never fills; `backbone` is one that all messages pass.

    >>> fast = nodes("fast[1-2]", cores=8, speeds={"stencil": "3 Gflop/s"})
    >>> star(fast, link=Link("10 GbE", "30us", "10 Gbit/s"), contention="fair")
    Platform(2 PEs with 16 cores on 2 nodes, star, contention fair)

    Raises ScenarioError if a node has no link, or something is nothing of the kind.

    `groups`: what `nodes` made, or PEs made by hand.
    `link`: of each node that has none of its own.
    """
    joined = _Joined.of(groups)
    above = None if backbone is None else replace(_link(backbone, "star: backbone"), name="backbone", shared=True)
    return joined.platform(Star(joined.private(link, "star"), above), meeting)


def tree(*switches: Group, link: Link | None = None, uplink: Link, **meeting: Unpack[Meeting]) -> Platform:
    """Nodes on switches, a group on each, and an uplink from each switch to a core that never fills.

    >>> front = nodes("fast[1-2]", cores=8, speeds={"stencil": "3 Gflop/s"})
    >>> back = nodes("slow[1-4]", cores=4, speeds={"stencil": "1 Gflop/s"})
    >>> tree(front, back, link=Link("10 GbE", "30us", "10 Gbit/s"), uplink=Link("40 GbE", "10us", "40 Gbit/s"))
    Platform(6 PEs with 32 cores on 6 nodes, tree, contention none)
    """
    joined, switch_of = _Joined.of(switches), list[int]()
    for number, group in enumerate(switches):
        switch_of += [number] * len(_Joined.of((group,)).names)
    above = _link(uplink, "tree: uplink")
    uplinks = tuple(replace(above, name=f"switch{number + 1}") for number in range(len(switches)))
    return joined.platform(Tree(joined.private(link, "tree"), tuple(switch_of), uplinks), meeting)


def mesh(*groups: Group, link: Link, **meeting: Unpack[Meeting]) -> Platform:
    """Nodes with a link between any two of them.

    >>> mesh(nodes("a[1-3]", speeds={"dgemm": 2e9}), link=Link("cable", "2us", "12 GB/s"))
    Platform(3 PEs with 3 cores on 3 nodes, mesh, contention none)
    """
    joined = _Joined.of(groups)
    return joined.platform(Mesh(len(joined.names), replace(_link(link, "mesh: link"), name="mesh")), meeting)


def torus(*groups: Group, shape: Sequence[int], link: Link, **meeting: Unpack[Meeting]) -> Platform:
    """Nodes on a grid of one to three dimensions whose rows close to rings.

    >>> torus(nodes("a[1-8]", speeds={"dgemm": 2e9}), shape=(2, 4), link=Link("cable", "2us", "12 GB/s"))
    Platform(8 PEs with 8 cores on 8 nodes, torus, contention none)
    """
    sides = given.several(shape, where="torus: shape", give="nodes along each dimension, such as (2, 4)")
    sides = tuple(given.whole(side, where="torus: shape", least=1) for side in sides)
    return _Joined.of(groups).platform(Torus(sides, replace(_link(link, "torus: link"), name="torus")), meeting)


def bus(*groups: Group, link: Link, **meeting: Unpack[Meeting]) -> Platform:
    """Nodes on one link that all messages share.

    >>> bus(nodes("a[1-8]", speeds={"dgemm": 2e9}), link=Link("wire", "50us", "1 Gbit/s"), contention="fifo")
    Platform(8 PEs with 8 cores on 8 nodes, bus, contention fifo)
    """
    return _Joined.of(groups).platform(Bus(replace(_link(link, "bus: link"), name="bus", shared=True)), meeting)


def uniform(*groups: Group, link: Link, **meeting: Unpack[Meeting]) -> Platform:
    """Nodes any two of which exchange messages in the same time, which do not meet.

    >>> uniform(nodes("a[1-8]", speeds={"dgemm": 2e9}), link=Link("10 GbE", "30us", "10 Gbit/s"))
    Platform(8 PEs with 8 cores on 8 nodes, uniform, contention none)
    """
    return _Joined.of(groups).platform(_message_times(link, "uniform: link"), meeting)


@dataclass(frozen=True)
class _Joined:
    """What is joined."""

    pes: tuple[PE, ...]
    nodes: tuple[Node, ...]
    links: Mapping[str, Link]

    @classmethod
    def of(cls, groups: Iterable[Group]) -> "_Joined":
        pes, known, links = list[PE](), list[Node](), dict[str, Link]()
        for group in groups:
            if isinstance(group, PE):
                pes.append(group)
            elif isinstance(group, Nodes):
                pes += group.pes
                known += group.nodes
                links |= {} if group.link is None else {node.name: group.link for node in group.nodes}
            else:
                give = "what nodes(...) made, PEs, or a list of them; links are named: link=..."
                inner = cls.of(given.several(group, where="platform: what is joined", give=give))
                pes += inner.pes
                known += inner.nodes
                links |= inner.links
        return cls(tuple(pes), tuple(known), links)

    @property
    def names(self) -> list[str]:
        """Of the nodes, in the order of their PEs."""
        return list(dict.fromkeys(pe.node for pe in self.pes))

    def private(self, usual: Link | None, of: str) -> tuple[Link, ...]:
        """Each node's link, named like it."""
        if usual is not None:
            _link(usual, f"{of}: link")
        found = {name: self.links.get(name, usual) for name in self.names}
        if lacking := [name for name, link in found.items() if link is None]:
            who = f"node {lacking[0]} has" if len(lacking) == 1 else f"nodes {some_names(lacking)} have"
            raise ScenarioError(f"{of}: {who} no link; give one: link=Link('10 GbE', '30us', '10 Gbit/s')")
        return tuple(replace(link, name=name) for name, link in found.items() if link is not None)

    def platform(self, between: Topology | MessageModel, meeting: Meeting) -> Platform:
        """All of it on a network."""
        contention = meeting.get("contention", "none")
        given.check_choice(contention, get_args(Contention), where="platform: contention")
        example = "'64 KiB' or a number of bytes"
        eager = given.quantity(meeting.get("eager", 0), units.SIZE, where="platform: eager", example=example, zero=True)
        within = ASSUMED_LOOPBACK if "loopback" not in meeting else _message_times(meeting["loopback"], "loopback")
        if isinstance(between, MessageModel):
            network = Network(None, between, within, contention, int(eager))
        else:
            network = Network(between, None, within, contention, int(eager))
        return Platform(self.pes, network, self.nodes)


def _link(link: Link, where: str) -> Link:
    given.check_is(link, Link, where=where, give=A_LINK)
    return link


def _message_times(link: Link, where: str) -> MessageModel:
    """Message times where messages do not meet."""
    if not _link(link, where).latency_s > 0:
        raise ScenarioError(f"{where}: its latency is {link.latency_s:g} s; give more than 0, such as '1us'")
    return link.model or LinkModel.from_latency(link.latency_s, link.bandwidth_bytes_per_s)


# Loads at times of day


def busy(
    first: TimeOfDay,
    last: TimeOfDay,
    *,
    processes: float = 1.0,
    otherwise: float = 0.0,
    start: TimeOfDay | None = None,
    rule: AvailabilityRule = "fair",
) -> Load:
    """A load that is there from one time of day to another, every day.

    A run begins at any time of day, drawn for each node and replication, unless `start` says it.

    >>> busy("13:00", "18:00", processes=8).trace
    LoadTrace(3 values over 8.64e+04 s, mean 1.667, then cycle)

    Raises ScenarioError if a time is none, or a number of processes is below 0.

    `first`, `last`: `"13:00"` and `"18:00"`; `"22:00"` to `"6:00"` is a night.
    `processes`, `otherwise`: runnable competitors then, and at other times; on a node of several cores, of all of them
    together.
    `rule`: `fair`: equal shares for all; `idle`: we take what is idle.
    """
    begin_s, end_s = _seconds(first, "busy: first"), _seconds(last, "busy: last")
    given.check_choice(rule, ("fair", "idle"), where="busy: rule")
    example = "8, a number of competitors"
    there, else_ = (
        given.quantity(value, units.SHARE, where=f"busy: {name}", example=example, zero=True)
        for name, value in (("processes", processes), ("otherwise", otherwise))
    )
    if begin_s == end_s:
        raise ScenarioError(
            f"busy: it begins and ends at {given.shown(first)}; give two times, such as '13:00', '18:00'"
        )
    if begin_s < end_s:
        steps = {0.0: else_, begin_s: there, end_s: else_}
    else:
        steps = {0.0: there, end_s: else_, begin_s: there}
    kept = {time_s: value for time_s, value in steps.items() if time_s < DAY_S}
    trace = LoadTrace(np.array(list(kept)), np.array(list(kept.values())), DAY_S)
    if start is None:
        return Load(trace, rule)
    return Load(trace, rule, drawn=False, start_s=_seconds(start, "busy: start") % DAY_S)


def _seconds(time: object, where: str) -> float:
    """Since midnight."""
    if isinstance(time, datetime.time):
        return time.hour * 3600.0 + time.minute * 60.0 + time.second
    clock = _CLOCK.fullmatch(time.strip()) if isinstance(time, str) else None
    if clock is not None:
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        found_s = 3600 * hours + 60 * minutes + seconds
        if found_s <= DAY_S and minutes < 60 and seconds < 60:
            return found_s
    elif isinstance(time, str) and time.strip().endswith(("h", "min", "s")):
        found_s = units.parse_duration(time, field=where, positive=False)
        if found_s <= DAY_S:
            return found_s
    raise ScenarioError(f"{where}: it is {given.shown(time)}; give a time of day, such as '13:00'")

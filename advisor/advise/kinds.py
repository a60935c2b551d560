"""Kinds: PEs that are alike in all that a scenario says of them, in an order that does not depend on the file's.

Two PEs are alike only if swapping them changes nothing: speeds, cores, cost, power, memory, load, link, switch,
quota, sharing domains and doubt. Kinds and their PEs are ordered by content, then by name.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from simulator import PE, Link, Platform, Scenario, partitions
from simulator.platform.networks import Listed, Star, Tree

USUAL_BYTES = 2**20
"""Payload by whose time links are ordered."""


@dataclass(frozen=True)
class Kind:
    """PEs that are alike."""

    name: str
    pes: tuple[int, ...]
    """Their indices; those of an allocation are the first of these."""
    most: int = 1
    """Most processes on one PE."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.pes)


def kinds_of(scenario: Scenario, *, most: int | None = None, across: bool = False) -> tuple[Kind, ...]:
    """The kinds of PEs of a scenario, those that compute fastest under their load first.

    PEs of a kind share with as many others by the same laws. The first ones of a node lie in different sharing domains,
    so that as few as can be share one.

    `most`: most processes on one PE; by default its cores.
    `across`: the first PEs lie on different nodes, too, where these have domains; else one node comes after the other.
    """
    platform, order = scenario.platform, Order(scenario)
    alike: dict[Hashable, list[int]] = {}
    for index in order.pes:
        alike.setdefault(order.keys[index], []).append(index)
    pes = platform.pes
    return tuple(
        Kind(pes[same[0]].name, _spread(platform, same, order, across=across), most or pes[same[0]].cores)
        for same in alike.values()
    )


@dataclass(frozen=True)
class Order:
    """The PEs of a scenario in an order of their own: switch by switch, node by node, the fastest first."""

    scenario: Scenario

    @cached_property
    def keys(self) -> list[Hashable]:
        """What each PE is, as far as the scenario says: equal for PEs that are alike; (PE,)."""
        platform, kernel = self.scenario.platform, self.scenario.application.kernel
        nodes = [(_node_key(platform, number, kernel), *self._joined[number]) for number in range(len(self._joined))]
        shared = _shared_by(self.scenario)
        hosts = set(platform.gpu_hosts.values())
        return [
            (_pe_key(pe, kernel), nodes[node], (*shared.get(index, ()), *(("host",) if index in hosts else ())))
            for index, (pe, node) in enumerate(zip(platform.pes, platform.node_of.tolist(), strict=True))
        ]

    @cached_property
    def pes(self) -> list[int]:
        """All PEs in this order."""
        platform, node_of = self.scenario.platform, self.scenario.platform.node_of.tolist()
        value = [_value(self.scenario, pe, *self._joined[node]) for pe, node in enumerate(node_of)]
        names = [natural(pe.name) for pe in platform.pes]
        of_node: dict[int, tuple[object, ...]] = {}
        of_switch: dict[Hashable, tuple[object, ...]] = {}
        for pe, node in enumerate(node_of):
            key = value[pe], natural(platform.node_names[node])
            of_node[node] = min(of_node.get(node, key), key)
        for node, (_, switch) in enumerate(self._joined):
            of_switch[switch] = min(of_switch.get(switch, of_node[node]), of_node[node])
        switch_of = [of_switch[self._joined[node][1]] for node in node_of]
        return sorted(range(len(value)), key=lambda pe: (switch_of[pe], of_node[node_of[pe]], value[pe], names[pe]))

    @cached_property
    def rank(self) -> list[int]:
        """Place of each PE in this order; (PE,)."""
        found = [0] * len(self.pes)
        for place, pe in enumerate(self.pes):
            found[pe] = place
        return found

    @cached_property
    def switch_of(self) -> list[Hashable]:
        """The switch of each PE's node; None where a topology has none; (PE,)."""
        return [self._joined[node][1] for node in self.scenario.platform.node_of.tolist()]

    @cached_property
    def _joined(self) -> list[tuple[Hashable, Hashable]]:
        """What joins each node to the others, and its switch; (node,)."""
        topology, count = self.scenario.platform.network.topology, len(self.scenario.platform.node_names)
        if isinstance(topology, Star):
            return [(_link_key(link), None) for link in topology.private]
        if isinstance(topology, Tree):
            uplinks = [_link_key(link) for link in topology.uplinks]
            return [
                ((_link_key(link), uplinks[switch]), switch)
                for link, switch in zip(topology.private, topology.switch_of, strict=True)
            ]
        if isinstance(topology, Listed):
            return [(_routes_key(topology, node), None) for node in range(count)]
        return [((), None)] * count


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """A key by which n2 comes before n10."""
    return tuple((text, int(number or -1)) for text, number in re.findall(r"(\D*)(\d*)", name))


def _pe_key(pe: PE, kernel: str) -> Hashable:
    band, load = pe.speed_of(kernel), pe.load
    noise = band.noise and str(band.noise.to_dict())
    speeds = band.sizes.tobytes(), band.low.tobytes(), band.high.tobytes(), band.doubtful, noise
    busy: Hashable = None
    if load is not None:
        demands = tuple(sorted(load.demands.items()))
        known = load.draws, load.start_s, load.own, load.trace.after_end, load.recorded, load.rule_known
        busy = load.trace.content, load.rule, demands, known
    gpu = None
    if pe.gpu is not None:
        gpu = _link_key(pe.gpu.into), _link_key(pe.gpu.out), pe.gpu.memory_bytes, pe.gpu.switch, pe.gpu.streams
    return speeds, pe.cores, busy, pe.cost_per_s, pe.power_w, pe.slice_s, id(pe.resource), pe.quota, gpu


def _node_key(platform: Platform, number: int, kernel: str) -> Hashable:
    node = platform.known_nodes[number]
    said = node.memory_bytes, node.swap_bytes, node.price_per_hour, repr(node.levels), repr(node.swap_times)
    return *said, None if node.disk is None else _link_key(node.disk), repr(node.uses.get(kernel))


def _link_key(link: Link) -> Hashable:
    parts = {field.name: getattr(link, field.name) for field in fields(link)}
    doubt, model = repr(parts.pop("doubt")), id(parts.pop("model"))
    del parts["name"], parts["source"]
    return *parts.values(), doubt, model


def _routes_key(topology: Listed, node: int) -> Hashable:
    """The links that its messages pass, whoever they go to."""
    ways = [
        [topology.links[link >> 1] for link in passed] for (one, _), passed in topology.table.items() if one == node
    ]
    return tuple(
        sorted((sum(one.latency_s for one in way), min(one.bandwidth_bytes_per_s for one in way)) for way in ways)
    )


def _shared_by(scenario: Scenario) -> dict[int, tuple[object, ...]]:
    """What the PEs that are in sharing domains share, and the uses that hold there."""
    platform, found = scenario.platform, dict[int, tuple[object, ...]]()
    nodes = platform.known_nodes if platform.domains else ()
    for domain in platform.domains:
        for pe in domain.pes:
            uses = nodes[platform.node_of[pe]].uses.get(scenario.application.kernel)
            found[pe] = (*found.get(pe, (id(uses),)), domain.level, domain.law, len(domain.pes))
    return found


def _value(scenario: Scenario, index: int, joined: Hashable, _: Hashable) -> tuple[float | str, ...]:
    """What PEs are ordered by: their speed under their load, then how well they are joined, then all else."""
    pe = scenario.platform.pes[index]
    speed = float(pe.speed_of(scenario.application.kernel).mid[-1]) * partitions.mean_share(pe, processes=pe.cores)
    node = scenario.platform.known_nodes[scenario.platform.node_of[index]]
    memory = np.inf if node.memory_bytes is None else float(node.memory_bytes)
    return -speed, -float(pe.cores), _link_s(joined), -memory, pe.cost_per_s or node.price_per_hour or 0.0


def _link_s(joined: Hashable) -> float:
    """Seconds of a usual message over a node's own links."""
    if not isinstance(joined, tuple) or not joined:
        return 0.0
    if isinstance(joined[0], tuple):
        return sum(_link_s(one) for one in joined)
    return float(joined[0]) + USUAL_BYTES / float(joined[1])


def _spread(platform: Platform, pes: Sequence[int], order: Order, *, across: bool) -> tuple[int, ...]:
    """PEs in an order in which the first ones share as few domains as can be: the smallest domains count first."""
    members, ranks = set(pes), dict[int, list[int]]()
    for domain in sorted(platform.domains, key=lambda domain: len(domain.pes)):
        for turn, pe in enumerate(pe for pe in sorted(domain.pes, key=order.rank.__getitem__) if pe in members):
            ranks.setdefault(pe, []).append(turn)
    if not ranks:
        return tuple(pes)
    place = {node: at for at, node in enumerate(dict.fromkeys(int(platform.node_of[pe]) for pe in order.pes))}
    return tuple(
        sorted(
            pes,
            key=lambda pe: (0 if across else place[int(platform.node_of[pe])], ranks.get(pe, []), order.rank[pe]),
        )
    )

"""From a `Scenario` to YAML text: explicit, and alike nodes and PEs written once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import numpy as np

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.models.doubt import doubt_data
from simulator.models.memory.levels import MemoryLevel
from simulator.models.network import MessageModel, PacketModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Bus, Link, Listed, Mesh, Network, Star, Torus, Tree
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.scenario_file.domain_writing import demands_data, domain_data, uses_data
from simulator.scenario_file.names import compact
from simulator.scenario_file.quantities import bandwidth, duration, quantity, size, speed
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.segs.writing import application_data
from simulator.scenario_file.yaml_writing import yaml_text

Data = dict[str, Any]


def dump_scenario(scenario: Scenario, *, traces: Mapping[str, str] | None = None, model: str | None = None) -> str:
    """Write a scenario as YAML text, which loads to an equal scenario; names of links only where routes are listed.

    Parameters
    ----------
    traces
        The trace file of PEs that have a load; the loads of others are written out.
    model
        The file of the application's run-time model, if it has one.

    Raises
    ------
    ScenarioError
        If the application has a model and no file is named, or the other way round; or if its program was written by
        hand, or a name or a network is of a kind that a file cannot hold.
    """
    if (model is None) != (scenario.application.model is None):
        has = "no model" if scenario.application.model is None else "a model"
        raise ScenarioError(f"application: model: {has} and file {model!r} found, both or neither allowed")
    if scenario.application.written is not None:
        raise ScenarioError("application: a program written by hand found, one of the named applications allowed")
    names = [pe.name for pe in scenario.platform.pes]
    notes = list(dict.fromkeys((*scenario.notes, *scenario.assumed)))
    document = {
        "format": 1,
        "platform": _platform(_written(scenario), traces or {}),
        "application": {
            "name": scenario.application.name,
            "kernel": scenario.application.kernel,
            **({} if scenario.application.prepared is None else application_data(scenario.application.prepared)),
            **({} if model is None else {"model": model}),
            "parameters": dict(scenario.application.parameters),
            **({} if scenario.application.memory is None else {"memory": asdict(scenario.application.memory)}),
        },
        "configurations": {
            c.name: {
                "partition": list(c.partition),
                "pes": _places([names[place] for place in c.placement]),
                **({} if c.grid is None else {"grid": list(c.grid)}),
            }
            for c in scenario.configurations
        },
        "replications": scenario.replications,
        **({} if scenario.truths is None else {"truths": scenario.truths}),
        "seed": scenario.seed,
        **({"notes": notes} if notes else {}),
    }
    return yaml_text(document)


def _written(scenario: Scenario) -> Platform:
    """The platform without speeds that follow from a graph and resource models."""
    if scenario.application.prepared is None:
        return scenario.platform
    kept: dict[int, dict[str, SpeedBand]] = {}
    pes = []
    for pe in scenario.platform.pes:
        others = {kernel: band for kernel, band in pe.speeds.items() if kernel != scenario.application.kernel}
        pes.append(replace(pe, speeds=kept.setdefault(id(pe.speeds), others)))
    return replace(scenario.platform, pes=tuple(pes))


def _places(names: list[str]) -> list[str]:
    """PEs of processes; long runs of one another as patterns."""
    pattern = compact(names) if len(names) > 16 else None
    return [pattern] if pattern else names


def _platform(platform: Platform, traces: Mapping[str, str]) -> Data:
    network = platform.network
    own = _own_links(network)
    pes_of: dict[str, list[PE]] = {}
    for pe in platform.pes:
        pes_of.setdefault(pe.node, []).append(pe)
    if list(pes_of) != [node for node, _ in groupby(platform.pes, key=lambda pe: pe.node)]:
        raise ScenarioError("platform: PEs of one node apart from each other found, node after node allowed")
    domains = _domains(platform)
    bodies = [
        (name, _node(node, pes_of[name], own.get(number), traces, domains.get(name, [])))
        for number, (name, node) in enumerate(zip(platform.node_names, platform.known_nodes, strict=True))
    ]
    nodes = []
    for _, group in groupby(bodies, key=lambda entry: entry[1][0]):
        nodes += _entries([(name, body) for name, (_, body) in group])
    if network.topology is None and network.loopback is None and not network.eager_bytes:
        return {"nodes": nodes, "link": message_data(network.uniform_model)}
    return {"nodes": nodes, "network": _network(network, platform.node_names)}


def _entries(alike: list[tuple[str, Data]]) -> list[Data]:
    """One entry for alike nodes, if their names and those of their PEs follow a pattern; else one for each."""
    names, body = [name for name, _ in alike], alike[0][1]
    pattern = compact(names)
    if len(names) > 1 and (pattern is None or any("{node}" not in pe["name"] for pe in body["pes"])):
        return [entry for one in alike for entry in _entries([one])]
    if pattern is None:
        raise ScenarioError(f"platform: node {names[0]!r} found, names without a range in brackets allowed")
    if len(names) == 1:
        body = body | {"pes": [pe | {"name": pe["name"].replace("{node}", names[0])} for pe in body["pes"]]}
        if "host" in body:
            body["host"] = body["host"].replace("{node}", names[0])
    return [{"name": pattern} | body]


def _domains(platform: Platform) -> dict[str, list[Data]]:
    """The domains of each node that has some."""
    found: dict[str, list[Data]] = {}
    for domain in platform.domains:
        names = [platform.pes[place].name for place in domain.pes]
        node = platform.pes[domain.pes[0]].node
        found.setdefault(node, []).append(domain_data(domain, node, names))
    return found


def _node(
    node: Node, pes: list[PE], link: Link | None, traces: Mapping[str, str], domains: Sequence[Data]
) -> tuple[Any, Data]:
    """What makes nodes alike, and the entry without its name."""
    told = {
        "host": None if node.host is None else node.host.replace(node.name, "{node}"),
        "memory": None if node.memory_bytes is None else size(node.memory_bytes),
        "price": node.price_per_hour,
    }
    body: Data = {key: value for key, value in told.items() if value is not None}
    if node.swap_times is not None:
        held = {} if node.swap_bytes is None else {"size": size(node.swap_bytes)}
        times = node.swap_times
        body["swap"] = {**held, "latency": duration(times.latency_s), "gap": duration(times.gap_s)}
    elif node.swap_bytes is not None:
        body["swap"] = size(node.swap_bytes)
    if node.levels:
        body["levels"] = [level_data(level) for level in node.levels]
    if domains:
        body["domains"] = list(domains)
    if node.uses:
        body["uses"] = {kernel: uses_data(uses) for kernel, uses in node.uses.items()}
    if node.disk is not None:
        body["disk"] = {
            "latency": duration(node.disk.latency_s),
            "bandwidth": bandwidth(node.disk.bandwidth_bytes_per_s),
        }
    if link is not None:
        body["link"] = _link(link)
    entries, key = [], []

    def alike_by(pe: PE) -> tuple[Any, ...]:
        own = pe.cpu, pe.cores, pe.cost_per_s, pe.power_w, pe.slice_s, traces.get(pe.name)
        return id(pe.speeds), id(pe.load), id(pe.resource), *own

    for alike, group in groupby(pes, key=alike_by):
        members = list(group)
        pattern = compact([pe.name for pe in members]) if len(members) > 1 else None
        named = [(pattern, members[0])] if pattern else [(pe.name, pe) for pe in members]
        for name, pe in named:
            if pattern is None and compact([name]) is None:
                raise ScenarioError(f"platform: PE {name!r} found, names without a range in brackets allowed")
            template = name.replace(node.name, "{node}")
            entries.append(_pe(pe, template, traces.get(pe.name)))
            key.append((template, *alike))
    return (repr(body), tuple(key)), body | {"pes": entries}


def level_data(level: MemoryLevel) -> Data:
    """A memory level as a file lists it."""
    capacity = {} if math.isinf(level.capacity_bytes) else {"capacity": size(level.capacity_bytes)}
    times = {"latency": duration(level.latency_s), "gap": duration(level.gap_s), "shared": level.shared}
    return {"name": level.name} | capacity | times


def _pe(pe: PE, name: str, trace: str | None) -> Data:
    entry: Data = {"name": name}
    if pe.cpu is not None:
        entry["cpu"] = pe.cpu
    if pe.cores != 1:
        entry["cores"] = pe.cores
    if pe.cost_per_s is not None:
        entry["cost"] = pe.cost_per_s
    if pe.power_w is not None:
        entry["power"] = quantity(pe.power_w, units.POWER, ("W", "kW"))
    if pe.slice_s:
        entry["slice"] = duration(pe.slice_s)
    if pe.resource is not None:
        entry["resource"] = pe.resource.to_dict()
    entry["speeds"] = {kernel: speed_data(band) for kernel, band in pe.speeds.items()}
    if pe.load is not None:
        held = pe.load.trace
        written: Data = {"times_s": held.times_s.tolist(), "values": held.values.tolist(), "end_s": held.end_s}
        if held.start_instant is not None:
            written["start"] = held.start_instant.isoformat()
        entry["load"] = {
            "trace": trace if trace is not None else written,
            **({"rule": pe.load.rule} if pe.load.rule_known else {}),
            "after_end": held.after_end,
            "start": _start(pe.load),
            **({} if pe.load.recorded == (trace is not None) else {"recorded": pe.load.recorded}),
            **({} if not pe.load.demands else {"demands": demands_data(pe.load.demands)}),
        }
    return entry


def _start(load: Load) -> str:
    if load.drawn:
        return "own" if load.own else "drawn"
    return "zero" if load.start_s == 0 else duration(load.start_s)


def speed_data(band: SpeedBand) -> Any:
    """A speed band, the surface that it is a slice of, or the one speed that it is."""
    if band.surface is not None:
        return band.surface.to_dict()
    if band.sizes.size == 1 and band.sizes[0] == 1 and band.low[0] == band.high[0]:
        return speed(float(band.mid[0]))
    return band.to_dict() | ({"source": band.source} if band.doubtful else {})


def message_data(model: MessageModel) -> Data:
    """Message times."""
    if isinstance(model, PacketModel):
        return {
            "latency": duration(model.latency_s),
            "packet": size(model.packet_bytes),
            "packet_time": duration(model.packet_s),
            **doubt_data(model.doubt),
            **_source(model),
        }
    return model.to_dict() | _source(model)


def _source(of: MessageModel | Link) -> Data:
    """What links share their doubt by, where they have some."""
    return {} if of.doubt is None else {"source": of.source}


def _link(link: Link, *, says_shared: bool = True) -> Data:
    if link.model is None:
        data = {"latency": duration(link.latency_s), "bandwidth": bandwidth(link.bandwidth_bytes_per_s)}
        data |= doubt_data(link.doubt) | _source(link)
    else:
        data = message_data(link.model)
    return data | ({"shared": True} if link.shared and says_shared else {})


def _alike(links: Iterable[Link]) -> bool:
    return len({(link.latency_s, link.bandwidth_bytes_per_s, link.shared, id(link.model)) for link in links}) <= 1


def _own_links(network: Network) -> dict[int, Link]:
    """The link of each node, where they are not all alike."""
    topology = network.topology
    if not isinstance(topology, Star | Tree) or _alike(topology.private):
        return {}
    return dict(enumerate(topology.private))


def _network(network: Network, names: tuple[str, ...]) -> Data:
    data = _topology(network, names)
    data["contention"] = network.contention
    data["eager"] = size(network.eager_bytes)
    data["loopback"] = message_data(network.within)
    return data


def _topology(network: Network, names: tuple[str, ...]) -> Data:
    topology = network.topology
    data: Data
    if topology is None:
        data = {"topology": "uniform", "link": message_data(network.uniform_model)}
    elif isinstance(topology, Star):
        data = {"topology": "star", **_common(topology.private)}
        if topology.backbone is not None:
            data["backbone"] = _link(topology.backbone, says_shared=False)
    elif isinstance(topology, Tree):
        data = {"topology": "tree", **_common(topology.private), "switches": _switches(topology, names)}
    elif isinstance(topology, Bus):
        data = {"topology": "bus", "link": _link(topology.link, says_shared=False)}
    elif isinstance(topology, Torus):
        data = {"topology": "torus", "shape": list(topology.shape), "link": _link(topology.link)}
    elif isinstance(topology, Mesh):
        data = {"topology": "mesh", "link": _link(topology.link)}
    elif isinstance(topology, Listed):
        data = {"topology": "listed", **_listed(topology)}
    else:
        raise ScenarioError(f"platform: network: {type(topology).__name__} found, a topology that files name allowed")
    return data


def _common(private: tuple[Link, ...]) -> Data:
    """The link that all nodes have, if they are alike; else each node's entry says its own."""
    return {"link": _link(private[0])} if _alike(private) else {}


def _switches(tree: Tree, names: tuple[str, ...]) -> list[Data]:
    switches = np.array(tree.switch_of)
    entries = []
    for number, uplink in enumerate(tree.uplinks):
        nodes = [names[node] for node in np.flatnonzero(switches == number).tolist()]
        if nodes:
            entries.append({"name": uplink.name, "nodes": compact(nodes) or nodes, "uplink": _link(uplink)})
    return entries


def _listed(listed: Listed) -> Data:
    names, links = listed.node_names, listed.links
    routes = [
        {
            "from": names[source],
            "to": names[destination],
            "via": [f"{'-' if link & 1 else ''}{links[link >> 1].name}" for link in passed],
            "one_way": True,
        }
        for (source, destination), passed in sorted(listed.table.items())
    ]
    return {"links": {link.name: _link(link) for link in links}, "routes": routes}

"""From a Scenario to YAML text: explicit, and alike nodes and PEs written once."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.base.names import compact
from simulator.base.units import write_size
from simulator.base.yaml_document import yaml_text
from simulator.models.speed import SpeedBand
from simulator.platform.domains import domain_data
from simulator.platform.networks import Link, Network
from simulator.platform.networks.link import message_data
from simulator.platform.networks.network import alike
from simulator.platform.nodes import PE, Platform
from simulator.scenario_file.nodes import node_data
from simulator.scenario_file.scenario import Scenario
from simulator.scenario_file.segs import application_data

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
        raise ScenarioError(f"application: model: it has {has} and the file is {model!r}; give both or neither")
    if scenario.application.written is not None:
        raise ScenarioError(
            "application: a program written by hand cannot stand in a file; take one of the named applications"
        )
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
        raise ScenarioError("platform: PEs of one node lie apart from each other; order them node after node")
    domains = _domains(platform)
    bodies = [
        (name, node_data(node, pes_of[name], own.get(number), traces, domains.get(name, [])))
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
        raise ScenarioError(f"platform: the name of node {names[0]!r} has a range in brackets; take another one")
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


def _own_links(network: Network) -> dict[int, Link]:
    """The link of each node, where nodes have links of their own and these are not all alike."""
    private: tuple[Link, ...] = getattr(network.topology, "private", ())
    return {} if alike(private) else dict(enumerate(private))


def _network(network: Network, names: tuple[str, ...]) -> Data:
    topology = network.topology
    if topology is None:
        data: Data = {"topology": "uniform", "link": message_data(network.uniform_model)}
    elif hasattr(topology, "to_data"):
        data = topology.to_data(names)
    else:
        raise ScenarioError(
            f"platform: network: a file cannot name {type(topology).__name__}; take a topology that it can"
        )
    return data | {
        "contention": network.contention,
        "eager": write_size(network.eager_bytes),
        "loopback": message_data(network.within),
    }

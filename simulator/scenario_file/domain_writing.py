"""Sharing domains and uses as a scenario file writes them."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.models.doubt import doubt_data
from simulator.models.neighbours import Bandwidth, KernelUses, Occupancy, SharingDomain
from simulator.scenario_file.names import compact
from simulator.scenario_file.quantities import bandwidth, size

Data = dict[str, Any]
NODE = "{node}"


def domain_data(domain: SharingDomain, node: str, names: Sequence[str]) -> Data:
    """A domain with `{node}` in place of its node's name, as it is read back.

    Parameters
    ----------
    names
        Of its PEs.

    Raises
    ------
    ScenarioError
        If its name does not hold that of its node.
    """
    name = domain.name.replace(node, NODE)
    if NODE not in name:
        found = f"platform: domain {domain.name!r} found"
        raise ScenarioError(f"{found}, a name with that of its node {node} in it allowed")
    data: Data = {"kind": domain.kind, "name": name}
    if domain.kind == "cache":
        data["level"] = domain.level
    pattern = compact(names) if len(names) > 1 else None
    data["pes"] = [written.replace(node, NODE) for written in ([pattern] if pattern else names)]
    return data | _law_data(domain) | doubt_data(domain.doubt)


def _law_data(domain: SharingDomain) -> Data:
    law = domain.law
    if isinstance(law, Bandwidth):
        lone = {} if law.lone is None else {"lone": bandwidth(law.lone)}
        return {"capacity": bandwidth(law.capacity), **lone, "softness": law.softness}
    if isinstance(law, Occupancy):
        return {"capacity": size(law.capacity)}
    return {"shares": list(law.shares)}


def uses_data(uses: KernelUses) -> Data:
    """What a kernel uses: numbers, or lists beside sizes."""
    one = uses.sizes.size == 1 and uses.sizes[0] == 1
    data: Data = {} if one else {"sizes": uses.sizes.tolist()}
    for level in uses.demands:
        demands = [_taken(level, value) for value in uses.demands[level].tolist()]
        felt = uses.sensitivities[level].tolist()
        data[level] = {"demand": demands[0] if one else demands, "sensitivity": felt[0] if one else felt}
    return data


def demands_data(demands: Mapping[str, float]) -> Data:
    """What a load of 1 takes."""
    return {level: _taken(level, value) for level, value in demands.items()}


def _taken(level: str, value: float) -> str:
    return bandwidth(value) if level == "memory" else size(value)

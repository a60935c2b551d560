"""Memory of nodes: footprints that do not fit, and what processes lose that share a level."""

import numpy as np

from simulator.columns import Columns
from simulator.configuration import Configuration
from simulator.costs.ticks import Floats, Ticks
from simulator.errors import ScenarioError
from simulator.models.memory import shared_access_time_s
from simulator.scenario import Scenario


def check_memory(scenario: Scenario, columns: Columns, configuration: Configuration) -> None:
    """Refuse footprints above all memory and swap of a node.

    Raises
    ------
    ScenarioError
        With the node and what it has.
    """
    nodes = scenario.platform.known_nodes
    if all(node.memory_bytes is None for node in nodes):
        return
    places = scenario.platform.node_of[np.array(configuration.placement)]
    held = np.bincount(places, weights=columns.footprints_bytes, minlength=len(nodes))
    for node, held_bytes in zip(nodes, held.tolist(), strict=True):
        if node.memory_bytes is not None and held_bytes > node.memory_bytes + node.swap_bytes:
            allowed = f"at most {node.memory_bytes + node.swap_bytes} bytes of memory and swap allowed"
            where = f"configuration {configuration.name}: node {node.name}: footprint"
            raise ScenarioError(f"{where}: {held_bytes:.0f} bytes found, {allowed}")


def lost_s(scenario: Scenario, columns: Columns, placement: Ticks) -> Floats | None:
    """Seconds per unit of volume that each process loses to those that share memory levels with it.

    Speeds are measured alone, so a process loses accesses times the difference of the access times together and alone.

    Parameters
    ----------
    placement
        PE of each process; (configuration, process).

    Returns
    -------
    Floats or None
        (configuration, process); None where nothing is known of levels or of the kernel's accesses.
    """
    use, nodes = scenario.application.memory, scenario.platform.known_nodes
    if use is None or not any(node.levels for node in nodes):
        return None
    lost = np.zeros(placement.shape)
    for row, node_of in enumerate(scenario.platform.node_of[placement]):
        for number in np.unique(node_of).tolist():
            if nodes[number].levels:
                here = np.flatnonzero(node_of == number)
                alone_s, together_s = shared_access_time_s(nodes[number].levels, use, columns.footprints_bytes[here])
                lost[row, here] = use.accesses_per_unit * (together_s - alone_s)
    return lost

"""What processes lose that share a memory level, RAM among them."""

import numpy as np

from simulator.engines.costs.ticks import Floats, Ticks
from simulator.models.memory.levels import MemoryUse, shared_access_time_s
from simulator.models.paging import RAM, paged_time_s, resident_levels
from simulator.models.predicted_speed import UNKNOWN_USE
from simulator.platform.nodes import Node
from simulator.programs.columns import Columns
from simulator.scenario_file.scenario import Scenario


def lost_s(scenario: Scenario, columns: Columns, placement: Ticks) -> Floats | None:
    """Seconds per unit of volume that each process loses to those that share memory levels with it, and to paging.

    Speeds are measured alone and in RAM, so a process loses accesses times the difference of two access times: with
    its part of each shared level, RAM and swap included, and with all of each level and RAM for everything.

    Parameters
    ----------
    placement
        PE of each process; (configuration, process).

    Returns
    -------
    Floats or None
        (configuration, process); None where nothing is known of levels or of the kernel's accesses, and nobody pages.
    """
    use, platform = scenario.application.memory, scenario.platform
    limits = platform.memory_limits_bytes
    if np.all(np.isinf(limits)) and (use is None or not any(node.levels for node in platform.nodes)):
        return None
    nodes = platform.known_nodes
    shares = np.array([bool(node.levels) and use is not None for node in nodes])
    lost = np.zeros(placement.shape)
    footprints = columns.footprints_bytes
    for row, node_of in enumerate(scenario.platform.node_of[placement]):
        held = np.bincount(node_of, weights=footprints, minlength=len(nodes))
        for number in np.flatnonzero((held > limits) | (shares & (held > 0))).tolist():
            here = np.flatnonzero(node_of == number)
            pages = bool(held[number] > limits[number])
            lost[row, here] = _lost_on(nodes[number], use or UNKNOWN_USE, footprints[here], pages=pages)
    return lost if lost.any() else None


def _lost_on(node: Node, use: MemoryUse, footprints_bytes: Ticks, *, pages: bool) -> Floats:
    """Seconds per unit that the processes of one node lose; (process,)."""
    resident = resident_levels(node.levels) or (RAM,)
    alone_s, together_s = shared_access_time_s(resident, use, footprints_bytes)
    if pages:
        together_s = paged_time_s(node.paging_levels, use, footprints_bytes)
    return use.accesses_per_unit * (together_s - alone_s)

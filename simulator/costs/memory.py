"""What processes lose that share a memory level."""

import numpy as np

from simulator.columns import Columns
from simulator.costs.ticks import Floats, Ticks
from simulator.models.memory import shared_access_time_s
from simulator.scenario import Scenario


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

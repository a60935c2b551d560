"""What a process waits for its PE before it takes part in a message: the time slices of the others there."""

import numpy as np

from simulator.engines.costs.ticks import Floats, Ticks
from simulator.platform.nodes import PE, Platform
from simulator.programs.columns import Columns


def turns_s(platform: Platform, columns: Columns, placement: Ticks) -> Floats | None:
    """Seconds until a process that waited is given its PE again, where PEs have time slices: a round of the others.

    The others are the mean load under the rule `fair`, and, if the program polls, the other processes of ours there.
    With c cores, l competitors and m runnable processes of ours that is max(0, l + m - c) / c slices, m = 1 if waiting
    processes leave the PE.

    Parameters
    ----------
    placement
        PE of each process; (configuration, process).

    Returns
    -------
    Floats or None
        (configuration, process); None where no PE has time slices.
    """
    pes = platform.pes
    slices_s = np.array([pe.slice_s for pe in pes])
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

"""Computations as nominal ticks: volume over speed, for every configuration and replication."""

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.engines.costs.ticks import Floats, Ticks, rounded
from simulator.programs.columns import Columns, FarmTable
from simulator.scenario_file.scenario import Scenario


def bands_have_width(scenario: Scenario) -> bool:
    """Whether speeds differ between replications."""
    bands = {id(band): band for band in (pe.speeds.get(scenario.application.kernel) for pe in scenario.platform.pes)}
    return any(band is not None and band.wide for band in bands.values())


def computation_s(
    scenario: Scenario, columns: Columns, computes: Ticks, placement: Ticks, *, positions: Floats
) -> Floats:
    """Seconds of each computation alone and without load.

    Parameters
    ----------
    computes
        Rows of the computations; (C,).
    placement
        PE of each process; (configuration, process).
    positions
        Where in its speed band each PE runs; (replication, PE).

    Returns
    -------
    Floats
        (configuration, replication or 1, C).
    """
    volumes, sizes = columns.amount[computes], columns.size[computes]
    constant = _constant_speeds(scenario)
    if constant is not None:
        owner = columns.process[computes]
        return np.asarray((volumes / constant[placement][:, owner])[:, np.newaxis])
    edges = np.searchsorted(computes, columns.first)
    rows = positions.shape[0] if bands_have_width(scenario) else 1
    seconds = np.empty((placement.shape[0], rows, computes.size))
    for row, pes in enumerate(placement.tolist()):
        for process, pe in enumerate(pes):
            mine = slice(edges[process], edges[process + 1])
            if mine.stop > mine.start:
                seconds[row, :, mine] = volumes[mine] / _speeds_of(scenario, pe, sizes[mine], positions)
    return seconds


def farm_ticks(
    scenario: Scenario, table: FarmTable, placement: Ticks, lost: Floats | None, *, positions: Floats, tick_s: float
) -> Ticks:
    """Nominal ticks of all units of a farm before one; (configuration, replication or 1, its processes, units + 1).

    Parameters
    ----------
    lost
        Seconds per unit of volume, as `memory.lost_s` gives them.
    """
    before = np.concatenate(([0.0], np.cumsum(table.volumes)))
    processes = list(table.processes)
    pes = placement[:, processes]
    speeds = [[_speeds_of(scenario, pe, np.array([table.size]), positions)[:, 0] for pe in row] for row in pes.tolist()]
    rows = max(speed.size for row in speeds for speed in row)
    full = np.array([[np.broadcast_to(speed, rows) for speed in row] for row in speeds]).transpose(0, 2, 1)
    per_unit_s = 1 / full if lost is None else 1 / full + lost[:, np.newaxis, processes]
    return rounded(before * per_unit_s[..., np.newaxis], tick_s)


def _speeds_of(scenario: Scenario, pe: int, sizes: Floats, positions: Floats) -> Floats:
    """Speeds on one PE; (replication or 1, sizes)."""
    band = scenario.platform.pes[pe].speed_of(scenario.application.kernel)
    if not band.wide:
        speeds = np.asarray(band.speed(sizes)[np.newaxis])
    else:
        speeds = band.speed(sizes, position=positions[:, pe, np.newaxis])
    if sizes.size and band.mid[-1] == 0 and np.any(speeds == 0):
        where = f"platform: PE {scenario.platform.pes[pe].name}: speed of {scenario.application.kernel}"
        found = f"0 at {sizes.max():g} elements found, where its band ends for want of memory"
        raise ScenarioError(f"{where}: {found}, smaller problems allowed, or memory of the node said, which then pages")
    return speeds


def _constant_speeds(scenario: Scenario) -> Floats | None:
    """The speed of each PE, if none depends on the problem size or has a band; (PE,)."""
    speeds = []
    for pe in scenario.platform.pes:
        band = pe.speeds.get(scenario.application.kernel)
        if band is None or band.sizes.size > 1 or band.low[0] != band.high[0]:
            return None
        speeds.append(band.mid[0])
    return np.array(speeds)

"""Measured message times become a network model."""

from simulator.base.machine import this_machine
from simulator.base.provenance import provenance
from simulator.calibration.pingpong.measured import LinkMeasurement
from simulator.models.network import fit_network, make_points
from simulator.models.network.file import CalibratedNetwork


def fit_measured_link(measured: LinkMeasurement, *, seed: int) -> CalibratedNetwork:
    """Fit every form to the median one-way times and choose one; what else was measured goes with it.

    Raises
    ------
    ScenarioError
        If there are too few sizes.
    """
    size, hops, time_s = zip(*measured.rows(), strict=True)
    made = provenance(seed=seed, machine=this_machine())
    fit = fit_network(make_points(size, hops, time_s))
    return CalibratedNetwork(fit, made, measured.warnings, measured.to_dict(), measured.cost)

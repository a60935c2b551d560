"""Measured message times become a network model."""

from simulator.base.machine import this_machine
from simulator.base.provenance import provenance
from simulator.calibration.history.learnt import keep_calibration, learnt_drift
from simulator.calibration.pingpong.measured import LinkMeasurement
from simulator.models.network import fit_network, make_points
from simulator.models.network.file import CalibratedNetwork


def fit_measured_link(measured: LinkMeasurement, *, seed: int) -> CalibratedNetwork:
    """Fit every form to the median one-way times and choose one; what else was measured goes with it.

    The drift of its doubt is what earlier measurements of this machine show; this one is kept for those that follow.

    Raises
    ------
    ScenarioError
        If there are too few sizes.
    """
    size, hops, time_s = zip(*measured.rows(), strict=True)
    made = provenance(seed=seed, machine=this_machine())
    subject = {"model": "network", "between": measured.between, "medium": measured.medium, **measured.about}
    points = make_points(size, hops, time_s)
    fit = fit_network(points, drift=learnt_drift(subject).sd)
    some = points.size_bytes > 0
    keep_calibration(subject, points.size_bytes[some], points.time_s[some])
    return CalibratedNetwork(fit, made, measured.warnings, measured.to_dict(), measured.cost)

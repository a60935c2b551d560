"""What a sweep adds to the engine's own time: 1,000 points of a scenario of 16 PEs on two worker processes."""

import pytest

from simulator import whatif
from simulator.experiments.sweep import local, make_plan, simulated, sweep
from tests.support.sweep_points import write

MOST = 2.0
"""Beside the engine, per point and of its time: changing and checking the scenario, and the way to the worker and back
(medians)."""


@pytest.mark.benchmark
def test_overhead_per_point(tmp_path):
    points = whatif.points([whatif.read_varied("application.parameters.n=1000..1999")])
    plan = make_plan(write(tmp_path), points, ask=simulated, replications=20)
    spent = sweep(plan, lambda: local(2), folder=tmp_path / "out").spent
    print(spent)
    assert spent["run_now"] == 1001
    assert spent["median_beside_s"] <= MOST * spent["median_asked_s"]

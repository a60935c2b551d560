"""What a sweep adds to the engine's own time: 1,000 points of a scenario of 16 PEs on one worker process."""

import time

import pytest

from simulator import load_scenario, run, whatif
from simulator.experiments.sweep import local, make_plan, simulated, sweep
from tests.support.sweep_points import write

MOST = 3.0
"""Times the engine's own: changing and checking the scenario, and the way to the worker and back."""
START_S = 8.0
"""Of the worker, its imports and the table."""
ASKED = 100


@pytest.mark.benchmark
def test_overhead_per_point(tmp_path):
    points = whatif.points([whatif.read_varied("application.parameters.n=1000..1999")])
    path = write(tmp_path)
    plan = make_plan(path, points, ask=simulated, replications=20)
    spent = sweep(plan, lambda: local(1), folder=tmp_path / "out").spent
    scenario = load_scenario(path, changes=["application.parameters.n=1500"])
    run(scenario, replications=20)
    begun_s = time.monotonic()
    for _ in range(ASKED):
        run(scenario, replications=20)
    engine_s = (time.monotonic() - begun_s) / ASKED
    print(spent, engine_s)
    assert spent["run_now"] == 1001
    assert spent["seconds"] - START_S <= MOST * 1001 * engine_s

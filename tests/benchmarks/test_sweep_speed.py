"""What a sweep adds to the engine's own time: 1,000 points of a scenario of 16 PEs on one worker process."""

import time
from functools import partial

import pytest

from simulator import load_scenario, run, whatif
from simulator.experiments.sweep import local, make_plan, simulated, sweep
from tests.support.sweep_points import write

MOST = 3.0
"""Times the engine's own: changing and checking the scenario, and the way to the worker and back."""
ASKED = 100


@pytest.mark.benchmark
def test_overhead_per_point(tmp_path):
    points = whatif.points([whatif.read_varied("application.parameters.n=1000..1999")])
    path = write(tmp_path)
    alone, plan = (make_plan(path, some, ask=simulated, replications=20) for some in (points[:1], points))
    start = sweep(alone, partial(local, 1), folder=tmp_path / "start").spent  # of the worker, its imports and the table
    spent = sweep(plan, partial(local, 1), folder=tmp_path / "out").spent
    scenario = load_scenario(path, changes=["application.parameters.n=1500"])
    run(scenario, replications=20)
    begun_s = time.monotonic()
    for _ in range(ASKED):
        run(scenario, replications=20)
    engine_s = (time.monotonic() - begun_s) / ASKED
    print(spent, engine_s)
    assert spent["run_now"] == 1001
    assert spent["seconds"] - start["seconds"] <= MOST * 1000 * engine_s

"""The tutorial scenarios run, and both engines agree on them."""

from pathlib import Path

import numpy as np
import pytest

from simulator import load_scenario, run
from simulator.base.errors import UnsupportedProgram

FOLDER = Path(__file__).parents[3] / "scenarios" / "tutorial"


@pytest.mark.parametrize(
    "name", ["two-cores", "three-pes", "cluster", "shared-pes", "matmul-broadcast", "matmul-master-worker"]
)
def test_engines_agree(name):
    scenario = load_scenario(FOLDER / f"{name}.yaml")
    replications = min(scenario.replications, 20)
    reference = run(scenario, replications=replications, engine="process")
    try:
        compiled = run(scenario, replications=replications, engine="compiled")
    except UnsupportedProgram:
        pytest.skip("the compiled engine does not take it")
    assert np.array_equal(compiled.makespan_ticks, reference.makespan_ticks)


def test_what_the_comments_of_the_tutorials_say():
    def means(name):
        runs = run(load_scenario(FOLDER / f"{name}.yaml"), engine="process")
        return dict(zip([c.name for c in load_scenario(FOLDER / f"{name}.yaml").configurations],
                        runs.makespan_s.mean(axis=1), strict=True))  # fmt: skip

    cluster = means("cluster")
    assert cluster["fast-only"] < cluster["four-on-fast"] < cluster["equal"]
    three = means("three-pes")
    assert three["by-what-is-left"] < three["equal"] < three["by-speed"]

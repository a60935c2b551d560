"""Advice for every application on two PEs of speeds 3 and 1 with fast messages."""

import pytest

from advisor import recommend
from simulator import Application, LinkModel, Platform, Scenario
from tests.simulator.platforms import pe

SIZES = {
    "cholesky": ({"n": 320, "nb": 8}, 1.1),  # the panels, 4 % of the work, are computed by one process at a time
    "ep": ({"samples": 1000, "volume": 1e4}, 1.01),
    "farm": ({"units": 100, "volume": 1e5, "size": 10}, 1.05),
    "fft": ({"n": 64}, 1.05),
    "hpl": ({"n": 320, "nb": 8}, 1.05),
    "matmul": ({"n": 64}, 1.05),
    "matmul_2d": ({"n": 64, "nb": 8, "grid_rows": 1}, 1.05),
    "sort": ({"n": 4096}, 1.15),
    "stencil": ({"n": 64, "iterations": 20}, 1.05),
}
"""Parameters, and how far from the work divided by both speeds the recommended makespan may be."""


@pytest.mark.parametrize("name", SIZES)
def test_the_faster_pe_gets_its_share(name):
    parameters, slack = SIZES[name]
    pes = (pe("fast", 3e8), pe("slow", 1e8))
    application = Application(name, "dgemm", parameters)
    made = Scenario(Platform.uniform(pes, LinkModel.from_latency(1e-9, 1e12)), application, (), 1)
    advice = recommend(made)
    work = application.work
    total = work.compute(2)(work.units).volume
    assert advice.predicted["mean"] >= total / 4e8 * (1 - 1e-9)
    assert advice.predicted["mean"] <= total / 4e8 * slack
    assert advice.baselines["fastest-pe"].mean > 1.1
    if name != "farm":
        assert advice.baselines["equal"].mean > 1.1

"""Advice for every application on two PEs of speeds 3 and 1 with fast messages."""

from dataclasses import replace

import pytest

from advisor import recommend
from simulator import Application, Configuration, LinkModel, Platform, Scenario, run
from tests.support.platforms import pe

SIZES = {
    "cholesky": ({"n": 320, "nb": 8}, 1.1),  # the panels, 4 % of the work, are computed by one process at a time
    "ep": ({"samples": 1000, "volume": 1e4}, 1.01),
    "farm": ({"units": 100, "volume": 1e5, "size": 10}, 1.05),
    "fft": ({"n": 64}, 1.05),
    "fft3d": ({"n": 32}, 1.05),
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
    advice = recommend(made, vary=("partition",))
    work = application.work
    total = work.compute(2)(work.units).volume
    assert advice.predicted.mean >= total / 4e8 * (1 - 1e-9)
    assert advice.predicted.mean <= total / 4e8 * slack
    assert advice.baselines["fastest-pe"].mean > 1.1
    if name != "farm":
        assert advice.baselines["equal"].mean > 1.1


def test_advice_for_a_grid_keeps_to_the_grid():
    """2 x 2 processes of speeds 4, 2, 2 and 1: rows and columns of 2 to 1 balance them."""
    pes = tuple(pe(f"pe{index}", speed * 1e8) for index, speed in enumerate((4, 2, 2, 1)))
    application = Application("matmul_2d", "dgemm", {"n": 61, "nb": 8, "grid_rows": 2})
    made = Scenario(Platform.uniform(pes, LinkModel.from_latency(1e-9, 1e12)), application, (), 1)
    advice = recommend(made)
    assert advice.configuration.partition in {(a * b, a * (61 - b), (61 - a) * b, (61 - a) * (61 - b)) for a, b in NEAR}
    for candidate in advice.candidates:
        assert candidate.partition == application.work.fitting(candidate.partition)


NEAR = [(a, b) for a in range(38, 43) for b in range(38, 43)]


@pytest.mark.parametrize("application", ["hpl", "fft3d"])
def test_the_grid_of_processes_is_chosen_too(application):
    """Twelve cores that a slow network joins: no shape that was not tried is better, and the flat one is not chosen."""
    parameters = {"hpl": {"n": 3000, "nb": 64, "phases": "main"}, "fft3d": {"n": 96}}[application]
    pes = [replace(pe("a", 5e9), cores=8, node="a"), replace(pe("b", 5e9), cores=4, node="b")]
    platform = Platform.uniform(tuple(pes), LinkModel.from_latency(2e-5, 1.25e8))
    made = Scenario(platform, Application(application, "dgemm", parameters), (), 1)
    found = recommend(made, confirm=0)
    count = len(found.configuration.partition)
    work = made.application.work
    placed = found.configuration.placement
    every = [
        Configuration(f"{rows} x {columns}", work.fitting((1,) * count, (rows, columns)), placed, (rows, columns))
        for rows, columns in work.grids(count)
    ]
    if application == "hpl":
        assert found.configuration.grid is not None
        assert found.configuration.grid[0] > 1
    times = run(made.with_configurations(tuple(every))).makespan_s.mean(axis=1)
    assert found.predicted.mean <= times.min() * (1 + 1e-9)

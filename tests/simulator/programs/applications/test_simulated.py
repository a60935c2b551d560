"""Every application simulated: two processes by hand, bounds for more, and scenario C of the benchmarks."""

import numpy as np
import pytest

from simulator import run
from simulator.models.network import LinkModel
from simulator.platform.nodes import Platform
from simulator.programs.applications import make_work
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Application, Scenario
from tests.simulator.programs.applications.counts import Counts
from tests.support.applications import FITTING
from tests.support.platforms import pe

SPEED, LATENCY_S, BANDWIDTH = 1e6, 1e-4, 1e6


def message_s(size_bytes):
    return LATENCY_S + size_bytes / BANDWIDTH


def simulated(name, parameters, *partitions, speeds=None):
    count = len(partitions[0])
    pes = tuple(pe(f"pe{index}", speed) for index, speed in enumerate(speeds or [SPEED] * count))
    platform = Platform.uniform(pes, LinkModel.from_latency(LATENCY_S, BANDWIDTH))
    configurations = tuple(Configuration.one_each(f"c{i}", partition) for i, partition in enumerate(partitions))
    return run(Scenario(platform, Application(name, "dgemm", parameters), configurations, 1))


BY_HAND = {
    # one after the other: panel, its broadcast, the update of the next owner's columns
    "hpl": ({"n": 6, "nb": 2}, (1, 1), 24 + 48 + 16 + 32 + 8, [96, 64, 32]),
    "cholesky": ({"n": 3, "nb": 1}, (1, 1), 3 + 4 + 2 + 2 + 1, [24, 16]),
    "matmul": ({"n": 4}, (2, 2), 64, [8 * 24, 8 * 8]),
    "matmul_2d": ({"n": 4, "nb": 2, "grid_rows": 1}, (8, 8), 32 + 32, [64, 64]),
    # both directions at once
    "fft": ({"n": 4}, (2, 2), 80 + 80, [64]),
    "ep": ({"samples": 10, "volume": 6}, (5, 5), 30, [96]),
    # down, then up, in each of two iterations
    "stencil": ({"n": 4, "iterations": 2}, (2, 2), 40 + 40, [32, 32, 32, 32]),
    "sort": ({"n": 8}, (4, 4), 8 + 8, [32]),
}
"""Parameters, partition, volume on the longest chain, and the payloads on it."""


@pytest.mark.parametrize("name", BY_HAND)
def test_makespan_of_two_processes_by_hand(name):
    parameters, partition, volume, payloads = BY_HAND[name]
    expected = volume / SPEED + sum(message_s(size) for size in payloads)
    assert simulated(name, parameters, partition).makespan_s[0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("pull", "pull_s"), [("1ms", 1e-3), ("0s", 0.0)])
def test_makespan_of_a_farm_by_hand(pull, pull_s):
    """4 units of 3 for two processes: each pulls and computes twice, then finds nothing."""
    parameters = {"units": 4, "volume": 3, "size": 1, "pull": pull}
    expected = 2 * (pull_s + 3 / SPEED) + pull_s
    made = simulated("farm", parameters, (1, 1)).makespan_s[0, 0]
    assert made == pytest.approx(expected, rel=1e-9, abs=3.1e-12), "a pull takes a tick at least"


@pytest.mark.parametrize("name", FITTING)
def test_no_application_is_faster_than_its_work_or_slower_than_one_thing_at_a_time(name):
    parameters, partitions = FITTING[name]
    made = simulated(name, parameters, *partitions)
    work = make_work(name, parameters)
    for row, configuration in enumerate(made.configurations):
        found = Counts(work.program(Configuration.one_each(configuration, partitions[row])))
        volume = found.volume if name != "farm" else np.array([work.units * work.volume])
        least = max(found.volume.max(), volume.sum() / 3) / SPEED
        pulls_s = 1e-3 * (work.units / 2 + 3) if name == "farm" else 0.0
        most = volume.sum() / SPEED + sum(message_s(size) for size in found.sent) + pulls_s
        assert least * (1 - 1e-9) <= made.makespan_s[row, 0] <= most * (1 + 1e-9)


def test_hpl_takes_as_long_as_simgrid_says_on_scenario_c():
    """64 PEs, 500 panels of 128 columns, ring broadcast: 1501.08662502497 s (tests/benchmarks define the scenario)."""
    speeds = np.random.default_rng(4242).uniform(2e9, 8e9, 64).tolist()
    pes = tuple(pe(f"pe{index}", speed) for index, speed in enumerate(speeds))
    platform = Platform.uniform(pes, LinkModel.from_latency(10e-6, 1.25e9))
    application = Application("hpl", "dgemm", {"n": 500 * 128, "nb": 128})
    made = run(Scenario(platform, application, (Configuration.one_each("c", (1,) * 64),), 1))
    assert made.makespan_s[0, 0] == pytest.approx(1501.08662502497, rel=1e-9)


@pytest.mark.parametrize("name", FITTING)
def test_both_engines_agree_to_the_tick(name):
    parameters, partitions = FITTING[name]
    pes = tuple(pe(f"pe{index}", speed) for index, speed in enumerate((1e6, 2e6, 3e6)))
    platform = Platform.uniform(pes, LinkModel.from_latency(LATENCY_S, BANDWIDTH))
    configurations = tuple(Configuration.one_each(f"c{i}", partition) for i, partition in enumerate(partitions))
    made = Scenario(platform, Application(name, "dgemm", parameters), configurations, 1)
    one, other = (run(made, engine=engine) for engine in ("process", "compiled"))
    for first, second in zip(one.finish_ticks, other.finish_ticks, strict=True):
        np.testing.assert_array_equal(first, second)

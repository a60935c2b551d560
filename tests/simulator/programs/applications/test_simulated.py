"""Every application simulated: bounds for three processes, both engines, and scenario C of the benchmarks."""

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

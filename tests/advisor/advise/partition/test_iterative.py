"""Measuring and repartitioning in turn: near the optimum after few runs, and an end although measurements fluctuate."""

import numpy as np
import pytest

from advisor.advise.partition import SpeedKinds, functional, iterative
from simulator.base.randomness import stream


def problem(p, seed):
    """Speeds that fall with the size, each PE's at another one."""
    rng = stream(seed, "iterative")
    sizes = np.geomspace(100, 50_000 * p, 40)
    speeds = rng.uniform(1, 10, (p, 1)) / (1 + sizes / (20 * 10 ** rng.uniform(3, 5, (p, 1))))
    return SpeedKinds.of([sizes] * p, list(speeds))


@pytest.mark.parametrize("p", [8, 128])
def test_without_noise_few_measurements_do(p):
    pes, units = problem(p, 1), 50_000 * p
    found = iterative(units, pes, measure=pes.times_s)
    assert found.details["ended"] == "no gain predicted"
    assert found.details["iterations"] <= 5
    assert pes.times_s(found.units).max() <= 1.05 * functional(units, pes).makespan_s
    assert found.makespan_s == min(found.details["measured_s"])


@pytest.mark.parametrize("p", [8, 64])
def test_noise_does_not_keep_it_going(p):
    pes, units, rng = problem(p, 2), 50_000 * p, stream(3, "noise")
    found = iterative(units, pes, measure=lambda units: pes.times_s(units) * np.exp(0.02 * rng.standard_normal(p)))
    assert found.details["ended"] == "no gain predicted"
    assert found.details["iterations"] <= 10
    assert pes.times_s(found.units).max() <= 1.08 * functional(units, pes).makespan_s


def test_it_begins_equal_within_memory_and_gives_up_when_told():
    pes = SpeedKinds.of([[1.0]] * 3, [[1.0], [50.0], [3.0]], limits=[1000, 10, 1000])
    asked = []

    def measure(units):
        asked.append(units.tolist())
        return pes.times_s(units) * (1 if len(asked) % 2 else 3)  # what is measured contradicts itself

    found = iterative(400, pes, measure=measure, most_iterations=3, least_gain=-10)
    assert asked[0] == [195, 10, 195]
    assert all(units[1] <= 10 for units in asked)
    assert found.details["ended"] == "most iterations"
    assert len(asked) == 3


def test_a_pe_without_units_at_first_is_tried():
    pes = SpeedKinds.constant([1.0, 5.0, 100.0])
    found = iterative(2, pes, measure=pes.times_s)
    assert found.units.tolist() == [0, 0, 2]

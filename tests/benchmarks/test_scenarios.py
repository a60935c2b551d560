"""The benchmark's scenarios and their plain SimPy versions give the makespans that are known."""

import dataclasses

import numpy as np
import pytest

from tests.benchmarks import plain_simpy, scenarios
from tests.benchmarks.scenarios import CASES

pytestmark = pytest.mark.benchmark
NAMES = ("A 64x1e3", "B 16", "B 256", "Bbar 16", "Bbar 256", "C", "D 64", "D 1024", "E", "F", "G gss", "G ss")


@pytest.mark.parametrize("name", NAMES)
def test_plain_simpy_gives_the_known_makespan(name):
    case = next(case for case in CASES if case.name == name)
    assert plain_simpy.run(case.make()) == pytest.approx(case.makespan_s, rel=1e-9)


def test_every_case_has_its_own_name_and_a_wrong_makespan_does_not_agree():
    assert len({case.name for case in CASES}) == len(CASES) == 17
    for case in CASES:
        assert case.agrees(case.makespan_s * (1 + 9e-7))
        assert not case.agrees(case.makespan_s * (1 + 2e-6))
        assert not case.agrees(float("nan"))


def test_max_min_rates_fill_a_backbone_and_leave_a_wide_one():
    capacities = np.array([1.0, 5.0, 9.0])
    assert plain_simpy.max_min_rates(capacities, 9.0) == pytest.approx([1, 4, 4])
    assert plain_simpy.max_min_rates(capacities, 12.0) == pytest.approx([1, 5, 6])
    assert plain_simpy.max_min_rates(capacities, 99.0) == pytest.approx([1, 5, 9])
    assert plain_simpy.max_min_rates(capacities, 1.5) == pytest.approx([0.5, 0.5, 0.5])


def test_shared_core_with_an_idle_gap():
    """Two tasks of 2 s share one core from 1 s on (3 s together), then the first's rest; the last comes much later."""
    scenario = scenarios.ProcessorSharing(1e9, np.array([0.0, 1.0, 10.0]), np.array([2e9, 2e9, 1e9]))
    assert plain_simpy.run(scenario) == pytest.approx(11.0)
    both = dataclasses.replace(scenario, arrivals_s=scenario.arrivals_s[:2], flops=scenario.flops[:2])
    assert plain_simpy.run(both) == pytest.approx(4.0)

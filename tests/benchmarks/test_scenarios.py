"""The benchmark's scenarios and their plain SimPy versions give the makespans that are known."""

import pytest

from tests.benchmarks import plain_simpy
from tests.benchmarks.scenarios import CASES

pytestmark = pytest.mark.benchmark
NAMES = ("A 64x1e3", "B 16", "B 256", "Bbar 16", "Bbar 256", "C", "D 64", "D 1024", "E", "F", "G gss", "G ss")


@pytest.mark.parametrize("name", NAMES)
def test_plain_simpy_gives_the_known_makespan(name):
    case = next(case for case in CASES if case.name == name)
    assert plain_simpy.run(case.make()) == pytest.approx(case.makespan_s, rel=1e-9)

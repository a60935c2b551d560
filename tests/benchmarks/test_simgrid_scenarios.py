"""SimGrid gives the known makespans in each of its modes; not collected where SimGrid is not installed."""

import pytest

from tests.benchmarks import simgrid_cpp
from tests.benchmarks.scenarios import CASES

SMALLEST = {case.scenario: case for case in reversed(CASES)}

pytestmark = pytest.mark.benchmark


def check(case, tmp_path):
    simgrid_cpp.write_arrays(tmp_path / "arrays", case.make())
    for mode in simgrid_cpp.MODES[case.scenario]:
        sample = simgrid_cpp.run_scenario(case.scenario, mode, tmp_path / "arrays")
        assert sample.makespan_s == pytest.approx(case.makespan_s, rel=1e-9), mode
        assert sample.seconds > 0


@pytest.mark.parametrize("letter", SMALLEST)
def test_small_scenarios(letter, tmp_path):
    check(SMALLEST[letter], tmp_path)

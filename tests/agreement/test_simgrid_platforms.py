"""Platforms that we write, run by SimGrid itself and by our engines: the same makespans on every topology."""

import os

import pytest

from simulator import export_simgrid, run
from tests.agreement.simgrid_platform import installed, run_on
from tests.agreement.simgrid_scenarios import scenario

RELATIVE = 1e-6
FEW = 3
MANY = int(os.environ.get("APPORTION_SIMGRID_PLATFORMS", "200"))
SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(FEW, MANY)]


def simgrid_agrees(tmp_path, seed):
    made, processes = scenario(seed)
    for name, text in export_simgrid(made).files.items():
        (tmp_path / name).write_text(text)
    theirs = max(run_on(tmp_path / "platform.xml", processes))
    for engine in ("process", "compiled") if seed >= FEW else ("process",):
        assert run(made, engine=engine).makespan_s[0, 0] == pytest.approx(theirs, rel=RELATIVE, abs=1e-9), engine


if installed():  # an oracle, no dependency: its tests are not skipped but left out
    test_simgrid_agrees = pytest.mark.parametrize("seed", [*range(FEW), *SLOW])(simgrid_agrees)

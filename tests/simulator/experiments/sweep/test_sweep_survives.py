"""Sweeps with real processes: workers and schedulers are killed in the middle, and nothing is lost.

The main process is killed in `test_sweep_killed.py`.
"""

import csv
from functools import partial

import pytest

from simulator import whatif
from simulator.experiments.sweep import local, make_plan, sweep
from tests.support.command_line import ROOT
from tests.support.real_sweeps import (
    COUNT,
    finished,
    reasons,
)
from tests.support.sweep_points import POISON, faulty, poisoned, write

pytestmark = pytest.mark.slow


def plan_of(path, ask):
    points = whatif.points([whatif.read_varied(f"application.parameters.n=1310..{1310 + COUNT}")])
    return make_plan(path, points, ask=ask)


def test_the_point_that_kills_its_workers_is_named_and_the_rest_completes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plan = plan_of(write(tmp_path), poisoned)
    found = sweep(plan, partial(local, 2), folder=tmp_path / "out")
    assert reasons(plan, found) == {
        (f"application.parameters.n={POISON}",): "its worker was killed, and once more when it was tried alone"
    }
    assert len(finished(tmp_path / "out")) == len(plan.points) - 1
    with (tmp_path / "out" / "points.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["error"]]
    assert [row["application.parameters.n"] for row in rows] == [str(POISON)]
    again = sweep(plan, partial(local, 1), folder=tmp_path / "out", resume=True)
    assert again.spent["run_now"] == 1
    assert reasons(plan, again) == reasons(plan, found)


def test_the_point_with_an_error_nobody_foresaw_is_named_and_the_rest_completes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plan = plan_of(write(tmp_path), faulty)
    found = sweep(plan, partial(local, 2))
    said = "ZeroDivisionError: something nobody thought of"
    assert reasons(plan, found) == {(f"application.parameters.n={POISON}",): said}
    assert len(found.documents) == len(plan.points) - 1

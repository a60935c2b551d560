"""What a budget allows: equal runs for all points, more of a longer one, whatever the order of points."""

import json
from pathlib import Path

import pytest

from advisor.cli import whatif as command
from advisor.whatif import budget
from advisor.whatif.asking import plan_whatif
from simulator import ScenarioError, run, whatif
from tests.support.command_line import APPORTION, ROOT
from tests.support.real_sweeps import PATIENCE_S, contents, finished, run_to_end, start, until
from tests.support.sweep_points import thread, write

LINK = "platform.link.bandwidth"
EACH_S = 0.01
"""What a replication takes by the clock of these tests."""


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for what is simulated; how many times as long points take as the base."""
    now, slow = [0.0], [1.0]

    def slowly(scenario, **how):
        now[0] += EACH_S * how["replications"]
        return run(scenario, **how | {"replications": 1})

    def swept(plan, _):
        now[0] += slow[0] * EACH_S * plan.replications * len(plan.points)

    monkeypatch.setattr(budget, "run", slowly)
    monkeypatch.setattr(budget, "sweep", swept)
    monkeypatch.setattr(budget, "time", type("clock", (), {"monotonic": lambda: now[0]}))
    return now, slow


def plan_of(tmp_path, values, **asked):
    path = write(tmp_path)
    return plan_whatif(
        path, [whatif.read_varied(f"{LINK}={values}")], **{"advise": False, "replications": 100_000} | asked
    )


def allowed(tmp_path, values, budget_s, *, spent_s=0.0, **asked):
    """What is allowed of these points."""

    def planned(of):
        return plan_of(tmp_path, values, **asked | ({} if of is None else vars(of)))

    return budget.allowed(planned, budget_s, where=None, workers=0, spent_s=spent_s)


@pytest.mark.parametrize("slowness", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("values", ["x2,x4,x8", "2Mbit/s,3Mbit/s,4Mbit/s,5Mbit/s,6Mbit/s,7Mbit/s,8Mbit/s"])
def test_all_points_end_within_the_time_and_use_most_of_it(tmp_path, clock, values, slowness):
    """Whatever they take beside the base, by which the first guess is made."""
    now, slow = clock
    slow[0] = slowness
    for budget_s in (50.0, 100.0):
        begun_s = now[0]
        one = allowed(tmp_path, values, budget_s)
        points = len(plan_of(tmp_path, values).points)
        ends_s = now[0] - begun_s + slowness * EACH_S * one.replications * points
        assert 0.8 * budget_s < ends_s < budget_s


@pytest.mark.usefixtures("clock")
def test_what_is_allowed_depends_on_no_order_and_on_what_is_spent(tmp_path):
    assert allowed(tmp_path, "x2,x4,x8", 100.0) == allowed(tmp_path, "x8,x2,x4", 100.0)
    assert allowed(tmp_path, "x2,x4,x8", 100.0, spent_s=50.0) == allowed(tmp_path, "x2,x4,x8", 50.0)


@pytest.mark.usefixtures("clock")
def test_no_more_is_allowed_than_was_asked_for_and_too_little_says_what_will_do(tmp_path):
    assert allowed(tmp_path, "x2", 3600.0, replications=30).replications == 30
    with pytest.raises(
        ScenarioError, match=r"budget: 100 ms is too little for 3 points; give more, such as [0-9]+ s"
    ) as caught:
        allowed(tmp_path, "x2,x4", 0.1)
    needed_s = float(caught.value.lines[0].split()[-2])
    assert allowed(tmp_path, "x2,x4", needed_s).replications >= budget.FEW


def test_what_was_divided_is_divided_again_with_as_many_runs_at_each_point(tmp_path):
    plan = plan_of(tmp_path, "x2", advise=True, replications=10)
    found = allowed(tmp_path, "x2", 60.0, advise=True, replications=10)
    assert found.replications == 10
    assert found.runs > 10
    limited = plan_of(tmp_path, "x2", advise=True, replications=10, runs=found.runs)
    assert {point.hash for point in limited.points}.isdisjoint({point.hash for point in plan.points})
    assert limited.common["runs"] == found.runs
    with pytest.raises(ScenarioError, match="--runs: nothing is divided again here"):
        plan_of(tmp_path, "x2", runs=10)


def test_a_folder_keeps_what_was_allowed_and_goes_on_with_it(apportion, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_where", lambda *_: thread)
    path, out = write(tmp_path), tmp_path / "out"
    asked = ("whatif", path, "--as-is", "--vary", f"{LINK}=x2,x4", "--replications", 60, "-o", out, "--workers", 1)
    assert apportion(*asked, "--budget", "60s")[0] == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["sweep"]["replications"] == 60
    given = manifest["rerun"]["given"]
    assert (given["replications"], "budget" in given) == (60, False)
    whole = contents(out)
    finished(out)[0].unlink()
    monkeypatch.setattr(budget, "allowed", lambda *_, **__: pytest.fail("all points were tried once more"))
    code, _, errors = apportion(*asked, "--budget", "10s", "--resume")
    assert (code, contents(out)) == (0, whole), errors
    code, _, errors = apportion(*(one for one in asked if one != "--as-is"), "--budget", "60s", "--resume")
    assert code == 2
    assert "holds a sweep of another rule by which work is divided (--advise, --as-is)" in errors


@pytest.mark.slow
def test_killed_within_a_budget_it_goes_on_to_what_an_undisturbed_run_finds(tmp_path):
    vary = ["--advise", "--vary", "application.parameters.n=1000..1003", "--workers", "2"]
    line = [*APPORTION, "whatif", ROOT / "scenarios" / "tutorial" / "two-cores.yaml"]
    process = start(*line, *vary, "--budget", "200s", "-o", tmp_path / "out")
    until(lambda: len(finished(tmp_path / "out")) >= 2 or process.poll() is not None, "no points")
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    kept = {path: path.stat().st_mtime_ns for path in finished(tmp_path / "out")}
    code, _, errors = run_to_end(*line, *vary, "--budget", "200s", "-o", tmp_path / "out", "--resume")
    assert code == 0, errors
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    sweep = json.loads((tmp_path / "out" / "manifest.json").read_text())["sweep"]
    counted = ["--replications", str(sweep["replications"]), "--runs", str(sweep["runs"])]
    code, _, errors = run_to_end(*line, *vary, *counted, "-o", tmp_path / "whole")
    assert code == 0, errors
    found, whole = contents(tmp_path / "out"), contents(tmp_path / "whole")
    assert {path for path in whole if found[path] != whole[path]} <= {Path("report.html")}  # its lines to run differ

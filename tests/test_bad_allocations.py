"""Every bad platform, plan, table or option of `apportion fit` says what it must answer, exit code 2."""

import os
import shlex
from pathlib import Path

import pytest

from advisor.cli import _run
from tests.support import corpus

HERE = Path(__file__).parent / "bad_inputs"
PLANS, RUNS = (corpus.cases(HERE / name) for name in ("allocate_plan", "allocate_run"))
PLATFORM = (HERE / "allocate_plan" / "platform.yaml").read_text()


def test_there_are_cases():
    assert len(PLANS) >= 20
    assert len(RUNS) >= 20


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_bad_plan_gets_its_lines(refused, tmp_path, path):
    """The body is the platform; without one it is the good one."""
    options, body = corpus.parts(path)
    file = tmp_path / "cluster.yaml"
    file.write_text(body or PLATFORM)
    refused(path, ["fit", "--plan", file, *shlex.split(options), "--json"], FILE=file)


@pytest.fixture(scope="module")
def good_plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "cluster.yaml").write_text(PLATFORM)
    plan = folder / "plan.json"
    arguments = ["--sizes", "100,200,300", "--budget", "60s", "-o", str(plan)]
    assert _run(["fit", "--plan", str(folder / "cluster.yaml"), *arguments]) == 0
    return plan.read_text()


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_bad_run_gets_its_lines(refused, tmp_path, path, good_plan, monkeypatch):
    """The body is one change of the plan's text, `before => after`, the plan itself, or, after `RUNS`, a table."""
    options, body = corpus.parts(path)
    plan, runs, work = tmp_path / "plan.json", tmp_path / "runs.csv", tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "input.txt").write_text("N is {N}")
    if body.startswith("RUNS\n"):
        runs.write_text(body.removeprefix("RUNS\n"))
    before, is_change, after = body.removesuffix("\n").partition(" => ")
    if is_change:
        assert before in good_plan
    plan.write_text(
        good_plan.replace(before, after, 1) if is_change else body if body and not runs.exists() else good_plan
    )
    cpus = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
    arguments = ["fit", "--run", plan, *shlex.split(options), "-o", runs, "--json"]
    refused(path, arguments, PLAN=plan, RUNS=runs, CPUS=cpus)

"""What dies in the middle of sweeps: the main process, workers, all at once, the scheduler; nothing is lost."""

import csv
import json
import os
import signal
import sys
from contextlib import ExitStack
from functools import partial

import psutil
import pytest

from simulator import whatif
from simulator.experiments.sweep import local, make_plan, sweep
from tests.support.command_line import APPORTION, ROOT
from tests.support.real_sweeps import (
    COUNT,
    ENVIRONMENT,
    PATIENCE_S,
    contents,
    dask,
    finished,
    reasons,
    run_to_end,
    start,
    until,
    whatif_command,
    workers_of,
)
from tests.support.sweep_points import POISON, counted_plan, faulty, poisoned, write

pytestmark = pytest.mark.slow
TUTORIAL = ROOT / "scenarios" / "tutorial"
SWEEPS = {
    "grid": "three-pes.yaml --as-is --vary platform.link.bandwidth=x1,x2,x10 --vary platform.link.latency=x1,x2,/2 "
    "--replications 300",
    "advise": "two-cores.yaml --advise --vary application.parameters.n=1000..1003 --replications 100",
}


def command(text, folder, *more):
    name, *arguments = text.split()
    return [*APPORTION, "whatif", TUTORIAL / name, *arguments, "-o", folder, "--workers", "2", *more]


@pytest.mark.parametrize("name", SWEEPS)
def test_killed_in_the_middle(tmp_path, name):
    arguments = SWEEPS[name]
    code, _, errors = run_to_end(*command(arguments, tmp_path / "whole"))
    assert code == 0, errors
    folder = tmp_path / "out"
    process = start(*command(arguments, folder))
    until(lambda: len(finished(folder)) >= 2 or process.poll() is not None, "no points")
    process.kill()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGKILL, errors
    kept = {path: path.stat().st_mtime_ns for path in finished(folder)}
    code, _, errors = run_to_end(*command(arguments, folder, "--resume"))
    assert code == 0, errors
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert contents(folder) == contents(tmp_path / "whole")


def test_what_is_finished_is_never_asked_again(tmp_path, monkeypatch):
    """Each question leaves a line."""
    path, folder, told, values = write(tmp_path), tmp_path / "out", tmp_path / "told", "1601..1630"
    monkeypatch.setitem(ENVIRONMENT, "COUNTED", str(told))
    plan = counted_plan(path, values)
    size = {point.hash: dict(point.values).get("application.parameters.n", 1600) for point in plan.points}
    process = start(sys.executable, "-m", "tests.support.sweep_points", path, folder, values, cwd=ROOT)
    until(lambda: len(finished(folder)) >= 6, "no points")
    kept = {size[path.stem] for path in finished(folder)}
    workers_of(process.pid)[0].kill()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    asked = [int(line) for line in told.read_text().split()]
    assert all(asked.count(n) == 1 for n in kept)
    assert len(finished(folder)) == 31


@pytest.fixture
def cluster(tmp_path):
    """A scheduler, and what starts workers of it."""
    told = tmp_path / "scheduler.json"
    with ExitStack() as stack:
        arguments = ["--scheduler-file", told, "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
        scheduler = stack.enter_context(dask("dask_scheduler", *arguments))
        until(told.exists, "no scheduler")

        def worker(*more):
            common = ["--scheduler-file", told, "--nthreads", "1", "--no-dashboard", "--local-directory", tmp_path]
            return stack.enter_context(dask("dask_worker", *common, *more))

        yield json.loads(told.read_text())["address"], scheduler, worker


@pytest.fixture
def undisturbed(tmp_path):
    code, _, errors = run_to_end(*whatif_command(write(tmp_path), tmp_path / "whole", "--workers", "2"))
    assert code == 0, errors
    return contents(tmp_path / "whole")


def test_all_workers_killed_and_new_ones_started(tmp_path, cluster, undisturbed):
    address, _, worker = cluster
    folder = tmp_path / "out"
    first = [worker("--no-nanny"), worker("--no-nanny")]
    process = start(*whatif_command(write(tmp_path), folder, "--dask", address))
    until(lambda: len(finished(folder)) >= 4, "no points")
    for one in first:
        one.kill()
    said = next(line for line in process.stderr if "waiting" in line)
    assert said == "waiting for a worker\n"
    worker("--no-nanny")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert contents(folder) == undisturbed


def test_the_scheduler_killed_is_one_line_and_the_rest_is_done_later(tmp_path, cluster, undisturbed):
    address, scheduler, worker = cluster
    folder = tmp_path / "out"
    worker("--no-nanny")
    process = start(*whatif_command(write(tmp_path), folder, "--dask", address))
    until(lambda: len(finished(folder)) >= 4, "no points")
    scheduler.kill()
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (1, "")
    assert "Traceback" not in errors
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: the scheduler is gone")
    assert line.endswith(f" of {COUNT} points kept in {folder}: --resume goes on")
    code, _, errors = run_to_end(*whatif_command(write(tmp_path), folder, "--resume"))
    assert code == 0, errors
    assert contents(folder) == undisturbed


def test_no_process_is_left_after_ctrl_c_by_slow_points(tmp_path):
    """A point in the middle of its work holds nobody up."""
    folder = tmp_path / "out"
    options = ["--vary", "application.parameters.n=4000..4010", "--replications", "20000", "-o", folder]
    process = start(*APPORTION, "whatif", write(tmp_path), *options, "--workers", "2", start_new_session=True)
    until(lambda: len(workers_of(process.pid)) >= 2, "no workers")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    until(lambda: not session(process.pid), "processes left behind")


def session(leader):
    """Processes of a session."""
    return [one for one in psutil.process_iter() if _session(one.pid) == leader]


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


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

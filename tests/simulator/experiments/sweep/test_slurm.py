"""Sweeps by Slurm's jobs: dask-jobqueue for real; `sbatch` and `scancel` are scripts that start and end processes."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.support.command_line import APPORTION, ROOT
from tests.support.sweep_points import write

pytestmark = pytest.mark.slow
SBATCH = """#!/bin/sh
cp "$1" "$JOBS.$$"
setsid sh "$JOBS.$$" >/dev/null 2>&1 &
echo $! >> "$JOBS"
echo "Submitted batch job $!"
"""
NO_JOB = """#!/bin/sh
echo 4711 >> "$JOBS"
echo "Submitted batch job 4711"
"""
REFUSED = """#!/bin/sh
echo "sbatch: error: invalid partition specified: short" >&2
echo "sbatch: error: Batch job submission failed: Invalid partition name specified" >&2
exit 1
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -- "-$job" 2>/dev/null; done
"""
OPTIONS = "jobs=2 cores=1 memory=1GB walltime=00:10:00 queue=short directive=--exclusive"
VARY = ["--vary", "application.parameters.n=1600..1607"]


def tool(folder, name, text):
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def environment(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    tool(tools, "sbatch", SBATCH)
    tool(tools, "scancel", SCANCEL)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": paths, "JOBS": str(tmp_path / "jobs")}


def whatif(environment, *arguments, **options):
    command = [*APPORTION, "whatif", *map(str, arguments), "--slurm", OPTIONS]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180, **options)


def jobs(environment):
    path = Path(environment["JOBS"])
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def processes_of(job):
    """What is left of a job: its shell leads a session of its own."""
    return [process for process in psutil.process_iter() if process.pid == job or _session(process) == job]


def _session(process):
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return 0


def test_points_by_jobs(tmp_path, environment):
    done = whatif(environment, write(tmp_path), *VARY, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out" / "points").iterdir())) == 9
    assert "#SBATCH -p short" in done.stderr
    assert len(jobs(environment)) == 2
    end = time.monotonic() + 30
    while any(processes_of(job) for job in jobs(environment)):
        assert time.monotonic() < end, "jobs left behind"
        time.sleep(0.1)


def test_the_script_is_printed_and_nothing_submitted(tmp_path, environment):
    done = whatif(environment, write(tmp_path), "--job-script")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#!")
    for line in ("#SBATCH -p short", "#SBATCH --exclusive", "#SBATCH -t 00:10:00", "distributed.cli.dask_worker"):
        assert line in done.stdout
    assert jobs(environment) == []


def test_no_slurm_is_one_line(tmp_path, environment):
    done = whatif(environment | {"PATH": str(tmp_path)}, write(tmp_path), *VARY)
    said = "error: --slurm: there is no command sbatch here; start this on a machine that submits jobs to Slurm\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_what_slurm_refuses_is_one_line(tmp_path, environment):
    tool(tmp_path / "tools", "sbatch", REFUSED)
    done = whatif(environment, write(tmp_path), *VARY, "-o", tmp_path / "out")
    said = "invalid partition specified: short; Batch job submission failed: Invalid partition name specified"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"error: --slurm: sbatch: {said}: 0 of 9 points kept in ")
    assert "Traceback" not in done.stderr


def test_a_worker_that_never_arrives_is_told_and_what_to_look_at(tmp_path, environment):
    tool(tmp_path / "tools", "sbatch", NO_JOB)
    command = [*APPORTION, "whatif", write(tmp_path), *VARY, "--slurm", OPTIONS]
    with subprocess.Popen(
        [*map(str, command)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said = next(line for line in process.stderr if "squeue" in line)
        finally:
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
    assert said.startswith("waiting for a worker: squeue shows jobs that wait; slurm-JOBID.out")
    last = errors.splitlines()[-1]  # a line that the signal cuts short is written once more
    assert (process.returncode, last) == (130, "error: stopped: 0 of 9 points finished")


def test_jobs_whose_time_is_up_are_asked_for_anew(tmp_path, environment):
    """Each of the first two jobs ends as soon as it has worked a little; the sweep goes on with new ones."""
    command = [*APPORTION, "whatif", write(tmp_path), "--vary", "application.parameters.n=1600..1631"]
    command += ["--replications", "400", "-o", tmp_path / "out", "--slurm", OPTIONS]
    points = tmp_path / "out" / "points"
    with subprocess.Popen(
        [*map(str, command)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            end = time.monotonic() + 120
            while not list(points.glob("[!.]*.json")):
                assert time.monotonic() < end, "no points"
                time.sleep(0.05)
            for job in jobs(environment):
                os.killpg(job, signal.SIGKILL)
            errors = process.communicate(timeout=180)[1]
        finally:
            process.terminate()
    assert process.returncode == 0, errors
    assert len(list(points.iterdir())) == 33
    assert len(jobs(environment)) > 2

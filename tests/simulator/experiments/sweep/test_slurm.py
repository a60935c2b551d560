"""The page's program for Slurm: dask-jobqueue for real; `sbatch` and `scancel` are scripts that start processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import shown
from tests.support.command_line import APPORTION, ROOT
from tests.support.real_sweeps import finished, until
from tests.support.sweep_points import write

pytestmark = pytest.mark.slow
SBATCH = """#!/bin/sh
cp "$1" "$JOBS.$$"
setsid sh "$JOBS.$$" >/dev/null 2>&1 &
echo $! >> "$JOBS"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -- "-$job" 2>/dev/null; done
"""


@pytest.fixture
def environment(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": paths, "JOBS": str(tmp_path / "jobs")}


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


def test_the_program_of_the_page_starts_jobs_that_work_off_a_sweep_and_come_again(tmp_path, environment):
    """The first jobs are killed in the middle, as at the end of their time; the sweep goes on with new ones."""
    page = (ROOT / "scenarios" / "tutorial" / "whatif.md").read_text()
    program = tmp_path / "slurm_workers.py"
    program.write_text(shown.first(page, "python"))
    command = [sys.executable, program]
    with subprocess.Popen(
        [*map(str, command)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as cluster:
        try:
            address = cluster.stdout.readline().strip()
            asked = ["--vary", "application.parameters.n=1600..1631", "--replications", "400", "-o", tmp_path / "out"]
            command = [*APPORTION, "whatif", write(tmp_path), *asked, "--dask", address]
            with subprocess.Popen([*map(str, command)], env=environment, stderr=subprocess.PIPE, text=True) as sweep:
                until(lambda: finished(tmp_path / "out") or sweep.poll() is not None, "no points")
                first = jobs(environment)
                for job in first:
                    os.killpg(job, signal.SIGKILL)
                errors = sweep.communicate(timeout=240)[1]
            assert sweep.returncode == 0, errors
        finally:
            cluster.communicate("\n", timeout=60)
    assert len(finished(tmp_path / "out")) == 33
    assert len(jobs(environment)) > len(first) == 2
    until(lambda: not any(processes_of(job) for job in jobs(environment)), "jobs left behind")

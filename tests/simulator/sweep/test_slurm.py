"""Sweeps by Slurm's jobs: dask-jobqueue for real; `sbatch` and `scancel` are scripts that start and end processes."""

import os
import subprocess

import pytest

from tests.command_line import APPORTION, ROOT
from tests.simulator.sweep.points import write

pytestmark = pytest.mark.slow
SBATCH = """#!/bin/sh
setsid sh "$1" >/dev/null 2>&1 &
echo $! >> "$JOBS"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -- "-$job" 2>/dev/null; done
"""
OPTIONS = "jobs=2 cores=1 memory=1GB walltime=00:10:00 queue=short directive=--exclusive"


@pytest.fixture
def environment(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": paths, "JOBS": str(tmp_path / "jobs")}


def whatif(environment, *arguments):
    command = [*APPORTION, "whatif", *map(str, arguments), "--slurm", OPTIONS]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180)


def test_points_by_jobs(tmp_path, environment):
    path = write(tmp_path)
    done = whatif(environment, path, "--vary", "application.parameters.n=1600..1607", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out" / "points").iterdir())) == 9
    assert "#SBATCH -p short" in done.stderr
    assert len((tmp_path / "jobs").read_text().split()) == 2


def test_the_script_is_printed_and_nothing_submitted(tmp_path, environment):
    done = whatif(environment, write(tmp_path), "--job-script")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#!")
    for line in ("#SBATCH -p short", "#SBATCH --exclusive", "#SBATCH -t 00:10:00", "distributed.cli.dask_worker"):
        assert line in done.stdout
    assert not (tmp_path / "jobs").exists()


def test_no_slurm_is_one_line(tmp_path, environment):
    (tmp_path / "tools" / "sbatch").unlink()
    done = whatif(environment, write(tmp_path), "--vary", "application.parameters.n=1600..1607")
    said = "error: --slurm: no command sbatch found, a machine that submits jobs to Slurm allowed\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)

"""Slurm's own daemons on this machine, started and ended here: what we export and `--slurm` are tried on them."""

import contextlib
import json
import socket
import sys
from dataclasses import replace

import pytest

from advisor.advise.export import save_exports
from simulator import Configuration
from tests.support.platforms import pe, scenario
from tests.support.slurm_daemons import SlurmDoesNotStartError, ask, daemons, host_name, missing

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=f"Slurm cannot run here: {missing()}")]


@contextlib.contextmanager
def cluster(folder, names):
    """Nodes of these names; a test is skipped where the daemons do not start."""
    try:
        with daemons(folder, names) as environment:
            yield environment
    except SlurmDoesNotStartError as said:
        pytest.skip(f"Slurm's daemons do not start here: {said}")


@pytest.fixture
def slurm(tmp_path):
    """One node, this machine."""
    with cluster(tmp_path, [host_name()]) as environment:
        yield environment


@pytest.fixture
def two_nodes(tmp_path):
    """Two nodes of other names, where this Slurm can run several daemons on a machine."""
    with cluster(tmp_path, ["n1", "n2"]) as environment:
        yield environment


def test_a_cluster_is_measured_inside_an_allocation_and_its_job_runs(slurm, tmp_path):
    out = tmp_path / "out"
    words = [sys.executable, "-m", "advisor.cli", "cluster", "--slurm", "--budget", "40s", "--parameter", "n=1000"]
    said = ask(slurm, "salloc", "-Q", "--exclusive", "-N1", *words, "--python", sys.executable, "-o", str(out))
    found = json.loads((out / "cluster.json").read_text()), said
    assert [one["name"] for one in found[0]["hosts"]] == [host_name()], said
    processes = sum(one["processes"] for one in found[0]["hosts"])
    job = ask(slurm, "sbatch", "--wait", f"--output={tmp_path}/job.out", str(out / "job.slurm"), "hostname")
    assert "Submitted" in job
    assert (tmp_path / "job.out").read_text().split() == [socket.gethostname()] * processes
    files = slurm | {"SLURM_HOSTFILE": str(out / "hostfile.slurm")}
    ran = ask(files, "srun", "--distribution=arbitrary", "-n", str(processes), "hostname")
    assert ran.split() == [socket.gethostname()] * processes


def test_a_job_of_unlike_nodes_runs_where_advised(two_nodes, tmp_path):
    pes = [replace(pe(f"{node}.{number}"), node=node) for node in ("n1", "n2") for number in (0, 1)]
    made = scenario(pes, 1000)
    layout = Configuration("unlike", (600, 300, 100), (0, 1, 2))
    save_exports(made, layout, tmp_path / "out")
    words = ["sbatch", "--wait", f"--output={tmp_path}/job.out", str(tmp_path / "out" / "job.slurm")]
    said = ask(two_nodes, *words, "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME")
    assert "Submitted" in said
    assert sorted((tmp_path / "job.out").read_text().splitlines()) == ["0 n1", "1 n1", "2 n2"]

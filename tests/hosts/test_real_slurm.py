"""Slurm's own daemons on this machine, started and ended here: what we export and `--slurm` are tried on them."""

import contextlib
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advise.export import save_exports
from simulator import Configuration
from tests.support.platforms import pe, scenario

TOOLS = ("slurmctld", "slurmd", "munged", "salloc", "sbatch", "srun", "scontrol", "sinfo")
START_S = 30.0
CONF = """ClusterName=apportion
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    lacking = [name for name in TOOLS if shutil.which(name, path=f"/usr/sbin{os.pathsep}{os.environ['PATH']}") is None]
    return f"not installed: {', '.join(lacking)}" if lacking else "Slurm needs root" if os.geteuid() else ""


pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=f"Slurm cannot run here: {missing()}")]


def free_ports(count):
    with_ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in with_ports]
    for one in with_ports:
        one.close()
    return found


def host_name():
    return socket.gethostname().partition(".")[0]


@contextlib.contextmanager
def daemons(folder, names):
    """The environment in which Slurm's commands find nodes of these names, which all run here."""
    folder.chmod(0o755)
    for one in ("state", "munge", *(f"spool-{name}" for name in names)):
        (folder / one).mkdir()
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    shutil.chown(folder / "munge", user=getpass.getuser())
    first, *ports = free_ports(1 + len(names))
    each = f"NodeHostname={host_name()} NodeAddr=127.0.0.1 CPUs={len(os.sched_getaffinity(0))} RealMemory=1000"
    nodes = "\n".join(
        f"NodeName={name} Port={port} {each} State=UNKNOWN" for name, port in zip(names, ports, strict=True)
    )
    (folder / "slurm.conf").write_text(CONF.format(folder=folder, host=host_name(), port=first, nodes=nodes))
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/sbin{os.pathsep}{os.environ['PATH']}",
    }
    munge = [f"--{name}={folder}/munge{end}" for name, end in (("socket", ".socket"), ("pid-file", ".pid"))]
    munge += [f"--key-file={key}", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed", "--force"]
    commands = [["munged", "--foreground", *munge], ["slurmctld", "-D"]]
    commands += [["slurmd", "-D", "-N", name] for name in names]
    started = []
    try:
        for number, words in enumerate(commands):
            log = (folder / f"{number}-{words[0]}.out").open("wb")
            with log:
                started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=folder))
            time.sleep(1)
        deadline = time.monotonic() + START_S
        while set(ask(environment, "sinfo", "-h", "-N", "-o", "%T").split()) != {"idle"}:
            if time.monotonic() > deadline:
                said = "".join(path.read_text(errors="replace")[-400:] for path in sorted(folder.glob("*.out")))
                pytest.skip(f"Slurm's daemons do not start here: {said}")
            time.sleep(0.5)
        yield environment
    finally:
        for daemon in reversed(started):
            daemon.terminate()
        for daemon in started:
            daemon.wait(10)


@pytest.fixture
def slurm(tmp_path):
    """One node, this machine."""
    with daemons(tmp_path, [host_name()]) as environment:
        yield environment


@pytest.fixture
def two_nodes(tmp_path):
    """Two nodes of other names, where this Slurm can run several daemons on a machine."""
    with daemons(tmp_path, ["n1", "n2"]) as environment:
        yield environment


def ask(environment, *words, timeout=300):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    return done.stdout + done.stderr


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

"""Slurm's own daemons on this machine, started and ended here: what we export and `--slurm` are tried on them."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={first}
SlurmdPort={second}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    lacking = [name for name in TOOLS if shutil.which(name, path=f"/usr/sbin{os.pathsep}{os.environ['PATH']}") is None]
    return f"not installed: {', '.join(lacking)}" if lacking else "Slurm needs root" if os.geteuid() else ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=f"Slurm cannot run here: {missing()}")]


def free_ports(count):
    with_ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in with_ports]
    for one in with_ports:
        one.close()
    return found


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which Slurm's commands find one node that runs."""
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o755)
    for one in ("state", "spool", "munge"):
        (folder / one).mkdir()
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    shutil.chown(folder / "munge", user=getpass.getuser())
    host, (first, second) = socket.gethostname().partition(".")[0], free_ports(2)
    cpus = len(os.sched_getaffinity(0))
    (folder / "slurm.conf").write_text(CONF.format(folder=folder, host=host, first=first, second=second, cpus=cpus))
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/sbin{os.pathsep}{os.environ['PATH']}",
    }
    munge = [f"--{name}={folder}/munge{end}" for name, end in (("socket", ".socket"), ("pid-file", ".pid"))]
    munge += [f"--key-file={key}", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed", "--force"]
    daemons = []
    try:
        for words in (["munged", "--foreground", *munge], ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            log = (folder / f"{words[0]}.out").open("wb")
            with log:
                daemons.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=folder))
            time.sleep(1)
        deadline = time.monotonic() + START_S
        while "idle" not in ask(environment, "sinfo", "-h", "-o", "%T"):
            if time.monotonic() > deadline:
                said = "".join(path.read_text(errors="replace")[-400:] for path in sorted(folder.glob("*.out")))
                pytest.skip(f"Slurm's daemons do not start here: {said}")
            time.sleep(0.5)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(10)


def ask(environment, *words, timeout=300):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    return done.stdout + done.stderr


def test_a_cluster_is_measured_inside_an_allocation_and_its_job_runs(slurm, tmp_path):
    out = tmp_path / "out"
    words = [sys.executable, "-m", "advisor.cli", "cluster", "--slurm", "--budget", "40s", "--parameter", "n=1000"]
    said = ask(slurm, "salloc", "-Q", "--exclusive", "-N1", *words, "--python", sys.executable, "-o", str(out))
    found = json.loads((out / "cluster.json").read_text()), said
    assert [one["name"] for one in found[0]["hosts"]] == [socket.gethostname().partition(".")[0]], said
    processes = sum(one["processes"] for one in found[0]["hosts"])
    job = ask(slurm, "sbatch", "--wait", f"--output={tmp_path}/job.out", str(out / "job.slurm"), "hostname")
    assert "Submitted" in job
    assert (tmp_path / "job.out").read_text().split() == [socket.gethostname()] * processes
    files = slurm | {"SLURM_HOSTFILE": str(out / "hostfile.slurm")}
    ran = ask(files, "srun", "--distribution=arbitrary", "-n", str(processes), "hostname")
    assert ran.split() == [socket.gethostname()] * processes

"""Slurm's own daemons on this machine, started and ended by tests: some nodes of other names, which all run here."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

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
{lines}
"""
ALL = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"


class SlurmDoesNotStartError(Exception):
    """What the daemons said."""


def missing():
    lacking = [name for name in TOOLS if shutil.which(name, path=f"/usr/sbin{os.pathsep}{os.environ['PATH']}") is None]
    return f"not installed: {', '.join(lacking)}" if lacking else "Slurm needs root" if os.geteuid() else ""


def free_ports(count):
    with_ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in with_ports]
    for one in with_ports:
        one.close()
    return found


def host_name():
    return socket.gethostname().partition(".")[0]


@contextlib.contextmanager
def daemons(folder, names, *, cpus=None, lines=ALL, before=()):
    """The environment in which Slurm's commands find nodes of these names, which all run here.

    `cpus`: of each node, whatever this machine has.
    `lines`: of slurm.conf, partitions among them; `{folder}` stands for the folder.
    `before`: daemons that are started before slurmctld, as words, and what is called with the environment in between.
    """
    folder.chmod(0o755)
    for one in ("state", "munge", *(f"spool-{name}" for name in names)):
        (folder / one).mkdir()
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    shutil.chown(folder / "munge", user=getpass.getuser())
    first, *ports = free_ports(1 + len(names))
    each = f"NodeHostname={host_name()} NodeAddr=127.0.0.1 CPUs={cpus or len(os.sched_getaffinity(0))} RealMemory=1000"
    nodes = "\n".join(
        f"NodeName={name} Port={port} {each} State=UNKNOWN" for name, port in zip(names, ports, strict=True)
    )
    nodes += "" if cpus is None else "\nSlurmdParameters=config_overrides"
    filled = CONF.format(folder=folder, host=host_name(), port=first, nodes=nodes, lines=lines.format(folder=folder))
    (folder / "slurm.conf").write_text(filled)
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/sbin{os.pathsep}{os.environ['PATH']}",
    }
    munge = [f"--{name}={folder}/munge{end}" for name, end in (("socket", ".socket"), ("pid-file", ".pid"))]
    before = before(folder) if callable(before) else before
    munge += [f"--key-file={key}", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed", "--force"]
    commands = [["munged", "--foreground", *munge], *before, ["slurmctld", "-D"]]
    commands += [["slurmd", "-D", "-N", name] for name in names]
    started = []
    try:
        for number, words in enumerate(commands):
            if callable(words):
                words(environment)
                continue
            log = (folder / f"{number}-{words[0]}.out").open("wb")
            with log:
                started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=folder))
            time.sleep(1)
        deadline = time.monotonic() + START_S
        while set(ask(environment, "sinfo", "-h", "-N", "-o", "%T").split()) != {"idle"}:
            if time.monotonic() > deadline:
                said = "".join(path.read_text(errors="replace")[-400:] for path in sorted(folder.glob("*.out")))
                raise SlurmDoesNotStartError(said)
            time.sleep(0.5)
        yield environment
    finally:
        for daemon in reversed(started):
            daemon.terminate()
        for daemon in started:
            daemon.wait(20)


DATABASE = """AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdPort={port}
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""
ACCOUNTED = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={host}
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
"""


def accounting(folder, tree, ports):
    """Daemons for `before`: a database, slurmdbd, and the tree of accounts as words of sacctmgr.

    `ports`: of slurmdbd and of the database.
    """
    data, host = folder / "mysql", host_name()
    words = ["mariadb-install-db", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal"]
    subprocess.run(words, check=True, capture_output=True)
    (folder / "first.sql").write_text(
        "create user slurm@localhost identified by 'slurm';\ngrant all on *.* to slurm@localhost;\n"
    )
    conf = folder / "slurmdbd.conf"
    conf.write_text(DATABASE.format(folder=folder, host=host, port=ports[0], database=ports[1]))
    conf.chmod(0o600)
    place = [f"--datadir={data}", f"--socket={folder}/mysql.socket", f"--port={ports[1]}", "--bind-address=127.0.0.1"]
    yield ["mariadbd", "--no-defaults", "--user=root", *place, f"--init-file={folder}/first.sql"]
    yield lambda _: time.sleep(5)
    yield ["slurmdbd", "-D"]
    yield lambda environment: prepared(environment, tree)


def prepared(environment, tree):
    """Wait for slurmdbd, then have a cluster with these accounts and users."""
    deadline = time.monotonic() + START_S
    while "apportion" not in (said := ask(environment, "sacctmgr", "-n", "-P", "show", "cluster", "format=cluster")):
        if time.monotonic() > deadline:
            raise SlurmDoesNotStartError(said)
        time.sleep(1)
        ask(environment, "sacctmgr", "-i", "add", "cluster", "apportion")
    for words in tree:
        ask(environment, "sacctmgr", "-i", "add", *words)


def ask(environment, *words, timeout=300):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    return done.stdout + done.stderr

"""Hosts that share this machine's processors and nothing else: each has namespaces, a quota, a link and an sshd.

    python -m tests.hosts.world            # says what is missing here, or nothing

Every host is a network, mount, process and host-name namespace of its own, in a control group that grants it a part of
a processor, behind a link that a token bucket limits in both directions. Its /tmp is its own, and our sources are
hidden from it, so that nothing comes there but through ssh.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.command_line import ROOT

SUBNET = "10.77.0"
"""Of the bridge that joins our namespaces; this machine has address 254 there."""
BRIDGE = "apx-bridge"
START_S = 20.0
PERIOD_US = 20_000
"""Of quotas: short, since what a program left of a period before it began is a gift that no slower processor makes."""
MTU = "9000"
"""As clusters have it: packets of 1500 B would take a third of a processor at 1 Gbit/s; network cards do that work."""
BURST = "16kb"
"""What a link lets pass at once after a pause, which no real one does: hardly more than a packet."""
CGROUPS = Path("/sys/fs/cgroup/cpu")
"""Version 1; with version 2 the folder above."""
TOOLS = ("ip", "tc", "unshare", "nsenter", "mount", "taskset", "ssh", "ssh-keygen")
SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class Spec:
    """A host to be."""

    name: str
    cpus: str
    """As taskset lists them."""
    quota: float
    """Processors that its control group grants."""
    rate: str = "1gbit"
    """Of its link, as tc writes it."""


@dataclass
class World:
    """Hosts that run, and how they are reached."""

    folder: Path
    specs: tuple[Spec, ...]
    sshds: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def ssh(self) -> str:
        """The command that reaches hosts by their names."""
        return f"ssh -F {self.folder / 'config'}"

    @property
    def names(self) -> str:
        """Of all hosts, as `--hosts` wants them."""
        return ",".join(spec.name for spec in self.specs)

    def on(self, name: str, line: str, *, timeout_s: float = 30) -> "subprocess.CompletedProcess[str]":
        """Run a command line on a host, over ssh."""
        words = [*self.ssh.split(), name, line]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)

    def kill(self, name: str) -> None:
        """End a host at once with all that runs there."""
        self.sshds[name].send_signal(signal.SIGKILL)  # the first of its process namespace
        self.sshds[name].wait()

    def cut(self, name: str) -> None:
        """Take a host's link down: packets are lost, and nobody is told."""
        _run("ip", "link", "set", _outer(name), "down")

    def freeze(self, name: str) -> None:
        """Stop a host's sshd and all that runs there; connections stay."""
        for number in _inside(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)


def missing() -> str:
    """What such hosts lack here; empty if they can be had."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not Path(SSHD).exists():
        lacking.append("sshd (apt install openssh-server)")
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    if os.geteuid():
        return "network namespaces need root"
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "true"], capture_output=True, check=False
    )
    if tried.returncode:
        return f"namespaces are not allowed: {tried.stderr.decode().strip()}"
    return "" if (CGROUPS / "cpu.cfs_quota_us").parent.exists() and os.access(CGROUPS, os.W_OK) else "no cgroups"


@contextlib.contextmanager
def world(folder: Path, specs: Sequence[Spec]) -> Iterator[World]:
    """Hosts that are there while the block runs."""
    made = World(folder, tuple(specs))
    _clear(made)
    try:
        _keys(made)
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "address", "add", f"{SUBNET}.254/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        for number, spec in enumerate(specs, start=1):
            _link(spec, number)
            _start(made, spec)
        for spec in specs:
            _wait_for(made, spec.name)
        yield made
    finally:
        _clear(made)


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _outer(name: str) -> str:
    return f"apx-{name}"


def _keys(made: World) -> None:
    """A key for us, one for each host, and what ssh needs to know."""
    made.folder.mkdir(parents=True, exist_ok=True)
    for name in ("user", *(spec.name for spec in made.specs)):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(made.folder / f"key-{name}"))
    known, config, hosts = [], [], ["127.0.0.1 localhost", f"{SUBNET}.254 driver"]
    for number, spec in enumerate(made.specs, start=1):
        address = f"{SUBNET}.{number}"
        public = (made.folder / f"key-{spec.name}.pub").read_text().split()
        known.append(f"{spec.name},{address} {public[0]} {public[1]}")
        config += [f"Host {spec.name}", f"  HostName {address}", f"  HostKeyAlias {spec.name}"]
        hosts.append(f"{address} {spec.name}")
    common = [
        "Host *",
        "  User root",
        f"  IdentityFile {made.folder / 'key-user'}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {made.folder / 'known'}",
        "  LogLevel ERROR",
    ]
    (made.folder / "known").write_text("\n".join(known) + "\n")
    (made.folder / "config").write_text("\n".join([*config, *common]) + "\n")
    (made.folder / "hosts").write_text("\n".join(hosts) + "\n")
    for spec in made.specs:
        lines = [
            f"HostKey {made.folder / f'key-{spec.name}'}",
            f"AuthorizedKeysFile {made.folder / 'key-user.pub'}",
            *("StrictModes no", "UsePAM no", "PidFile none", "PermitRootLogin yes", "PasswordAuthentication no"),
            *("MaxStartups 100", "PrintMotd no"),
        ]
        (made.folder / f"sshd-{spec.name}").write_text("\n".join(lines) + "\n")


def _link(spec: Spec, number: int) -> None:
    name = _outer(spec.name)
    _run("ip", "netns", "add", name)
    _run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
    _run("ip", "link", "set", name, "mtu", MTU, "master", BRIDGE, "up")
    inside = ("ip", "netns", "exec", name)
    _run(*inside, "ip", "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0")
    _run(*inside, "ip", "link", "set", "eth0", "mtu", MTU, "up")
    _run(*inside, "ip", "link", "set", "lo", "up")
    limit = ("root", "tbf", "rate", spec.rate, "burst", BURST, "latency", "50ms")
    _run("tc", "qdisc", "add", "dev", name, *limit)
    _run(*inside, "tc", "qdisc", "add", "dev", "eth0", *limit)


def _start(made: World, spec: Spec) -> None:
    """The host's first process: its own names, folders and sshd, within its share of a processor."""
    group = CGROUPS / _outer(spec.name)
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
    (group / "cpu.cfs_quota_us").write_text(f"{round(spec.quota * PERIOD_US)}")
    hidden = " ".join(f"{ROOT / room}" for room in ("simulator", "advisor", "tests"))
    script = f"""
set -e
hostname {spec.name}
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpu
mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu
keys=$(mktemp -d /run/apx-XXXXXX) && cp {made.folder}/* $keys/
mount -t tmpfs -o size=64m tmpfs /tmp
mkdir -p {made.folder} /run/sshd && cp $keys/* {made.folder}/ && rm -r $keys
mount --bind {made.folder}/hosts /etc/hosts
for one in {hidden}; do if [ -d $one ]; then mount -t tmpfs tmpfs $one; fi; done
cd /
exec taskset -c {spec.cpus} {SSHD} -D -e -f {made.folder}/sshd-{spec.name}
"""
    words = ["ip", "netns", "exec", _outer(spec.name), "unshare", "--mount", "--uts", "--pid", "--fork"]
    words += ["--kill-child", "sh", "-c", script]
    log = (made.folder.parent / f"{made.folder.name}-{spec.name}.log").open("wb")
    join = f'echo $$ > {group}/tasks; exec "$@"'
    with log:
        made.sshds[spec.name] = subprocess.Popen(
            ["sh", "-c", join, "sh", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _wait_for(made: World, name: str) -> None:
    deadline = time.monotonic() + START_S
    while (done := made.on(name, "hostname")).stdout.strip() != name:
        if time.monotonic() > deadline:
            log = (made.folder.parent / f"{made.folder.name}-{name}.log").read_text()
            raise RuntimeError(f"{name} does not come up: {done.stderr.strip()}; {log.strip()}")
        time.sleep(0.1)


def _inside(name: str) -> list[int]:
    """Numbers of the processes of a host, as this machine counts them."""
    group = CGROUPS / _outer(name)
    return [int(line) for line in (group / "tasks").read_text().split()] if group.exists() else []


def _clear(made: World) -> None:
    """Take all hosts down, those of a run that was killed too."""
    for spec in made.specs:
        group = CGROUPS / _outer(spec.name)
        for _ in range(50):
            left = _inside(spec.name)
            if not left:
                break
            for number in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.05)
        with contextlib.suppress(OSError):
            group.rmdir()
        subprocess.run(["ip", "netns", "delete", _outer(spec.name)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", _outer(spec.name)], capture_output=True, check=False)
    for process in made.sshds.values():
        process.wait()
    subprocess.run(["ip", "link", "delete", BRIDGE], capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(missing())

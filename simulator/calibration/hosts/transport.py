"""How a command line reaches a host: by the user's own ssh, or by srun in an allocation; and which hosts those are."""

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.names import all_names

CONNECT_S = 10
SSH = ("ssh",)
OPTIONS = ("BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={CONNECT_S}", "ForwardX11=no")
"""No question is asked, no host key accepted silently; all else is as the user's configuration says."""
MOST_HOSTS = 4096

Words = Callable[[str, str], Sequence[str]]
"""The words that run a command line on a host."""


def over_ssh(command: Sequence[str] = SSH) -> Words:
    """By ssh, or what is called like it: `ssh -F FILE`."""
    options = [word for option in OPTIONS for word in ("-o", option)]
    return lambda host, line: [*command, "-T", *options, "--", host, line]


def over_srun(cores: Mapping[str, int]) -> Words:
    """By srun, a step of its own on the node, which has all cores of the allocation there."""

    def words(host: str, line: str) -> list[str]:
        where = [f"--nodelist={host}", "--nodes=1", "--ntasks=1", f"--cpus-per-task={cores[host]}"]
        how = ["--overlap", "--cpu-bind=none", "--unbuffered", "--quiet"]
        return ["srun", *where, *how, *shlex.split(line)]

    return words


def listed_hosts(text: str) -> list[str]:
    """Hosts from `a,b,n[01-08]`."""
    return _checked([(name, "--hosts") for part in _split(text) for name in all_names(part)])


def hosts_of_file(path: Path) -> list[str]:
    """Hosts from a file, one a line; what launchers write behind them (`slots=4`, `:4`) and comments do not count."""
    found = []
    for number, line in enumerate(files.read_text(path).splitlines(), start=1):
        words = line.partition("#")[0].split()
        if len(words) > 1 and not words[1].startswith(("slots", "max", "binding", "ansible")):
            raise ScenarioError(f"{path}:{number}: {line.strip()!r} holds a blank; give one host a line")
        if words:
            bare = words[0].partition(":")[0] if words[0].count(":") == 1 else words[0]
            found += [(name, f"{path}:{number}") for name in all_names(bare)]
    return _checked(found)


def _split(text: str) -> list[str]:
    """Parts between commas that stand outside of brackets."""
    parts, depth = [""], 0
    for one in text:
        depth += (one == "[") - (one == "]")
        if one == "," and not depth:
            parts.append("")
        else:
            parts[-1] += one
    return parts


def _checked(named: Sequence[tuple[str, str]]) -> list[str]:
    faults, found = [], dict[str, str]()
    for name, where in named:
        if name != name.strip() or any(one.isspace() or not one.isprintable() for one in name):
            faults.append(f"{where}: {name!r} holds a blank; give names as ssh knows them")
        elif not name or name.startswith("-"):
            faults.append(f"{where}: {name!r} is no name of a host")
        elif name in found:
            faults.append(f"{where}: {name} comes twice; name each host once")
        found[name] = where
    if not found:
        faults.append("no host is named; give at least one")
    if len(found) > MOST_HOSTS:
        faults.append(f"{len(found)} hosts are too many; give {MOST_HOSTS} at most")
    if faults:
        raise ScenarioError(faults[:20])
    return list(found)


def allocated_hosts(environment: Mapping[str, str] = os.environ) -> dict[str, int]:
    """The nodes of the Slurm allocation that this runs in, and how many cores each has."""
    listed, counts = environment.get("SLURM_JOB_NODELIST"), environment.get("SLURM_JOB_CPUS_PER_NODE", "")
    if not listed:
        raise ScenarioError("--slurm: this is no allocation of Slurm; run it inside salloc or sbatch")
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", listed], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ScenarioError(f"--slurm: scontrol does not name the nodes of the allocation ({error})") from error
    names = _checked([(name, "--slurm") for name in done.stdout.split()])
    cores: list[int] = []
    for part in filter(None, counts.split(",")):  # 4(x2),8
        count, _, times = part.partition("(x")
        cores += [int(count)] * int(times.rstrip(")") or 1) if times else [int(count)]
    return dict(zip(names, [*cores, *[1] * len(names)], strict=False))

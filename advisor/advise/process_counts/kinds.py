"""What may be used, as options say it: kinds with their PEs and most processes, memory, hosts; and host files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.advise.export import Layout, Rank
from advisor.advise.export.hosts import (
    launches,
    mpich_hostfile,
    mpich_rankfile,
    openmpi_hostfile,
    openmpi_rankfile,
    slurm_hostfile,
)
from advisor.advise.export.layout import check_hosts
from simulator import ScenarioError, expanded, units

if TYPE_CHECKING:
    from advisor.advise.process_counts.advice import ProcessCountAdvice

MOST_PES = 100_000
"""PEs of a kind, or processes on one of them."""
MOST_FAULTS = 20
Kinds = Mapping[str, tuple[int, int]]
"""Name -> how many PEs there are, and most processes on one of them."""


@dataclass(frozen=True)
class Limits:
    """What memory allows."""

    memory_bytes: Mapping[str, float]
    """Of a PE of that kind; kinds that are not named have enough."""
    footprint: str
    """Bytes of one process: a formula of N (problem size) and P (processes in all)."""


def parse_kinds(text: str) -> dict[str, tuple[int, int]]:
    """`fast:1:4,slow:3:2` as kinds: name, how many PEs, most processes on one.

    Raises
    ------
    ScenarioError
        For every part that is none, and for a kind that is named twice.
    """
    found: dict[str, tuple[int, int]] = {}
    faults = []
    for part in text.split(","):
        name, *numbers = part.strip().split(":")
        whole = [int(number) if number.isascii() and number.isdecimal() else 0 for number in numbers]
        if not name or len(whole) != 2 or not all(1 <= number <= MOST_PES for number in whole):
            wanted = f"give NAME:PES:MOST with whole numbers from 1 to {MOST_PES} (PEs, and processes on each)"
            faults.append(f"--kinds: {part.strip()!r} is no kind; {wanted}")
        elif name in found:
            faults.append(f"--kinds names {name} twice; name it once")
        else:
            found[name] = whole[0], whole[1]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    return found


def parse_memory(texts: list[str], kinds: Kinds) -> dict[str, float]:
    """`fast=4GiB` as bytes by kind; see `parse_kinds` for errors."""
    found: dict[str, float] = {}

    def add(name: str, size: str) -> None:
        found[name] = units.parse(size, units.SIZE, field=f"--memory: {name}")
        if found[name] <= 0:
            raise ScenarioError(f"--memory of {name} is {size!r}; give a size above 0")

    _named(texts, "--memory", kinds, add, example="fast=4GiB", several=False)
    return found


def parse_hosts(texts: list[str], kinds: Kinds) -> dict[str, list[str]]:
    """`fast=node1,slow=node[2-4]` as host names by kind; a name without a kind goes with the kind before it."""
    found: dict[str, list[str]] = {}

    def add(name: str, host: str) -> None:
        found.setdefault(name, []).extend(expanded(host))

    _named(texts, "--hosts", kinds, add, example="slow=node[2-4]", several=True)
    return found


def _named(
    texts: list[str], option: str, kinds: Kinds, add: Callable[[str, str], None], *, example: str, several: bool
) -> None:
    """Take apart `KIND=VALUE,...`, given once or repeated; with `several`, `VALUE` alone goes with the kind before."""
    faults: list[str] = []
    seen: set[str] = set()
    for text in texts:
        name = ""
        for part in text.split(","):
            before, mark, value = part.strip().partition("=")
            if not mark:
                before, value = (name, part.strip()) if several else ("", "")
            name = before
            if not (name and value):
                faults.append(f"{option}: {part.strip()!r} has no kind and value; give both, such as {example}")
            elif name not in kinds:
                faults.append(f"{option}: {name!r} is none of the kinds {', '.join(kinds)}")
            elif mark and not several and name in seen:
                faults.append(f"{option} names {name} twice; name it once")
            else:
                seen.add(name)
                try:
                    add(name, value)
                except ScenarioError as error:
                    faults += [line if line.startswith(option) else f"{option}: {line}" for line in error.lines]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])


# Host files of an advised configuration: its ranks, kind by kind, on the hosts that have them.


Hosts = Mapping[str, Sequence[str]]
"""Kind -> names of its hosts; PEs are spread over them evenly, in order."""


def check_kinds(kinds: Mapping[str, tuple[int, int]], hosts: Hosts | None) -> None:
    """Refuse hosts that no host file can name, before anything is looked for; see `layout_of_advice`.

    Parameters
    ----------
    kinds
        PEs of each kind, and the most processes on one.
    hosts
        None: each PE is a host of its own, named after its kind.
    """
    if hosts is None:
        check_hosts(kinds, "--kinds: without --hosts")
        return
    faults = [fault for name, (count, _) in kinds.items() if (fault := _fault(name, count, hosts.get(name, ())))]
    if faults:
        raise ScenarioError(faults)
    check_hosts((host for named in hosts.values() for host in named), "--hosts")


def _fault(name: str, count: int, named: Sequence[str]) -> str | None:
    if not named or count % len(named):
        wanted = f"as many as it has PEs ({count}), or a number that divides it"
        return f"--hosts: {name} has {len(named) or 'no'} hosts; give {wanted}"
    if len(set(named)) < len(named):
        return f"--hosts: {name}: a host is named twice; name each once"
    return None


def layout_of_advice(advice: "ProcessCountAdvice", hosts: Hosts | None = None) -> Layout:
    """The ranks of the advised configuration, those of a PE side by side; without hosts, each PE is one, by its name.

    Raises
    ------
    ScenarioError
        If a kind that takes part has no host, or more or other hosts than its PEs can be spread over.
    """
    ranks, faults = [], []
    for name, part in advice.configuration.items():
        if not part["pes"]:
            continue
        count = advice.kinds[name][0]
        named = _made_up(name, count) if hosts is None else list(hosts.get(name, ()))
        if fault := _fault(name, count, named):
            faults.append(fault)
            continue
        each = count // len(named)
        for pe in range(part["pes"]):
            ranks += [Rank(named[pe // each], f"{name}{pe + 1}", None, 0, 0)] * part["procs"]
    if faults:
        raise ScenarioError(faults)
    check_hosts((rank.host for rank in ranks), "--hosts")
    return Layout("", tuple(ranks))


def host_files(layout: Layout, name: str) -> dict[str, str]:
    """Host files by file name: `name` and `name.mpich` for MPICH, `.openmpi` and `.rankfile` for Open MPI, `.slurm`."""
    return {
        name: mpich_hostfile(layout),
        f"{name}.mpich": mpich_rankfile(layout),
        f"{name}.openmpi": openmpi_hostfile(layout),
        f"{name}.rankfile": openmpi_rankfile(layout),
        f"{name}.slurm": slurm_hostfile(layout),
    }


def host_commands(layout: Layout, name: str) -> str:
    """How these files are used, a line each."""
    return launches(layout, (name, f"{name}.mpich", f"{name}.openmpi", f"{name}.rankfile", f"{name}.slurm"))


def _made_up(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}{number}" for number in range(1, count + 1)]

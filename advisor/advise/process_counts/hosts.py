"""Host files of an advised configuration: its ranks, kind by kind, on the hosts that have them."""

from collections.abc import Mapping, Sequence

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
from advisor.advise.process_counts.advice import ProcessCountAdvice
from simulator import ScenarioError

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
        allowed = f"as many as it has PEs ({count}), or a number that divides it,"
        return f"--hosts: {name}: {len(named) or 'no'} hosts found, {allowed} allowed"
    if len(set(named)) < len(named):
        return f"--hosts: {name}: a host is named twice; name each once"
    return None


def layout_of_advice(advice: ProcessCountAdvice, hosts: Hosts | None = None) -> Layout:
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

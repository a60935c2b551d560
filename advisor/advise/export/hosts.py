"""Host files, rank files and job scripts: the same ranks as MPICH, Open MPI and Slurm want them said."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from advisor.advise.export.layout import Layout

HEAD = "# written by apportion advise; process 0 is the first one"


def mpich_hostfile(layout: Layout) -> str:
    """`host:count` in rank order, for `mpiexec -f`; MPICH fills hosts from the top, again and again.

    It takes a host that has two lines for two machines, whose ranks share no memory: what repeats is written once.
    """
    return _lines(HEAD, *(f"{host}:{count}" for host, count in layout.rounds))


def openmpi_hostfile(layout: Layout) -> str:
    """`host slots=count`, each host once: Open MPI refuses one that has two counts."""
    return _lines(HEAD, *(f"{host} slots={count}" for host, count in layout.slots.items()))


def mpich_rankfile(layout: Layout) -> str:
    """`host:count binding=user:core,...` in rank order: where each rank runs, for `mpiexec -f`."""
    lines, rank = [HEAD], 0
    placed = list(zip(layout.ranks, layout.cores, strict=True))
    for host, count in layout.rounds:
        some = placed[rank : rank + count] if layout.scattered else placed
        lines.append(f"{host}:{count} binding=user:{','.join(f'{core}' for one, core in some if one.host == host)}")
        rank += count
    return _lines(*lines)


def openmpi_rankfile(layout: Layout) -> str:
    """`rank r=host slot=core`: where each rank runs, a core each as long as its PE has as many."""
    placed = enumerate(zip(layout.ranks, layout.cores, strict=True))
    return _lines(HEAD, *(f"rank {number}={rank.host} slot={core}" for number, (rank, core) in placed))


def slurm_hostfile(layout: Layout) -> str:
    """One host per rank, in rank order, for `SLURM_HOSTFILE` and `srun --distribution=arbitrary`; no comments."""
    return _lines(*(rank.host for rank in layout.ranks))


def slurm_job(layout: Layout) -> str:
    """A heterogeneous job: one component for each stretch of hosts with equally many ranks, in rank order.

    Slurm numbers the ranks of a component by its own order of hosts, which as a rule is that of their names, whatever
    order `--nodelist` has: where names go back, a component begins.
    """
    stretches = _stretches(layout.runs)
    components = [
        [
            f"#SBATCH --nodes={len(hosts)}",
            f"#SBATCH --ntasks={count * len(hosts)}",
            f"#SBATCH --ntasks-per-node={count}",
            f"#SBATCH --nodelist={','.join(hosts)}",
            *_gpus(layout, hosts, count),
        ]
        for count, hosts in stretches
    ]
    lines = ["#!/bin/bash", HEAD, "# usage: sbatch job.slurm PROGRAM [ARGUMENT ...]"]
    for number, component in enumerate(components):
        lines += [*(["#SBATCH hetjob"] if number else []), *component]
    groups = f" --het-group=0-{len(components) - 1}" if len(components) > 1 else ""
    program = '"$@"' if not layout.gpus else 'sh with-gpus.sh "$@"'
    return _lines(*lines, f"srun{groups} {program}")


def _gpus(layout: Layout, hosts: Sequence[str], ranks: int) -> list[str]:
    """What a component asks for: a GPU for each task where each has one of its own, else as many as its nodes use."""
    most = max(len(layout.gpus.get(host, ())) for host in hosts)
    if not most:
        return []
    each = all(len(layout.gpus.get(host, ())) == ranks for host in hosts)
    return ["#SBATCH --gpus-per-task=1" if each else f"#SBATCH --gpus-per-node={most}"]


def with_gpus(layout: Layout) -> str:
    """A script that starts a rank's program with the GPU that the rank has, or with none, as its only one to see."""
    cases = [f"{number}) gpu={rank.gpu} ;;" for number, rank in enumerate(layout.ranks) if rank.gpu is not None]
    rank = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}"
    usage = "# usage: mpiexec ... sh with-gpus.sh PROGRAM [ARGUMENT ...]"
    body = ("gpu=", f'case "{rank}" in', *cases, "esac", 'CUDA_VISIBLE_DEVICES="$gpu" exec "$@"')
    return _lines("#!/bin/sh", HEAD, usage, *body)


def _stretches(runs: Sequence[tuple[str, int]]) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    for host, count in runs:
        if found and found[-1][0] == count and _natural(found[-1][1][-1]) < _natural(host):
            found[-1][1].append(host)
        else:
            found.append((count, [host]))
    return found


def _natural(host: str) -> list[tuple[bool, int, str]]:
    """Key of an order in which n9 stands before n10."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"([0-9]+)", host)]


def commands(layout: Layout, folder: Path = Path(), *, divided: bool = True) -> str:
    """How each file is used, a line each, from where the folder of the files is called so.

    `divided`: whether units are divided among ranks, so that there are weights.
    """
    names = ("hostfile", "rankfile.mpich", "hostfile.openmpi", "rankfile.openmpi", "hostfile.slurm")
    *launched, job, weights = (shlex.quote(str(folder / name)) for name in (*names, "job.slurm", "metis.tpwgts"))
    parts = "# METIS, parts of these weights", f"gpmetis -tpwgts={weights} GRAPH {len(layout.ranks)}"
    job_lines = "# Slurm, as a heterogeneous job", f"sbatch {job} PROGRAM"
    return launches(layout, launched) + _lines(*job_lines, *(parts if divided else ()))


def launches(layout: Layout, names: Sequence[str]) -> str:
    """How host and rank file of MPICH, those of Open MPI, and Slurm's host file are used, by their names."""
    count, (mpich, bound, openmpi, ranks, slurm) = len(layout.ranks), names
    script = Path(mpich).parent / "with-gpus.sh"
    program = f"sh {script} PROGRAM" if layout.gpus else "PROGRAM"
    over, over_5 = (" --oversubscribe", ":OVERSUBSCRIBE") if layout.oversubscribed else ("", "")
    apart = " (a host that has two lines is two to it: its ranks share no memory; others do better)"
    return _lines(
        f"# MPICH{apart if layout.scattered else ''}",
        f"mpiexec -f {mpich} -n {count} {program}",
        "# MPICH, each rank on its core",
        f"mpiexec -f {bound} -n {count} {program}",
        "# Open MPI up to 4, each rank on its core",
        f"mpirun --hostfile {openmpi} --rankfile {ranks}{over} -n {count} {program}",
        "# Open MPI 5",
        f"mpirun --hostfile {openmpi} --map-by rankfile:FILE={ranks}{over_5} -n {count} {program}",
        "# Slurm, in an allocation that has these hosts",
        f"SLURM_HOSTFILE={slurm} srun --distribution=arbitrary -n {count} {program}",
    )


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)

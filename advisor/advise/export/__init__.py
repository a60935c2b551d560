"""Advice as files that others read: host files, rank files, Slurm, HPL.dat, partitions, METIS weights, FuPerMod."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from advisor.advise.export.hosts import (
    commands,
    mpich_hostfile,
    mpich_rankfile,
    openmpi_hostfile,
    openmpi_rankfile,
    slurm_hostfile,
    slurm_job,
    with_gpus,
)
from advisor.advise.export.layout import Layout, Rank, layout_of, ranks_of
from simulator import Configuration, Scenario, files, partitions

__all__ = ["Layout", "Rank", "commands", "export_files", "fupermod_dist", "layout_of", "ranks_of", "save_exports"]


def export_files(scenario: Scenario, configuration: Configuration) -> dict[str, str]:
    """Every export that fits the application: name of the file -> its text."""
    layout, divided = layout_of(scenario, configuration), not scenario.application.work.by_rank
    launched = {
        "hostfile": mpich_hostfile(layout),
        "rankfile.mpich": mpich_rankfile(layout),
        "hostfile.openmpi": openmpi_hostfile(layout),
        "rankfile.openmpi": openmpi_rankfile(layout),
        "hostfile.slurm": slurm_hostfile(layout),
        "job.slurm": slurm_job(layout),
        "commands.txt": commands(layout, divided=divided),
    }
    if not divided:
        return launched
    texts = launched | {
        "partition.csv": partition_csv(layout),
        "partition.json": partition_document(layout),
        "metis.tpwgts": metis_weights(layout),
        "partition.dist": fupermod_dist([(rank.host, rank.units) for rank in layout.ranks]),
        "fupermod.conf": fupermod_conf(layout),
        **snippets(),
    }
    if layout.gpus:
        texts["with-gpus.sh"] = with_gpus(layout)
    parameters = scenario.application.parameters
    hpl = hpl_dat(layout, parameters, configuration.grid) if scenario.application.name == "hpl" else None
    return texts if hpl is None else texts | {"HPL.dat": hpl}


def save_exports(scenario: Scenario, configuration: Configuration, folder: str | Path) -> list[str]:
    """Write every export into a folder, each whole or not at all, and name them.

    Raises ScenarioError if the folder cannot be written.
    """
    folder = Path(folder)
    texts = export_files(scenario, configuration)
    for name, text in texts.items():
        files.write_text(folder / name, text)
    return list(texts)


# What each rank gets, as programs read it: CSV, JSON, HPL.dat, METIS, FuPerMod, and code that reads the CSV.


HPL_DAT = """\
HPLinpack benchmark input file
written by apportion advise
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n:<12} Ns
1            # of NBs
{nb:<12} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p:<12} Ps
{q:<12} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
{bcast:<12} BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
0            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
BROADCASTS = {"ring": 0, "modified_ring": 1, "two_rings": 2, "scatter_ring": 4}
"""Broadcasts of ours that HPL has, by its numbers; others become its increasing ring."""
SNIPPETS = {"partition.h": "partition.h", "read_partition.py": "read_partition.py.txt"}
"""Name of a file that reads partition.csv -> its template."""


def partition_csv(layout: Layout) -> str:
    """`rank,host,pe,first,units`: each rank's consecutive units of work."""
    rows: list[tuple[object, ...]] = [("rank", "host", "pe", "first", "units")]
    for number, rank in enumerate(layout.ranks):
        one_line = " ".join(rank.pe.split())  # readers go line by line
        rows.append((number, rank.host, one_line, rank.first, rank.units))
    return files.csv_lines(rows)


def partition_document(layout: Layout) -> str:
    """The same as JSON."""
    ranks = [
        {"rank": number, "host": rank.host, "pe": rank.pe, "cpu": rank.cpu, "first": rank.first, "units": rank.units}
        for number, rank in enumerate(layout.ranks)
    ]
    return json.dumps({"format": 1, "application": layout.application, "units": layout.units, "ranks": ranks}, indent=1)


def metis_weights(layout: Layout) -> str:
    """`part = weight` for `gpmetis -tpwgts`; weights are shares of the units and add up to 1."""
    return "".join(f"{number} = {rank.units / layout.units!r}\n" for number, rank in enumerate(layout.ranks))


def fupermod_dist(parts: Sequence[tuple[str, int]]) -> str:
    """FuPerMod's `partition.dist`: how many units each device gets, devices by host and rank within it.

    Written after the manual page of its partitioner (hostname, device rank, distribution) and after programs that read
    the file: two lines with the number of devices and of units, a line of names, then columns with tabs.

    `parts`: host and units of each device.
    """
    head = f"#size {len(parts)}\n#D {sum(units for _, units in parts)}\n#hostname\trank_intra\td\n"
    ranks = _within(host for host, _ in parts)
    return head + "".join(
        f"{'_'.join(host.split())}\t{rank}\t{units}\n" for (host, units), rank in zip(parts, ranks, strict=True)
    )


def fupermod_conf(layout: Layout) -> str:
    """FuPerMod's `conf_file`: a line per process with its processor (`na`: not bound) and kind of device."""
    ranks = _within(rank.host for rank in layout.ranks)
    lines = (
        f"{of.host}\t{rank}\t{'na' if of.cpu is None else of.cpu}\t{'cpu' if of.gpu is None else 'gpu'}\t\n"
        for of, rank in zip(layout.ranks, ranks, strict=True)
    )
    return "#hostname\trank_intra\tbind\tdevice_type\tsuboptions\n" + "".join(lines)


def _within(hosts: Iterable[str]) -> list[int]:
    """The number of each among those of the same host."""
    counts: Counter[str] = Counter()
    found = []
    for host in hosts:
        found.append(counts[host])
        counts[host] += 1
    return found


def hpl_dat(layout: Layout, parameters: Mapping[str, Any], grid: tuple[int, int] | None = None) -> str | None:
    """HPL's input for a grid of these ranks, by default 1 x Q; None if they have unequal numbers of blocks.

    Blocks that cannot be divided evenly are dealt out by HPL as `even_split` does: one more for the first ranks.

    HPL gives each process as many blocks as any other: unequal PEs need unequal numbers of processes.
    """
    shares = tuple(rank.units for rank in layout.ranks)
    blocks = -(-int(parameters["n"]) // int(parameters["nb"]))
    if len(set(shares)) > 1 and shares != partitions.even_split(blocks, len(shares)):
        return None
    bcast = BROADCASTS.get(str(parameters.get("broadcast", "ring")), 0)
    p, q = grid or (1, len(layout.ranks))
    return HPL_DAT.format(n=parameters["n"], nb=parameters["nb"], p=p, q=q, bcast=bcast)


def snippets() -> dict[str, str]:
    """Code that reads `partition.csv` in a program: C, and Python with mpi4py."""
    folder = Path(__file__).parent / "templates"
    return {name: files.read_text(folder / template) for name, template in SNIPPETS.items()}

"""Advice as files that others read: host files, rank files, Slurm, HPL.dat, partitions, METIS weights, FuPerMod."""

from pathlib import Path

from advisor.advise.export.hosts import (
    commands,
    mpich_hostfile,
    mpich_rankfile,
    openmpi_hostfile,
    openmpi_rankfile,
    slurm_hostfile,
    slurm_job,
)
from advisor.advise.export.layout import Layout, Rank, layout_of, ranks_of
from advisor.advise.export.parts import (
    fupermod_conf,
    fupermod_dist,
    hpl_dat,
    metis_weights,
    partition_csv,
    partition_document,
    snippets,
)
from simulator import Configuration, Scenario, files

__all__ = ["Layout", "Rank", "export_files", "fupermod_dist", "layout_of", "ranks_of", "save_exports"]


def export_files(scenario: Scenario, configuration: Configuration) -> dict[str, str]:
    """Every export that fits the application: name of the file -> its text."""
    layout = layout_of(scenario, configuration)
    texts = {
        "hostfile": mpich_hostfile(layout),
        "rankfile.mpich": mpich_rankfile(layout),
        "hostfile.openmpi": openmpi_hostfile(layout),
        "rankfile.openmpi": openmpi_rankfile(layout),
        "hostfile.slurm": slurm_hostfile(layout),
        "job.slurm": slurm_job(layout),
        "commands.txt": commands(layout),
        "partition.csv": partition_csv(layout),
        "partition.json": partition_document(layout),
        "metis.tpwgts": metis_weights(layout),
        "partition.dist": fupermod_dist([(rank.host, rank.units) for rank in layout.ranks]),
        "fupermod.conf": fupermod_conf(layout),
        **snippets(),
    }
    parameters = scenario.application.parameters
    hpl = hpl_dat(layout, parameters, configuration.grid) if scenario.application.name == "hpl" else None
    return texts if hpl is None else texts | {"HPL.dat": hpl}


def save_exports(scenario: Scenario, configuration: Configuration, folder: str | Path) -> list[str]:
    """Write every export into a folder, each whole or not at all, and name them.

    Raises
    ------
    ScenarioError
        If the folder cannot be written.
    """
    folder = Path(folder)
    texts = export_files(scenario, configuration)
    for name, text in texts.items():
        files.write_text(folder / name, text)
    return list(texts)

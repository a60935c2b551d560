"""Platforms and machines that other programs' files describe."""

from simulator.platform.foreign.hwloc import check_same_machine, read_hwloc
from simulator.platform.foreign.simgrid import ImportedPlatform, read_simgrid
from simulator.platform.foreign.slurm_nodes import nodes_in, read_slurm

__all__ = ["ImportedPlatform", "check_same_machine", "nodes_in", "read_hwloc", "read_simgrid", "read_slurm"]

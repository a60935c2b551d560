"""Platforms and machines that other programs' files describe."""

from simulator.foreign_platforms.hwloc import check_same_machine, read_hwloc
from simulator.foreign_platforms.simgrid import ImportedPlatform, read_simgrid

__all__ = ["ImportedPlatform", "check_same_machine", "read_hwloc", "read_simgrid"]

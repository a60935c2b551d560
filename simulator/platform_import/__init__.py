"""Platforms that other simulators' files describe."""

from simulator.platform_import.simgrid import ImportedPlatform, read_simgrid

__all__ = ["ImportedPlatform", "read_simgrid"]

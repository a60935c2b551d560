"""Platforms that other simulators' files describe."""

from simulator.foreign_platforms.simgrid import ImportedPlatform, read_simgrid

__all__ = ["ImportedPlatform", "read_simgrid"]

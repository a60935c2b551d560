"""Platforms of scenarios as other programs' files."""

from simulator.results.platform_export.simgrid import SimgridExport, export_simgrid

__all__ = ["SimgridExport", "export_simgrid"]

"""Parallel templates: how the steps of a software execution graph are divided among processes, and what they send.

The middle layer of Papaefstathiou and others: below it is the hardware (resource models and links), above it the
application (the graph), and each can be swapped without the others.
"""

from simulator.programs.templates.butterfly import BUTTERFLY
from simulator.programs.templates.master_worker import MASTER_WORKER
from simulator.programs.templates.multiphase import MULTIPHASE
from simulator.programs.templates.row_column_broadcast import ROW_COLUMN_BROADCAST
from simulator.programs.templates.stencil import STENCIL
from simulator.programs.templates.template import Template

__all__ = ["TEMPLATES", "Template"]

TEMPLATES: dict[str, Template] = {
    one.name: one for one in (MULTIPHASE, BUTTERFLY, ROW_COLUMN_BROADCAST, MASTER_WORKER, STENCIL)
}
"""By name."""

"""Our own LU factorisation over MPI as a program to run under allocations."""

import sys
from pathlib import Path

from simulator.base.errors import ScenarioError
from simulator.calibration.bench.group import mpi_fault, mpiexec

BLOCK = 64
"""Columns of a block."""
WAITS = ("yield", "poll")
_LU = "simulator.calibration.allocation.lu_mpi"


def lu_command(wait: str, *, local: bool) -> tuple[str, ...]:
    """The command template.

    Raises
    ------
    ScenarioError
        If MPI is not installed, or the way of waiting is unknown.
    """
    if wait not in WAITS:
        raise ScenarioError(f"--wait: {wait!r} found, {' or '.join(WAITS)} allowed")
    if fault := mpi_fault():
        raise ScenarioError(f"--program lu: {fault}")
    where = () if local else ("-f", "{hostfile}")
    pin = ("{pin}",) if local else ()
    found_by = ("env", f"PYTHONPATH={Path(__file__).parents[3]}")  # ranks do not start where we did
    program = (*found_by, sys.executable, "-m", _LU, "{N}", str(BLOCK), "--kinds", "{kinds}", "--wait", wait)
    return (str(mpiexec()), *where, "-n", "{P}", *pin, *program)

"""Becomes mpiexec with the ranks of a sweep: `python -m`, this module, PARENT RANKS WORDS CPUS.

Standard input and output become those of rank 0, so that the driver talks to it as to any child.
"""

import os
import shutil
import sys
from pathlib import Path

from simulator.calibration.bench import lifeline


def mpiexec() -> str | None:
    """Where mpiexec is: the one beside the interpreter before any other."""
    beside = Path(sys.executable).parent
    return shutil.which("mpiexec", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")


def main() -> None:
    """Replace this process by mpiexec; the one beside the interpreter before any other."""
    parent, ranks, words, cpus = sys.argv[1:]
    lifeline.die_with_parent(int(parent))
    found = mpiexec()
    if found is None:
        raise SystemExit("mpiexec: not found")
    rank = [sys.executable, "-m", "simulator.calibration.apex.mpi_reader", words, cpus]
    os.execv(found, [found, "-n", ranks, *rank])  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()

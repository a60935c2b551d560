"""The stencil of scenarios/tutorial/balance.md on two MPI ranks; left out where mpi4py is missing."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.test_balance_tutorial import printed, program

# The extra [mpi] brings a launcher beside the interpreter.
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


@pytest.mark.slow
@pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
def test_a_stencil_on_two_ranks(tmp_path):
    source, output = program("mpi4py")
    (tmp_path / "stencil.py").write_text(source)
    assert printed([MPIEXEC, "-n", "2", sys.executable, "stencil.py"], tmp_path) == output

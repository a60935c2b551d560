"""Our LU over MPI against scipy.linalg, on 1 to 4 ranks; collected only where mpi4py is installed."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from simulator.calibration import lu_command
from simulator.calibration.allocation import lu_mpi
from simulator.calibration.allocation.program import make_reader
from simulator.calibration.bench.group import mpiexec

ROOT = Path(__file__).parents[4]
# Factors on MPI's ranks, and prints U's diagonal and the solution of all columns of each rank.
DRIVER = """
import sys
import numpy as np
from mpi4py import MPI
from simulator.calibration.allocation import lu_mpi
comm, n, block = MPI.COMM_WORLD, int(sys.argv[1]), int(sys.argv[2])
part = lu_mpi.BlockColumns(n, block, rank=comm.rank, ranks=comm.size, seed=3)
whole = comm.gather((part.columns, part.matrix.copy()))
job = lu_mpi.Factorisation(part, lu_mpi.Waiting(comm, polls=sys.argv[3] == "poll"))
job.factor()
done = comm.gather((part.columns, part.matrix))
x = comm.reduce(job.solve())
if comm.rank == 0:
    np.savez(sys.argv[4], x=x, **{name: np.concatenate([own for _, own in parts], axis=1)[:, np.argsort(
        np.concatenate([columns for columns, _ in parts]))] for name, parts in (("before", whole), ("after", done))})
"""


def run(ranks, *words):
    command = [mpiexec(), "-n", str(ranks), sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize(
    ("ranks", "n", "block", "wait"),
    [(1, 50, 8, "poll"), (2, 64, 16, "yield"), (3, 100, 7, "poll"), (4, 33, 64, "yield"), (4, 130, 8, "yield")],
)
def test_factors_and_solution_are_those_of_scipy(tmp_path, ranks, n, block, wait):
    done = run(ranks, "-c", DRIVER, n, block, wait, tmp_path / "lu.npz")
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "lu.npz")
    A, b = found["before"][:, :n], found["before"][:, n]
    _, lower, upper = scipy.linalg.lu(A)
    assert np.triu(found["after"][:, :n]) == pytest.approx(upper, rel=1e-9, abs=1e-11)
    assert found["x"] == pytest.approx(scipy.linalg.solve(A, b), rel=1e-7, abs=1e-9)
    assert np.triu(found["after"][:, :n]) @ found["x"] == pytest.approx(found["after"][:, n], rel=1e-7, abs=1e-9)
    assert np.abs(np.tril(lower, -1)).max() <= 1  # partial pivoting


def test_the_matrix_does_not_depend_on_the_number_of_ranks():
    whole = lu_mpi.BlockColumns(40, 8, rank=0, ranks=1, seed=5)
    for ranks in (2, 3):
        for rank in range(ranks):
            part = lu_mpi.BlockColumns(40, 8, rank=rank, ranks=ranks, seed=5)
            assert np.array_equal(part.matrix, whole.matrix[:, part.columns])


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_printed_can_be_read_and_adds_up(ranks):
    kinds = ["fast", "fast", "slow"][:ranks]
    module = "simulator.calibration.allocation.lu_mpi"
    done = run(ranks, "-m", module, 200, 32, "--kinds", ",".join(kinds))
    assert done.returncode == 0, done.stderr
    times = make_reader("lu", "lu").read(done.stdout, wall_s=0, kinds=kinds)
    assert set(times.comp_s) == set(kinds)
    for kind in kinds:
        assert times.comp_s[kind] + times.comm_s[kind] == pytest.approx(times.time_s, abs=2e-6)
        assert 0 < times.comp_s[kind] <= times.time_s
    assert float(re.search(r"residual=(\S+)", done.stdout)[1]) < lu_mpi.MOST_RESIDUAL


def test_ranks_of_another_mpi_are_told_apart():
    done = run(2, "-m", "simulator.calibration.allocation.lu_mpi", 20, 8, "--kinds", "a,a,a")
    assert done.returncode != 0
    assert "lu_mpi: 3 kinds for 2 ranks: mpi4py uses another MPI than this mpiexec" in done.stderr


def test_a_wrong_solution_has_a_large_residual():
    part = lu_mpi.BlockColumns(60, 16, rank=0, ranks=1, seed=2)
    x = scipy.linalg.solve(part.matrix[:, :60], part.matrix[:, 60])
    right = lu_mpi.residual(part, x, seed=2, total=lambda data: data)
    assert right < lu_mpi.MOST_RESIDUAL < lu_mpi.residual(part, x * (1 + 1e-9), seed=2, total=lambda data: data)


def test_the_command_template_pins_where_it_is_asked_to():
    assert "{pin}" in lu_command("yield", local=True)
    assert "{hostfile}" in lu_command("poll", local=False)

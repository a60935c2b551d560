"""LU factorisation over MPI, its phases timed: `mpiexec -n P python -m simulator.calibration.allocation.lu_mpi N NB`.

The columns of a random matrix and of a right-hand side are dealt out in blocks, one block to each rank in turn (1-D
block-cyclic, HPL's 1 x P grid): every rank has the same work. Per block: its owner factors the panel (partial pivots),
the panel goes round a ring, and everyone swaps rows and updates what is right of it. The solution is substituted back
and its residual checked. BLAS works in place on one thread.

Printed by rank 0: `time_s=... comp_s=... comm_s=... residual=...`, the phases (greatest of any rank), and per kind of
PE, `--kinds` of the ranks, `kind=... comp_s=... comm_s=...`. Computation is panel, update and solve; communication is
what is left of the time: swaps, the ring and waiting (EQUATIONS section 4).
"""

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from simulator.base import randomness

Floats = NDArray[np.float64]


# BLAS and LAPACK on parts of a matrix, in place: SciPy's own routines, without the copies that its wrappers make.
#
# Matrices are in columns (Fortran order); a part of rows and columns is one with the stride of the whole.


@cache
def _routine(module: str, name: str) -> Any:
    """A routine's address from the table that SciPy gives Cython code."""
    from scipy.linalg import cython_blas, cython_lapack

    capsule = {"blas": cython_blas, "lapack": cython_lapack}[module].__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


def _call(module: str, name: str, *arguments: "bytes | int | float | NDArray[Any]") -> None:
    """Call a routine: Fortran takes everything by its address."""
    kept: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kept.append(ctypes.c_void_p(argument.ctypes.data))
        elif isinstance(argument, bytes):
            kept.append(ctypes.c_char_p(argument))
        else:
            own = ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument)
            kept.append(ctypes.byref(own))
    _routine(module, name)(*kept)


def _stride(part: Floats) -> int:
    """From one column to the next, in elements."""
    if part.strides[0] != part.itemsize or part.dtype != np.float64:
        raise ValueError("these are no columns of float64")
    return max(part.strides[1] // part.itemsize if part.shape[1] > 1 else part.shape[0], 1)


def factor(part: Floats, pivots: NDArray[np.int32]) -> None:
    """LU with partial pivoting in place; `pivots[i]` is the row that row i was swapped with, from 1 on."""
    info = np.zeros(1, dtype=np.int32)
    _call("lapack", "dgetrf", *part.shape, part, _stride(part), pivots, info)
    if info[0] < 0:
        raise ValueError(f"dgetrf: argument {-info[0]}")


def swap_rows(part: Floats, pivots: NDArray[np.int32]) -> None:
    """Swap rows as a factorisation did."""
    _call("lapack", "dlaswp", part.shape[1], part, _stride(part), 1, pivots.size, pivots, 1)


def solve_unit_lower(lower: Floats, right: Floats) -> None:
    """`right = L^-1 right`, with the unit lower triangle of the first argument."""
    m, n = right.shape
    _call("blas", "dtrsm", b"L", b"L", b"N", b"U", m, n, 1.0, lower, _stride(lower), right, _stride(right))


def solve_upper(upper: Floats, right: Floats) -> None:
    """`right = U^-1 right` of a vector, with the upper triangle of the first argument."""
    _call("blas", "dtrsv", b"U", b"N", b"N", right.size, upper, _stride(upper), right, 1)


def subtract_product(left: Floats, right: Floats, whole: Floats) -> None:
    """`whole -= left right`."""
    (m, k), n = left.shape, right.shape[1]
    strides = _stride(left), _stride(right), _stride(whole)
    _call("blas", "dgemm", b"N", b"N", m, n, k, -1.0, left, strides[0], right, strides[1], 1.0, whole, strides[2])


PHASES = ("panel", "swap", "update", "broadcast", "solve")
COMPUTATION = ("panel", "update", "solve")
MOST_RESIDUAL = 16.0
"""HPL's own limit of the scaled residual."""
_PANEL, _PIVOTS, _CARRY = 1, 2, 3


class Waiting:
    """How a rank waits for a message: `yield` lets others have the core between looks, `poll` does not."""

    def __init__(self, comm: Any, *, polls: bool) -> None:
        self._comm = comm
        self._polls = polls

    def send(self, data: NDArray[Any], rank: int, tag: int) -> None:
        """Send, and wait until the buffer may be used again."""
        self._wait(self._comm.Isend(data, dest=rank, tag=tag))

    def receive(self, data: NDArray[Any], rank: int, tag: int) -> None:
        """Receive into a buffer."""
        self._wait(self._comm.Irecv(data, source=rank, tag=tag))

    def _wait(self, request: Any) -> None:
        while not request.Test():
            if not self._polls:
                os.sched_yield()


class BlockColumns:
    """The columns of one rank, and how the whole matrix is dealt out.

    Parameters
    ----------
    n, block
        Rows of the matrix, and columns of a block. Column n is the right-hand side.
    """

    def __init__(self, n: int, block: int, *, rank: int, ranks: int, seed: int) -> None:
        self.n, self.block, self.rank, self.ranks = n, block, rank, ranks
        self.columns = np.array(
            [column for column in range(n + 1) if (column // block) % ranks == rank], dtype=np.int64
        )
        self.matrix = self.made(seed)

    def made(self, seed: int) -> Floats:
        """The columns as they are before any work; (n, own columns), the same for every number of ranks."""
        found = np.empty((self.n, self.columns.size), order="F")
        for start in range(0, self.columns.size, self.block):
            own = self.columns[start : start + self.block]
            draws = randomness.stream(seed, "lu", int(own[0]) // self.block).random((self.block, self.n))
            found[:, start : start + own.size] = draws[: own.size].T - 0.5
        return found

    def owner(self, first: int) -> int:
        """The rank that has the block of a column."""
        return (first // self.block) % self.ranks

    def after(self, column: int) -> int:
        """Own columns before a column: where those from it on begin."""
        return int(np.searchsorted(self.columns, column))


class Factorisation:
    """One factorisation and solution, its phases timed on this rank."""

    def __init__(self, part: BlockColumns, waiting: Waiting) -> None:
        self._part, self._waiting = part, waiting
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - begun

    def factor(self) -> None:
        """Factor the matrix, and apply the same steps to the right-hand side."""
        part = self._part
        buffer = np.empty(part.n * part.block)
        for first in range(0, part.n, part.block):
            width, rows = min(part.block, part.n - first), part.n - first
            panel = buffer[: rows * width].reshape((rows, width), order="F")
            pivots = np.empty(width, dtype=np.int32)
            if part.owner(first) == part.rank:
                with self._timed("panel"):
                    at = part.after(first)
                    own = part.matrix[first:, at : at + width]
                    factor(own, pivots)
                    panel[:] = own
            with self._timed("broadcast"):
                self._round(panel, pivots, owner=part.owner(first))
            rest = part.matrix[first:, part.after(first + width) :]
            if rest.shape[1]:
                with self._timed("swap"):
                    swap_rows(rest, pivots)
                with self._timed("update"):
                    solve_unit_lower(panel[:width], rest[:width])
                    if rows > width:
                        subtract_product(panel[width:], rest[:width], rest[width:])

    def _round(self, panel: Floats, pivots: NDArray[np.int32], *, owner: int) -> None:
        """Pass a panel round the ring, from its owner on."""
        part = self._part
        if part.ranks == 1:
            return
        after, before = (part.rank + 1) % part.ranks, (part.rank - 1) % part.ranks
        flat = panel.reshape(-1, order="F")
        if part.rank != owner:
            self._waiting.receive(pivots, before, _PIVOTS)
            self._waiting.receive(flat, before, _PANEL)
        if after != owner:
            self._waiting.send(pivots, after, _PIVOTS)
            self._waiting.send(flat, after, _PANEL)

    def solve(self) -> Floats:
        """Substitute back, from the last block to the first; the own entries of the solution, zero elsewhere; (n,)."""
        part = self._part
        found = np.zeros(part.n)
        firsts = list(range(0, part.n, part.block))[::-1]
        carried = np.zeros(part.n)
        holder = part.owner(part.n)
        if part.rank == holder:
            carried[:] = part.matrix[:, -1]
        for first in firsts:
            owner, width = part.owner(first), min(part.block, part.n - first)
            if owner != holder and part.rank in {owner, holder}:
                with self._timed("broadcast"):
                    ends = carried[: first + width]
                    if part.rank == holder:
                        self._waiting.send(ends, owner, _CARRY)
                    else:
                        self._waiting.receive(ends, holder, _CARRY)
            if part.rank == owner:
                with self._timed("solve"):
                    at = part.after(first)
                    own = part.matrix[: first + width, at : at + width]
                    x = carried[first : first + width]
                    solve_upper(own[first:], x)
                    carried[:first] -= own[:first] @ x
                    found[first : first + width] = x
            holder = owner
        return found


def residual(part: BlockColumns, own: Floats, *, seed: int, total: Callable[[Floats], Floats]) -> float:
    """HPL's scaled residual, `|Ax - b| / (eps (|A| |x| + |b|) n)` with greatest norms.

    Parameters
    ----------
    own
        The own entries of the solution, zero elsewhere.
    total
        Sums arrays over the ranks.
    """
    made = part.made(seed)
    right = part.columns == part.n
    columns = part.columns[~right]
    x = total(own)
    product = total(made[:, ~right] @ x[columns])
    norm = float(total(np.abs(made[:, ~right]).sum(axis=1)).max())
    b = total(made[:, right].sum(axis=1))
    scale = np.finfo(np.float64).eps * (norm * float(np.abs(x).max()) + float(np.abs(b).max())) * part.n
    return float(np.abs(product - b).max()) / scale


def warm_up() -> None:
    """Load the libraries, so that the first panel does not pay for it."""
    small, pivots = np.asfortranarray(np.eye(4)), np.empty(4, dtype=np.int32)
    factor(small, pivots)
    swap_rows(small, pivots)
    solve_unit_lower(small, np.asfortranarray(np.eye(4)))
    solve_upper(small, np.ones(4))
    subtract_product(small, small, np.asfortranarray(np.eye(4)))


def run(arguments: argparse.Namespace) -> int:
    """Factor, solve, check and print; the exit status."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    kinds = arguments.kinds.split(",") if arguments.kinds else ["all"] * comm.size
    if len(kinds) != comm.size:
        text = f"lu_mpi: {len(kinds)} kinds for {comm.size} ranks: mpi4py uses another MPI than this mpiexec"
        raise SystemExit(text)
    part = BlockColumns(arguments.n, arguments.block, rank=comm.rank, ranks=comm.size, seed=arguments.seed)
    job = Factorisation(part, Waiting(comm, polls=arguments.wait == "poll"))
    comm.Barrier()
    begun = time.perf_counter()
    job.factor()
    own = job.solve()
    job_s = time.perf_counter() - begun

    def total(data: Floats) -> Floats:
        found = np.empty_like(data)
        comm.Allreduce(np.ascontiguousarray(data), found)
        return found

    error = residual(part, own, seed=arguments.seed, total=total)
    gathered = comm.gather((kinds[comm.rank], job_s, job.seconds), root=0)
    if comm.rank == 0:
        for line in lines_of(gathered or [], error):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0 if error < MOST_RESIDUAL else 3


def lines_of(gathered: list[tuple[str, float, dict[str, float]]], error: float) -> list[str]:
    """What rank 0 prints: kind, time and phases of every rank."""
    time_s = max(job_s for _, job_s, _ in gathered)
    comp_s: dict[str, float] = {}
    for kind, _, seconds in gathered:
        comp_s[kind] = max(comp_s.get(kind, 0.0), sum(seconds[phase] for phase in COMPUTATION))
    longest = max(comp_s.values())
    whole = f"time_s={time_s:.6f} comp_s={longest:.6f} comm_s={time_s - longest:.6f} residual={error:.4f}"
    phases = " ".join(f"{phase}_s={max(seconds[phase] for _, _, seconds in gathered):.6f}" for phase in PHASES)
    kinds = [f"kind={kind} comp_s={own:.6f} comm_s={time_s - own:.6f}" for kind, own in comp_s.items()]
    return [whole, phases, *kinds]


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="lu_mpi", description="LU over MPI, its phases timed.")
    parser.add_argument("n", type=int)
    parser.add_argument("block", type=int)
    parser.add_argument("--wait", choices=("yield", "poll"), default="yield")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.n < 1 or arguments.block < 1:
        raise SystemExit(f"lu_mpi: N is {arguments.n} and NB {arguments.block}; give at least 1 of each")
    warm_up()
    with threadpool_limits(limits=1):
        raise SystemExit(run(arguments))


if __name__ == "__main__":
    main()

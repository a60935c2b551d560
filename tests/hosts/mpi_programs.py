"""Two programs as users have them: rows of a matrix product, and a stencil in strips, in the parts of a file.

    mpiexec -f rankfile.mpich -n P python mpi_programs.py matmul 2000 1 partition.csv

Several files of parts are run in turns, so many times; ranks that they give nothing wait meanwhile. They stand alone:
nothing of ours is imported. Rank 0 prints the seconds of the slowest rank of each run.
"""

import csv
import os
import sys
import time
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
ITERATIONS = 40
PAUSE_S = 1e-3


def parts(path):
    """First unit and units of each rank."""
    with Path(path).open(newline="") as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: int(row["rank"]))
    return [(int(row["first"]), int(row["units"])) for row in rows]


def matmul(team, mine, n):
    """C = A B: rank 0 sends B and rows of A to each, and collects rows of C; what one run does."""
    first, units = mine[team.rank]
    rows = n if team.rank == 0 else units
    a, b, c = (np.ones((count, n)) for count in (rows, n, rows))

    def run():
        others = range(1, team.size) if team.rank == 0 else ()
        for other in others:
            begin, count = mine[other]
            team.Send(b, other)
            team.Send(a[begin : begin + count], other)
        if team.rank:
            team.Recv(b, 0)
            team.Recv(a, 0)
        own = slice(first, first + units) if team.rank == 0 else slice(0, units)
        np.matmul(a[own], b, out=c[own])
        for other in others:
            begin, count = mine[other]
            team.Recv(c[begin : begin + count], other)
        if team.rank:
            team.Send(c, 0)

    return run


def stencil(team, mine, n):
    """Means of five points, again and again; each rank has a strip of rows and swaps its edges with the next ones."""
    from numba import njit

    @njit("void(float64[:,::1], float64[:,::1])")
    def sweep(old, new):
        for i in range(1, old.shape[0] - 1):
            for j in range(1, old.shape[1] - 1):
                new[i, j] = 0.2 * (old[i, j] + old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])

    _, units = mine[team.rank]
    before = team.rank - 1 if team.rank else MPI.PROC_NULL
    behind = team.rank + 1 if team.rank + 1 < team.size else MPI.PROC_NULL
    strips = [np.ones((units + 2, n + 2)), np.ones((units + 2, n + 2))]

    def run():
        for _ in range(ITERATIONS):
            old, new = strips
            team.Sendrecv(old[1], before, recvbuf=old[-1], source=behind)
            team.Sendrecv(old[-2], behind, recvbuf=old[0], source=before)
            sweep(old, new)
            strips.reverse()

    return run


def wait_for_all():
    """A barrier in which nobody keeps a processor busy."""
    arrived = world.Ibarrier()
    while not arrived.Test():
        time.sleep(PAUSE_S)


def main():
    program, order, repetitions = {"matmul": matmul, "stencil": stencil}[sys.argv[1]], *map(int, sys.argv[2:4])
    splits = [parts(path) for path in sys.argv[4:]]
    runs = []
    for mine in splits:
        inside = world.rank < len(mine) and mine[world.rank][1] > 0
        team = world.Split(0 if inside else MPI.UNDEFINED, world.rank)
        runs.append(program(team, [one for one in mine if one[1]], order) if inside else None)
    for repetition in range(repetitions + 1):
        for number, run in enumerate(runs):
            wait_for_all()
            begun = MPI.Wtime()
            if run is not None:
                run()
            own = MPI.Wtime() - begun
            wait_for_all()
            longest = world.reduce(own if run is not None else 0.0, MPI.MAX)
            if world.rank == 0 and (repetition or not repetitions):
                print(f"seconds {number} {longest:.6f}", flush=True)


if __name__ == "__main__":
    main()

"""The same ring with mpi4py; then an object of Python, which is probed for before it is received."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
me, many = world.rank, world.size
mine, theirs = np.full(10, float(me)), np.empty(10)
requests = [world.Irecv(theirs, (me - 1) % many, 1), world.Isend(mine, (me + 1) % many, 1)]
MPI.Request.Waitall(requests)
world.Allreduce(MPI.IN_PLACE, theirs)
if me == 0:
    world.send(b"x" * 100, 1, 2)
elif me == 1:
    world.recv(source=0, tag=2)

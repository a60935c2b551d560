"""One MPI rank, a real process pinned to a PE: `mpiexec -n RANKS python -m simulator.calibration.pingpong.mpi_rank`.

Arguments: the parent's number, the driver's socket, and a JSON list of processors by rank. Commands and answers are
JSON lines over that socket and not over MPI, so that a rank that has nothing to do waits without polling.
"""

import json
import os
import socket
import sys
from typing import Any

from simulator.calibration.bench import lifeline
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.channels import Buffers, run_sample


class MpiChannel:
    """Messages to one other rank.

    Parameters
    ----------
    mpi
        The module `mpi4py.MPI`.
    peer
        Its rank.
    """

    def __init__(self, mpi: Any, peer: int) -> None:
        self._world = mpi.COMM_WORLD
        self._byte = mpi.BYTE
        self._peer = peer

    def send(self, payload: memoryview) -> None:
        """A standard send: eager or rendezvous, as the library decides."""
        self._world.Send([payload, self._byte], dest=self._peer)

    def receive(self, payload: memoryview) -> None:
        """A receive from that rank."""
        self._world.Recv([payload, self._byte], source=self._peer)

    def exchange(self, sent: memoryview, received: memoryview, rounds: int) -> None:
        """Combined sends and receives."""
        for _ in range(rounds):
            self._world.Sendrecv([sent, self._byte], dest=self._peer, recvbuf=[received, self._byte], source=self._peer)


def main() -> None:
    """Serve the driver until it ends the connection."""
    parent, path, cpus = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.Get_rank()
    lifeline.die_with_parent(os.getppid())
    os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    number, buffers = control.fileno(), Buffers()
    library = " ".join(MPI.Get_library_version().strip("\0").splitlines()[0].split())[:80]
    about = {"parent": parent, "rank": rank, "world": MPI.COMM_WORLD.Get_size(), "library": library}
    wire.send_line(number, about)
    while (command := wire.receive_line(number)) is not None:
        wire.send_line(number, run_sample(MpiChannel(MPI, command["peer"]), command, buffers))


if __name__ == "__main__":
    main()

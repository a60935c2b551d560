"""One rank, a real process pinned to a PE that obeys its driver: `python -m simulator.calibration.ranks.rank`.

It reads one JSON command per line on standard input and answers each with one JSON line on standard output.
Payloads to and from other ranks go over socket pairs whose numbers the driver passes on the command line, with that of
the file whose position all ranks share (the pool of a farm).
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simulator.base.machine import waited_seconds
from simulator.calibration.bench import lifeline
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import kernel as find_kernel
from simulator.calibration.kernels import operands
from simulator.calibration.kernels.operands import Matrix
from simulator.calibration.pingpong.channels import StreamChannel, bounce
from simulator.calibration.ranks.programs import PROGRAMS, Part, RealProgram, Room, Seat


class Rank:
    """What a rank keeps between commands: its channels, and what is prepared."""

    def __init__(self, peers: dict[int, StreamChannel], pool: int) -> None:
        self._peers = peers
        self._pool = pool
        self._kernels: dict[tuple[str, int, int], Callable[[], None]] = {}
        self._panels: dict[int, tuple[Matrix, Matrix, Matrix]] = {}
        self._room = Room()
        self._bytes = np.ones(0, dtype=np.uint8)
        self._parts: dict[int, tuple[Part, list[int]]] = {}

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        obeyed: dict[str, Callable[..., dict[str, Any]]] = {
            "prepare": self._prepare,
            "measure": self._measure,
            "forget": self._forget,
            "ping": self._ping,
            "prepare-program": self._prepare_program,
            "ready": self._ready,
            "run-program": self._run,
        }
        given = {name: value for name, value in command.items() if name != "do"}
        return obeyed[command["do"]](**given)

    def _forget(self) -> dict[str, Any]:
        self._kernels.clear()
        self._panels.clear()
        self._parts.clear()
        self._room = Room()
        self._bytes = np.ones(0, dtype=np.uint8)
        return {}

    def _prepare(self, kernel: str, n: int, rows: int) -> dict[str, Any]:
        """Rows of A and C, and B, which smaller panels of the same order share, as a run of the application does."""
        if n not in self._panels or self._panels[n][0].shape[0] < rows:
            right = self._panels[n][1] if n in self._panels else operands.right(n)
            self._panels[n] = operands.left(n, rows), right, np.zeros((rows, n))
        a, b, c = self._panels[n]
        multiply = find_kernel(kernel).multiply
        find_kernel(kernel).prepare(8, 8)()  # compiles it if it has to be
        self._kernels[kernel, n, rows] = partial(multiply, a[:rows], b, c[:rows])
        start = time.perf_counter()
        self._kernels[kernel, n, rows]()  # the first run pays for pages and compilation
        return {"wall_s": time.perf_counter() - start}

    def _measure(self, kernel: str, n: int, rows: int, inner: int) -> dict[str, Any]:
        run = self._kernels[kernel, n, rows]
        before = Usage.now()
        for _ in range(inner):
            run()
        return (Usage.now() - before).to_dict()

    def _ping(self, peer: int, size_bytes: int, *, first: bool) -> dict[str, Any]:
        view = self._payload(size_bytes)
        waited, start = waited_seconds(), time.perf_counter()
        bounce(self._peers[peer], view, view, rounds=1, first=first)
        wall_s = time.perf_counter() - start
        return {"wall_s": wall_s, "waited_s": waited_seconds() - waited}

    def _payload(self, size_bytes: int) -> memoryview:
        """So many bytes whose pages are there: an application's are too, and making them would count as a message."""
        if self._bytes.size < size_bytes:
            self._bytes = np.ones(size_bytes, dtype=np.uint8)
        return self._bytes[:size_bytes].data

    def _prepare_program(self, program: dict[str, Any], number: int, rank: int) -> dict[str, Any]:
        """Take a seat in a program; programs prepared before stay, and share their arrays with it."""
        seat = Seat(RealProgram(**program), rank, self._peers, self._pool)
        self._parts[number] = PROGRAMS[program["name"]].part(seat, self._room), list(program["places"][rank])
        return {}

    def _ready(self, number: int) -> dict[str, Any]:
        part, cpus = self._parts[number]
        os.sched_setaffinity(0, cpus)
        part.ready()
        return {}

    def _run(self, number: int, start: float) -> dict[str, Any]:
        """Wait for the moment at which all ranks start, and do this rank's part; its answer is checked afterwards."""
        part, _ = self._parts[number]
        time.sleep(max(0.0, start - time.perf_counter()))
        begun = time.perf_counter()
        used = part.run()
        end = time.perf_counter()
        return {"start": begun, "end": end, "compute": used.to_dict(), "told": part.check()}


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu, peers, pool = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    from threadpoolctl import threadpool_limits

    rank = Rank({int(peer): StreamChannel(number, number) for peer, number in peers.items()}, pool)
    with threadpool_limits(limits=1):
        for line in sys.stdin:
            answer = rank.obey(json.loads(line))
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

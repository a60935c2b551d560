"""One rank, a real process pinned to a PE that obeys its driver: `python -m simulator.calibration.ranks.rank`.

It reads one JSON command per line on standard input and answers each with one JSON line on standard output.
Payloads to and from other ranks go over socket pairs whose numbers the driver passes on the command line.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bench import lifeline
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import kernel, operands
from simulator.calibration.pingpong.channels import StreamChannel, bounce


@dataclass(frozen=True)
class Job:
    """One partition of the matrix product, ready to run."""

    kernel: str
    rank: int
    rows: list[int]
    a: operands.Matrix
    b: operands.Matrix
    c: operands.Matrix

    def multiply(self, rows: int) -> Usage:
        """Compute the first `rows` rows of C."""
        if not rows:
            return Usage()
        before = Usage.now()
        kernel(self.kernel).multiply(self.a[:rows], self.b, self.c[:rows])
        return Usage.now() - before


class Rank:
    """What a rank keeps between commands: its channels and the operands that are prepared."""

    def __init__(self, peers: dict[int, StreamChannel]) -> None:
        self._peers = peers
        self._kernels: dict[tuple[str, int, int], Callable[[], None]] = {}
        self._n = 0
        self._a: operands.Matrix | None = None
        self._b: operands.Matrix = np.zeros((0, 0))
        self._jobs: dict[tuple[int, ...], Job] = {}

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        match command["do"]:
            case "prepare":
                return self._prepare(command["kernel"], command["n"], command["rows"])
            case "measure":
                return self._measure(command["kernel"], command["n"], command["rows"], command["inner"])
            case "forget":
                self._kernels.clear()
                return {}
            case "ping":
                return self._ping(command["peer"], command["size_bytes"], first=command["first"])
            case "prepare-matmul":
                return self._prepare_matmul(command["kernel"], command["n"], command["rows"], command["rank"])
            case "matmul":
                job = self._jobs[tuple(command["rows"])]
                return self._master(job) if job.rank == 0 else self._worker(job)
        raise ValueError(command["do"])

    def _prepare(self, name: str, n: int, rows: int) -> dict[str, Any]:
        run = kernel(name).prepare(n, rows)
        run()  # the first run pays for pages and compilation
        self._kernels[name, n, rows] = run
        return {}

    def _measure(self, name: str, n: int, rows: int, inner: int) -> dict[str, Any]:
        run = self._kernels[name, n, rows]
        before = Usage.now()
        for _ in range(inner):
            run()
        return (Usage.now() - before).to_dict()

    def _ping(self, peer: int, size_bytes: int, *, first: bool) -> dict[str, Any]:
        view = np.zeros(size_bytes, dtype=np.uint8).data
        start = time.perf_counter()
        bounce(self._peers[peer], view, view, rounds=1, first=first)
        return {"wall_s": time.perf_counter() - start}

    def _prepare_matmul(self, name: str, n: int, rows: list[int], rank: int) -> dict[str, Any]:
        """Room for one partition; the master's A and B serve all partitions of one n."""
        if self._n != n:
            self._jobs.clear()
            self._n = n
            self._a, self._b = (operands.left(n, n), operands.right(n)) if rank == 0 else (None, np.ones((n, n)))
        own = n if rank == 0 else rows[rank]  # ones, not zeros: the pages must be there before the clock starts
        a = np.ones((own, n)) if self._a is None else self._a
        self._jobs[tuple(rows)] = Job(name, rank, rows, a, self._b, np.ones((own, n)))
        return {}

    def _master(self, job: Job) -> dict[str, Any]:
        edges = np.concatenate(([0], np.cumsum(job.rows)))
        workers = [rank for rank in range(1, len(job.rows)) if job.rows[rank]]
        start = time.perf_counter()
        for rank in workers:
            self._send(rank, job.b)
            self._send(rank, job.a[edges[rank] : edges[rank + 1]])
        used = job.multiply(job.rows[0])
        for rank in workers:
            self._recv(rank, job.c[edges[rank] : edges[rank + 1]])
        end = time.perf_counter()
        _check(job.c)
        job.c.fill(1.0)
        return {"start": start, "end": end, "compute": used.to_dict()}

    def _worker(self, job: Job) -> dict[str, Any]:
        start = time.perf_counter()
        used = Usage()
        if job.rows[job.rank]:
            self._recv(0, job.b)
            self._recv(0, job.a)
            used = job.multiply(job.rows[job.rank])
            self._send(0, job.c)
        return {"start": start, "end": time.perf_counter(), "compute": used.to_dict()}

    def _send(self, peer: int, payload: NDArray[Any]) -> None:
        self._peers[peer].send(payload.data.cast("B"))

    def _recv(self, peer: int, payload: NDArray[Any]) -> None:
        self._peers[peer].receive(payload.data.cast("B"))


def _check(c: operands.Matrix) -> None:
    """Compare three rows of C with their definition, so that a fast wrong run cannot pass."""
    n = len(c)
    b = operands.right(n)
    for row in (0, n // 2, n - 1):
        if not np.allclose(c[row], (operands.left(n, 1, first=row) @ b)[0], rtol=1e-9):
            raise ValueError(f"row {row} of the product is wrong")


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu, peers = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    from threadpoolctl import threadpool_limits

    rank = Rank({int(peer): StreamChannel(number, number) for peer, number in peers.items()})
    with threadpool_limits(limits=1):
        for line in sys.stdin:
            answer = rank.obey(json.loads(line))
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

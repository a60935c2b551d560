"""C = A x B by rows on real ranks: rank 0 sends B and rows of A, all multiply, rank 0 collects."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import KERNELS, kernel, operands
from simulator.calibration.ranks.programs.part import Matrix, Part, Room, Seat, Stopwatch, Told


class Product:
    """One rank's rows; the master has all of A, B and C beside its own."""

    def __init__(self, seat: Seat, room: Room) -> None:
        self._seat, self._room = seat, room
        self._n = int(seat.program.parameters["n"])
        self._multiply = kernel(seat.program.kernel).multiply
        self._edges = np.concatenate(([0], np.cumsum(seat.program.units)))

    @property
    def _master(self) -> bool:
        return not self._seat.rank

    def ready(self) -> None:
        """Operands at the master, room at the others, and a C that is wrong."""
        n = self._n
        rows = n if self._master else self._seat.units
        self._a = self._room.once("a", lambda: operands.left(n, n)) if self._master else self._room.rows("a", rows, n)
        self._b = self._room.once("b", lambda: operands.right(n)) if self._master else self._room.rows("b", n, n)
        self._c = self._room.rows("c", rows, n)
        self._c.fill(1.0)

    def run(self) -> Usage:
        """Distribute, multiply, collect; or receive, multiply, send back."""
        watch, workers = Stopwatch(), range(1, len(self._seat.program.units)) if self._master else ()
        for rank in workers:
            self._send(rank, self._b)
            self._send(rank, self._part(self._a, rank))
        if not self._master:
            self._receive(0, self._b)
            self._receive(0, self._a)
        if rows := self._seat.units:
            watch.timed(lambda: self._multiply(self._a[:rows], self._b, self._c[:rows]))
        for rank in workers:
            self._receive(rank, self._part(self._c, rank))
        if not self._master:
            self._send(0, self._c)
        return watch.total

    def check(self) -> Told:
        """Compare three rows of C with their definition, so that a fast wrong run cannot pass."""
        for row in (0, self._n // 2, self._n - 1) if self._master else ():
            if not np.allclose(self._c[row], (operands.left(self._n, 1, first=row) @ self._b)[0], rtol=1e-9):
                raise ValueError(f"row {row} of the product is wrong")
        return {}

    def _part(self, matrix: Matrix, rank: int) -> Matrix:
        return matrix[self._edges[rank] : self._edges[rank + 1]]

    def _send(self, peer: int, payload: Matrix) -> None:
        self._seat.channels[peer].send(payload.data.cast("B"))

    def _receive(self, peer: int, payload: Matrix) -> None:
        self._seat.channels[peer].receive(payload.data.cast("B"))


def part(seat: Seat, room: Room) -> Part:
    """One rank of the product."""
    return Product(seat, room)


def fault(kernel_name: str, parameters: Mapping[str, Any]) -> str | None:  # noqa: ARG001 - as the other programs ask
    """Why it cannot really run; None if it can."""
    if kernel_name in KERNELS:
        return None
    return f"matmul really runs with the kernels {', '.join(sorted(KERNELS))}, not with {kernel_name!r}"

"""C = A x B by rows: the master (process 0) sends rows of A and all of B, all multiply, the master collects."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.programs.applications.parameters import Counted, order
from simulator.programs.applications.work import Work, wrong_sum
from simulator.programs.configuration import Configuration
from simulator.programs.moves import Moves
from simulator.programs.program import Compute, Loop, Program, Recv, Send

WORD_BYTES = 8
DISTRIBUTE, COLLECT = 0, 1
"""Tags of the two kinds of messages."""


def volume(n: int, rows: int) -> float:
    """Floating point operations for `rows` rows of an n x n product."""
    return 2.0 * rows * n * n


def problem_size(n: int, rows: int) -> int:
    """Elements that a process with `rows` rows stores and processes: its rows of A and C, and B."""
    return n * n + 2 * rows * n


def sent_bytes(n: int, rows: int) -> int:
    """Payload from the master to a process: B and its rows of A."""
    return WORD_BYTES * (n * n + rows * n)


def collected_bytes(n: int, rows: int) -> int:
    """Payload from a process back to the master: its rows of C."""
    return WORD_BYTES * rows * n


@dataclass(frozen=True)
class MatrixProduct(Work):
    """The product of two square matrices, its rows divided among the processes; process 0 is the master."""

    n: int

    @property
    def units(self) -> int:
        """Rows."""
        return self.n

    @property
    def has_master(self) -> bool:
        """Process 0 sends and collects everything."""
        return True

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """The multiplication of so many rows."""
        return lambda rows: Compute(volume(self.n, rows), problem_size(self.n, rows))

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """To a worker and back."""
        return sent_bytes(self.n, units), collected_bytes(self.n, units)

    def moves(self, partition: tuple[int, ...]) -> Moves:
        """Rows of A and all of B into a GPU, rows of C out of it."""
        rows = np.array(partition, dtype=np.float64)
        into = np.where(rows > 0, WORD_BYTES * (self.n**2 + rows * self.n), 0.0)
        return Moves.of(rows.size, into=into, out=WORD_BYTES * rows * self.n)

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without rows takes no part, and the rows add up to n."""
        n, rows = self.n, configuration.partition
        if sum(rows) != n:
            raise wrong_sum(configuration, sum(rows), total=n, noun="rows", name="n")
        compute = Compute(*(np.array([amount(n, count) for count in rows]) for amount in (volume, problem_size)))
        sent, collected = (np.array([size(n, count) for count in rows]) for size in (sent_bytes, collected_bytes))
        workers = np.flatnonzero(rows[1:])[:, np.newaxis] + 1
        master = (
            Loop(workers.size, (Send(workers, sent[workers], DISTRIBUTE),)),
            compute,
            Loop(workers.size, (Recv(workers, COLLECT),)),
        )
        worker = (Recv(0, DISTRIBUTE), compute, Send(0, collected, COLLECT))
        return Program(
            operations=(master, *(worker if count else () for count in rows[1:])),
            footprints_bytes=(
                WORD_BYTES * 3 * n * n,
                *(WORD_BYTES * problem_size(n, count) if count else 0 for count in rows[1:]),
            ),
        )


APPLICATION = Counted(
    "matmul",
    MatrixProduct,
    {
        "n": order("order of the matrices"),
    },
)

"""Fourier transform of n x n complex points: rows, transpose, rows.

Each process has some rows. It transforms them, sends the part that will be others' rows to each, and transforms the
rows that it then has; the result stays transposed. A row is 5 n log2 n floating point operations (the convention of
FFT benchmarks; 1 for n = 1), twice. With `r_i` rows, process i sends 16 r_i r_j bytes to process j, in as many rounds
as there are others: in round k to the k-th after it, from the k-th before it (`AllToAll`, pairwise, of unequal
parts).

The problem size of a process is input and output of its rows, 4 n words each as of the kernel `fft`; it holds 32 n
bytes per row. Nothing else is counted: moving the own part, 16 r_i**2 bytes, costs nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np

from simulator.programs.applications.parameters import Counted, order
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import NOBODY, Compute, Exchange, Loop, Program

POINT_BYTES = 16


@dataclass(frozen=True)
class Fft(Work):
    """A Fourier transform in two dimensions, its rows divided among the processes."""

    n: int
    """Points per row, and rows."""

    @property
    def units(self) -> int:
        """Rows."""
        return self.n

    def row_volume(self) -> float:
        """Floating point operations for one row, once."""
        return 5 * self.n * log2(self.n) if self.n > 1 else 1.0

    def problem_size(self, rows: int) -> int:
        """Elements that so many rows take, input and output."""
        return 4 * self.n * rows

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """Both transforms of so many rows."""
        return lambda rows: Compute(2 * rows * self.row_volume(), self.problem_size(rows))

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Its rows, as one message."""
        return (POINT_BYTES * self.n * units,) if units else ()

    def rounds(self, processes: int) -> int:
        """One with each process."""
        return processes

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without rows takes no part."""
        team = Team.of(configuration, total=self.n, noun="rows", name="n")
        rows, turns = team.units, np.arange(1, team.size)[:, np.newaxis]
        to, source = (
            np.where(rows > 0, team.members[(team.place + step) % team.size], NOBODY) for step in (turns, -turns)
        )
        transform = Compute(np.asarray(rows * self.row_volume()), 4 * self.n * rows)
        transpose = Loop(team.size - 1, (Exchange(to, source, POINT_BYTES * rows * rows[to]),))
        return team.program((transform, transpose, transform), 2 * POINT_BYTES * self.n * rows)


APPLICATION = Counted(
    "fft",
    Fft,
    {
        "n": order("points of a row, and rows"),
    },
)

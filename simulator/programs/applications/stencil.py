"""Five-point stencil on n x n points: strips of rows, halo rows exchanged with both neighbours in each iteration.

In each iteration a process sends its last row down and receives the row above its first, then the other way round: 8
n bytes each, at the ends of the chain only what exists. Then it computes its r rows, 5 n r floating point operations
(four additions, one multiplication). The border has fixed values that everyone knows. The problem size is its rows,
old and new, and two halo rows: n (2 r + 2); it holds 8 bytes for each.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.programs.applications.parameters import MOST_STEPS, Counted, order, whole
from simulator.programs.applications.work import Movable, Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.moves import Moves
from simulator.programs.program import Compute, Exchange, Loop, Program

WORD_BYTES = 8
POINT_VOLUME = 5


@dataclass(frozen=True)
class Stencil(Work):
    """Iterations on a square, its rows divided among the processes."""

    n: int
    """Points per row, and rows."""
    iterations: int

    @property
    def units(self) -> int:
        """Rows."""
        return self.n

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """Iterations."""
        return self.iterations

    def problem_size(self, rows: int) -> int:
        """Elements that a strip of so many rows takes."""
        return self.n * (2 * rows + 2)

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """All iterations on a strip."""
        volume = POINT_VOLUME * self.n * self.iterations
        return lambda rows: Compute(float(volume * rows), self.problem_size(rows))

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Two halo rows in each iteration."""
        return (WORD_BYTES * self.n,) * (2 * self.iterations) if units else ()

    def movable(self, configuration: Configuration) -> Movable | None:  # noqa: ARG002 - the same for all
        """Rows, each with its old points."""
        return Movable(1, WORD_BYTES * self.n)

    def moves(self, partition: tuple[int, ...]) -> Moves:
        """A halo row into a GPU and one out of it for each neighbour in each iteration; strips stay there."""
        taking = np.array(partition) > 0
        place = np.cumsum(taking) - 1
        neighbours = np.where(taking, (place > 0).astype(np.int64) + (place < taking.sum() - 1), 0)
        halo = WORD_BYTES * self.n * neighbours
        return Moves.of(len(partition), each_into=halo, each_out=halo)

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without rows takes no part."""
        return self.stretch(configuration, 0, self.iterations)

    def stretch(self, configuration: Configuration, first: int, count: int) -> Program:  # noqa: ARG002 - all alike
        """Those of some iterations."""
        team = Team.of(configuration, total=self.n, noun="rows", name="n")
        above, under = team.process(team.place - 1), team.process(team.place + 1)
        size, halo_bytes = self.n * (2 * team.units + 2), WORD_BYTES * self.n
        body = (
            Exchange(under, above, halo_bytes),
            Exchange(above, under, halo_bytes),
            Compute(POINT_VOLUME * self.n * team.units, size),
        )
        return team.program((Loop(count, body),), WORD_BYTES * size)


APPLICATION = Counted(
    "stencil",
    Stencil,
    {
        "n": order("points of a row, and rows"),
        "iterations": whole(most=MOST_STEPS, meaning="how often all points are computed"),
    },
)

"""Fourier transform of n x n x n complex points on a grid of processes: lines along x, y and z, exchanged in between.

R x Q processes; process i Q + j has r_i of n positions along one axis and c_j along another, and whole lines along the
third. It transforms its r_i c_j lines along x, exchanges with the R processes of its grid column so that it then has
lines along y, transforms those, exchanges with the Q processes of its grid row, and transforms its lines along z. In
the first exchange process i of a column sends 16 r_i r_k c_j bytes to the k-th, in the second process j of a row sends
16 r_i c_j c_k bytes to the k-th; both go in rounds, in round t to the t-th after it, from the t-th before it.

One row, 1 x P, is the slab decomposition: whole planes, and the first exchange is left out. Grids of several rows are
the pencil decomposition, which more than n processes can use. A line is 5 n log2 n floating point operations (1 for
n = 1), so all is 15 n**3 log2 n. The problem size of a transform is its input and output, 4 n r_i c_j words as of the
kernel `fft`; a process holds 32 n r_i c_j bytes. Moving a process's own part costs nothing, and the result stays with
lines along z. A partition divides the n**2 lines and has the form of the grid: r_i c_j for each process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np

from simulator.base.arrays import Flags, Ints
from simulator.programs.applications.parameters import Counted, whole
from simulator.programs.applications.work import Grid, Shape, Team, Work, shapes
from simulator.programs.configuration import Configuration
from simulator.programs.program import NOBODY, Compute, Exchange, Loop, Program

POINT_BYTES = 16


@dataclass(frozen=True)
class Fft3d(Work):
    """A Fourier transform in three dimensions, on a grid of processes."""

    n: int
    """Points along each axis."""

    @property
    def units(self) -> int:
        """Lines."""
        return self.n**2

    def line_volume(self) -> float:
        """Floating point operations for one line."""
        return 5 * self.n * log2(self.n) if self.n > 1 else 1.0

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many lines along each of the three axes."""
        return lambda lines: Compute(3 * lines * self.line_volume(), 4 * self.n * lines)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Its points, in each of the two exchanges."""
        return (POINT_BYTES * self.n * units,) * 2 if units else ()

    def rounds(self, processes: int) -> int:
        """One with each process of the longest possible row."""
        return processes

    def grids(self, processes: int) -> tuple[Shape, ...]:
        """Those whose rows and columns are not more than there are positions along an axis."""
        return tuple(shape for shape in shapes(processes) if max(shape) <= self.n)

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:
        """Positions in proportion to what a row of the grid has, and a column."""
        return Grid.near(self.n, partition, grid or (1, len(partition))).partition

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without lines takes no part."""
        shape = configuration.grid or (1, len(configuration.partition))
        grid = Grid.of(self.n, configuration, shape, noun="lines", power="n**2")
        team = Team(np.array(configuration.partition, dtype=np.int64))
        row, column = np.divmod(np.arange(team.units.size), shape[1])
        r, c = grid.rows[row], grid.columns[column]
        transform = Compute(np.asarray(team.units * self.line_volume(), dtype=np.float64), 4 * self.n * team.units)
        down, across = (
            _exchanges(team.units > 0, place, parts, stride, POINT_BYTES * r * c)
            for place, parts, stride in ((row, grid.rows, shape[1]), (column, grid.columns, 1))
        )
        operations = (transform, down, transform, across, transform)
        return team.program(operations, 2 * POINT_BYTES * self.n * team.units)


def _exchanges(takes_part: Flags, place: Ints, parts: Ints, stride: int, own_bytes: Ints) -> Loop:
    """Pairwise rounds among the processes of a row or column of the grid."""
    members = np.flatnonzero(parts)
    rank = np.searchsorted(members, place)
    turns = np.arange(1, members.size)[:, np.newaxis]
    after, before = (members[(rank + step) % members.size] for step in (turns, -turns))
    here = np.arange(place.size)
    to, source = (np.where(takes_part, here + (other - place) * stride, NOBODY) for other in (after, before))
    return Loop(members.size - 1, (Exchange(to, source, own_bytes * parts[after]),))


APPLICATION = Counted(
    "fft3d",
    Fft3d,
    {
        "n": whole(most=10**5, meaning="points along each of the three axes"),
    },
)

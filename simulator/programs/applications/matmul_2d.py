"""C = A x B on a grid of processes, panel by panel (SUMMA: van de Geijn and Watts, 1997).

R x Q processes, in R = `grid_rows` rows or as the configuration says; process i Q + j has r_i rows and c_j columns of
A, B and C, in place at the start and the end. The inner dimension is cut into panels of at most nb, which end where an
owner's part ends. For a panel of w:

1. the owner of its columns of A in each row of the grid broadcasts 8 r_i w bytes along the row;
2. the owner of its rows of B in each column of the grid broadcasts 8 w c_j bytes along the column;
3. each process computes 2 r_i c_j w floating point operations on r_i c_j + r_i w + w c_j elements.

A process holds its parts of the three matrices and two panels: 8 (3 r_i c_j + (r_i + c_j) nb) bytes. A partition
divides the n**2 elements of C, r_i c_j for each process. So it must have the form of a grid: unequal rows, unequal
columns, or both (Kalinov and Lastovetsky, 2001). Grid rows or columns without elements take no part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isqrt
from typing import get_args

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.programs.applications.parameters import BROADCAST, Counted, check_steps, choice, order, whole
from simulator.programs.applications.work import Grid, Movable, Shape, Work, shapes
from simulator.programs.configuration import Configuration
from simulator.programs.moves import Moves
from simulator.programs.program import Broadcast, BroadcastAlgorithm, Compute, Loop, Program, Row

WORD_BYTES = 8


@dataclass(frozen=True)
class GridProduct(Work):
    """The product of two square matrices on a grid of processes."""

    n: int
    nb: int
    grid_rows: int
    broadcast: BroadcastAlgorithm

    def __post_init__(self) -> None:
        check_steps(self.n, self.nb)

    @property
    def units(self) -> int:
        """Elements of C."""
        return self.n**2

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """Panels."""
        return ceil(self.n / self.nb)

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many elements of C, as a square, all panels in one computation."""
        return lambda units: Compute(2.0 * units * self.n, units + 2 * self._side(units) * self.nb)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Both panels of each step for a square of C."""
        panel = WORD_BYTES * self._side(units) * self.nb
        return (panel,) * (2 * ceil(self.n / self.nb)) if units else ()

    def grids(self, processes: int) -> tuple[Shape, ...]:
        """All."""
        return shapes(processes)

    def shape(self, configuration: Configuration) -> Shape:
        """As the configuration says it, else in `grid_rows` rows."""
        return configuration.grid or self._shape(len(configuration.partition), configuration.name)

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:
        """Rows in proportion to what a row of the grid has, columns likewise."""
        return Grid.near(self.n, partition, grid or self._shape(len(partition), "advice")).partition

    def grid(self, configuration: Configuration) -> Grid:
        """The grid that a partition describes."""
        return Grid.of(self.n, configuration, self.shape(configuration), noun="elements of C", power="n**2")

    def movable(self, configuration: Configuration) -> Movable | None:
        """Whole rows of A, B and C, where the grid has one column."""
        return Movable(self.n, 3 * WORD_BYTES * self.n) if self.shape(configuration)[1] == 1 else None

    def moves(self, partition: tuple[int, ...]) -> Moves:
        """Both panels of each step into a GPU, the part of C out of it in the end; a part is taken for a square."""
        sides, steps = np.sqrt(np.array(partition, dtype=np.float64)), ceil(self.n / self.nb)
        panels = WORD_BYTES * 2 * sides * self.n / steps
        return Moves.of(len(partition), each_into=panels, out=WORD_BYTES * sides**2)

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without elements takes no part."""
        return self.stretch(configuration, 0, self.rounds(len(configuration.partition)))

    def stretch(self, configuration: Configuration, first: int, count: int) -> Program:
        """Those of some panels; where panels pass from one process to the next, they are cut in two."""
        grid = self.grid(configuration)
        rows, columns = grid.rows.tolist(), grid.columns.tolist()
        edges = np.unique(
            np.concatenate((np.arange(0, self.n, self.nb), [self.n], np.cumsum(rows), np.cumsum(columns)))
        )
        done = (edges[:-1] >= first * self.nb) & (edges[:-1] < (first + count) * self.nb)
        starts, widths = edges[:-1][done], np.diff(edges)[done]
        of_a = np.searchsorted(np.cumsum(columns), starts, side="right")
        of_b = np.searchsorted(np.cumsum(rows), starts, side="right")
        across = [j for j, count in enumerate(columns) if count]
        down = [i for i, count in enumerate(rows) if count]

        def row(i: int, j: int) -> Row:
            r, c, width = rows[i], columns[j], len(columns)
            if not r or not c:
                return ()
            a_group, b_group = tuple(i * width + k for k in across), tuple(k * width + j for k in down)
            body = (
                Broadcast(i * width + of_a, WORD_BYTES * r * widths, self.broadcast, a_group),
                Broadcast(of_b * width + j, WORD_BYTES * c * widths, self.broadcast, b_group),
                Compute((2.0 * r * c * widths)[:, np.newaxis], (r * c + (r + c) * widths)[:, np.newaxis]),
            )
            return (Loop(widths.size, body),)

        places = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
        held = [(3 * rows[i] * columns[j] + (rows[i] + columns[j]) * self.nb) for i, j in places]
        footprints = [WORD_BYTES * held[k] if rows[i] * columns[j] else 0 for k, (i, j) in enumerate(places)]
        return Program(tuple(row(i, j) for i, j in places), tuple(footprints))

    def _shape(self, processes: int, name: str) -> tuple[int, int]:
        if processes % self.grid_rows:
            where = f"configuration {name}: partition"
            needed = f"but needs a multiple of grid_rows = {self.grid_rows}; write as many, or another grid_rows"
            raise ScenarioError(f"{where}: it has {processes} processes, {needed}")
        return self.grid_rows, processes // self.grid_rows

    def _side(self, units: int) -> int:
        return isqrt(units)


APPLICATION = Counted(
    "matmul_2d",
    GridProduct,
    {
        "n": order("order of the matrices"),
        "nb": whole(meaning="width of a panel"),
        "grid_rows": whole(meaning="rows of the grid of processes"),
        "broadcast": choice(get_args(BroadcastAlgorithm), "ring", BROADCAST),
    },
    chosen=("nb", "grid_rows", "broadcast"),
)

"""Cholesky factorisation of a matrix of order n, right-looking: blocks of nb columns, dealt out in cycles.

Step k of K = ceil(n / nb), with m = n - k nb rows left and a panel of w columns (nb, the last one what is left):

1. the panel's owner factors its diagonal block, w**3/3 + w**2/2 + w/6 floating point operations, and solves for the
   rows below, (m - w) w**2;
2. the panel, 8 m w bytes, is broadcast from its owner (not the last one: nobody needs it);
3. each process updates its blocks behind the panel. A block of v columns with b rows below its diagonal block takes
   v (v + 1) w operations for the lower half of that and 2 b v w for the rest.

All in all n**3/3 + n**2/2 + n/6, whatever nb. The problem size of a computation is the elements that it reads and
writes, the panel's m w and those of the blocks behind it, each with (b + v) v. A process holds its columns and one
panel, the upper half too: 8 n (columns + nb) bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from simulator.programs.applications.block_columns import BlockColumns
from simulator.programs.applications.parameters import BROADCAST, Counted, choice, order, whole
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import Broadcast, BroadcastAlgorithm, Compute, Loop, Program

WORD_BYTES = 8


@dataclass(frozen=True)
class Cholesky(Work):
    """A Cholesky factorisation; a partition is column blocks per cycle."""

    matrix: BlockColumns
    broadcast: BroadcastAlgorithm

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """Column blocks."""
        return self.matrix.count

    @property
    def units(self) -> int:
        """Column blocks; a partition may also add up to any smaller number."""
        return self.matrix.count

    @property
    def volume(self) -> float:
        """Floating point operations of all processes."""
        n = self.matrix.n
        return n * (n + 1) * (2 * n + 1) / 6

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many average blocks, all steps in one computation, at the size of the blocks as they are stored."""
        each = self.volume / self.units
        return lambda units: Compute(units * each, self.matrix.n * self.matrix.nb * units)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Every panel but the last, once."""
        panels = WORD_BYTES * self.matrix.left * self.matrix.widths
        return tuple(panels[:-1].tolist()) if units else ()

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without blocks takes no part."""
        matrix, count, last = self.matrix, len(configuration.partition), self.matrix.count - 1
        owners = matrix.owners(configuration)
        team = Team(np.array(configuration.partition, dtype=np.int64))
        m, w = matrix.left, matrix.widths
        v = w.astype(np.float64)
        factor = v * (v + 1) * (2 * v + 1) / 6 + (m - w) * v**2
        panel, panel_size = matrix.of_owner(owners, factor, count), (m * w)[:, np.newaxis]
        block = v * (v + 1) + 2 * (m - w) * v
        update = w[:, np.newaxis] * matrix.after(owners, block, count)
        update_size = panel_size + matrix.after(owners, m * w, count)
        body = (
            Compute(panel[:last], panel_size[:last]),
            Broadcast(owners[:last], (WORD_BYTES * m * w)[:last], self.broadcast, team.group),
            Compute(update[:last], update_size[:last]),
        )
        columns = np.bincount(owners, weights=w, minlength=count).astype(np.int64)
        row = (Loop(last, body), Compute(panel[last], panel_size[last]))
        return team.program(row, WORD_BYTES * matrix.n * (columns + matrix.nb))


APPLICATION = Counted(
    "cholesky",
    lambda n, nb, broadcast: Cholesky(BlockColumns(n, nb), broadcast),
    {
        "n": order("order of the matrix"),
        "nb": whole(meaning="columns of a block"),
        "broadcast": choice(get_args(BroadcastAlgorithm), "ring", BROADCAST),
    },
    chosen=("nb", "broadcast"),
)

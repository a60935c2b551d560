"""HPL, the LU factorisation of a matrix of order n on a 1 x P grid: blocks of nb columns, dealt out in cycles.

Step k of K = ceil(n / nb), with m = n - k nb rows left and a panel of w columns (nb, the last one what is left):

1. the panel's owner factors it: m w**2 floating point operations;
2. the panel, 8 m w bytes, is broadcast from its owner;
3. each process updates its c columns behind the panel: 2 w m c operations.

There is no look-ahead. Row swaps are in 1 and 3 (they move, and compute nothing); the back substitution, of order n**2,
is left out. The problem size of a computation is the elements that it reads and writes: m w in 1, m (w + c) in 3. A
process holds its columns and one panel: 8 n (columns + nb) bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from simulator.applications.block_columns import BlockColumns
from simulator.applications.parameters import ORDER, Choice, Field, Parameters, Whole, read
from simulator.applications.team import Team
from simulator.applications.work import Work
from simulator.configuration import Configuration
from simulator.program import Broadcast, BroadcastAlgorithm, Compute, Loop, Program

if TYPE_CHECKING:
    from simulator.models.regression.runtime_model import RuntimeModel

WORD_BYTES = 8


@dataclass(frozen=True)
class Hpl(Work):
    """An LU factorisation; a partition is column blocks per cycle, 1 for each process in HPL itself."""

    matrix: BlockColumns
    broadcast: BroadcastAlgorithm

    @property
    def units(self) -> int:
        """Column blocks; a partition may also add up to a divisor or to any smaller number."""
        return self.matrix.count

    @property
    def volume(self) -> float:
        """Floating point operations of all processes."""
        m, w = (part.astype(np.float64) for part in (self.matrix.left, self.matrix.widths))
        return float(np.sum(m * w**2 + 2 * w * m * (m - w)))

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many average blocks, all steps in one computation, at the size of the blocks in the first step."""
        each = self.volume / self.units
        return lambda units: Compute(units * each, self.matrix.n * self.matrix.nb * units)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Every panel, once."""
        panels = WORD_BYTES * self.matrix.left * self.matrix.widths
        return tuple(panels.tolist()) if units else ()

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without blocks takes no part."""
        matrix, count = self.matrix, len(configuration.partition)
        owners = matrix.owners(configuration)
        team = Team(np.array(configuration.partition, dtype=np.int64))
        m, w = matrix.left, matrix.widths
        panel = Compute(matrix.of_owner(owners, m * w.astype(np.float64) ** 2, count), (m * w)[:, np.newaxis])
        behind = matrix.after(owners, w, count)
        update = Compute(
            (2.0 * w * m)[:, np.newaxis] * behind,
            m[:, np.newaxis] * (w[:, np.newaxis] + behind),
        )
        broadcast = Broadcast(owners, WORD_BYTES * m * w, self.broadcast, team.group)
        columns = np.bincount(owners, weights=w, minlength=count).astype(np.int64)
        return team.program(
            (Loop(matrix.count, (panel, broadcast, update)),), WORD_BYTES * matrix.n * (columns + matrix.nb)
        )


def make(parameters: Parameters, model: "RuntimeModel | None") -> Hpl:
    """Check the parameters: `n`, order; `nb`, columns of a block; `broadcast`, algorithm (`ring`).

    Raises
    ------
    ScenarioError
        If they do not fit, or there is a model.
    """
    fields: dict[str, Field] = {"n": ORDER, "nb": Whole(), "broadcast": Choice(get_args(BroadcastAlgorithm), "ring")}
    values = read("hpl", parameters, model, fields)
    return Hpl(BlockColumns(values["n"], values["nb"]), values["broadcast"])

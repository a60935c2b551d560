"""A square matrix in blocks of columns, dealt out to processes in cycles."""

from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.applications.parameters import check_steps
from simulator.programs.configuration import Configuration


@dataclass(frozen=True)
class BlockColumns:
    """A matrix of order n in blocks of nb columns; the last block has what is left."""

    n: int
    nb: int

    def __post_init__(self) -> None:
        check_steps(self.n, self.nb)

    @property
    def count(self) -> int:
        """K: number of blocks."""
        return -(-self.n // self.nb)

    @property
    def first(self) -> Ints:
        """First column of each block; (K,)."""
        return np.arange(self.count) * self.nb

    @property
    def widths(self) -> Ints:
        """Columns of each block; (K,)."""
        return np.minimum(self.nb, self.n - self.first)

    @property
    def left(self) -> Ints:
        """Rows from each block's diagonal down, its own included; (K,)."""
        return self.n - self.first

    def owners(self, configuration: Configuration, *, blocks: int | None = None) -> Ints:
        """The process of each block; (K,), or of as many `blocks` as are dealt.

        A partition is blocks per cycle. Blocks are dealt one by one to the process for which (blocks it would then
        have) / (its blocks per cycle) is least, the first of equals, so that after a cycle of `sum(partition)` blocks
        each has its own number of them, spread evenly. With 1 for each process that is the block-cyclic distribution
        of HPL; unequal ones are those of Kalinov and Lastovetsky, "Heterogeneous distribution of computations solving
        linear algebra problems on networks of heterogeneous computers", 2001.
        """
        per_cycle = np.array(configuration.partition, dtype=np.int64)
        cycle = int(per_cycle.sum())
        most = max(self.count, per_cycle.size)
        if cycle > most:
            where = f"configuration {configuration.name}: partition"
            wanted = f"give column blocks per cycle, 1 to {most} in all, such as 1 for each process"
            raise ScenarioError(f"{where}: these are {cycle} blocks; {wanted}")
        process = np.repeat(np.arange(per_cycle.size), per_cycle)
        which = np.arange(cycle) - np.repeat(np.cumsum(per_cycle) - per_cycle, per_cycle)
        order = np.lexsort((process, (which + 1) / per_cycle[process]))
        return np.asarray(process[order][np.arange(blocks or self.count) % cycle])

    def after(self, owners: Ints, amounts: Floats | Ints, processes: int) -> Floats:
        """Sum of the amounts of each process's own blocks behind each block; (K, process)."""
        own = np.zeros((self.count + 1, processes))
        own[np.arange(self.count), owners] = amounts
        return np.asarray(np.cumsum(own[::-1], axis=0)[::-1][1:])

    def of_owner(self, owners: Ints, amounts: Floats | Ints, processes: int) -> Floats:
        """The amount of each block at its owner, 0 elsewhere; (K, process)."""
        own = np.zeros((self.count, processes))
        own[np.arange(self.count), owners] = amounts
        return own

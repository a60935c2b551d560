"""Parallel merge sort of n keys: each process sorts its own, then pairs merge along a binomial tree.

A process with u keys sorts them: u ceil(log2 u) keys moved (1 for u = 1, as of the kernel `sort`). In round k a
process whose place is an odd multiple of 2**k sends all keys that it has, 8 bytes each, to the process 2**k places
before it and is done; that one merges: as many keys moved as it then has. The first process ends with all keys. The
problem size is two elements (input and output) per key at hand; a process holds 16 bytes for each of the most keys
that it ever has.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Ints
from simulator.programs.applications.parameters import Counted, whole
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import NOBODY, Compute, Operation, Program, Recv, Send

WORD_BYTES = 8


def sort_volume(keys: Ints) -> Ints:
    """Keys moved in sorting so many."""
    passes = np.ceil(np.log2(np.maximum(keys, 1))).astype(np.int64)
    return np.where(keys > 0, np.maximum(1, keys * passes), 0)


@dataclass(frozen=True)
class Sort(Work):
    """A merge sort, its keys divided among the processes."""

    n: int

    @property
    def units(self) -> int:
        """Keys."""
        return self.n

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """The sorting of so many keys, without merging."""
        return lambda keys: Compute(float(sort_volume(np.asarray(keys))), 2 * keys)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """A process's own keys, once."""
        return (WORD_BYTES * units,) if units else ()

    def rounds(self, processes: int) -> int:
        """One for each doubling."""
        return max(1, processes.bit_length())

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without keys takes no part."""
        team = Team.of(configuration, total=self.n, noun="keys", name="n")
        place, keys = team.place, team.units.copy()
        row: list[Operation] = [Compute(sort_volume(keys), 2 * keys)]
        for step in (2**k for k in range((team.size - 1).bit_length())):
            sends, receives = place % (2 * step) == step, (place >= 0) & (place % (2 * step) == 0)
            to = np.where(sends, team.process(place - step), NOBODY)
            source = np.where(receives, team.process(place + step), NOBODY)
            merges = source != NOBODY
            row += [Send(to, WORD_BYTES * keys), Recv(source)]
            keys = np.where(merges, keys + keys[source], keys)
            row.append(Compute(np.where(merges, keys, 0), 2 * keys))
        return team.program(tuple(row), 2 * WORD_BYTES * keys)


APPLICATION = Counted(
    "sort",
    Sort,
    {
        "n": whole(meaning="keys"),
    },
)

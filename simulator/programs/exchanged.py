"""What the processes of a program compute and send each other, in sums: what placements of them are judged by."""

from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.program import Program

SENDS = Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND


@dataclass(frozen=True)
class Exchanged:
    """Computations (C), and pairs of processes that send each other messages (E)."""

    process: Ints
    """Of each computation; (C,)."""
    volume: Floats
    """(C,)."""
    size: Floats
    """Problem size in elements; (C,)."""
    one: Ints
    """The first process of each pair; (E,)."""
    other: Ints
    """The second one; (E,)."""
    messages: Floats
    """Their number, both ways; (E,)."""
    sent_bytes: Floats
    """Both ways; (E,)."""
    footprints_bytes: Floats
    """(P,)."""

    @classmethod
    def of(cls, program: Program) -> "Exchanged":
        """The sums of a program; its collectives are messages as their algorithms say."""
        columns = assemble(program)
        process, count = columns.process.astype(np.int64), columns.processes
        computes = columns.kind == Kind.COMPUTE
        sends = np.isin(columns.kind, SENDS) & (columns.partner >= 0)
        ends = np.sort([process[sends], columns.partner[sends].astype(np.int64)], axis=0)
        pairs, place = np.unique(ends[0] * count + ends[1], return_inverse=True)
        messages, sent = (np.bincount(place, of, pairs.size) for of in (None, columns.amount[sends]))
        return cls(
            process[computes],
            columns.amount[computes],
            columns.size[computes],
            np.asarray(pairs // count),
            np.asarray(pairs % count),
            messages.astype(np.float64),
            sent.astype(np.float64),
            columns.footprints_bytes.astype(np.float64),
        )

    @property
    def volumes(self) -> Floats:
        """What each process computes in all; (P,)."""
        return np.bincount(self.process, self.volume, self.footprints_bytes.size).astype(np.float64)

"""What a program does, counted from its assembled columns."""

from collections import defaultdict

import numpy as np

from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind


class Counts:
    """Volume of each process, problem sizes of its computations, and payloads of each pair of processes in order."""

    def __init__(self, program):
        columns = assemble(program)
        process, kind = columns.process, columns.kind
        computes = kind == Kind.COMPUTE
        self.volume = np.bincount(process[computes], weights=columns.amount[computes], minlength=columns.processes)
        self.sizes = [columns.size[computes & (process == p)].tolist() for p in range(columns.processes)]
        self.volumes = [columns.amount[computes & (process == p)].tolist() for p in range(columns.processes)]
        self.messages = defaultdict(list)
        for row in np.flatnonzero((kind == Kind.SEND) | (kind == Kind.EXCHANGE)):
            self.messages[int(process[row]), int(columns.partner[row])].append(float(columns.amount[row]))
        self.messages = dict(self.messages)
        self.footprints = columns.footprints_bytes.tolist()
        self.columns = columns

    @property
    def sent(self):
        """All payloads."""
        return [size for sizes in self.messages.values() for size in sizes]

"""Runs of one kind of PEs, in the order that the fits need: by kind, regime, m, PEs and problem size."""

from dataclasses import dataclass

import numpy as np

from simulator.models.process_count.paper.regimes import MemoryRegimes
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints


@dataclass(frozen=True)
class Configurations:
    """Runs, ordered, and the configurations (kind, regime, m, PEs) that consecutive ones share."""

    size: Floats
    """(runs,)."""
    processes: Floats
    """P of each run."""
    seconds: Floats
    """Computation and communication, or the whole time; (part, runs)."""
    start: Ints
    """First run of each configuration."""
    stop: Ints
    kind: Ints
    """Of each configuration, as are the next three."""
    regime: Ints
    m: Ints
    pes: Ints
    sizes: Ints
    """Different problem sizes of each configuration."""
    most_m: int
    most_pes: int

    @property
    def group(self) -> Ints:
        """A number for each (kind, regime, m), ascending over the configurations."""
        most_regime = int(self.regime.max(initial=0)) + 1
        return np.asarray((self.kind * most_regime + self.regime) * (self.most_m + 1) + self.m)


def configurations(runs: AllocationRuns, regimes: MemoryRegimes | None) -> Configurations:
    """Take the runs in which one kind takes part, and order them; by parts if all of them tell theirs."""
    used = runs.allocations[..., 1] > 0
    rows = np.flatnonzero(used.sum(axis=1) == 1)
    kind = used[rows].argmax(axis=1)
    pes, m = runs.allocations[rows, kind].T
    size = runs.size[rows]
    regime = np.zeros_like(m) if regimes is None else regimes.regime(size, kind, 1 / pes)
    most_m, most_pes = int(m.max(initial=1)), int(pes.max(initial=1))
    code = ((kind * (int(regime.max(initial=0)) + 1) + regime) * (most_m + 1) + m) * (most_pes + 1) + pes
    order = np.lexsort((size, code))
    rows, kind, pes, m, regime, code = (x[order] for x in (rows, kind, pes, m, regime, code))
    size = size[order]
    new_code = code[1:] != code[:-1]
    first, new = np.ones((2, len(code)), bool)
    first[1:] = new_code
    new[1:] = new_code | (size[1:] != size[:-1])
    seconds = np.stack((runs.comp_s[rows, kind], runs.comm_s[rows, kind]))
    if not np.isfinite(seconds).all():
        seconds = runs.time_s[np.newaxis, rows]
    start = np.flatnonzero(first)
    return Configurations(
        size=size,
        processes=(pes * m).astype(float),
        seconds=seconds,
        start=start,
        stop=np.append(start[1:], len(code)) if len(code) else start,
        kind=kind[start],
        regime=regime[start],
        m=m[start],
        pes=pes[start],
        sizes=np.add.reduceat(new.astype(np.int64), start) if len(code) else start,
        most_m=most_m,
        most_pes=most_pes,
    )

"""Measured runs as the pooled model sees them: repetitions joined, sorted by configuration and size."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

JITTER_S = 0.002
"""Standard deviation of what start-up, clock ticks and the scheduler's credit add to a run."""
JITTER_SHARE = 0.1
"""The same at most, relative to the median time."""
JITTER_SD = 0.04
"""Relative noise to which that jitter is compared."""
SIZE_REACH = 1.0
"""Distance in the log size at which what the terms miss adds as much variance as the noise."""
ALIKE = 1.3
"""Ratio of two repetitions above which the slower is taken for disturbed."""


@dataclass(frozen=True)
class Cells:
    """One row per configuration and size; rows of one configuration are neighbours, by rising size."""

    kinds: tuple[str, ...]
    size: Floats
    allocations: Ints
    """As in `AllocationRuns`; (cells, kind, 2)."""
    time_s: Floats
    """Median of the repetitions; of two that differ much, the shorter."""
    comp_s: Floats
    """Median computation time of each kind, not a number where it was not measured; (cells, kind)."""
    comm_s: Floats
    """Median communication time likewise."""
    runs: Ints
    """Repetitions."""
    configuration: Ints
    """Number of each cell's configuration."""
    run_sd: float
    """Standard deviation of the log time of a repetition around its cell, 0 if nothing was repeated."""

    @property
    def processes(self) -> Ints:
        """P of each cell."""
        return np.asarray(np.prod(self.allocations, axis=2).sum(axis=1))

    @cached_property
    def doubtfulness(self) -> Floats:
        """Variance of each cell's noise and lack of fit, relative to that of a long run at the largest size."""
        jitter = min(JITTER_S, JITTER_SHARE * float(np.median(self.time_s)))
        away = np.log(self.size.max() / self.size) / SIZE_REACH
        return np.asarray(1.0 + away**2 + (jitter / (JITTER_SD * self.time_s)) ** 2)

    def below(self, size: float) -> "Cells":
        """Only the cells of smaller sizes."""
        kept = self.size < size
        _, configuration = np.unique(self.configuration[kept], return_inverse=True)
        return replace(
            self,
            size=self.size[kept],
            allocations=self.allocations[kept],
            time_s=self.time_s[kept],
            comp_s=self.comp_s[kept],
            comm_s=self.comm_s[kept],
            runs=self.runs[kept],
            configuration=configuration.astype(np.int64),
        )

    def first(self) -> Ints:
        """Row of the first cell of each configuration."""
        return np.flatnonzero(np.diff(self.configuration, prepend=-1))


def cells_of(runs: AllocationRuns) -> Cells:
    """Join repetitions."""
    count = len(runs.size)
    flat = runs.allocations.reshape(count, -1)
    order = np.lexsort((runs.time_s, runs.size, *flat.T))
    size, time_s = runs.size[order], runs.time_s[order]
    other = np.ones(count, bool)
    other[1:] = (np.diff(flat[order], axis=0) != 0).any(axis=1)
    fresh = other.copy()
    fresh[1:] |= np.diff(size) != 0
    start = np.flatnonzero(fresh)
    number = np.diff(start, append=count)
    middle = np.sqrt(time_s[start + (number - 1) // 2] * time_s[start + number // 2])
    two = (number == 2) & (time_s[start + number - 1] > ALIKE * time_s[start])
    middle = np.where(two, time_s[start], middle)
    which = np.cumsum(fresh) - 1
    repeated = number[which] > 1
    away = np.abs(np.log(time_s / middle[which]))[repeated]
    spread = float(1.4826 * np.sqrt(2.0) * np.median(away)) if len(away) else 0.0
    return Cells(
        kinds=runs.kinds,
        size=size[start],
        allocations=runs.allocations[order][start],
        time_s=middle,
        comp_s=_medians(runs.comp_s[order], start),
        comm_s=_medians(runs.comm_s[order], start),
        runs=number,
        configuration=np.cumsum(other[start]) - 1,
        run_sd=spread,
    )


def _medians(table: Floats, start: Ints) -> Floats:
    """Median of the measured entries of each group of rows."""
    found = np.full((len(start), table.shape[1]), np.nan)
    if np.isfinite(table).any():
        for row, part in enumerate(np.split(table, start[1:])):
            for kind in np.flatnonzero(np.isfinite(part).any(axis=0)):
                found[row, kind] = np.median(part[np.isfinite(part[:, kind]), kind])
    return found

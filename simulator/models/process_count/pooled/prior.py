"""What is known of the coefficients before any run: their size, and how alike the kinds are."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.terms import COMPUTATION, TERMS, Belief, Shape, typical
from simulator.models.process_count.runs import Floats

SPEED_SD = 1.5
"""Standard deviation of a kind's log speed."""


@dataclass(frozen=True)
class Prior:
    """Normal prior of the log coefficients of the scaled columns, kind by kind."""

    belief: str
    """Name of one of `BELIEFS`."""
    mean: Floats
    """(kinds * terms,)."""
    precision: Floats
    """(kinds * terms, kinds * terms)."""
    scale: Floats
    """Factor on each column that makes it as large as the times, (terms,)."""


def scales_of(shape: Shape, cells: Cells) -> Floats:
    """Factor on each column that makes it as large as the times, (terms,)."""
    m = cells.allocations[:, :, 1].max(axis=1).astype(np.float64)
    columns = typical(shape, cells.size, m, cells.processes.astype(np.float64))
    return np.asarray(np.exp(-np.log(columns / cells.time_s[:, None]).mean(axis=0)))


def prior_of(kinds: int, belief: Belief, scale: Floats) -> Prior:
    """Centre every term at its usual share of the measured times."""
    factors = [belief.factor if term.name.endswith(belief.about) else 1.0 for term in TERMS]
    shares = np.log([term.share for term in TERMS]) + np.log(factors)
    return Prior(belief.name, np.tile(shares, kinds), _precision(kinds), scale)


@cache
def _precision(kinds: int) -> Floats:
    """Of the log coefficients of so many kinds, which share a common part and have one of their own."""
    apart = np.array([term.kind_sd for term in TERMS]) ** 2
    speed = (np.arange(len(TERMS)) < COMPUTATION).astype(np.float64)
    common = np.diag(np.array([term.sd for term in TERMS]) ** 2)
    own = np.diag(apart) + SPEED_SD**2 * np.outer(speed, speed)
    covariance = np.kron(np.ones((kinds, kinds)), common) + np.kron(np.eye(kinds), own)
    found = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    found.setflags(write=False)
    return found

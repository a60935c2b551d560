"""Adjustment: a line through the communication of a kind with three or more processes per PE (section 4.1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

LEAST_PROCESSES = 3
"""On a PE, from which on the paper adjusts."""


@dataclass(frozen=True)
class Adjustment:
    """Of one kind: communication (or the whole time) becomes `slope` times it plus `offset_s`."""

    kind: int
    size: float
    runs: int
    slope: Floats
    """(variant,)."""
    offset_s: Floats


def fit_adjustments(
    runs: AllocationRuns,
    times: Callable[[int, Ints], Floats],
    *,
    roles: Floats,
    draws: Floats,
    size: float | None = None,
) -> tuple[Adjustment, ...]:
    """Fit lines to mixed runs of one size, the others' processes at their most there, and put them into `roles`.

    Parameters
    ----------
    runs
        All runs.
    times
        Computation and communication, or the whole time, of a kind in some runs; (variant, part, runs).
    roles
        As in `fit_compositions`, changed for m of 3 and more.
    draws
        What the time of each run is multiplied with; (variant, runs).
    size
        The problem size, by default for each kind the largest with such runs.

    Returns
    -------
    tuple of Adjustment
        None for a kind without two different such runs.
    """
    processes = np.prod(runs.allocations, axis=2)
    found = []
    for kind in range(len(runs.kinds)):
        others = processes.sum(axis=1) - processes[:, kind]
        rows = np.flatnonzero((runs.allocations[:, kind, 1] >= LEAST_PROCESSES) & (others > 0))
        rows = rows[np.isfinite(times(kind, rows)[0]).all(axis=0)] if len(rows) else rows
        if not len(rows):
            continue
        at = float(runs.size[rows].max()) if size is None else size
        rows = rows[runs.size[rows] == at]
        rows = rows[others[rows] == others[rows].max(initial=0)]
        if len(rows) < 2:
            continue
        estimate = times(kind, rows)
        x, y = estimate[:, -1], _measured(runs, kind, rows, estimate) * draws[:, rows]
        if np.ptp(x[0]) <= 1e-9 * np.abs(x[0]).max():
            continue
        centred = x - x.mean(axis=1, keepdims=True)
        slope = (centred * y).sum(axis=1) / (centred * centred).sum(axis=1)
        offset = y.mean(axis=1) - slope * x.mean(axis=1)
        above = roles[:, -1, kind, LEAST_PROCESSES - 1 :, :, 1:]
        above *= slope[:, None, None, None, None]
        above[..., 2, 0] += offset[:, None, None]
        found.append(Adjustment(kind, at, len(rows), slope, offset))
    return tuple(found)


def _measured(runs: AllocationRuns, kind: int, rows: Ints, estimate: Floats) -> Floats:
    """What the line should give: the kind's own communication, or what its computation leaves of the whole time."""
    if estimate.shape[1] == 1:
        return runs.time_s[rows]
    told = runs.comm_s[rows, kind]
    return told if np.isfinite(told).all() else np.asarray(runs.time_s[rows] - estimate[0, 0])

"""What runs cannot tell, in plain words: errors where nothing can be fitted, else warnings."""

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.models.process_count.fit import Cells
from simulator.models.process_count.runs import AllocationRuns, processes_of, row_faults

GOOD_SIZES = 4
SHORT_S = 0.05
"""Run time below which start-up and the scheduler's credit hide the speed."""
NOISY = 0.08
"""Relative spread of repetitions above which runs are called noisy."""
SCATTERED = 0.15
"""Scatter around the fitted costs above which advice is called weak, repeated or not."""
FAR_SIZE = 2.0
"""How many times the largest measured size is far."""
NO_DOUBT: tuple[str, ...] = ()


def check_runs(runs: AllocationRuns) -> None:
    """Refuse runs that nothing can be fitted to."""
    faults = row_faults(runs)
    if not len(runs.size):
        raise ScenarioError(faults)
    if len(np.unique(runs.processes)) < 2:  # no scaling to see
        faults.append("runs: all have the same process count P; add runs with another")
    for kind, used in zip(runs.kinds, runs.allocations[:, :, 0].sum(axis=0), strict=True):
        if used == 0:
            faults.append(f"runs: no run uses kind {kind}; add one, or leave the kind out")
    if faults:
        raise ScenarioError(faults)


def doubts_of_runs(cells: Cells, factors: Floats, scatter: float) -> tuple[str, ...]:
    """What the runs leave open, whatever is asked.

    `factors`: noise variance that the fit gave each cell, relative to what was expected, (cells,).
    `scatter`: standard deviation of a long run's log time around what the costs say of its configuration.
    """
    used = cells.allocations[:, :, 0] > 0
    together = used.sum(axis=1)
    found = [
        f"{kind}: never run without other kinds; its speed is known from mixed runs only"
        for kind, column in zip(cells.kinds, used.T, strict=True)
        if not (column & (together == 1)).any()
    ]
    if len(cells.kinds) > 1 and not (together > 1).any():
        found.append("no run uses several kinds together: what mixing them costs is a guess")
    if not (processes_of(cells.allocations) > cells.allocations[:, :, 1].max(axis=1)).any():
        found.append("no run uses several PEs: what messages between them cost is a guess")
    sizes = np.unique(cells.size)
    if len(sizes) < GOOD_SIZES:
        more = GOOD_SIZES - len(sizes)
        found.append(f"the runs have {len(sizes)} sizes N; {more} more would separate the growth from the overhead")
    largest = cells.size == sizes[-1]
    shortest = float(cells.time_s[largest].min())
    if shortest < SHORT_S:
        found.append(
            f"the shortest run at N = {sizes[-1]:g} takes {shortest:.2g} s: start-up and the scheduler's credit hide "
            f"the speed below about {SHORT_S:g} s; larger sizes tell more"
        )
    if cells.run_sd > NOISY:
        found.append(f"repetitions differ by {100 * cells.run_sd:.0f} % (standard deviation): estimates are no better")
    if scatter > SCATTERED:
        found.append(
            f"the runs scatter by {100 * scatter:.0f} % around any costs that fit them (disturbed, or not repeated): "
            "the advised configuration may be far from the best"
        )
    off = np.flatnonzero(factors > 2.0)
    if len(off):
        worst = int(off[ties.first_most(factors[off])])
        found.append(
            f"{len(off)} of {len(factors)} measured times lie far off the others and count little: "
            f"first {described(cells.kinds, cells.allocations[worst])} at N = {cells.size[worst]:g}"
        )
    return tuple(found)


def doubts_of_estimates(cells: Cells, size: float, allocations: Ints, strange: Flags) -> tuple[tuple[str, ...], ...]:
    """Why single estimates are weak.

    `strange`: whether no run used these kinds together, or this one alone; (n,).
    """
    common = _doubts_of_size(cells, size)
    doubts: list[tuple[str, ...]] = [common] * len(allocations) if common else [NO_DOUBT] * len(allocations)
    most = cells.allocations[:, :, 1].max(axis=0)
    for kind, row in np.argwhere((allocations[:, :, 1] > most).T).tolist():
        m = int(allocations[row, kind, 1])
        doubts[row] += (f"{cells.kinds[kind]}: {m} processes on a PE, measured up to {most[kind]}",)
    counts = processes_of(allocations)
    limit = int(processes_of(cells.allocations).max())
    for row in np.flatnonzero(counts > limit).tolist():
        doubts[row] += (f"P = {counts[row]}, measured up to {limit}",)
    words: dict[tuple[bool, ...], str] = {}
    used = (allocations[:, :, 0] > 0).tolist()
    for row in np.flatnonzero(strange).tolist():
        which = tuple(used[row])
        if which not in words:
            names = [name for name, there in zip(cells.kinds, which, strict=True) if there]
            words[which] = (
                f"{' and '.join(names)} {'was never run alone' if len(names) == 1 else 'were never run together'}"
            )
        doubts[row] += (words[which],)
    return tuple(doubts)


def mixture_codes(allocations: Ints) -> Ints:
    """A number for the set of kinds that each configuration uses, (n,)."""
    return np.asarray((allocations[:, :, 0] > 0) @ (1 << np.arange(allocations.shape[1])))


def described(kinds: tuple[str, ...], allocation: Ints) -> str:
    """One configuration: `fast 1x2 + slow 8x1`, PEs times processes on each."""
    return " + ".join(f"{kind} {n}x{m}" for kind, (n, m) in zip(kinds, allocation.tolist(), strict=True) if n * m > 0)


def _doubts_of_size(cells: Cells, size: float) -> tuple[str, ...]:
    largest, smallest = float(cells.size.max()), float(cells.size.min())
    if size > FAR_SIZE * largest:
        return (f"N = {size:g} is {size / largest:.3g} times the largest measured, {largest:g}",)
    if size < smallest:
        return (f"N = {size:g} is below the smallest measured, {smallest:g}",)
    return NO_DOUBT

"""Runs of an application as arrays, and the cells that repeated runs form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError

PAIRED = 8
"""Up to so many runs of a cell, all are compared with each other."""

FLAT = 1e-6
"""Extent, relative to the largest one, below which points do not extend."""
MOST_DIMENSIONS = 5
"""Of a hull that is computed; beyond, only whether a target lies in the plane of the points is looked at."""


@dataclass(frozen=True)
class Runs:
    """Parameters and one measured time of each run."""

    names: tuple[str, ...]
    """Parameters, in the order of the columns of `values`."""
    values: Floats
    """Shape (runs, parameters)."""
    times_s: Floats
    """Shape (runs,)."""
    labels: tuple[str, ...]
    """How messages name each run, for example `runs.csv:7`."""

    def columns(self) -> dict[str, Floats]:
        """Name -> values of that parameter, shape (runs,)."""
        return dict(zip(self.names, self.values.T, strict=True))


@dataclass(frozen=True)
class Cells:
    """Distinct parameter points, each with what its runs measured."""

    names: tuple[str, ...]
    values: Floats
    """Shape (cells, parameters)."""
    time_s: Floats
    """Median of the runs of the cell, so that one bad run of three does no harm."""
    runs: Ints
    low_s: Floats
    high_s: Floats
    mean_s: Floats
    cell_of_run: Ints
    run_sd: float
    """Robust standard deviation of the logarithm of one run around its cell's median; 0 without repetitions."""

    def columns(self) -> dict[str, Floats]:
        """Name -> values of that parameter, shape (cells,)."""
        return dict(zip(self.names, self.values.T, strict=True))


def make_runs(values: Mapping[str, ArrayLike], times_s: ArrayLike, *, labels: Sequence[str] | None = None) -> Runs:
    """Check runs and put them into arrays.

    Raises ScenarioError if a number is infinite or not a number, or there is no run; one line per run.

    `values`: parameter -> array of shape (runs,).
    `times_s`: seconds of each run, shape (runs,); the methods say whether 0 or less can be fitted.
    `labels`: how messages name each run; `run 1`, `run 2`, ... if None.
    """
    times = np.asarray(times_s, dtype=np.float64)
    names = tuple(values)
    table = np.column_stack(
        [np.broadcast_to(np.asarray(values[name], dtype=np.float64), times.shape) for name in names]
    )
    shown = tuple(labels) if labels is not None else tuple(f"run {i + 1}" for i in range(len(times)))
    if len(times) == 0:
        raise ScenarioError("runs: there is no run; give at least one")
    faults = [
        f"{shown[i]}: {name} is {table[i, k]:g}; give a finite number"
        for k, name in enumerate(names)
        for i in np.flatnonzero(~np.isfinite(table[:, k]))[:20]
    ]
    faults += [
        f"{shown[i]}: time is {times[i]:g} s; give a finite number" for i in np.flatnonzero(~np.isfinite(times))[:20]
    ]
    if faults:
        raise ScenarioError(faults)
    return Runs(names, table, times, shown)


def cells_of(runs: Runs) -> Cells:
    """Join runs at the same point: median, mean, extremes and how far single runs scatter."""
    points, index = np.unique(runs.values, axis=0, return_inverse=True)
    index = index.reshape(-1)
    order = np.lexsort((runs.times_s, index))
    times = runs.times_s[order]
    count = np.bincount(index, minlength=len(points))
    first = np.concatenate(([0], np.cumsum(count)[:-1]))
    middle = (times[first + (count - 1) // 2] + times[first + count // 2]) / 2
    mean = np.bincount(index, weights=runs.times_s, minlength=len(points)) / count
    return Cells(
        names=runs.names,
        values=points,
        time_s=middle,
        runs=count.astype(np.int64),
        low_s=times[first],
        high_s=times[first + count - 1],
        mean_s=mean,
        cell_of_run=index.astype(np.int64),
        run_sd=_run_sd(runs.times_s, middle, index, count),
    )


def beyond_hull(points: Floats, targets: Floats) -> Floats:
    """How far targets lie from the convex hull of points, 0 inside, along its nearest face; (n,).

    `points`, `targets`: shape (points, dimensions), (n, dimensions).
    """
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=False)
    spanned = axes[sizes > FLAT * max(float(sizes[0]), FLAT)]
    inside, seen = (targets - centre) @ spanned.T, (points - centre) @ spanned.T
    off = np.linalg.norm(targets - centre - inside @ spanned, axis=1)
    if len(spanned) == 1:
        faces = np.array([[1.0, -seen.max()], [-1.0, seen.min()]])
    elif 1 < len(spanned) <= MOST_DIMENSIONS:
        from scipy.spatial import ConvexHull

        faces = ConvexHull(seen).equations
    else:
        return np.asarray(off)
    away = (inside @ faces[:, :-1].T + faces[:, -1]).max(axis=1)
    found = np.hypot(np.maximum(away, 0.0), off)
    return np.where(found > FLAT * max(float(sizes[0]), 1.0), found, 0.0)


def resolution_s(times_s: Floats) -> float:
    """Step in which times were recorded: the largest power of ten that divides them all, 0 if below 1 us."""
    for digits in range(7):
        scaled = times_s * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-9 * np.abs(scaled)):
            return float(10.0**-digits)
    return 0.0


def _run_sd(times: Floats, middle: Floats, index: NDArray[np.intp], count: NDArray[np.intp]) -> float:
    """From the distances between all runs of a cell, or to its median where there are many; a median of them."""
    several = (count > 1)[index] & (times > 0) & (middle[index] > 0)
    if not several.any():
        return 0.0
    order = np.lexsort((times, index))[several[np.lexsort((times, index))]]
    logs, cells = np.log(times[order]), index[order]
    few = count[cells] <= PAIRED
    own = count[cells] / (count[cells] - 0.8)  # runs lie nearer to their own median than to the true one
    apart = [(np.sqrt(2.0) * own * np.abs(logs - np.log(middle[cells])))[~few]]
    logs, cells = logs[few], cells[few]
    apart += [(logs[k:] - logs[:-k])[cells[k:] == cells[:-k]] for k in range(1, PAIRED)]
    return float(1.4826 * np.median(np.concatenate(apart)) / np.sqrt(2.0))


def share_of_median(runs: Ints) -> Floats:
    """Variance of the median of so many normal runs, relative to that of one."""
    known = np.array([1.0, 1.0, 0.5, 0.449, 0.298, 0.287, 0.215, 0.210])
    many = np.pi / 2 / np.maximum(runs + 0.5, 1.0)
    return np.where(runs < known.size, known[np.minimum(runs, known.size - 1)], many)

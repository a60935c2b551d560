"""Costs of operations from runs: how often each run used an operation, how long it took; non-negative, shrunken."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.choice import held_out

Names = NDArray[np.str_]

SHRINKAGES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""Strengths of shrinkage tried: weight of one operation's deviation against the mean squared relative error."""
FOLDS = 10
"""Groups are left out in so many parts, or one by one where there are fewer."""
_TURNS = 30
_SETTLED = 1e-6
_FAR = 20.0
"""Predictions this many times too high or low pull no harder than this."""


@dataclass(frozen=True)
class CostFit:
    """Costs of k operations, fitted to n runs."""

    costs_s: Floats
    """Seconds of one of each operation, none below 0; (k,)."""
    common: float
    """The factor on all guesses that fits best: what the costs are shrunken towards."""
    shrinkage: float
    errors: Floats
    """(prediction - time) / time of each run it was fitted to; (n,)."""
    held_out: Floats
    """The same for each run when its group is left out of the fit; not a number where there is one group; (n,)."""


def fit_costs(
    counts: ArrayLike,
    times_s: ArrayLike,
    groups: Sequence[str],
    *,
    guesses_s: ArrayLike,
    classes: Sequence[str] = (),
    shrinkages: Sequence[float] = SHRINKAGES,
) -> CostFit:
    """Fit costs c >= 0 so that counts . c is near the times in relative terms.

    Every class of runs has the same weight, within it every group, and within that every run.

    With guesses g and their best common factor f, this minimises the mean over groups of the mean of (p - t)^2 / (p t),
    p being the prediction, plus a shrinkage times the sum over operations of (c / (f g) - 1)^2. Twice as much and half
    as much are so equally wrong: errors relative to t alone, which half as much costs less, would favour costs that are
    too low. The shrinkage is the one whose groups left out are predicted best, by the mean of |log(p / t)|.
    An operation that no run uses costs f g.

    `counts`: how often each of n runs used each of k operations; (n, k).
    `times_s`: above 0; (n,).
    `groups`: name of each run's group: runs of one program at several sizes; (n,).
    `guesses_s`: seconds that each operation is thought to cost, above 0: their ratios matter only; (k,).
    `classes`: name of each run's class, all of a group in one; (n,). By default there is one class.
    """
    used, times, guess = (np.asarray(x, dtype=np.float64) for x in (counts, times_s, guesses_s))
    _check(used, times, guess, groups)
    relative = used * guess / times[:, None]  # of each run, in units of its time
    names = np.array(groups)
    sorts = np.array(classes or [""] * names.size)
    weights = _weights(names, sorts)
    several = np.unique(names).size > 1
    held = {s: _left_out(relative, names, sorts, s) for s in shrinkages} if several else {}
    misses = [float(weights @ np.abs(np.log(ratios))) for ratios in held.values()]
    shrinkage = list(held)[ties.first_least(misses)] if held else max(shrinkages)
    factors, common = _solve(relative, weights, shrinkage)
    held_out = held[shrinkage] - 1 if held else np.full(times.size, np.nan)
    return CostFit(factors * guess, common, shrinkage, relative @ factors - 1, held_out)


def _solve(relative: Floats, weights: Floats, shrinkage: float) -> tuple[Floats, float]:
    """Factors on the guesses, and the common one."""
    from scipy.optimize import nnls

    operations = relative.shape[1]
    common = float(np.exp(-weights @ np.log(relative.sum(axis=1))))
    ridge = np.sqrt(shrinkage) * np.eye(operations)
    pull = np.full(operations, np.sqrt(shrinkage))
    found = np.ones(operations)
    for _ in range(_TURNS):
        ratio = np.clip(common * relative @ found, 1 / _FAR, _FAR)
        root = np.sqrt(weights * (1 + ratio) / (2 * ratio**2))  # so that slopes are those of (ratio - 1)^2 / ratio
        rows = common * relative * root[:, None]
        solved, _ = nnls(np.vstack([rows, ridge]), np.concatenate([root, pull]))
        step = np.asarray(solved) - found
        found = found + 0.7 * step  # taken whole, a prediction far too high and far too low may take turns
        if np.abs(step).max() < _SETTLED:
            break
    return common * found, common


def _left_out(relative: Floats, names: Names, sorts: Names, shrinkage: float) -> Floats:
    """Prediction over time of each run where its group, and a tenth of the others, taught nothing; at least 0.001."""
    parts = np.unique(names, return_inverse=True)[1] % FOLDS

    def ratios(part: int) -> Floats:
        others = parts != part
        factors, _ = _solve(relative[others], _weights(names[others], sorts[others]), shrinkage)
        return np.asarray(relative[~others] @ factors)

    return np.maximum(np.asarray(held_out(parts, ratios), np.float64), 1e-3)


def _weights(names: Names, sorts: Names) -> Floats:
    """Weights of runs that add up to 1, to the same for every class and for every group of a class."""
    _, place, runs = np.unique(names, return_inverse=True, return_counts=True)
    weights = 1.0 / runs[place]
    for sort in np.unique(sorts):
        weights[sorts == sort] /= weights[sorts == sort].sum()
    return np.asarray(weights / weights.sum())


def _check(used: Floats, times: Floats, guess: Floats, groups: Sequence[str]) -> None:
    if used.ndim != 2 or used.shape != (times.size, guess.size) or len(groups) != times.size:
        raise ScenarioError(f"counts: shape {used.shape} is not runs x operations ({times.size}, {guess.size})")
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise ScenarioError("times: give numbers above 0")
    if not (np.isfinite(guess).all() and (guess > 0).all()):
        raise ScenarioError("guesses: give numbers above 0")
    if not (np.isfinite(used).all() and (used >= 0).all() and (used.sum(axis=1) > 0).all()):
        raise ScenarioError("counts: give numbers of at least 0, and at least one operation per run")

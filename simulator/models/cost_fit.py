"""Costs of operations from runs: how often each run used an operation, how long it took; non-negative, shrunken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.errors import ScenarioError

Floats = NDArray[np.float64]

SHRINKAGES = (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
"""Strengths of shrinkage that are tried: weight of one operation's deviation against the mean squared relative error."""


@dataclass(frozen=True)
class CostFit:
    """Costs of k operations, fitted to runs of groups of alike."""

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
    counts: ArrayLike, times_s: ArrayLike, groups: Sequence[str], *, guesses_s: ArrayLike, shrinkages: Sequence[float] = SHRINKAGES
) -> CostFit:
    """Fit costs c >= 0 so that counts . c is near the times in relative terms, every group alike in weight.

    With guesses g and their best common factor f, this minimises the mean over groups of the mean squared relative
    error, plus a shrinkage times the sum over operations of (c / (f g) - 1)^2. The shrinkage is the one whose errors on
    groups left out are least on average. An operation that no run uses costs f g.

    Parameters
    ----------
    counts
        How often each of n runs used each of k operations; (n, k).
    times_s
        Above 0; (n,).
    groups
        Name of each run's group: runs of one program at several sizes; (n,).
    guesses_s
        Seconds that each operation is thought to cost, above 0: their ratios matter only; (k,).

    Raises
    ------
    ScenarioError
        If shapes do not fit, a time or guess is not above 0, a count is below 0, or a run uses nothing.
    """
    used, times, guess = (np.asarray(x, dtype=np.float64) for x in (counts, times_s, guesses_s))
    _check(used, times, guess, groups)
    relative = used * guess / times[:, None]  # of each run, in units of its time
    names = np.array(groups)
    weights = _weights(names)
    held = {s: _left_out(relative, names, s) for s in shrinkages} if np.unique(names).size > 1 else {}
    nothing = np.full(times.size, np.nan)
    shrinkage = min(held, key=lambda s: float(weights @ np.abs(held[s]))) if held else max(shrinkages)
    factors, common = _solve(relative, weights, shrinkage)
    return CostFit(factors * guess, common, shrinkage, relative @ factors - 1, held.get(shrinkage, nothing))


def _solve(relative: Floats, weights: Floats, shrinkage: float) -> tuple[Floats, float]:
    """Factors on the guesses, and the common one."""
    from scipy.optimize import nnls

    total = relative.sum(axis=1)
    common = float((weights * total).sum() / (weights * total**2).sum())
    root, pull = np.sqrt(weights), np.sqrt(shrinkage)
    ridge = pull * np.eye(relative.shape[1])
    left = np.vstack([common * relative * root[:, None], ridge])
    right = np.concatenate([root, np.full(relative.shape[1], pull)])
    found, _ = nnls(left, right)
    return common * np.asarray(found), common


def _left_out(relative: Floats, names: NDArray[np.str_], shrinkage: float) -> Floats:
    """Relative error of each run where its group taught nothing."""
    errors = np.empty(names.size)
    for name in np.unique(names):
        mine = names == name
        factors, _ = _solve(relative[~mine], _weights(names[~mine]), shrinkage)
        errors[mine] = relative[mine] @ factors - 1
    return errors


def _weights(names: NDArray[np.str_]) -> Floats:
    """Weights of runs that add up to 1, to the same for every group."""
    found, place, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (sizes[place] * found.size))


def _check(used: Floats, times: Floats, guess: Floats, groups: Sequence[str]) -> None:
    if used.ndim != 2 or used.shape != (times.size, guess.size) or len(groups) != times.size:
        raise ScenarioError(f"counts: shape {used.shape} found, runs x operations ({times.size}, {guess.size}) allowed")
    faults: list[tuple[str, Callable[[], bool]]] = [
        ("times: numbers above 0 allowed", lambda: bool((times > 0).all() and np.isfinite(times).all())),
        ("guesses: numbers above 0 allowed", lambda: bool((guess > 0).all() and np.isfinite(guess).all())),
        ("counts: numbers of at least 0 allowed", lambda: bool((used >= 0).all() and np.isfinite(used).all())),
        ("counts: at least one operation per run allowed", lambda: bool((used.sum(axis=1) > 0).all())),
    ]
    for line, holds in faults:
        if not holds():
            raise ScenarioError(line)

"""Where a fit starts: non-negative least squares with the kind that is slowest in each run guessed and corrected."""

import numpy as np

from simulator.models.process_count.pooled.prior import Prior
from simulator.models.process_count.pooled.problem import seconds, slowest_of
from simulator.models.process_count.pooled.terms import TERMS
from simulator.models.process_count.runs import Floats

ROUNDS = 3
"""Corrections of the guess."""
WIDTHS = np.exp(1.1 * np.sqrt([term.sd**2 + term.kind_sd**2 for term in TERMS]))
"""Standard deviation of a coefficient in the start's prior, relative to its centre."""
PILOT_SD = 0.01
"""Relative residual that one such deviation is worth."""
LEAST = 0.3
"""Least coefficient, relative to the prior's centre."""


def pilot(terms: Floats, weights: Floats, prior: Prior) -> Floats:
    """Log coefficients, shape (kind, terms).

    Parameters
    ----------
    terms
        Scaled and divided by the measured times, shape (cells, kind, terms).
    weights
        Of each cell's relative residual, (cells,).
    """
    kinds, count = terms.shape[1:]
    centre = np.exp(prior.mean.reshape(kinds, count))
    wide = centre * WIDTHS
    used = terms.any(axis=2)
    alone = used.sum(axis=1) == 1
    found = centre.copy()
    slowest = np.where(alone, used.argmax(axis=1), -1)
    before = np.full_like(slowest, -1)
    for _ in range(ROUNDS):
        for kind in range(kinds):
            rows = slowest == kind
            if rows.any() and not np.array_equal(rows, before == kind):
                found[kind] = _solve(terms[rows, kind], weights[rows], centre[kind], wide[kind])
        if alone.all():
            break
        before, slowest = slowest, np.where(alone, slowest, slowest_of(seconds(terms, found)))
    return np.log(np.maximum(found, LEAST * centre))


def _solve(terms: Floats, weights: Floats, centre: Floats, wide: Floats) -> Floats:
    from scipy.optimize import nnls

    design = terms * weights[:, None]
    ridge = (PILOT_SD / wide) ** 2
    normal, right = design.T @ design, design.T @ weights + ridge * centre
    diagonal = np.arange(len(centre))
    normal[diagonal, diagonal] += ridge
    # Any root of the normal equations has the same solution as the rows, and is much smaller.
    root = np.linalg.cholesky(normal)
    return np.asarray(nnls(root.T, np.linalg.solve(root, right))[0])

"""Doubt from held-out errors: what a fitted form of times misses at points that it was not fitted to."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import ScenarioError
from simulator.models.doubt import DRIFT, Doubt

Floats = NDArray[np.float64]
KNOTS = 12
"""Sizes between the least and the largest measured at which doubt is told."""
LEAST_NEAR = 8
"""Errors of so many nearest sizes are looked at together, or of a third of all where that is more."""
OUTLYING = 4.0
"""Errors count as no larger than so many times the mean one: a spike is no doubt of all others."""
LEAST_SLOPE = 0.02
"""Doubt grows at least so much for each factor e of the size beyond those measured."""
OCTAVES = 3
"""Beyond them it grows for so many octaves."""


def doubt_of_errors(
    sizes: ArrayLike, logs: ArrayLike, *, noise: float = 0.0, sampling: float = 0.0, drift: float = DRIFT
) -> Doubt:
    """Doubt over size by cause: `form`, `extrapolation`, `sampling` and `drift`.

    The form's is the standard deviation of the errors at the nearest sizes, as their mean distance from 0 has it,
    without what noise explains; beyond the sizes measured it grows with the logarithm of the distance.

    Parameters
    ----------
    sizes
        Of the points held out, at least 0, any order; (n,).
    logs
        Logarithms of measured over predicted values there; (n,).
    noise
        Standard deviation of the logarithm of one measured value.
    sampling
        That of what is left of it in the fit.
    drift
        That of what changes until the model is used.

    Raises
    ------
    ScenarioError
        If there is no error, or one is not a number.
    """
    where, errors = np.log(np.maximum(np.asarray(sizes, np.float64), 1.0)), np.abs(np.asarray(logs, np.float64))
    if not errors.size or errors.shape != where.shape or not np.all(np.isfinite(errors)):
        raise ScenarioError("held-out errors: at least one, each a finite number, are needed for a doubt")
    errors = np.minimum(errors, OUTLYING * max(float(np.mean(errors)), float(np.median(errors))))
    near = min(errors.size, max(LEAST_NEAR, errors.size // 3))
    inside = np.unique(np.linspace(where.min(), where.max(), KNOTS).round(12))
    seen = np.array([np.mean(errors[np.argsort(np.abs(where - x), kind="stable")[:near]]) for x in inside])
    form = np.sqrt(np.maximum(0.0, np.pi / 2 * seen**2 - noise**2))
    steps = np.log(2) * np.arange(1, OCTAVES + 1)
    below = inside[0] - steps[::-1][inside[0] - steps[::-1] > 0]
    x = np.concatenate((below, inside, inside[-1] + steps))
    distance = np.maximum(0.0, np.maximum(inside[0] - x, x - inside[-1]))
    forms = np.interp(x, inside, form)
    parts = {
        "form": forms,
        "extrapolation": distance * np.maximum(LEAST_SLOPE, forms),
        "sampling": np.full(x.size, sampling),
        "drift": np.full(x.size, drift),
    }
    whole = np.sqrt(np.sum([np.square(sd) for sd in parts.values()], axis=0))
    known = distance == 0
    variances = {name: float(np.mean(np.square(sd[known]))) for name, sd in parts.items()}
    total = sum(variances.values())
    return Doubt(np.exp(x), whole, sources={name: value / total for name, value in variances.items() if value > 0})

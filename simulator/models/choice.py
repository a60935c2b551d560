"""One choice among the forms of a model: how forms are judged on points that they did not see, and which is taken.

Points are left out fold by fold (`held_out`); a form is better if its held-out errors are smaller by more than chance
explains (`is_better`); numbers that it fits count against it (`schwarz`); near equals yield to the simpler one.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import ties
from simulator.base.arrays import Floats

Form = TypeVar("Form")


class TooFewPoints(Exception):  # noqa: N818 - says why a form is not fitted
    """A form cannot be fitted to so few points; the text says how many it needs."""


def held_out(folds: NDArray[np.integer], predict: Callable[[int], ArrayLike]) -> Floats | None:
    """What is said of each point by a fit that did not see its fold; None where the rest are too few for a fit.

    `folds`: the fold of each point, from 0 on; (n,).
    """
    found = np.zeros(folds.size)
    for fold in np.unique(folds).tolist():
        try:
            found[folds == fold] = predict(fold)
        except TooFewPoints:
            return None
    return found


def standard_error(one: Floats, other: Floats) -> float:
    """Standard error of the mean difference of two forms' errors at the same points; (n,) each."""
    return float(np.std(one - other) / np.sqrt(max(1, one.size - 1)))


def is_better(one: Floats, other: Floats, *, sure: float, floor: float = 0.0) -> bool:
    """Whether errors are smaller than another form's at the same points by more than chance explains."""
    one, other = np.maximum(one, floor), np.maximum(other, floor)
    return ties.is_less(sure * standard_error(other, one), float(np.mean(other - one)), floor=ties.SAME)


def schwarz(mean_square: float, count: int, numbers: float, *, spare: float | None = None) -> float:
    """Schwarz's criterion, `n ln(mean squared error) + k ln(n)`; less is better.

    `mean_square`: with a floor in it: of an error that clocks and models are no better than.
    `count`, `numbers`: n points, k fitted numbers.
    `spare`: points left over, about n - k - 1, where they are few: k ln(n) counts n / spare times.
    """
    penalty = numbers * np.log(count)
    return float(count * np.log(mean_square) + (penalty if spare is None else penalty * count / spare))


def choose(
    forms: Sequence[Form],
    *,
    by: Callable[[Form], float],
    rivals: Callable[[Form, Form], bool],
    then: Callable[[Form], float],
) -> Form:
    """The form with the least of one measure, unless it has rivals: of these the one with the least of another."""
    best = forms[ties.first_least([by(form) for form in forms])]
    near = [form for form in forms if rivals(form, best)]
    return near[ties.first_least([then(form) for form in near])] if near else best


def first_within(forms: Sequence[Form], miss: Callable[[Form], float], tolerance: float) -> Form | None:
    """The first form that misses by no more than a tolerance."""
    return next((form for form in forms if miss(form) <= tolerance), None)


def odds(evidence: ArrayLike, *, power: float = 1.0) -> Floats:
    """How likely forms are against the likeliest, which has 1, by the logarithms of their evidence; (n,)."""
    logs = np.asarray(evidence, dtype=np.float64)
    return np.asarray(np.exp(power * (logs - logs.max())))


def mean_and_most(errors: Floats | None) -> tuple[float | None, float | None]:
    """Mean and largest error, as records of rejected forms have them; None without errors."""
    return (None, None) if errors is None else (float(np.mean(errors)), float(np.max(errors)))

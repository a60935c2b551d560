"""Multiple linear regression with a constant B0: the paper's `ols`.

Source: Lafreniere and Sodan, ScoPred, section 4 (EQUATIONS.md section 2). Columns are scaled before they are solved and
the pseudo-inverse serves collinear terms, so a point is right wherever it is determined, and known not to be elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from simulator.base.arrays import Floats, Matrix, Number, Vector
from simulator.base.documents import NOT_WRITTEN, Record
from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula
from simulator.models.regression.runs import Runs

RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest count as 0 (columns scaled)."""


@dataclass(frozen=True)
class LinearFit(Record):
    """A fitted linear model of one response."""

    formula: Formula = field(metadata=NOT_WRITTEN)
    scale: Vector
    """Largest trained value of each column, the constant's first; shape (columns,)."""
    coefficients: Vector
    """Of the scaled columns, shape (columns,); divide by `scale` for those of the formula."""
    covariance: Matrix
    """Of the scaled coefficients, for residual variance 1; shape (columns, columns)."""
    seen: Matrix
    """Orthonormal basis of the determined directions, shape (columns, rank)."""
    variance: Number
    """Residual variance in s^2; shape ()."""
    freedom: int
    """Runs minus rank."""

    @property
    def rank(self) -> int:
        """Number of determined coefficients."""
        return int(self.seen.shape[1])

    def design(self, values: Mapping[str, Floats]) -> Floats:
        """Scaled columns with the constant first, shape (n, columns)."""
        return _columns(self.formula, values) / self.scale

    def determined(self, values: Mapping[str, Floats]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether the training runs determine the point at all, shape (n,)."""
        design = self.design(values)
        rest = design - (design @ self.seen) @ self.seen.T
        found: np.ndarray[Any, np.dtype[np.bool_]] = np.linalg.norm(rest, axis=1) <= 1e-7 * np.linalg.norm(
            design, axis=1
        )
        return found

    def point(self, values: Mapping[str, Floats]) -> Floats:
        """Predicted seconds, shape (n,)."""
        found: Floats = self.design(values) @ self.coefficients
        return found

    def half_widths(self, values: Mapping[str, Floats], level: float) -> tuple[Floats, Floats]:
        """Half-widths in s of the confidence interval of the mean and of the prediction interval of one run."""
        design = self.design(values)
        leverage = ((design @ self.covariance) * design).sum(axis=1)
        factor = stdtrit(self.freedom, (1 + level) / 2) * np.sqrt(self.variance)
        return factor * np.sqrt(leverage), factor * np.sqrt(leverage + 1.0)


def fit_linear(formula: Formula, runs: Runs) -> LinearFit:
    """Least squares over all runs with a constant."""
    columns = _columns(formula, runs.columns())
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
    times = runs.times_s
    left, singular, right = np.linalg.svd(columns / scale, full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular[0]
    rank = int(kept.sum())
    if len(times) <= rank:
        raise ScenarioError(
            f"runs: {len(times)} are too few for {rank} coefficients; give at least {rank + 1}: "
            "without a spare run no error can be estimated"
        )
    inverse = right[kept].T / singular[kept]
    coefficients = inverse @ (left[:, kept].T @ times)
    residuals = times - (columns / scale) @ coefficients
    freedom = len(times) - rank
    return LinearFit(
        formula=formula,
        scale=scale,
        coefficients=coefficients,
        covariance=inverse @ inverse.T,
        seen=right[kept].T,
        variance=np.asarray(residuals @ residuals / freedom),
        freedom=freedom,
    )


def _columns(formula: Formula, values: Mapping[str, Floats]) -> Floats:
    """The constant and each term that is not one, shape (n, columns)."""
    found = formula.columns(values)
    varying = [k for k, term in enumerate(formula.terms) if term.names]
    return np.column_stack([np.ones(len(found)), found[:, varying]])

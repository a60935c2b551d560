"""Advice on the next run: which further measurement would narrow a wanted prediction most, and what it would cost."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.models.regression.blend import Blend
from simulator.models.regression.least_squares import LinearFit
from simulator.models.regression.runs import Floats
from simulator.models.regression.runtime_model import RuntimeModel

MAX_CANDIDATES = 2_000


@dataclass(frozen=True)
class NextRun:
    """One measurement worth making."""

    point: dict[str, float]
    cost_s: float
    """Predicted time of the run."""
    half_width_before: float
    """Half-width of the target's confidence interval now, relative to its mean (one standard deviation)."""
    half_width_after: float

    @property
    def gain_per_s(self) -> float:
        """Relative half-width won per second of measuring."""
        return (self.half_width_before - self.half_width_after) / max(self.cost_s, 1e-9)


def advise_next_run(
    model: RuntimeModel, target: Mapping[str, float], *, candidates: Mapping[str, ArrayLike] | None = None, top: int = 5
) -> list[NextRun]:
    """Rank possible runs by how far they would narrow the mean prediction at `target`.

    The variance of the target given one more run is the usual Gaussian one: `v - c**2 / (w + noise)`, where c is the
    covariance of the two predictions and w the variance of the candidate's; for the default method both include how far
    the candidate structures disagree, so that a run which tells them apart counts.

    Parameters
    ----------
    candidates
        Parameter -> array of shape (n,): the runs to choose from. By default the grid of all trained values and of the
        values half way (geometrically) towards the target.
    top
        How many to return, best first.
    """
    points = _grid(model, target) if candidates is None else _columns(model, candidates)
    wanted = np.array([[float(target[name]) for name in model.names]])
    points = points[(points != wanted).any(axis=1)]
    table = np.vstack([wanted, points])
    columns = dict(zip(model.names, table.T, strict=True))
    mean, variance, covariance, noise = np.sum([_part_moments(part.fit, columns) for part in model.parts], axis=0)
    after = np.maximum(variance[0] - covariance[1:] ** 2 / np.maximum(variance[1:] + noise[1:], 1e-300), 0.0)
    usable = np.flatnonzero(mean[1:] > 0)
    # As shares of what is known now: below rounding of that, runs tell equally much.
    order = usable[ties.in_order(after[usable] / max(variance[0], 1e-300), mean[1:][usable], floor=ties.SAME)][:top]
    before = float(np.sqrt(variance[0]) / max(abs(mean[0]), 1e-300))
    return [
        NextRun(
            point={name: float(x) for name, x in zip(model.names, points[i], strict=True)},
            cost_s=float(mean[1 + i]),
            half_width_before=before,
            half_width_after=float(np.sqrt(after[i]) / max(abs(mean[0]), 1e-300)),
        )
        for i in order
    ]


def _part_moments(fit: Blend | LinearFit, columns: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, variance, covariance with row 0 and noise variance in s^2, each of shape (n,)."""
    if isinstance(fit, LinearFit):
        design = fit.design(columns)
        spread = design @ fit.covariance * fit.variance
        mean = fit.point(columns)
        noise = fit.variance * (mean**2 if fit.relative else np.ones(len(mean)))
        return mean, (spread * design).sum(axis=1), spread @ design[0], noise
    logs, covariance, noise = fit.covariances(columns)
    middle = fit.weight @ logs
    away = logs - middle
    variance = np.einsum("m,mn->n", fit.weight, covariance[1] + away**2)
    shared = np.einsum("m,mn->n", fit.weight, covariance[0] + away * away[:, :1])
    mean = np.exp(middle)
    return mean, variance * mean**2, shared * mean * mean[0], (fit.weight @ noise) * mean**2


def _grid(model: RuntimeModel, target: Mapping[str, float]) -> Floats:
    points = np.vstack([part.points for part in model.parts])
    levels = []
    for k, name in enumerate(model.names):
        values = np.unique(points[:, k])
        if len(values) > 12:
            values = np.quantile(values, np.linspace(0, 1, 12), method="nearest")
        levels.append(np.unique(np.append(values, _towards(model, k, float(target[name]), points[:, k]))))
    grid = np.array(list(itertools.islice(itertools.product(*levels), MAX_CANDIDATES)))
    aim = np.array([float(target[name]) for name in model.names])
    kept = np.ones(len(grid), bool)
    for a, b in itertools.combinations(range(len(model.names)), 2):
        ratio = _constant_ratio(points[:, a], points[:, b])
        if np.isclose(aim[a], ratio * aim[b]):  # parameters that always go together stay so
            kept &= np.isclose(grid[:, a], ratio * grid[:, b])
    return grid[kept]


def _towards(model: RuntimeModel, index: int, aim: float, trained: Floats) -> list[float]:
    """The target's value and the one half way to it, if it lies outside the trained range."""
    edge = model.high[index] if aim > model.high[index] else model.low[index]
    if model.low[index] <= aim <= model.high[index] or edge <= 0 or aim <= 0:
        return [aim]
    halfway = float(np.sqrt(edge * aim))
    return [aim, float(np.round(halfway)) if np.array_equal(trained, np.round(trained)) else halfway]


def _constant_ratio(one: Floats, other: Floats) -> float:
    """The ratio of two parameters if it never changed while they did, NaN otherwise."""
    if np.ptp(one) == 0 or (other == 0).any():
        return float("nan")
    ratio = one / other
    return float(ratio[0]) if np.ptp(ratio) == 0 else float("nan")


def _columns(model: RuntimeModel, candidates: Mapping[str, ArrayLike]) -> Floats:
    arrays = (np.atleast_1d(np.asarray(candidates[name], dtype=np.float64)) for name in model.names)
    return np.column_stack(np.broadcast_arrays(*arrays))
